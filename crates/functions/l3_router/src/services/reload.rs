//! From the services of one configuration to those of another, said as changes.
use std::collections::BTreeMap;

use function_kit::Invalid;

use super::super::config::{AclRule, Config, List, Policer};
use super::super::control::Update;
use super::Services;

/// Rules and policers may come, go and change; what tells the policer of a packet, and what becomes
/// of colours, may not.
///
/// # Errors
/// The first other key that differs, or a list without room for what is wanted.
pub(in super::super) fn difference(
    running: &Config,
    wanted: &Config,
) -> Result<Vec<Update>, Invalid> {
    let refuse = |key: &str, what: &str| Invalid {
        section: "function",
        key: key.into(),
        what: what.to_owned(),
        remedy: "Restart the router for it".into(),
    };
    let differs = [
        ("acl-capacity", running.acl_capacity != wanted.acl_capacity),
        ("police-by", running.police_by != wanted.police_by),
        ("policer-capacity", running.policer_capacity != wanted.policer_capacity),
        ("policers-by-source", running.policers_by_source != wanted.policers_by_source),
        ("remark", running.remark != wanted.remark),
    ];
    if let Some((key, _)) = differs.into_iter().find(|(_, differs)| *differs) {
        return Err(refuse(key, "cannot be changed while the router runs"));
    }
    for (list, key) in [(List::Ingress, "ingress-acl"), (List::Egress, "egress-acl")] {
        if wanted.all_rules(list).len() > running.rules_max(list) as usize {
            return Err(refuse(key, "has more rules than the running list has room for"));
        }
    }
    if wanted.all_policers().count() > running.policers_max() as usize {
        return Err(refuse("policers", "are more than the running table has room for"));
    }
    Ok(Objects::of(running).changes_to(&Objects::of(wanted)))
}

/// The changes that lead back from what was applied out of a difference.
pub(in super::super) fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
    let mut reached = Objects::of(running);
    applied.iter().for_each(|update| reached.take(update));
    reached.changes_to(&Objects::of(running))
}

/// What came, went or changed since the router was configured.
pub(in super::super) fn memory(config: &Config, services: &Services) -> Vec<Update> {
    let rules = |list, rules: &BTreeMap<u32, AclRule>| {
        rules.iter().map(move |(&number, &rule)| ((list, number), rule)).collect::<Vec<_>>()
    };
    let ingress = rules(List::Ingress, services.ingress.rules());
    let egress = rules(List::Egress, services.egress.rules());
    let after = Objects {
        rules: ingress.into_iter().chain(egress).collect(),
        policers: services.police.policers().clone(),
    };
    Objects::of(config).changes_to(&after)
}

/// Everything that can change.
struct Objects {
    rules: BTreeMap<(List, u32), AclRule>,
    policers: BTreeMap<u32, Policer>,
}

impl Objects {
    fn of(config: &Config) -> Objects {
        let rules = [List::Ingress, List::Egress].into_iter().flat_map(|list| {
            config.all_rules(list).into_iter().map(move |(number, rule)| ((list, number), rule))
        });
        let is_on = config.policers_max() > 0;
        Objects {
            rules: rules.collect(),
            policers: config.all_policers().filter(|_| is_on).collect(),
        }
    }

    fn take(&mut self, update: &Update) {
        match *update {
            Update::SetRule { list, number, rule } => {
                self.rules.insert((list, number), rule);
            }
            Update::RemoveRule { list, number } => {
                self.rules.remove(&(list, number));
            }
            Update::SetPolicer { number, policer } => {
                self.policers.insert(number, policer);
            }
            Update::RemovePolicer { number } => {
                self.policers.remove(&number);
            }
            _ => {}
        }
    }

    /// Children that go or lose their parent come first, then parents, then what has one; a policer
    /// that changes is full again.
    fn changes_to(&self, wanted: &Objects) -> Vec<Update> {
        let mut changes = Vec::new();
        for (&number, old) in self.policers.iter().filter(|(_, old)| old.parent.is_some()) {
            match wanted.policers.get(&number) {
                None => changes.push(Update::RemovePolicer { number }),
                Some(new) if new.parent != old.parent => {
                    let policer = Policer { parent: None, ..*old };
                    changes.push(Update::SetPolicer { number, policer });
                }
                Some(_) => {}
            }
        }
        for has_parent in [false, true] {
            for (&number, &policer) in &wanted.policers {
                let is_new = self.policers.get(&number) != Some(&policer);
                if is_new && policer.parent.is_some() == has_parent {
                    changes.push(Update::SetPolicer { number, policer });
                }
            }
        }
        for (&number, _) in self
            .policers
            .iter()
            .filter(|(number, old)| old.parent.is_none() && !wanted.policers.contains_key(number))
        {
            changes.push(Update::RemovePolicer { number });
        }
        // A list that shrinks to nothing permits everything: what is new comes first.
        for (&(list, number), &rule) in &wanted.rules {
            if self.rules.get(&(list, number)) != Some(&rule) {
                changes.push(Update::SetRule { list, number, rule });
            }
        }
        for &(list, number) in self.rules.keys().filter(|at| !wanted.rules.contains_key(at)) {
            changes.push(Update::RemoveRule { list, number });
        }
        changes
    }
}
