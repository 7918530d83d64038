//! Whether the listed interfaces can be.
use std::collections::HashSet;

use function_kit::Invalid;
use function_kit::sections::function_key;

use super::super::config::{
    Config, Interface, Link, NextHop, PortName, Resolved, network, number_of,
};

/// Each interface has a VLAN of its own on its port and, if it has an address, a link apart from
/// the others of its VRF.
pub(super) fn interfaces(config: &Config) -> Result<(), Invalid> {
    if config.fakedrop && !config.is_plain() {
        let what = "sends on what interfaces, VRFs and ICMP would refuse".to_owned();
        let remedy = "Set it to false, or remove the keys from 'vrfs' on";
        return Err(function_key("fakedrop", what, remedy));
    }
    let mut taken = HashSet::new();
    for (at, interface) in config.interfaces.iter().enumerate() {
        one(config, interface)
            .and_then(|()| match taken.insert((interface.port, interface.vlan)) {
                true => Ok(()),
                false => Err(("is listed twice".into(), "Keep one of them")),
            })
            .map_err(|(what, remedy)| {
                function_key("interfaces", format!("number {at} {what}"), remedy)
            })?;
    }
    let mut ends = HashSet::new();
    for one in config.interfaces.iter().filter_map(|one| Some((one.port, one.vxlan?))) {
        if !ends.insert((one.0, one.1.vni, one.1.remote)) {
            let what = format!("have VNI {} to {} twice", one.1.vni, one.1.remote);
            return Err(function_key("interfaces", what, "Keep one of them"));
        }
    }
    host_interfaces(config)?;
    apart(&config.links().collect::<Vec<_>>())
}

fn one(config: &Config, interface: &Interface) -> Result<(), (String, &'static str)> {
    let refuse = |what: String, remedy| Err((what, remedy));
    if number_of(&config.port_names(), interface.port).is_none() {
        let what = format!("is of port {}, which there is not", interface.port);
        return refuse(what, "Name one of the router's ports");
    }
    let says_more = interface.ip.is_some() || interface.ipv6.is_some() || interface.vrf > 0;
    if interface.vlan.is_none() && says_more {
        let remedy = "Use the keys of the port, like 'downlink-ip', or give it a 'vlan'";
        return refuse(
            "is a port's own, of the main VRF and with an address by key".into(),
            remedy,
        );
    }
    if interface.vrf > config.vrfs {
        let what = format!("is of VRF {}, which there is not", interface.vrf);
        return refuse(what, "Raise 'vrfs', or choose another");
    }
    if let Some(tunnel) = interface.vxlan {
        let [first, ..] = tunnel.remote.octets();
        if interface.vlan.is_none() || matches!(first, 0 | 127 | 224..) {
            let remedy = "Give it a 'vlan' as its name and the address of a host";
            return refuse("has a tunnel that cannot be".into(), remedy);
        }
    }
    if interface.ipv6.is_some() && !config.ipv6 {
        return refuse("has an IPv6 address".into(), "Set 'ipv6: true', or remove it");
    }
    let usable = |link: bool| match link {
        true => Ok(()),
        false => Err(("has an address that no interface can have".into(), "Give another one")),
    };
    if let Some(ip) = interface.ip {
        usable(!matches!(ip.address.octets()[0], 0 | 127 | 224..) && (1..=32).contains(&ip.len))?;
    }
    if let Some(ip) = interface.ipv6 {
        let own = ip.address;
        let is_nobodys = own.is_unspecified() || own.is_multicast() || own.is_loopback();
        usable(!is_nobodys && !own.is_unicast_link_local() && (1..=128).contains(&ip.len))?;
    }
    Ok(())
}

/// Each interface of the host is that of one interface, under a name that it can have.
fn host_interfaces(config: &Config) -> Result<(), Invalid> {
    let refuse =
        |what: String, remedy| Err(function_key("interfaces[].host-interface", what, remedy));
    for port in config.ports.iter().filter(|port| port.host_interface.is_some()) {
        let is_its = |one: &&Interface| one.port == port.name && one.vlan.is_none();
        if config.interfaces.iter().find(is_its).is_some_and(|one| one.host_interface.is_some()) {
            let what = format!("is given for {} in 'ports', too", port.name);
            return refuse(what, "Keep one of them");
        }
    }
    let mut taken = HashSet::new();
    for one in config.host_interfaces() {
        let name = one.place.name();
        if !one.place.is_usable() {
            let what = format!("{name} is no name of an interface of Linux");
            return refuse(what, "Give one of at most 15 characters, neither 'all' nor 'default'");
        }
        if !taken.insert((one.place.namespace(), name)) {
            let what = format!("{name} is given to two interfaces");
            return refuse(what, "Give each a name of its own");
        }
    }
    Ok(())
}

/// No two links of a VRF overlap.
fn apart(links: &[Link]) -> Result<(), Invalid> {
    let mut sorted: Vec<&Link> = links.iter().collect();
    let first = |link: &Link| (link.vrf, network(link.address, link.len));
    sorted.sort_by_key(|link| (first(link), link.len));
    for pair in sorted.windows(2) {
        let [one, other] = pair else { continue };
        let covers = one.vrf == other.vrf
            && one.address.is_ipv4() == other.address.is_ipv4()
            && network(other.address, one.len) == first(one).1;
        if covers {
            let what = format!("{} is on the link of {}", other.address, one.address);
            return Err(function_key("interfaces", what, "Give each interface a link of its own"));
        }
    }
    Ok(())
}

/// The interface behind which a next hop is.
pub(super) fn interface_of<'a>(
    all: &'a [Resolved],
    names: &[PortName],
    hop: &NextHop,
) -> Option<&'a Resolved> {
    let port = number_of(names, hop.port)?;
    all.iter().find(|one| one.port == port && one.vlan == hop.vlan.unwrap_or(0))
}
