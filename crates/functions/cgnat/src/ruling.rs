//! One-to-one and port forwarding rules that come and go while the NAT runs.
//!
//! A rule changes the outside address of its subscribers, so that their sessions end with it, those
//! of a rule that comes and of one that goes (RFC 4787 REQ-2: a subscriber has one address).
//! Sessions of other subscribers stay, but for those whose other end becomes an outside address
//! here, or is none any more: their packets have another way from then on.

use std::net::Ipv4Addr;

use engine::Refusal;
use machine::clock::Ticks;

use crate::config::{PortForwarding, PortForwardingHost, Prefixed, StaticRule};
use crate::interfaces::Interfaces;
use crate::port_forwarding::differing;
use crate::port_forwarding::validate::validate_rule;
use crate::sessions::addresses::Addresses;
use crate::state::State;
use crate::terms::{FORWARDS_MAX, HOSTS_MAX, RULES_MAX};
use crate::types::networks::holds;

/// Adds a one-to-one rule; one that is there stays as it is.
///
/// # Errors
/// Why that cannot be; nothing has changed then.
pub(crate) fn add_static(
    state: &mut State,
    interfaces: &mut Interfaces,
    rule: StaticRule,
    now: Ticks,
) -> Result<(), Refusal> {
    let StaticRule { inside, outside } = rule;
    let (addresses, terms) = (&state.allocation.addresses, interfaces.terms());
    if inside.len != outside.len || !terms.are_subscribers(inside) {
        return Err(Refusal::Invalid);
    }
    match addresses.static_of(inside) {
        Some(known) if known == rule.normal() => return Ok(()),
        Some(_) => return Err(Refusal::Exists),
        None => {}
    }
    let subscribers = ends(inside);
    let is_own = holds(outside, terms.outside_ip.to_bits());
    if is_own || addresses.hosts().host_among(subscribers).is_some() {
        return Err(Refusal::Exists);
    }
    if addresses.statics().len() >= RULES_MAX {
        return Err(Refusal::Full);
    }
    check_new(interfaces, addresses, outside)?;
    state.end_subscribers(subscribers.0..=subscribers.1, now);
    state.allocation.addresses.add_static(&rule);
    addresses_changed(state, interfaces, now);
    Ok(())
}

/// Takes a one-to-one rule away.
///
/// # Errors
/// When it is not there.
pub(crate) fn remove_static(
    state: &mut State,
    interfaces: &mut Interfaces,
    rule: StaticRule,
    now: Ticks,
) -> Result<(), Refusal> {
    let known = state.allocation.addresses.static_of(rule.inside);
    if known != Some(rule.normal()) {
        return Err(Refusal::NotFound);
    }
    let (first, last) = ends(rule.inside);
    state.end_subscribers(first..=last, now);
    state.allocation.addresses.remove_static(&rule);
    addresses_changed(state, interfaces, now);
    Ok(())
}

/// Makes a rule the port forwarding rule of its outside address; sessions of hosts that have the
/// same ports as before stay.
///
/// # Errors
/// Why that cannot be; nothing has changed then.
pub(crate) fn set_forwarding(
    state: &mut State,
    interfaces: &mut Interfaces,
    rule: PortForwarding,
    now: Ticks,
) -> Result<(), Refusal> {
    let (addresses, terms) = (&state.allocation.addresses, interfaces.terms());
    let deterministic = terms.deterministic.iter().map(|network| ("deterministic", *network));
    let own = addresses.statics().map(|rule| ("static", rule.inside));
    let others: Vec<_> = own.chain(deterministic).collect();
    let fits = is_bounded(&rule)
        && validate_rule((terms.first_port, &terms.inside), &others, &rule).is_ok();
    if !fits {
        return Err(Refusal::Invalid);
    }
    let outside = rule.outside.to_bits();
    let of_another = |host: &PortForwardingHost| {
        let known = addresses.hosts().host(host.inside.to_bits());
        known.is_some_and(|known| known.outside != outside)
    };
    if rule.hosts.iter().any(of_another) {
        return Err(Refusal::Exists);
    }
    let before = addresses.hosts().rule(outside);
    if before.is_none() {
        if addresses.hosts().rules().len() >= RULES_MAX {
            return Err(Refusal::Full);
        }
        check_new(interfaces, addresses, Prefixed { address: rule.outside, len: 32 })?;
    }
    let is_new = before.is_none();
    let before = before.map_or(&[][..], |before| &before.hosts);
    let ending = differing(before, &rule.hosts).chain(differing(&rule.hosts, before));
    let ending: Vec<u32> = ending.map(|host| host.inside.to_bits()).collect();
    state.end_subscribers(ending, now);
    state.allocation.addresses.set_forwarding(rule);
    match is_new {
        true => addresses_changed(state, interfaces, now),
        false => state.note_rules(),
    }
    Ok(())
}

/// Takes the port forwarding rule of an outside address away.
///
/// # Errors
/// When there is none.
pub(crate) fn remove_forwarding(
    state: &mut State,
    interfaces: &mut Interfaces,
    outside: Ipv4Addr,
    now: Ticks,
) -> Result<(), Refusal> {
    let rule = state.allocation.addresses.hosts().rule(outside.to_bits());
    let hosts = &rule.ok_or(Refusal::NotFound)?.hosts;
    let hosts: Vec<u32> = hosts.iter().map(|host| host.inside.to_bits()).collect();
    state.end_subscribers(hosts, now);
    state.allocation.addresses.remove_forwarding(outside);
    addresses_changed(state, interfaces, now);
    Ok(())
}

/// Whether a network that is not there can be one of outside addresses.
///
/// # Errors
/// That others have some of it, or that there is no room.
pub(crate) fn check_new(
    interfaces: &Interfaces,
    addresses: &Addresses,
    outside: Prefixed<Ipv4Addr>,
) -> Result<(), Refusal> {
    interfaces.terms().check(outside)?;
    if interfaces.has_virtual_in(outside) || addresses.overlaps(outside) {
        return Err(Refusal::Exists);
    }
    match addresses.has_room(outside) {
        true => Ok(()),
        false => Err(Refusal::Exceeds("spare-addresses")),
    }
}

/// Lets everybody know of outside addresses that came or went.
pub(crate) fn addresses_changed(state: &mut State, interfaces: &mut Interfaces, now: Ticks) {
    interfaces.set_outside(&state.allocation.addresses);
    state.note_rules();
    state.begin_to_turn(now);
}

/// Whether numbers of a rule are such as a file can have; by control come any.
fn is_bounded(rule: &PortForwarding) -> bool {
    let is_host_bounded = |host: &PortForwardingHost| {
        let forwards = &host.forwards;
        let has_zero = forwards.iter().any(|one| one.first_port == 0 || one.inside_first() == 0);
        forwards.len() <= FORWARDS_MAX && !has_zero
    };
    let mut inside: Vec<Ipv4Addr> = rule.hosts.iter().map(|host| host.inside).collect();
    inside.sort_unstable();
    (1..=HOSTS_MAX).contains(&rule.hosts.len())
        && rule.hosts.iter().all(is_host_bounded)
        && inside.windows(2).all(|two| two[0] != two[1])
}

/// The first and the last address of a network.
fn ends(network: Prefixed<Ipv4Addr>) -> (u32, u32) {
    let hosts = u32::MAX.checked_shr(network.len.into()).unwrap_or(0);
    let address = network.address.to_bits();
    (address & !hosts, address | hosts)
}
