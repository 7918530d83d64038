//! What can be told to the kernel, as text for `ip`, `bridge` and `nft`: it can be read and tested
//! without being done.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use model_kit::service::{Interface, NextHop, Route, Router, network};
use packet::PortId;

use crate::driver::DriverError;
use crate::neighbours::{address_ipv4, address_ipv6, no_port, unknown_hop};

/// Commands that configure the kernel, in the order of execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// Input of `ip -batch`: interfaces and their addresses.
    pub links: String,
    /// Input of `ip -4 -batch`: neighbours, next hops, rules and routes.
    pub ipv4: String,
    /// Input of `ip -6 -batch`: neighbours, next hops, rules and routes.
    pub ipv6: String,
    /// Input of `bridge -batch`: flags of ports and stations.
    pub stations: String,
    /// Input of `nft -f -`.
    pub nft: String,
    /// State that must exist when all commands are done.
    pub expected: Expected,
}

/// State by which it is checked that the kernel has applied a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Expected {
    /// Number of IPv4 prefixes in the plan.
    pub ipv4_routes: usize,
    /// Number of IPv6 prefixes in the plan.
    pub ipv6_routes: usize,
    /// Number of stations of a bridge.
    pub stations: usize,
    /// Packets for which `ip` looks up the route, of each family.
    pub probes: Vec<String>,
    /// Further interfaces that must be up.
    pub interfaces: Vec<String>,
}

/// Adds the Ethernet and IP addresses of the ports. Prefixes add no routes, because the service
/// lists all routes.
pub(super) fn own_addresses(plan: &mut Plan, interfaces: &[Interface], names: &[&str]) {
    for (interface, name) in interfaces.iter().zip(names) {
        own_address(plan, interface, name);
    }
}

fn own_address(plan: &mut Plan, interface: &Interface, name: &str) {
    let Interface { mac, ipv4, ipv6, .. } = interface;
    line(&mut plan.links, format_args!("link set {name} address {mac}"));
    if let Some((address, len)) = ipv4 {
        let address = format_args!("addr add {address}/{len} dev {name} noprefixroute");
        line(&mut plan.links, address);
    }
    if let Some((address, len)) = ipv6 {
        let address = format_args!("addr add {address}/{len} dev {name} nodad noprefixroute");
        line(&mut plan.links, address);
    }
}

/// Returns the interface of a port.
fn name_of<'a>(names: &[&'a str], port: PortId) -> Result<&'a str, DriverError> {
    names.get(usize::from(port.0)).copied().ok_or_else(|| no_port(port))
}

/// Adds neighbours, next hops and routes to a routing table.
pub(super) fn route(
    plan: &mut Plan,
    router: &Router,
    names: &[&str],
    table: &str,
) -> Result<(), DriverError> {
    let mut is_used = vec![[false; 2]; router.next_hops.len()];
    for Route { prefix, next_hop, .. } in &router.routes {
        let used = is_used.get_mut(*next_hop as usize).ok_or_else(|| unknown_hop(*next_hop))?;
        used[usize::from(prefix.is_ipv6())] = true;
    }
    for ((index, hop), used) in router.next_hops.iter().enumerate().zip(&is_used) {
        let name = name_of(names, hop.port)?;
        if used[0] || hop.ipv4.is_some() {
            next_hop(&mut plan.ipv4, index, 0, hop, &address_ipv4(hop, index)?, name);
        }
        if used[1] || hop.ipv6.is_some() {
            next_hop(&mut plan.ipv6, index, 1, hop, &address_ipv6(hop, index), name);
        }
    }
    let of_neighbours = to_neighbours(router);
    for Route { prefix, len, next_hop, .. } in of_neighbours.iter().chain(&router.routes) {
        let is_ipv6 = prefix.is_ipv6();
        let id = identifier(*next_hop as usize, usize::from(is_ipv6));
        let text = if is_ipv6 { &mut plan.ipv6 } else { &mut plan.ipv4 };
        line(text, format_args!("route add {prefix}/{len} nhid {id} table {table}"));
    }
    for family in [0, 1] {
        let mine = |route: &&Route| usize::from(route.prefix.is_ipv6()) == family;
        let mut routes = router.routes.iter().filter(mine);
        let [first, last] = [routes.next(), routes.next_back()];
        let from = if table == MAIN { names.first().copied().unwrap_or("lo") } else { "lo" };
        let probes = [first, last].into_iter().flatten().map(|route| probe(route, from));
        plan.expected.probes.extend(probes);
    }
    for route in of_neighbours.iter().chain(&router.routes) {
        match route.prefix {
            IpAddr::V4(_) => plan.expected.ipv4_routes += 1,
            IpAddr::V6(_) => plan.expected.ipv6_routes += 1,
        }
    }
    Ok(())
}

/// Returns a host route to each neighbour's own address; no other host on the link is known.
fn to_neighbours(router: &Router) -> Vec<Route> {
    let is_host = |route: &&Route| route.len == if route.prefix.is_ipv4() { 32 } else { 128 };
    let hosts = router.routes.iter().filter(is_host).map(|route| route.prefix);
    let mut known: HashSet<IpAddr> = hosts.collect();
    let mut routes = Vec::new();
    for (next_hop, hop) in (0..).zip(&router.next_hops) {
        for prefix in [hop.ipv4.map(IpAddr::from), hop.ipv6.map(IpAddr::from)].into_iter().flatten()
        {
            // The first of several neighbours with one address, and routes that say otherwise.
            if known.insert(prefix) {
                let len = if prefix.is_ipv4() { 32 } else { 128 };
                routes.push(Route { prefix, len, next_hop, vrf: 0 });
            }
        }
    }
    routes
}

/// Adds routes that drop what is for nobody on a link, where a shorter route would take it.
pub(super) fn nobody_on_links(plan: &mut Plan, router: &Router) {
    for (_, prefix, len) in router.links() {
        let covers = |route: &Route| {
            route.prefix.is_ipv4() == prefix.is_ipv4()
                && route.len < len
                && network(prefix, route.len) == route.prefix
        };
        if !router.routes.iter().any(covers) {
            continue;
        }
        let (text, count) = match prefix {
            IpAddr::V4(_) => (&mut plan.ipv4, &mut plan.expected.ipv4_routes),
            IpAddr::V6(_) => (&mut plan.ipv6, &mut plan.expected.ipv6_routes),
        };
        line(text, format_args!("route add blackhole {prefix}/{len} table {MAIN}"));
        *count += 1;
    }
}

/// Adds a default route that drops packets without an ICMP error.
pub(super) fn nothing_else(plan: &mut Plan, table: &str) {
    for text in [&mut plan.ipv4, &mut plan.ipv6] {
        line(text, format_args!("route add blackhole default metric 4294967295 table {table}"));
    }
    plan.expected.ipv4_routes += 1;
    plan.expected.ipv6_routes += 1;
}

/// Adds rules that rewrite the source Ethernet address of frames to next hops for which it differs
/// from the port's address.
pub(super) fn source_addresses(plan: &mut Plan, router: &Router, names: &[&str]) {
    for (port, name) in names.iter().enumerate() {
        let here = |hop: &&NextHop| usize::from(hop.port.0) == port;
        let own = router.interfaces.get(port).map(|interface| interface.mac);
        let pairs: Vec<String> = (router.next_hops.iter().filter(here))
            .filter_map(|hop| hop.source.map(|source| (hop.mac, source)))
            .filter(|&(_, source)| Some(source) != own)
            .map(|(mac, source)| format!("{mac} : {source}"))
            .collect();
        if pairs.is_empty() {
            continue;
        }
        let elements = pairs.join(", ");
        let _ = write!(
            plan.nft,
            "table netdev sources{port} {{\n\
             map sources {{ type ether_addr : ether_addr; elements = {{ {elements} }} }}\n\
             chain out {{ type filter hook egress device \"{name}\" priority 0; policy accept;\n\
             ether saddr set ether daddr map @sources\n}}\n}}\n"
        );
    }
}

fn next_hop(
    text: &mut String,
    index: usize,
    family: usize,
    hop: &NextHop,
    address: &dyn std::fmt::Display,
    name: &str,
) {
    let mac = hop.mac;
    line(text, format_args!("neigh replace {address} lladdr {mac} dev {name} nud permanent"));
    let id = identifier(index, family);
    line(text, format_args!("nexthop add id {id} via {address} dev {name} onlink"));
}

/// Returns the identifier of a next hop in the kernel; identifiers start at 1 and alternate between
/// the families.
pub(super) fn identifier(index: usize, family: usize) -> usize {
    2 * index + family + 1
}

/// Adds one command.
pub(super) fn line(text: &mut String, command: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{command}");
}

/// Returns the `ip` command that looks up the route to a host of a prefix.
fn probe(route: &Route, from: &str) -> String {
    let (source, host) = match route.prefix {
        // A default route has no network of its own: a host of documentation (RFC 5737, RFC 3849).
        IpAddr::V4(_) if route.len == 0 => ("198.18.0.1", IpAddr::from([198, 51, 100, 1])),
        IpAddr::V6(_) if route.len == 0 => {
            let host = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
            ("2001:2::1", IpAddr::from(host))
        }
        IpAddr::V4(network) => {
            let host = network.to_bits() | u32::from(route.len < 31);
            ("198.18.0.1", IpAddr::from(Ipv4Addr::from_bits(host)))
        }
        IpAddr::V6(network) => {
            let host = network.to_bits() | u128::from(route.len < 127);
            ("2001:2::1", IpAddr::from(Ipv6Addr::from_bits(host)))
        }
    };
    // What the kernel itself sends has no interface to come from.
    if from == "lo" {
        return format!("route get {host}");
    }
    format!("route get {host} from {source} iif {from}")
}

/// The kernel's main routing table.
pub(super) const MAIN: &str = "main";
