//! The key of destinations to which nothing is translated.
use std::net::Ipv4Addr;

use function_kit::Invalid;
use function_kit::sections::Prefixed;

use crate::config::Config;
use crate::types::networks::{overlap, refuse, text};

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    let Some(first) = config.bypass.first() else { return Ok(()) };
    if !config.vrfs.is_empty() {
        let what = format!("packets from {} would be of no VRF", text(*first));
        return refuse(KEY, what, "Leave 'bypass' or 'vrfs' out");
    }
    if config.siit.is_some() {
        let what = "IPv4 packets would have two ways to go without a session".into();
        return refuse(KEY, what, "Leave 'bypass' or 'siit' out");
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

const KEY: &str = "bypass";

/// Addresses of no single host (RFC 1122 section 3.2.1.3).
const NO_HOSTS: [([u8; 4], u8); 3] = [([0; 4], 8), ([127, 0, 0, 0], 8), ([224, 0, 0, 0], 3)];
