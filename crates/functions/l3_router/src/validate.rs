//! Whether a configuration can be.
use std::collections::HashSet;
use std::net::IpAddr;

use function_kit::Invalid;
use function_kit::sections::function_key;
use wire::MacAddr;

use self::interfaces::interface_of;
use super::config::{Config, Link, Network, NextHop, PortName, number_of};

mod advertise;

mod groups;

mod interfaces;

mod ports;

pub(super) mod routes;

pub(super) mod services;

mod sessions;

/// Checks the configuration.
///
/// # Errors
/// The first key that cannot be used.
pub(super) fn validate(config: &mut Config) -> Result<(), Invalid> {
    ports::ports(config)?;
    interfaces::interfaces(config)?;
    advertise::advertise(config)?;
    next_hops(config)?;
    super::bulk::read(config)?;
    services::services(config)?;
    let (all, names) = (config.all_interfaces(), config.port_names());
    sessions::sessions(config, |hop| interface_of(&all, &names, hop))?;
    groups::groups(config)?;
    routes::routes(config)?;
    capacity(config)
}

fn next_hops(config: &Config) -> Result<(), Invalid> {
    let (count, room) = (config.next_hops.len(), config.next_hops_max());
    if count > room as usize {
        let what = format!("are {count}, and there is room for {room}");
        return Err(function_key("next-hops", what, "Give a larger 'next-hop-capacity', or fewer"));
    }
    let refuse = |at: usize, what: &str, remedy| {
        Err(function_key("next-hops", format!("number {at} {what}"), remedy))
    };
    let links: Vec<Link> = config.links().collect();
    let (all, names) = (config.all_interfaces(), config.port_names());
    let behind = |hop: &NextHop| interface_of(&all, &names, hop);
    let mut taken: HashSet<(PortName, u16, IpAddr)> = HashSet::new();
    let mut called = HashSet::new();
    for (at, hop) in config.next_hops.iter().enumerate() {
        if hop.name.is_some_and(|name| !called.insert(name)) {
            return refuse(at, "has the name of another", "Give each a name of its own");
        }
        if hop.mac.0.is_multicast() {
            return refuse(at, "has a group address", "Give the address of one station");
        }
        let has_address = hop.ip.is_some() || hop.ipv6.is_some();
        if hop.mac.0 == MacAddr::ZERO && !(config.resolve && has_address) {
            let what = "has no Ethernet address";
            return refuse(at, what, "Give it one, or set 'resolve: true' and give it an 'ip'");
        }
        if number_of(&names, hop.port).is_none() {
            let what = format!("is behind port {}, which there is not", hop.port);
            return refuse(at, &what, "Name one of the router's ports");
        }
        let Some(interface) = behind(hop) else {
            let vlan = hop.vlan.unwrap_or(0);
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
            if is_own(address) || !taken.insert((hop.port, interface.vlan, address)) {
                return refuse(at, "has the address of another", "Give each an address of its own");
            }
        }
    }
    Ok(())
}

fn capacity(config: &Config) -> Result<(), Invalid> {
    let is_ipv4 = |network: &Network| network.address.is_ipv4();
    let listed = config.all_routes().filter(|(network, _)| is_ipv4(network)).count();
    let needed = listed + config.all_next_hops().count() + 2 * config.all_interfaces().len();
    if needed > config.capacity() {
        let what = format!("is less than the {needed} routes that there are at the start");
        return Err(function_key("route-capacity", what, "Give more, or remove the key"));
    }
    Ok(())
}
