//! One-to-one and port forwarding rules as an active NAT tells them: all of them, one behind the
//! other, each time that one has changed; and as a standby gets them together and makes them its
//! own.

use std::net::Ipv4Addr;

use machine::clock::Ticks;

use crate::config::{Forward, PortForwarding, PortForwardingHost, PortRange, Prefixed, StaticRule};
use crate::control;
use crate::interfaces::Interfaces;
use crate::rule_set::RuleSet;
use crate::sessions::addresses::Addresses;
use crate::standby::Change;
use crate::state::State;

/// How far rules were told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Nothing yet.
    #[default]
    Begin,
    /// To the one-to-one rule of this number.
    Static(usize),
    /// To a host, by the numbers of its rule and its own there.
    Host(usize, usize),
    /// To forwarded ports of a host, by their number.
    Forward(usize, usize, usize),
}

impl Place {
    /// What is told there, and what follows; nothing behind the end.
    pub fn told(self, addresses: &Addresses) -> (Change, Option<Place>) {
        let mut place = self;
        loop {
            let (change, next) = place.step(addresses);
            match (change, next) {
                (Some(change), next) => return (change, next),
                (None, Some(next)) => place = next,
                (None, None) => return (Change::Rules { is_end: true }, None),
            }
        }
    }

    /// What is there, if anything is, and the place behind it.
    fn step(self, addresses: &Addresses) -> (Option<Change>, Option<Place>) {
        let host = |rule, host| addresses.hosts().rules().nth(rule)?.hosts.get(host);
        match self {
            Place::Begin => (Some(Change::Rules { is_end: false }), Some(Place::Static(0))),
            Place::Static(at) => match addresses.statics().nth(at) {
                Some(rule) => (Some(static_rule(&rule)), Some(Place::Static(at + 1))),
                None => (None, Some(Place::Host(0, 0))),
            },
            Place::Host(rule, at) => match (addresses.hosts().rules().nth(rule), host(rule, at)) {
                (None, _) => (None, None),
                (Some(_), None) => (None, Some(Place::Host(rule + 1, 0))),
                (Some(of), Some(host)) => {
                    (Some(host_of(of.outside, host)), Some(Place::Forward(rule, at, 0)))
                }
            },
            Place::Forward(rule, at, number) => {
                let host = host(rule, at);
                match host.and_then(|host| Some((host.inside, host.forwards.get(number)?))) {
                    Some((inside, forward)) => {
                        let next = Place::Forward(rule, at, number + 1);
                        (Some(forward_of(inside, forward)), Some(next))
                    }
                    None => (None, Some(Place::Host(rule, at + 1))),
                }
            }
        }
    }
}

/// Rules that are being told, as far as they were.
#[derive(Debug, Default)]
pub struct Heard {
    rules: RuleSet,
    /// Hosts and forwarded ports among them.
    count: usize,
}

impl Heard {
    /// Takes a further one; whether there was room, and something that it belongs to.
    pub fn take(&mut self, change: &Change) -> bool {
        let forwarding = &mut self.rules.forwarding;
        self.count += 1;
        if self.count > HEARD_MAX {
            return false;
        }
        match *change {
            Change::Static { inside, outside, len } => {
                let of = |address: u32| Prefixed { address: address.into(), len };
                self.rules.statics.push(StaticRule { inside: of(inside), outside: of(outside) });
                true
            }
            Change::Host { outside, inside, dynamic } => {
                let outside = Ipv4Addr::from_bits(outside);
                if forwarding.last().is_none_or(|rule| rule.outside != outside) {
                    forwarding.push(PortForwarding { outside, hosts: Vec::new() });
                }
                let dynamic_ports =
                    dynamic.map(|(first_port, last_port)| PortRange { first_port, last_port });
                let forwards = Vec::new();
                let host = PortForwardingHost { inside: inside.into(), forwards, dynamic_ports };
                forwarding.last_mut().map(|rule| rule.hosts.push(host)).is_some()
            }
            Change::Forward { inside, protocol, outside: (first_port, last), inside_first } => {
                let host = forwarding.last_mut().and_then(|rule| rule.hosts.last_mut());
                let host = host.filter(|host| host.inside.to_bits() == inside);
                let forward = Forward {
                    protocol,
                    first_port,
                    last_port: (last != first_port).then_some(last),
                    inside_port: (inside_first != first_port).then_some(inside_first),
                };
                host.map(|host| host.forwards.push(forward)).is_some()
            }
            _ => false,
        }
    }

    /// Makes these the rules of a NAT; whether that was possible.
    pub fn rule(&self, state: &mut State, interfaces: &mut Interfaces, now: Ticks) -> bool {
        let known = plain(RuleSet::of(&state.allocation.addresses));
        let mut changes = known.changes_to(&self.rules).into_iter().flatten();
        changes.all(|update| control::apply(state, interfaces, &update, now).is_ok())
    }
}

/// Rules as they are told: forwarded ports without what follows from their first one.
fn plain(mut rules: RuleSet) -> RuleSet {
    let hosts = rules.forwarding.iter_mut().flat_map(|rule| &mut rule.hosts);
    for forward in hosts.flat_map(|host| &mut host.forwards) {
        let (first, last, inside) = (forward.first_port, forward.last(), forward.inside_first());
        forward.last_port = (last != first).then_some(last);
        forward.inside_port = (inside != first).then_some(inside);
    }
    rules
}

fn static_rule(rule: &StaticRule) -> Change {
    let [inside, outside] = [rule.inside, rule.outside].map(|one| one.address.to_bits());
    Change::Static { inside, outside, len: rule.outside.len }
}

fn host_of(outside: Ipv4Addr, host: &PortForwardingHost) -> Change {
    let dynamic = host.dynamic_ports.map(|ports| (ports.first_port, ports.last_port));
    Change::Host { outside: outside.to_bits(), inside: host.inside.to_bits(), dynamic }
}

fn forward_of(inside: Ipv4Addr, forward: &Forward) -> Change {
    Change::Forward {
        inside: inside.to_bits(),
        protocol: forward.protocol,
        outside: (forward.first_port, forward.last()),
        inside_first: forward.inside_first(),
    }
}

/// Most one-to-one rules, hosts and forwarded ports together that a standby hears of.
const HEARD_MAX: usize = 1 << 20;
