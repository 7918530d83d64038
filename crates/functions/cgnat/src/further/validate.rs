//! Whether the key `interfaces` fits the others.
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::{Invalid, PortName};
use stages::icmpv4::is_host;

use crate::config::{Config, Interface, Side};
use crate::further::port_names;
use crate::types::networks::{first_bits, holds, refuse};
use crate::types::sides::FURTHER_MAX;

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    for (index, one) in config.interfaces.iter().enumerate() {
        validate_place(config, one, &config.interfaces[..index])?;
        validate_next_hops(config, one)?;
    }
    validate_networks(config)?;
    for side in [Side::Inside, Side::Outside] {
        let count = config.interfaces.iter().filter(|one| one.side == side).count();
        if count > FURTHER_MAX {
            let what = format!("{count} of one side");
            return refuse("interfaces", what, "Give at most 31 on each side");
        }
    }
    let ports = port_names(config).len();
    if ports > PORTS_MAX {
        let what = format!("{ports} ports, 'inside' and 'outside' included");
        return refuse("interfaces", what, "Give at most 16 ports, and VLANs of them");
    }
    if config.siit.is_some() && !config.interfaces.is_empty() {
        let what = "translation without sessions has one interface on each side".into();
        return refuse("interfaces", what, "Leave out 'siit' or 'interfaces'");
    }
    Ok(())
}

/// Whether frames can be told to be of this interface and no other.
fn validate_place(config: &Config, one: &Interface, before: &[Interface]) -> Result<(), Invalid> {
    let Interface { port, vlan, .. } = one;
    let (name, is_first) = (port.as_str(), |of: &str| *port == PortName::new(of));
    if *vlan == 0 && (is_first("inside") || is_first("outside")) {
        return refuse(
            "interfaces",
            format!("the port {name} has its interface without a VLAN from keys like '{name}-ip'"),
            "Give 'vlan', or a port of another name",
        );
    }
    if before.iter().any(|other| (other.port, other.vlan) == (*port, *vlan)) {
        let what = format!("two are VLAN {vlan} of the port {name}");
        return refuse("interfaces", what, "Give each a port or a VLAN of its own");
    }
    match config.vrfs.iter().find(|vrf| is_first("inside") && vrf.vlan == *vlan) {
        Some(vrf) => refuse(
            "interfaces",
            format!("VLAN {vlan} of the inside port is that of the VRF {}", vrf.name),
            "Give the interface another VLAN or port",
        ),
        None => Ok(()),
    }
}

/// Whether everything that leaves by it has a next hop.
fn validate_next_hops(config: &Config, one: &Interface) -> Result<(), Invalid> {
    let of = format!("the interface with {} ", one.ip);
    let has_ipv6 = one.next_hop_ipv6.is_some() || one.next_hop_mac.is_some();
    if one.next_hop.is_none() && one.next_hop_mac.is_none() && !one.networks.is_empty() {
        let what = of + "has networks and no next hop";
        return refuse("interfaces", what, "Give 'next-hop' or 'next-hop-mac'");
    }
    if !has_ipv6 && !one.networks_ipv6.is_empty() {
        let what = of + "has IPv6 networks and no next hop for them";
        return refuse("interfaces", what, "Give 'next-hop-ipv6' or 'next-hop-mac'");
    }
    let is_router = |it: Ipv4Addr| {
        let is_outside = |(_, network)| holds(network, it.to_bits());
        is_host(it) && it != one.ip && !config.outside().any(is_outside)
    };
    let is_router_ipv6 =
        |it: Ipv6Addr| !it.is_multicast() && !it.is_unspecified() && Some(it) != one.ipv6;
    match one.next_hop.is_none_or(is_router) && one.next_hop_ipv6.is_none_or(is_router_ipv6) {
        true => Ok(()),
        false => refuse(
            "interfaces",
            of + "has a next hop that is no router's address",
            "Give the address of the router on that link",
        ),
    }
}

/// Whether no network of a side leads to two interfaces.
fn validate_networks(config: &Config) -> Result<(), Invalid> {
    let mut seen = BTreeSet::new();
    for one in &config.interfaces {
        let ipv4 = one.networks.iter().map(|it| (IpAddr::from(it.address), it.len));
        let ipv6 = one.networks_ipv6.iter().map(|it| (IpAddr::from(it.address), it.len));
        for (address, len) in ipv4.chain(ipv6) {
            let is_outside = one.side == Side::Outside;
            if !seen.insert((is_outside, address.is_ipv6(), first_bits(address, len), len)) {
                let what = format!("{address}/{len} leads to two interfaces of one side");
                return refuse("interfaces", what, "Give each network once on a side");
            }
        }
    }
    Ok(())
}

/// Most ports, those of both sides.
const PORTS_MAX: usize = 16;
