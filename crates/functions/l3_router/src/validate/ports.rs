//! Whether the ports can be.

use std::collections::HashSet;

use function_kit::Invalid;
use function_kit::sections::function_key;

use super::super::config::{Config, DOWNLINK, Port, UPLINK, network};

/// Each port has a name and an Ethernet address of its own, and the address of a host on a link
/// apart from the others.
pub(super) fn ports(config: &Config) -> Result<(), Invalid> {
    let refuse = |what: String, remedy| Err(function_key("ports", what, remedy));
    let count = config.ports.len();
    if count > 0 && Config::default().all_ports() != two_of(config) {
        let what = "is given beside keys of the downlink and the uplink port".to_owned();
        return refuse(what, "Remove the keys that begin with `downlink-` and `uplink-`");
    }
    if config.fakedrop && count > 2 {
        let what = "sends packets out of the other port of two".to_owned();
        return Err(function_key("fakedrop", what, "Set it to false, or list two ports"));
    }
    let mut names = HashSet::new();
    let all = config.all_ports();
    for (at, port) in all.iter().enumerate() {
        if !names.insert(port.name) {
            return refuse(format!("lists {} twice", port.name), "Give each a name of its own");
        }
        of_host(config, port)?;
        for other in &all[..at] {
            apart(config, other, port)?;
        }
    }
    Ok(())
}

/// The two ports that the keys describe, whatever is listed.
fn two_of(config: &Config) -> Vec<Port> {
    Config { ports: Vec::new(), ..config.clone() }.all_ports()
}

fn of_host(config: &Config, port: &Port) -> Result<(), Invalid> {
    // TIPSY's files give the two ports addresses of groups.
    if port.mac.0.is_multicast() && !config.ports.is_empty() {
        let what = format!("gives {} the Ethernet address of a group", port.name);
        return Err(function_key("ports", what, "Give it that of one station"));
    }
    if let Some(ip) = port.ip {
        let is_host = !matches!(ip.address.octets()[0], 0 | 127 | 224..);
        fits(key(config, port, IP), 32, ip.len, is_host)?;
    }
    if let Some(ip) = port.ipv6 {
        let is_host = !(ip.address.is_unspecified()
            || ip.address.is_multicast()
            || ip.address.is_loopback()
            || ip.address.is_unicast_link_local());
        fits(key(config, port, IPV6), 128, ip.len, is_host)?;
    }
    Ok(())
}

fn fits(key: &'static str, bits: u8, len: u8, is_usable: bool) -> Result<(), Invalid> {
    if !is_usable {
        let what = "is no address that a port can have";
        return Err(function_key(key, what.into(), "Give another one, like 10.0.0.1/16"));
    }
    // A link has an address for itself, one for the port, and at its end the broadcast address.
    if len == 0 || len > bits || 3 > 1u128 << (bits - len).min(127) {
        let what = format!("a /{len} has no room beside the port");
        return Err(function_key(key, what, "Give it a shorter prefix"));
    }
    Ok(())
}

fn apart(config: &Config, one: &Port, other: &Port) -> Result<(), Invalid> {
    if one.mac == other.mac {
        let what = format!("is the {} port's address too", one.name);
        let remedy = "Give each port an address of its own";
        return Err(function_key(key(config, other, MAC), what, remedy));
    }
    let refuse = |key, address: String| {
        let what = format!("{address} is on the {} port's link", one.name);
        Err(function_key(key, what, "Give each port a link of its own"))
    };
    if let (Some(a), Some(b)) = (one.ip, other.ip) {
        let len = a.len.min(b.len);
        if network(a.address.into(), len) == network(b.address.into(), len) {
            return refuse(key(config, other, IP), b.address.to_string());
        }
    }
    if let (Some(a), Some(b)) = (one.ipv6, other.ipv6) {
        let len = a.len.min(b.len);
        if network(a.address.into(), len) == network(b.address.into(), len) {
            return refuse(key(config, other, IPV6), b.address.to_string());
        }
    }
    Ok(())
}

/// The key that says something of a port: the list, or the one of this port.
fn key(config: &Config, port: &Port, of: [&'static str; 2]) -> &'static str {
    match port.name {
        DOWNLINK if config.ports.is_empty() => of[0],
        UPLINK if config.ports.is_empty() => of[1],
        _ => "ports",
    }
}

const MAC: [&str; 2] = ["downlink-mac", "uplink-mac"];
const IP: [&str; 2] = ["downlink-ip", "uplink-ip"];
const IPV6: [&str; 2] = ["downlink-ipv6", "uplink-ipv6"];
