//! What one key alone cannot tell.

use std::collections::{BTreeSet, HashSet};
use std::net::{IpAddr, Ipv6Addr};

use function_kit::Invalid;
use function_kit::sections::{Prefixed, function_key};
use units::BytesPerSec;
use wire::MacAddr;

use super::{CLASSES_MAX, Config, NAMES_MAX, Name, Node, Profile, Rule, Session};

/// Checks the configuration as an operator writes it.
///
/// # Errors
/// The first key that cannot be used.
pub fn validate(config: &Config) -> Result<(), Invalid> {
    if config.core != 1 {
        return Err(function_key(
            "core",
            "a gateway with several workers is not supported".into(),
            "Set `core` to 1",
        ));
    }
    for (key, mac) in [("access-mac", config.access_mac), ("core-mac", config.core_mac)] {
        if mac.is_multicast() || mac == MacAddr::ZERO {
            let what = format!("{mac} is not the address of a station");
            return Err(function_key(key, what, "Give one whose first octet is even"));
        }
    }
    for (key, all) in
        [("access-addresses", &config.access_addresses), ("core-addresses", &config.core_addresses)]
    {
        if let Some(address) = all.iter().find(|address| !is_host(**address)) {
            let what = format!("{address} is not the address of a host");
            return Err(function_key(key, what, "Give an address that hosts can send to"));
        }
    }
    let collector = config.mirror.map(|to| [to.address, to.source]);
    if collector.into_iter().flatten().any(|address| !is_host(address.into())) {
        let what = "an address is not that of a host".into();
        return Err(function_key("mirror", what, "Give addresses that hosts can send to"));
    }
    check_classes(config)?;
    check_rates(config)?;
    check_names(config)?;
    check_lists(config)?;
    check_sessions(config)
}

fn check_classes(config: &Config) -> Result<(), Invalid> {
    let key = "classes";
    let names: HashSet<Name> = config.classes.iter().map(|class| class.name).collect();
    if names.len() != config.classes.len() || !(1..=CLASSES_MAX).contains(&names.len()) {
        let what = "a name is there twice, or there are none or more than 8".into();
        return Err(function_key(key, what, "Give each class a name of its own"));
    }
    let mut seen = BTreeSet::new();
    for class in &config.classes {
        if let Some(dscp) = class.dscp.iter().find(|dscp| **dscp > 63 || !seen.insert(**dscp)) {
            let what = format!("{dscp} is no code point, or is there twice");
            return Err(function_key(key, what, "Name each code point from 0 to 63 once"));
        }
    }
    Ok(())
}

fn check_rates(config: &Config) -> Result<(), Invalid> {
    let of_port = config.port_queues.rate.into_iter().chain(config.port_queues.levels.clone());
    for rate in of_port {
        check_rate("port-queues", rate)?;
    }
    for node in &config.nodes {
        for rate in [node.up_rate, node.down_rate].into_iter().flatten() {
            check_rate("nodes", rate)?;
        }
    }
    for profile in &config.profiles {
        if let Some(rate) = rates_of(profile).find(|rate| !is_rate(*rate)) {
            check_rate("profiles", rate)?;
        }
    }
    Ok(())
}

fn check_rate(key: &'static str, rate: BytesPerSec) -> Result<(), Invalid> {
    match is_rate(rate) {
        true => Ok(()),
        false => Err(function_key(
            key,
            format!("{rate} is no rate"),
            "Give one of at least 1 byte/s, at most 1e12, or leave it out for no limit",
        )),
    }
}

/// Names are there once, and what is named is there.
fn check_names(config: &Config) -> Result<(), Invalid> {
    let list_names = config.list_capacity.saturating_mul(NAMES_MAX as u32);
    for (key, names, room) in [
        ("vrfs", config.vrfs.iter().map(|one| one.name).collect::<Vec<_>>(), 63),
        ("nodes", config.nodes.iter().map(|one| one.name).collect(), config.node_capacity),
        ("lists", config.lists.iter().map(|one| one.name).collect(), list_names),
        ("profiles", config.profiles.iter().map(|one| one.name).collect(), config.profile_capacity),
    ] {
        let distinct: HashSet<Name> = names.iter().copied().collect();
        if distinct.len() != names.len() {
            return Err(function_key(key, "a name is there twice".into(), "Name each one once"));
        }
        if names.len() > room as usize {
            let what = format!("{} do not fit into a capacity of {room}", names.len());
            return Err(function_key(key, what, "Raise the capacity"));
        }
    }
    let vlans: HashSet<u16> = config.vrfs.iter().map(|one| one.vlan).collect();
    if vlans.len() != config.vrfs.len() {
        return Err(function_key("vrfs", "a VLAN is there twice".into(), "Give each its own"));
    }
    let lists: HashSet<Name> = config.lists.iter().map(|one| one.name).collect();
    for profile in &config.profiles {
        if let Some(fault) = fault_of(config, profile) {
            let what = format!("the profile {} {fault}", profile.name);
            return Err(function_key("profiles", what, "Name what there is, as often as there is"));
        }
        if profile.list.is_some_and(|name| !lists.contains(&name)) {
            let what = format!("the profile {} names a list that is not there", profile.name);
            return Err(function_key("profiles", what, "Add it to `lists`"));
        }
    }
    for hop in &config.next_hops {
        known_vrf(config, "next-hops", hop.vrf)?;
    }
    let hops: HashSet<_> = config.next_hops.iter().map(|hop| (hop.vrf, hop.address)).collect();
    for route in &config.routes {
        known_vrf(config, "routes", route.vrf)?;
        if !hops.contains(&(route.vrf, route.next_hop)) {
            let what = format!("no next hop of its VRF has the address {}", route.next_hop);
            return Err(function_key("routes", what, "Add it to `next-hops`"));
        }
    }
    Ok(())
}

fn known_vrf(config: &Config, key: &'static str, vrf: Option<Name>) -> Result<(), Invalid> {
    match config.vrf(vrf) {
        Some(_) => Ok(()),
        None => {
            let what =
                format!("there is no VRF {}", vrf.map_or(String::new(), |vrf| vrf.to_string()));
            Err(function_key(key, what, "Add it to `vrfs`"))
        }
    }
}

fn check_lists(config: &Config) -> Result<(), Invalid> {
    for list in &config.lists {
        if list.rules.len() > config.list_rules as usize {
            let what = format!("{} has {} rules", list.name, list.rules.len());
            return Err(function_key("lists", what, "Raise `list-rules`"));
        }
        if let Some(at) = list.rules.iter().position(|rule| !Rule::is_sound(rule)) {
            let what = format!("rule {} of {} can match nothing", at + 1, list.name);
            let remedy = "Order its ports, name code points up to 63, and one version of IP";
            return Err(function_key("lists", what, remedy));
        }
    }
    Ok(())
}

fn check_sessions(config: &Config) -> Result<(), Invalid> {
    let key = "sessions";
    let mut numbers = HashSet::new();
    let profiles: HashSet<Name> = config.profiles.iter().map(|one| one.name).collect();
    let lists: HashSet<Name> = config.lists.iter().map(|one| one.name).collect();
    let nodes: HashSet<Name> = config.nodes.iter().map(|one| one.name).collect();
    for session in &config.sessions {
        let number = session.number;
        if !is_session(session) || number > config.session_capacity || !numbers.insert(number) {
            let what = format!(
                "session {number} is there twice, is beyond the capacity, or is on no line, from \
                 no station or with addresses that hosts do not have"
            );
            return Err(function_key(key, what, "Number sessions from 1 to `session-capacity`"));
        }
        known_vrf(config, key, session.vrf)?;
        let is_known = profiles.contains(&session.profile)
            && session.list.is_none_or(|list| lists.contains(&list))
            && session.node.is_none_or(|node| nodes.contains(&node));
        if !is_known {
            let what = format!("session {number} names a profile, list or node that is not there");
            return Err(function_key(key, what, "Add it to `profiles`, `lists` or `nodes`"));
        }
    }
    Ok(())
}

/// What is wrong with a profile beside its rates: classes, and how many of what.
pub(crate) fn fault_of(config: &Config, profile: &Profile) -> Option<&'static str> {
    let of_policers = profile.policers.iter().map(|one| one.class);
    let of_queues = profile.queues.iter().map(|one| one.class);
    let is_class = |name: Name| config.classes.iter().any(|class| class.name == name);
    let is_twice = |names: Vec<Name>| {
        let distinct: HashSet<Name> = names.iter().copied().collect();
        distinct.len() != names.len()
    };
    if !of_policers.clone().chain(of_queues.clone()).all(is_class) {
        return Some("names a class that is not there");
    }
    if is_twice(of_policers.collect()) || is_twice(of_queues.collect()) {
        return Some("names a class twice");
    }
    if profile.policers.len() > config.session_policers as usize {
        return Some("has more policers than `session-policers` says");
    }
    if profile.queues.len() > config.session_queues as usize {
        return Some("has more queues than `session-queues` says");
    }
    let marks = profile.policers.iter().flat_map(|one| [one.mark, one.mark_excess]);
    let is_bad = profile.weight == 0
        || profile.overhead_bytes.unsigned_abs() > 256
        || marks.flatten().any(|dscp| dscp > 63)
        || profile.queues.iter().any(|queue| queue.weight == 0 || queue.level > 7);
    is_bad.then_some("has a weight of 0, a level above 7, a mark above 63, or too much overhead")
}

/// All rates of a profile.
pub(crate) fn rates_of(profile: &Profile) -> impl Iterator<Item = BytesPerSec> + '_ {
    let of_policers = profile.policers.iter().flat_map(|one| [Some(one.rate), one.peak_rate]);
    let of_queues = profile.queues.iter().map(|one| one.rate);
    let own = [profile.up_rate, profile.down_rate];
    of_policers.chain(of_queues).chain(own).flatten()
}

/// Whether a node is one that can be set up.
pub(crate) fn is_node(node: &Node) -> bool {
    node.weight > 0 && [node.up_rate, node.down_rate].into_iter().flatten().all(is_rate)
}

/// Whether a number is a rate: more than nothing, and less than no limit.
pub(crate) fn is_rate(rate: BytesPerSec) -> bool {
    (1.0..=1e12).contains(&rate.0)
}

/// Whether a session can be one, whatever else there is: a line, a station and addresses.
pub fn is_session(session: &Session) -> bool {
    let is_vlan = |vlan: u16| vlan < 4095;
    let is_line = is_vlan(session.line.outer)
        && is_vlan(session.line.inner)
        && (session.line.outer == 0 || session.line.inner != 0);
    let is_pppoe = session
        .pppoe
        .is_none_or(|pppoe| (1..0xffff).contains(&pppoe.id) && (576..=9000).contains(&pppoe.mru));
    let is_station = !session.mac.0.is_multicast() && session.mac.0 != MacAddr::ZERO;
    let hosts = session.ipv4.map(IpAddr::V4).into_iter().chain(session.na.map(IpAddr::V6));
    session.number > 0
        && is_line
        && is_pppoe
        && is_station
        && hosts.into_iter().all(is_host)
        && session.slaac.is_none_or(|prefix| is_prefix(prefix, 64))
        && session.delegated.is_none_or(|prefix| is_prefix(prefix, 32))
}

/// Whether it is a network of IPv6 of `least` to 64 bits.
fn is_prefix(prefix: Prefixed<Ipv6Addr>, least: u8) -> bool {
    let bits = prefix.address.to_bits();
    let host = u128::MAX.checked_shr(prefix.len.into()).unwrap_or(0);
    (least..=64).contains(&prefix.len) && bits & host == 0 && is_host(prefix.address.into())
}

/// Whether a host can have an address and send from it beyond its link.
fn is_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !matches!(address.octets()[0], 0 | 127 | 224..),
        IpAddr::V6(address) => {
            !(address.is_multicast() || address.is_unicast_link_local()) && address.to_bits() > 1
        }
    }
}
