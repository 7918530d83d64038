//! The key of destinations to which nothing is translated.

use std::net::Ipv4Addr;

use super::validate::{overlap, text};
use super::{Config, Traffic, refuse};
use crate::sections::Prefixed;
use crate::unit::Invalid;

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(super) fn validate(config: &Config) -> Result<(), Invalid> {
    let Some(first) = config.bypass.first() else { return Ok(()) };
    if config.bypass.len() > NETWORKS_MAX {
        let what = format!("{} networks, at most {NETWORKS_MAX}", config.bypass.len());
        return refuse(KEY, what, "Join neighbouring networks");
    }
    if !config.vrfs.is_empty() {
        let what = format!("packets from {} would be of no VRF", text(*first));
        return refuse(KEY, what, "Leave 'bypass' or 'vrfs' out");
    }
    if config.stateless.is_some() {
        let what = "IPv4 packets would have two ways to go without a session".into();
        return refuse(KEY, what, "Leave 'bypass' or 'stateless' out");
    }
    let inside = config.inside.iter().map(|network| ("inside", *network));
    let hosts = NO_HOSTS.map(|(octets, len)| Prefixed { address: Ipv4Addr::from(octets), len });
    for &network in &config.bypass {
        if let Some(none) = hosts.iter().find(|none| overlap(**none, network)) {
            let what = format!("no host has addresses of {}, in {}", text(*none), text(network));
            return refuse(KEY, what, "Give networks of hosts outside");
        }
        let mut others = inside.clone().chain(config.outside());
        if let Some((key, other)) = others.find(|(_, other)| overlap(*other, network)) {
            let what = format!("{} and {} of '{key}' share addresses", text(network), text(other));
            return refuse(KEY, what, "Give networks outside that no subscriber, pool or rule has");
        }
    }
    Ok(())
}

/// Checks that no server of the traffic is one of them: its clients expect a translation.
///
/// # Errors
/// When one is.
pub(super) fn validate_traffic(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let first = traffic.first_server.to_bits();
    let last = first.saturating_add(traffic.server - 1);
    let has = |network: &&Prefixed<Ipv4Addr>| {
        let hosts = u32::MAX.checked_shr(u32::from(network.len)).unwrap_or(0);
        let begin = network.address.to_bits() & !hosts;
        begin <= last && first <= (begin | hosts)
    };
    match config.bypass.iter().find(has) {
        Some(network) => Err(Invalid {
            section: "traffic",
            key: "first-server",
            what: format!("packets to {} are not translated", text(*network)),
            remedy: "Give servers that no network of 'bypass' has".into(),
        }),
        None => Ok(()),
    }
}

const KEY: &str = "bypass";

/// Networks that there may be.
const NETWORKS_MAX: usize = 1024;

/// Addresses of no single host (RFC 1122 section 3.2.1.3).
const NO_HOSTS: [([u8; 4], u8); 3] = [([0; 4], 8), ([127, 0, 0, 0], 8), ([224, 0, 0, 0], 3)];
