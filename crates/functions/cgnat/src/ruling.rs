//! One-to-one and port forwarding rules that come and go while the NAT runs.
//!
//! A rule changes the outside address of its subscribers, so that their sessions end with it, those
//! of a rule that comes and of one that goes (RFC 4787 REQ-2: a subscriber has one address). Sessions
//! of other subscribers stay, but for those whose other end becomes an outside address here, or is
//! none any more: their packets have another way from then on.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use engine::Refusal;
use machine::clock::Ticks;

use crate::config::{Config, PortForwarding, PortForwardingHost, Prefixed, StaticRule};
use crate::control::Update;
use crate::interfaces::Interfaces;
use crate::port_forwarding::validate::validate_rule;
use crate::sessions::addresses::Addresses;
use crate::state::State;
use crate::terms::{FORWARDS_MAX, HOSTS_MAX, RULES_MAX};
use crate::types::networks::{first_bits, holds, overlap};

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
        Some(known) if known == normal(&rule) => return Ok(()),
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
    if known != Some(normal(&rule)) {
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

/// Those of some hosts that are not the same among others.
fn differing<'a>(
    some: &'a [PortForwardingHost],
    others: &'a [PortForwardingHost],
) -> impl Iterator<Item = &'a PortForwardingHost> {
    let mut sorted: Vec<_> = others.iter().collect();
    sorted.sort_unstable_by_key(|host| host.inside);
    some.iter().filter(move |host| {
        let place = sorted.binary_search_by_key(&host.inside, |other| other.inside);
        place.ok().is_none_or(|place| sorted[place] != *host)
    })
}

/// All one-to-one and port forwarding rules of a NAT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleSet {
    /// One-to-one rules, without bits behind their prefixes.
    pub statics: Vec<StaticRule>,
    /// Port forwarding rules.
    pub forwarding: Vec<PortForwarding>,
}

impl RuleSet {
    /// Those of a configuration.
    pub fn of_config(config: &Config) -> RuleSet {
        let statics = config.static_rules.iter().map(normal).collect();
        RuleSet { statics, forwarding: config.port_forwarding.clone() }
    }

    /// Those that are there.
    pub fn of(addresses: &Addresses) -> RuleSet {
        let forwarding = addresses.hosts().rules().cloned().collect();
        RuleSet { statics: addresses.statics().collect(), forwarding }
    }

    /// What leads from these to others: what gives up addresses and hosts, and then what takes
    /// some, so that those may move from rule to rule.
    pub fn changes_to(&self, after: &RuleSet) -> [Vec<Update>; 2] {
        let gone = self.statics.iter().filter(|rule| !after.statics.contains(rule));
        let mut first: Vec<Update> = gone.map(|rule| removal(*rule)).collect();
        let come = after.statics.iter().filter(|rule| !self.statics.contains(rule));
        let mut then: Vec<Update> = come.map(|rule| addition(*rule)).collect();
        let mut between = Vec::new();
        let hosts = after
            .forwarding
            .iter()
            .flat_map(|rule| rule.hosts.iter().map(|host| (host.inside, rule.outside)));
        let hosts: HashMap<Ipv4Addr, Ipv4Addr> = hosts.collect();
        for rule in &self.forwarding {
            match after.shrunk(rule, &hosts) {
                Some(rule) => between.push(rule),
                None => first.push(Update::RemovePortForwarding { outside: rule.outside }),
            }
        }
        let is_other = |rule: &&PortForwarding| !self.forwarding.contains(*rule);
        first.extend(between.iter().filter(is_other).cloned().map(setting));
        let is_new = |rule: &&PortForwarding| !between.contains(*rule);
        then.extend(after.forwarding.iter().filter(is_new).cloned().map(setting));
        [first, then]
    }

    /// What is left of a rule before these come, whose hosts have these outside addresses: all of
    /// it, where none of its hosts moves to another rule.
    fn shrunk(
        &self,
        rule: &PortForwarding,
        hosts: &HashMap<Ipv4Addr, Ipv4Addr>,
    ) -> Option<PortForwarding> {
        let after = self.forwarding.iter().find(|after| after.outside == rule.outside)?;
        let moves = |host: &PortForwardingHost| {
            let is_own = |own: &StaticRule| holds(own.inside, host.inside.to_bits());
            let is_of_another = hosts.get(&host.inside).is_some_and(|of| *of != rule.outside);
            is_of_another || self.statics.iter().any(is_own)
        };
        if !differing(&rule.hosts, &after.hosts).any(moves) {
            return Some(rule.clone());
        }
        let hosts = rule.hosts.iter().filter(|host| after.hosts.contains(host));
        let hosts: Vec<_> = hosts.cloned().collect();
        (!hosts.is_empty()).then_some(PortForwarding { outside: rule.outside, hosts })
    }

    /// A network of a rule that some of a pool has.
    pub fn in_pool(&self, pool: Prefixed<Ipv4Addr>) -> Option<(&'static str, Prefixed<Ipv4Addr>)> {
        let own = self.statics.iter().map(|rule| ("static", rule.outside));
        let shared = self
            .forwarding
            .iter()
            .map(|rule| ("port-forwarding", Prefixed { address: rule.outside, len: 32 }));
        own.chain(shared).find(|(_, network)| overlap(*network, pool))
    }
}

/// The changes that undo these, which were applied in this order to rules; the others as they are
/// undone by themselves.
pub(crate) fn undoing(before: &RuleSet, applied: &[Update]) -> Vec<Option<Update>> {
    let mut forwarding: Vec<PortForwarding> = before.forwarding.clone();
    let mut undo = |update: &Update| match update {
        Update::AddStatic { inside, outside } => {
            Some(removal(StaticRule { inside: *inside, outside: *outside }))
        }
        Update::RemoveStatic { inside, outside } => {
            Some(addition(StaticRule { inside: *inside, outside: *outside }))
        }
        Update::SetPortForwarding { outside, .. } | Update::RemovePortForwarding { outside } => {
            let place = forwarding.iter().position(|rule| rule.outside == *outside);
            let was = place.map(|place| forwarding.swap_remove(place));
            if let Update::SetPortForwarding { outside, hosts } = update {
                let (outside, hosts) = (*outside, hosts.clone());
                forwarding.push(PortForwarding { outside, hosts });
            }
            Some(was.map_or(Update::RemovePortForwarding { outside: *outside }, setting))
        }
        _ => None,
    };
    applied.iter().map(&mut undo).collect()
}

fn addition(StaticRule { inside, outside }: StaticRule) -> Update {
    Update::AddStatic { inside, outside }
}

fn removal(StaticRule { inside, outside }: StaticRule) -> Update {
    Update::RemoveStatic { inside, outside }
}

fn setting(PortForwarding { outside, hosts }: PortForwarding) -> Update {
    Update::SetPortForwarding { outside, hosts }
}

/// A rule without bits behind its prefixes.
fn normal(rule: &StaticRule) -> StaticRule {
    let normal = |network: Prefixed<Ipv4Addr>| {
        let bits = first_bits(network.address.into(), network.len) >> 96;
        Prefixed { address: Ipv4Addr::from_bits(bits as u32), len: network.len }
    };
    StaticRule { inside: normal(rule.inside), outside: normal(rule.outside) }
}

/// The first and the last address of a network.
fn ends(network: Prefixed<Ipv4Addr>) -> (u32, u32) {
    let hosts = u32::MAX.checked_shr(network.len.into()).unwrap_or(0);
    let address = network.address.to_bits();
    (address & !hosts, address | hosts)
}

/// What helps where a change of rules or pools was refused.
pub(crate) fn advice(update: &Update, why: Refusal) -> &'static str {
    match (update, why) {
        (Update::AddStatic { .. }, Refusal::Invalid) => {
            "give two networks of one length: subscribers of `inside`, and outside addresses that \
             nobody has"
        }
        (Update::SetPortForwarding { .. }, Refusal::Invalid) => {
            "give 1 to 1024 hosts of `inside` that have no other rule, each with ports of its own, \
             and an outside address that nobody has"
        }
        (Update::AddPool { .. }, Refusal::Invalid) => {
            "give a network of outside addresses that nobody has"
        }
        (Update::AddStatic { .. } | Update::SetPortForwarding { .. }, Refusal::Exists) => {
            "give subscribers of no other rule, and outside addresses that neither the NAT itself \
             has, nor a router beside it, another rule, or a pool, be it drained"
        }
        (Update::AddPool { .. }, Refusal::Exists) => {
            "give addresses that neither the NAT itself has, nor a router beside it, another pool \
             or a rule"
        }
        (Update::AddStatic { .. } | Update::SetPortForwarding { .. }, Refusal::Full) => {
            "there are 1024 such rules; take one away first"
        }
        (Update::RemoveStatic { .. } | Update::RemovePortForwarding { .. }, Refusal::NotFound) => {
            "`plumbline show table rules` has those that are there"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests;
