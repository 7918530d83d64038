//! Whether the two sections of a scenario go together.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::catalogue;
use super::config::{Config, Link, Port, Prefixed, Traffic};
use super::internet;
use crate::sections::{function_key, in_range, is_event_rate, traffic_key};
use crate::test_packets::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use crate::unit::Invalid;
use wire::MacAddr;

mod groups;

mod interfaces;

mod services;

/// Checks both sections.
///
/// # Errors
/// The first key that cannot be used.
pub(super) fn validate(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
    in_range("core", config.core, 1..=64)?;
    in_range("upstream-l3-table-size", config.upstream_l3_table_size, 0..=catalogue::ROUTES_MAX)?;
    in_range(
        "downstream-l3-table-size",
        config.downstream_l3_table_size,
        0..=catalogue::ROUTES_MAX,
    )?;
    in_range("upstream-group-table-size", config.upstream_group_table_size, 0..=catalogue::PAIRS)?;
    in_range(
        "downstream-group-table-size",
        config.downstream_group_table_size,
        0..=catalogue::PAIRS,
    )?;
    in_range("route-capacity", config.route_capacity, 0..=CAPACITY_MAX)?;
    in_range("internet-routes", config.internet_routes, 0..=INTERNET_MAX)?;
    in_range("internet-routes-ipv6", config.internet_routes_ipv6, 0..=INTERNET_MAX)?;
    internet(config)?;
    is_event_rate("fluct-l3-table", config.fluct_l3_table)?;
    is_event_rate("fluct-group-table", config.fluct_group_table)?;
    sides(config)?;
    links(config)?;
    interfaces::interfaces(config)?;
    services::services(config)?;
    next_hops(config)?;
    groups::groups(config)?;
    routes(config)?;
    capacity(config)?;
    of_traffic(config, traffic)
}

/// Generated routes need a generated next hop.
fn sides(config: &Config) -> Result<(), Invalid> {
    let pairs = [
        ("upstream-group-table-size", Port::Uplink),
        ("downstream-group-table-size", Port::Downlink),
    ];
    for (key, port) in pairs {
        if config.table_size(port) > 0 && config.group_size(port) == 0 {
            let what = "its routes have no next hop".to_owned();
            return Err(function_key(key, what, "Set it to 1 or more, or the table's size to 0"));
        }
    }
    if config.uplink_mac == config.downlink_mac {
        let what = "is the downlink port's address too".to_owned();
        return Err(function_key("uplink-mac", what, "Give each port an address of its own"));
    }
    Ok(())
}

/// Routes like the Internet's need a next hop, and those of IPv6 a router that has IPv6.
fn internet(config: &mut Config) -> Result<(), Invalid> {
    if config.internet_routes_ipv6 > 0 && !config.ipv6 {
        let what = "the router has no IPv6".to_owned();
        return Err(function_key("internet-routes-ipv6", what, "Set 'ipv6: true', or remove it"));
    }
    if let Some(path) = config.route_file.clone() {
        let refuse = |what: String| {
            let remedy = "Give the path of a text with a prefix a line, like 192.0.2.0/24";
            function_key("route-file", format!("{path}: {what}"), remedy)
        };
        let text = std::fs::read_to_string(&path).map_err(|why| refuse(why.to_string()))?;
        let prefixes = internet::parse(&text).map_err(refuse)?;
        if !config.ipv6 && prefixes.iter().any(|prefix| prefix.address.is_ipv6()) {
            return Err(refuse("it has prefixes of IPv6; set 'ipv6: true' for them".to_owned()));
        }
        config.routes_read = prefixes.into();
    }
    let routes = config.internet_routes + config.internet_routes_ipv6;
    if (routes > 0 || !config.routes_read.is_empty()) && config.group_size(Port::Uplink) == 0 {
        let what = "its routes have no next hop".to_owned();
        let remedy = "Set it to 1 or more: they are those of routes like the Internet's, too";
        return Err(function_key("upstream-group-table-size", what, remedy));
    }
    Ok(())
}

/// Each port has an address of a host, on a link with room for its neighbours and apart from the
/// other.
fn links(config: &Config) -> Result<(), Invalid> {
    let keys = [
        ("downlink-ip", "downlink-ipv6", Port::Downlink),
        ("uplink-ip", "uplink-ipv6", Port::Uplink),
    ];
    for (key, key_ipv6, port) in keys {
        let neighbours = u128::from(config.group_size(port));
        let Prefixed { address, len } = config.ip(port);
        let is_host = !matches!(address.octets()[0], 0 | 127 | 224..);
        fits(
            key,
            32,
            len,
            neighbours,
            is_host && !catalogue::is_generated(config, address.into(), 32),
        )?;
        let Prefixed { address, len } = config.ipv6_of(port);
        let is_host = !(address.is_unspecified()
            || address.is_multicast()
            || address.is_loopback()
            || address.is_unicast_link_local());
        let is_apart = !catalogue::is_generated(config, address.into(), 128);
        fits(key_ipv6, 128, len, neighbours, is_host && is_apart)?;
    }
    let overlap = |a: u128, b: u128, bits: u32, len: u8| (a ^ b) >> (bits - u32::from(len)) == 0;
    let [a, b] = [config.downlink_ip, config.uplink_ip];
    let [x, y] = [config.downlink_ipv6, config.uplink_ipv6];
    let (v4, v6) = (|p: Prefixed<Ipv4Addr>| p.address.to_bits(), |p: Prefixed<Ipv6Addr>| p.address);
    let remedy = "Give each port a link of its own";
    if overlap(v4(a).into(), v4(b).into(), 32, a.len.min(b.len)) {
        let what = format!("{} is on the downlink port's link", b.address);
        return Err(function_key("uplink-ip", what, remedy));
    }
    if overlap(v6(x).to_bits(), v6(y).to_bits(), 128, x.len.min(y.len)) {
        let what = format!("{} is on the downlink port's link", y.address);
        return Err(function_key("uplink-ipv6", what, remedy));
    }
    Ok(())
}

fn fits(
    key: &'static str,
    bits: u8,
    len: u8,
    neighbours: u128,
    is_usable: bool,
) -> Result<(), Invalid> {
    if !is_usable {
        let what = "is no address that a port can have, or lies among the generated routes";
        return Err(function_key(key, what.into(), "Give another one, like 10.0.0.1/16"));
    }
    // A link has an address for itself, one for the port, and at its end the broadcast address.
    if len == 0 || len > bits || neighbours + 3 > 1u128 << (bits - len).min(127) {
        let what = format!("a /{len} has no room for {neighbours} next hops beside the port");
        return Err(function_key(key, what, "Give it a shorter prefix, or fewer next hops"));
    }
    Ok(())
}

fn next_hops(config: &Config) -> Result<(), Invalid> {
    let count = u32::try_from(config.next_hops.len()).unwrap_or(u32::MAX);
    in_range("next-hops", count, 0..=catalogue::PAIRS)?;
    let refuse = |at: usize, what: &str, remedy| {
        Err(function_key("next-hops", format!("number {at} {what}"), remedy))
    };
    let links: Vec<Link> = config.links().collect();
    let all = config.all_interfaces();
    let mut taken: HashSet<(u16, IpAddr)> = HashSet::new();
    for (_, hop) in config.all_next_hops().take(generated_hops(config)) {
        let both = [hop.ip.map(IpAddr::from), hop.ipv6.map(IpAddr::from)];
        taken.extend(both.into_iter().flatten().map(|address| (0, address)));
    }
    for (at, hop) in config.next_hops.iter().enumerate() {
        if hop.mac.0.is_multicast() {
            return refuse(at, "has a group address", "Give the address of one station");
        }
        let has_address = hop.ip.is_some() || hop.ipv6.is_some();
        if hop.mac.0 == MacAddr::ZERO && !(config.resolve && has_address) {
            let what = "has no Ethernet address";
            return refuse(at, what, "Give it one, or set 'resolve: true' and give it an 'ip'");
        }
        let vlan = hop.vlan.unwrap_or(0);
        let Some(interface) = all.iter().find(|one| one.port == hop.port && one.vlan == vlan)
        else {
            let what = format!("is behind VLAN {vlan}, which no interface of its port has");
            return refuse(at, &what, "List it under 'interfaces', or choose another");
        };
        let vrf = interface.vrf;
        let is_own = |address| links.iter().any(|own| own.vrf == vrf && own.address == address);
        let addresses = hop.ip.map(IpAddr::from).into_iter().chain(hop.ipv6.map(IpAddr::from));
        for address in addresses {
            if !config.ipv6 && address.is_ipv6() {
                return refuse(at, "has an IPv6 address", "Set 'ipv6: true', or remove it");
            }
            if is_own(address) || !taken.insert((vrf, address)) {
                return refuse(at, "has the address of another", "Give each an address of its own");
            }
            if vrf == 0 && catalogue::is_generated(config, address, 128) {
                let what = "has an address among the generated routes";
                return refuse(at, what, "Give it one of its link");
            }
        }
    }
    Ok(())
}

fn generated_hops(config: &Config) -> usize {
    (config.upstream_group_table_size + config.downstream_group_table_size) as usize
}

fn routes(config: &Config) -> Result<(), Invalid> {
    let refuse = |route: &super::config::Route, what: &str, remedy| {
        let prefix = String::from(route.prefix);
        Err(function_key("routes", format!("{prefix} {what}"), remedy))
    };
    let links: Vec<Link> = config.links().collect();
    let all = config.all_interfaces();
    let mut seen = HashSet::new();
    for route in &config.routes {
        let Prefixed { address, len } = route.prefix;
        if catalogue::network(address, len) != address {
            let what = "has bits set behind its length";
            return refuse(route, what, "Clear them, or give the length that is meant");
        }
        if address.is_ipv6() && !config.ipv6 {
            return refuse(route, "is of IPv6", "Set 'ipv6: true', or remove it");
        }
        groups::leads_somewhere(config, route)?;
        if route.vrf > config.vrfs {
            let what = format!("is of VRF {}, which there is not", route.vrf);
            return refuse(route, &what, "Raise 'vrfs', or choose another");
        }
        if route.vrf == 0 && catalogue::is_generated(config, address, len) {
            let what = "lies among the generated routes";
            return refuse(route, what, "Choose another one");
        }
        let is_host = len == if address.is_ipv4() { 32 } else { 128 };
        let is_neighbour = || {
            config.all_next_hops().any(|(_, hop)| {
                let vlan = hop.vlan.unwrap_or(0);
                let behind = all.iter().find(|one| one.port == hop.port && one.vlan == vlan);
                behind.is_some_and(|one| one.vrf == route.vrf)
                    && (hop.ip.map(IpAddr::from) == Some(address)
                        || hop.ipv6.map(IpAddr::from) == Some(address))
            })
        };
        let of_its_vrf = || links.iter().filter(|link| link.vrf == route.vrf);
        let is_link = of_its_vrf()
            .any(|link| len == link.len && catalogue::network(link.address, len) == address);
        let is_own = || of_its_vrf().any(|link| link.address == address);
        if is_link || is_host && (is_own() || is_neighbour()) {
            return refuse(route, "is on a link", "Remove it: neighbours need no route");
        }
        if !seen.insert((route.vrf, address, len)) {
            return refuse(route, "is listed twice", "Keep one of them");
        }
    }
    Ok(())
}

fn capacity(config: &Config) -> Result<(), Invalid> {
    let listed = config.routes_but_the_internets();
    let listed = listed.filter(|(network, _)| network.address.is_ipv4()).count();
    let internet = config.internet_routes.max(config.internet_routes_ipv6) as usize;
    let configured = listed + internet + config.routes_read.len();
    let links = config.all_next_hops().count() + 2 * config.all_interfaces().len();
    let needed = configured + links + config.passing_hops() as usize;
    if needed > config.capacity() {
        let what = format!("is less than the {needed} routes that there are at the start");
        return Err(function_key("route-capacity", what, "Give more, or remove the key"));
    }
    Ok(())
}

fn of_traffic(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    if traffic.random_seed == 0 {
        let what = "must be at least 1, not 0".to_owned();
        return Err(traffic_key("random-seed", what, "Give any other number"));
    }
    if !(0.0..=1.0).contains(&traffic.ipv6_share) {
        let what = format!("must be from 0 to 1, not {}", traffic.ipv6_share);
        return Err(traffic_key("ipv6-share", what, "Give a fraction, like 0.2 for a fifth"));
    }
    if traffic.ipv6_share > 0.0 && !config.ipv6 {
        let what = "the router has no IPv6 routes".to_owned();
        let remedy = "Set 'ipv6: true' in the function section, or 'ipv6-share' to 0";
        return Err(traffic_key("ipv6-share", what, remedy));
    }
    for &(size, _) in traffic.pkt_size.weights() {
        if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&size) {
            let what =
                format!("must be from {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX} bytes, not {size}");
            let remedy = "Give a size in this range; it counts the 4 bytes of the frame check \
                          sequence";
            return Err(traffic_key("pkt-size", what, remedy));
        }
    }
    for (key, draw) in [("route-draw", traffic.route_draw), ("port-draw", traffic.port_draw)] {
        if let Err(what) = draw.check() {
            let remedy = "Give 'uniform', or {zipf: 1.0} with an exponent above 0";
            return Err(traffic_key(key, what, remedy));
        }
    }
    Ok(())
}

/// Most routes that a table may be made for.
const CAPACITY_MAX: u32 = 6_000_000;

/// Most routes like the Internet's, of each version of IP.
const INTERNET_MAX: u32 = 2_000_000;
