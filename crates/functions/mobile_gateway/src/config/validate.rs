//! What one key alone cannot tell.

use std::collections::{BTreeSet, HashSet};
use std::net::{IpAddr, Ipv4Addr};

use function_kit::Invalid;
use function_kit::sections::Prefixed;
use units::BytesPerSec;

use super::{Config, NO_RATE_LIMIT};

/// Checks the configuration as an operator writes it.
///
/// # Errors
/// The first key that cannot be used.
pub fn validate(config: &Config) -> Result<(), Invalid> {
    check(config)?;
    if config.ipv6 && config.core > 1 {
        return Err(function_key(
            "ipv6",
            "several workers find a user by the IPv4 address alone".into(),
            "Set `core` to 1, or `ipv6` to false",
        ));
    }
    Ok(())
}

/// Checks the configuration for workers that get their frames from something that knows whose they
/// are.
///
/// # Errors
/// The first key that cannot be used.
pub fn check(config: &Config) -> Result<(), Invalid> {
    check_rate("rate-limit", config.rate_limit)?;
    let own = config.gw_ip;
    if own.is_unspecified() || own.is_multicast() || own.is_broadcast() || own.is_loopback() {
        return Err(function_key(
            "gw-ip",
            format!("{own} is no address of a host"),
            "Give the gateway's own unicast IPv4 address",
        ));
    }
    if let Some(own) = config.gw_ipv6
        && (own.is_unspecified() || own.is_multicast() || own.is_loopback())
    {
        return Err(function_key(
            "gw-ipv6",
            format!("{own} is no address of a host"),
            "Give the gateway's own unicast IPv6 address",
        ));
    }
    if config.gw_mac.is_multicast() {
        return Err(function_key(
            "gw-mac",
            format!("{} is a group address", config.gw_mac),
            "Give a MAC address whose first octet is even",
        ));
    }
    check_lists(config)
}

/// What is listed refers to what is listed, once each, and there is room for it.
fn check_lists(config: &Config) -> Result<(), Invalid> {
    let stations: HashSet<Ipv4Addr> = config.base_stations.iter().map(|one| one.address).collect();
    let hops: HashSet<IpAddr> = config.next_hops.iter().map(|one| one.address).collect();
    let prefixes: BTreeSet<_> = config.routes.iter().map(|route| route.prefix).collect();
    let addresses: HashSet<Ipv4Addr> = config.users.iter().map(|user| user.ipv4).collect();
    let identifiers: HashSet<u32> = config.users.iter().map(|user| user.teid).collect();
    let networks: BTreeSet<_> = config.user_networks.iter().copied().collect();
    let (users, routes) = (config.users.len(), config.routes.len());
    for (key, listed, distinct, room) in [
        ("base-stations", config.base_stations.len(), stations.len(), config.base_station_capacity),
        ("next-hops", config.next_hops.len(), hops.len(), config.next_hop_capacity),
        ("routes", routes, prefixes.len(), config.route_capacity),
        ("users", users, addresses.len().min(identifiers.len()), config.user_capacity),
    ] {
        if listed != distinct {
            let what = format!("{} of {listed} are listed twice", listed - distinct);
            return Err(function_key(key, what, "List each address and identifier once"));
        }
        if listed > room as usize {
            let what = format!("{listed} do not fit into a capacity of {room}");
            return Err(function_key(key, what, "Raise the capacity"));
        }
    }
    check_networks(config)?;
    if let Some(route) = config.routes.iter().find(|route| networks.contains(&route.prefix)) {
        let what = format!("{} is one of `user-networks`, too", written(&route.prefix));
        return Err(function_key("routes", what, "List it once"));
    }
    if let Some(route) = config.routes.iter().find(|route| !hops.contains(&route.next_hop)) {
        let what = format!("no next hop has the address {}", route.next_hop);
        return Err(function_key("routes", what, "Add it to `next-hops`"));
    }
    for user in &config.users {
        if !stations.contains(&user.base_station) {
            let what = format!("no base station has the address {}", user.base_station);
            return Err(function_key("users", what, "Add it to `base-stations`"));
        }
        if !(1..=config.tunnel.teid_max()).contains(&user.teid) {
            let what = format!("{} is no tunnel endpoint identifier of this tunnel", user.teid);
            return Err(function_key("users", what, "Give a number from 1; VXLAN has 24 bits"));
        }
        for rate in [user.uplink_rate, user.downlink_rate].into_iter().flatten() {
            check_rate("users", rate)?;
        }
    }
    Ok(())
}

/// Networks of users are networks, and of no base station.
fn check_networks(config: &Config) -> Result<(), Invalid> {
    let key = "user-networks";
    let mut networks = BTreeSet::new();
    for network in &config.user_networks {
        let (is_network, is_host) = match network.address {
            IpAddr::V4(address) => {
                let host = u32::MAX.checked_shr(network.len.into()).unwrap_or(0);
                (network.len <= 32 && address.to_bits() & host == 0, network.len == 32)
            }
            IpAddr::V6(address) => {
                let host = u128::MAX.checked_shr(network.len.into()).unwrap_or(0);
                (network.len <= 128 && address.to_bits() & host == 0, network.len == 128)
            }
        };
        if !is_network || !networks.insert(*network) {
            let what = format!("{} is no network, or listed twice", written(network));
            return Err(function_key(key, what, "Give each network once, such as 10.45.0.0/16"));
        }
        if is_host && config.base_stations.iter().any(|one| network.address == one.address) {
            let what = format!("{} is a base station's address", written(network));
            return Err(function_key(key, what, "Leave it out"));
        }
    }
    if config.fakedrop && !config.user_networks.is_empty() {
        let what = "`fakedrop` sends packets for nobody on, and these have nowhere to go".into();
        return Err(function_key(key, what, "Set `fakedrop` to false"));
    }
    Ok(())
}

fn written(network: &Prefixed<IpAddr>) -> String {
    format!("{}/{}", network.address, network.len)
}

fn check_rate(key: &'static str, rate: BytesPerSec) -> Result<(), Invalid> {
    if is_rate(rate) {
        return Ok(());
    }
    Err(function_key(
        key,
        format!("must be from 1 byte/s to 1e12 byte/s, not {}", rate.0),
        "Give byte/s as a number, or a unit, like '10 Mbit/s'",
    ))
}

/// Whether a bearer can have this rate.
pub(crate) fn is_rate(rate: BytesPerSec) -> bool {
    (1.0..=NO_RATE_LIMIT.0).contains(&rate.0)
}

fn function_key(key: &'static str, what: String, remedy: &str) -> Invalid {
    Invalid { section: "function", key: key.into(), what, remedy: remedy.into() }
}
