//! All rules of a NAT, and the changes that lead from some to others.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use engine::Refusal;

use crate::config::{Config, PortForwarding, PortForwardingHost, Prefixed, StaticRule};
use crate::control::Update;
use crate::port_forwarding::differing;
use crate::sessions::addresses::Addresses;
use crate::types::networks::{holds, overlap};

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
        let statics = config.static_rules.iter().map(StaticRule::normal).collect();
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
