//! The user plane of a mobile gateway on the kernel: one VXLAN interface for all tunnels, whose
//! identifiers are in the routes to users (lightweight tunnels), rules of nftables for who may send
//! through which tunnel, and meters of nftables for users' rates.
//!
//! ```text
//! uplink    any port > owners (netdev ingress) > VXLAN > meter > table 10: outside > port 1
//! downlink  port 1 > main table: users, with their tunnels > meter > VXLAN > table 10 > port 0
//! ```

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use function_kit::sections::function_key;
use keys::Invalid;
use model_kit::service::{Gateway, GatewayTunnel, GatewayUser};
use wire::{ipv6, vxlan};

use super::commands::{MAIN, Plan, line, nothing_else, own_addresses, route, source_addresses};
use super::options::Options;
use crate::driver::{DriverError, Limitation};

/// Adds a mobile gateway between these interfaces to the plan.
pub(super) fn plan(
    plan: &mut Plan,
    gateway: &Gateway,
    names: &[&str],
    options: &Options,
) -> Result<(), DriverError> {
    let [source, destination] = match gateway.tunnel {
        GatewayTunnel::GtpU => return Err(no_gtp().into()),
        GatewayTunnel::Vxlan { down } => down,
    };
    own_addresses(plan, &gateway.router.interfaces, names);
    // A range of one port, because a flow's hash would choose the source port.
    line(
        &mut plan.links,
        format_args!(
            "link add {TUNNEL} address {source} type vxlan external dstport {port} srcport {port} {} \
             nolearning",
            vxlan::VXLAN_PORT + 1,
            port = vxlan::VXLAN_PORT
        ),
    );
    line(&mut plan.links, format_args!("link set {TUNNEL} addrgenmode none mtu {MTU} up"));
    plan.expected.interfaces.push(TUNNEL.to_owned());
    for (text, via) in [(&mut plan.ipv4, VIA_IPV4), (&mut plan.ipv6, VIA_IPV6)] {
        let far =
            format_args!("neigh replace {via} lladdr {destination} dev {TUNNEL} nud permanent");
        line(text, far);
        // What came out of a tunnel, and the tunnels' own packets, see no users.
        for from in [TUNNEL, "lo"] {
            line(text, format_args!("rule add iif {from} lookup {OUTSIDE} pref 10"));
        }
    }
    route(plan, &gateway.router, names, OUTSIDE)?;
    nothing_else(plan, OUTSIDE);
    for user in &gateway.users {
        route_to(plan, gateway.address, user);
    }
    nothing_else(plan, MAIN);
    source_addresses(plan, &gateway.router, names);
    owners(&mut plan.nft, gateway, names);
    if options.policers && gateway.rate_bytes_per_s <= METERED_MAX {
        meters(&mut plan.nft, gateway);
    }
    Ok(())
}

/// Adds the routes to a user, with the user's tunnel.
fn route_to(plan: &mut Plan, own: Ipv4Addr, user: &GatewayUser) {
    let GatewayUser { ipv4, ipv6_prefix, teid, base_station } = user;
    let tell = |text: &mut String, prefix: &str, via: &str| {
        let route = format_args!(
            "route add {prefix} encap ip id {teid} src {own} dst {base_station} ttl {TTL} via {via} \
             dev {TUNNEL} onlink"
        );
        line(text, route);
    };
    tell(&mut plan.ipv4, &ipv4.to_string(), VIA_IPV4);
    plan.expected.ipv4_routes += 1;
    if let Some(prefix) = ipv6_prefix {
        let network = std::net::Ipv6Addr::from_bits(u128::from(*prefix) << 64);
        tell(&mut plan.ipv6, &format!("{network}/64"), VIA_IPV6);
        plan.expected.ipv6_routes += 1;
    }
}

/// Adds the check of which source address may send through which tunnel, by identifier and inner
/// source address. It is in front of the tunnel because the identifier is not known after
/// decapsulation.
fn owners(nft: &mut String, gateway: &Gateway, names: &[&str]) {
    let ports = names.join("\", \"");
    let list = |each: &dyn Fn(&GatewayUser) -> Option<String>| {
        gateway.users.iter().filter_map(each).collect::<Vec<_>>().join(", ")
    };
    let of_ipv4 = list(&|user| Some(format!("{:#x} . {:#x}", user.teid, user.ipv4.to_bits())));
    let of_ipv6 =
        list(&|user| user.ipv6_prefix.map(|prefix| format!("{:#x} . {prefix:#x}", user.teid)));
    let own = gateway.address;
    // Places from the UDP header on, in bits.
    let vni = format!("@th,{},24", (UDP_LEN + 4) * 8);
    let inner = UDP_LEN + vxlan::HEADER_LEN + wire::ethernet::HEADER_LEN;
    let kind = format!("@th,{},16", (inner - 2) * 8);
    let from_ipv4 = format!("@th,{},32", (inner + wire::ipv4::offset::SOURCE) * 8);
    let from_ipv6 = format!("@th,{},64", (inner + ipv6::offset::SOURCE) * 8);
    let mut rules = String::new();
    let mut sets = String::new();
    for (name, kind_of, from, elements) in
        [("ipv4", 0x0800, from_ipv4, of_ipv4), ("ipv6", 0x86dd, from_ipv6, of_ipv6)]
    {
        let elements =
            if elements.is_empty() { elements } else { format!("elements = {{ {elements} }};") };
        let _ = writeln!(sets, "set {name} {{ typeof {vni} . {from}; {elements} }}");
        let _ = writeln!(
            rules,
            "ip daddr {own} udp dport {} {kind} {kind_of:#06x} {vni} . {from} != @{name} \
             counter name \"not_owner\" drop",
            vxlan::VXLAN_PORT
        );
    }
    // A tunnel's frame is for the gateway, whatever its inner address. What comes in fragments
    // could not be looked into, and tunnel packets do not.
    let _ = write!(
        nft,
        "table netdev owners {{\n{sets}counter not_owner {{ }}\n\
         counter fragment {{ }}\n\
         chain in {{ type filter hook ingress devices = {{ \"{ports}\" }} priority 0; \
         policy accept;\n\
         ip daddr {own} ip frag-off & 0x3fff != 0 counter name \"fragment\" drop\n\
         {rules}}}\n\
         chain out_of_tunnel {{ type filter hook ingress device \"{TUNNEL}\" priority 0; \
         policy accept;\nmeta pkttype set host\n}}\n}}\n"
    );
}

/// Adds a meter for each user and direction, created when the user is first seen.
fn meters(nft: &mut String, gateway: &Gateway) {
    let size = gateway.users.len().max(1);
    let rate = gateway.rate_bytes_per_s.round().max(1.0);
    let burst = gateway.burst_bytes.round().max(1.0);
    let limit = format!("limit rate over {rate} bytes/second burst {burst} bytes");
    let set = |name: &str, kind: &str| {
        format!("set {name} {{ type {kind}; flags dynamic; size {size}; }}\n")
    };
    let sets: String = [("up", "ipv4_addr"), ("down", "ipv4_addr")]
        .iter()
        .chain(&[("up6", "ipv6_addr"), ("down6", "ipv6_addr")])
        .map(|(name, kind)| set(name, kind))
        .collect();
    let exceeded = "counter name \"rate_exceeded\" drop";
    let prefix = "ffff:ffff:ffff:ffff::";
    let _ = write!(
        nft,
        "table inet meters {{\n{sets}counter rate_exceeded {{ }}\n\
         chain forward {{ type filter hook forward priority 0; policy accept;\n\
         iifname \"{TUNNEL}\" update @up {{ ip saddr {limit} }} {exceeded}\n\
         oifname \"{TUNNEL}\" update @down {{ ip daddr {limit} }} {exceeded}\n\
         iifname \"{TUNNEL}\" update @up6 {{ ip6 saddr & {prefix} {limit} }} {exceeded}\n\
         oifname \"{TUNNEL}\" update @down6 {{ ip6 daddr & {prefix} {limit} }} {exceeded}\n}}\n}}\n"
    );
}

/// Returns what this gateway does differently.
pub(super) fn limitations(
    gateway: &Gateway,
    options: &Options,
) -> Result<Vec<Limitation>, Invalid> {
    if gateway.tunnel == GatewayTunnel::GtpU {
        return Err(no_gtp());
    }
    if gateway.users.len() > USERS_MAX {
        let what = format!("{} users are more than this device supports", gateway.users.len());
        return Err(function_key("user", what, &format!("use at most {USERS_MAX} users")));
    }
    let policer = match (options.policers, gateway.rate_bytes_per_s <= METERED_MAX) {
        (true, true) => {
            "meters of nftables start full, hold one second of the rate in addition to the burst, \
             and limit IPv4 and IPv6 of a user separately"
        }
        (true, false) => "rates above 1 GB/s are not limited: meters of nftables cannot count them",
        (false, _) => "no policer (`policers: false`): rates are not limited",
    };
    let header = "outer headers of tunnels have an identification and may be fragmented (RFC \
                  6864); the affected fields are not compared";
    let pings = match options.icmp {
        true => "pings to the gateway are answered without a limit, and those in fragments are not",
        false => "pings to the gateway are not answered (`icmp: false`)",
    };
    let of = |what: &str, verdicts, steps| Limitation { what: what.to_owned(), verdicts, steps };
    Ok(vec![
        of(policer, vec!["rate-exceeded"], vec![]),
        of(header, vec![], vec![]),
        of(pings, vec![], PINGS.to_vec()),
    ])
}

/// Steps of the sample with pings that the gateway answers.
const PINGS: [&str; 4] =
    ["a ping", "a ping with padding", "a ping in fragments", "one of many pings"];

/// Bytes of tunnel headers that the gateway adds to a frame.
pub(super) const ADDED: usize =
    wire::ethernet::HEADER_LEN + wire::ipv4::HEADER_LEN + UDP_LEN + vxlan::HEADER_LEN;

fn no_gtp() -> Invalid {
    let what = "Linux itself has no GTP-U user plane".to_owned();
    function_key("tunnel", what, "set `tunnel: vxlan` in the function section")
}

/// Name of the interface of all tunnels.
pub(super) const TUNNEL: &str = "tunnel0";

/// Routing table for packets that leave or enter a tunnel.
const OUTSIDE: &str = "10";

/// Neighbour address that stands for the remote end of every tunnel.
const VIA_IPV4: &str = "169.254.255.254";
const VIA_IPV6: &str = "fe80::ff";

/// Time to live of the tunnel packets.
const TTL: u8 = 64;

/// MTU of the tunnel interface: longer than any frame, so that the MTUs of the ports apply.
const MTU: u16 = 65_000;

const UDP_LEN: usize = wire::udp::HEADER_LEN;

/// Largest metered rate in bytes per second; above it, the kernel's calculation in nanoseconds
/// exceeds 64 bits.
const METERED_MAX: f64 = 1e9;

/// Largest number of users, each with a tunnel route of about a kilobyte.
const USERS_MAX: usize = 1_000_000;
