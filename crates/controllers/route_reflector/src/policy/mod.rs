//! Policies: which routes are taken of peers and told to them, and with which attributes.
//!
//! ```text
//!  route --> rules that name its prefix  --+
//!        --> rules that its attributes fit +--> in their order: change, then accept or reject
//! ```
//! All that rules ask for is joined: for a number or a prefix one search tells all rules that name
//! it, so that a route costs hardly more with a hundred rules than with one. What is decided
//! depends on the attributes and on the set of rules that name the prefix; whoever has many routes
//! with the same of both asks once. The files in reading order: [`rule_set`] has some rules,
//! `ranges` and `prefixes` find them, [`edit`] is what they change.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol_bgp::families::{FAMILIES, Family};
use protocol_bgp::path::{self, Segments};
use protocol_bgp::summary::Summary;

use crate::config::{ACCEPT, CommunityKind, Config, PolicyKeys, Then, Verdict};
use crate::known::parts;
use crate::own::Kind;

pub mod rule_set;

mod ranges;

mod prefixes;

pub mod edit;

pub use edit::Changed;
use edit::Edit;
use prefixes::Prefixes;
use ranges::Ranges;
pub use rule_set::RuleSet;

/// A policy.
#[derive(Debug)]
pub struct Policy {
    keys: PolicyKeys,
    edits: Vec<Option<Edit>>,
    every: RuleSet,
    prefixes: Prefixes,
    communities: Ranges,
    path: Ranges,
    origins: Ranges,
    lengths: Ranges,
    families: [RuleSet; FAMILIES.len()],
    groups: Ranges,
}

/// Two are the same that say the same.
impl PartialEq for Policy {
    fn eq(&self, other: &Policy) -> bool {
        self.keys == other.keys
    }
}

impl Eq for Policy {}

/// A route that goes through a policy.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The family.
    pub family: Family,
    /// The number of the group of the peer that has told it.
    pub group: u16,
    /// Its next hop and attributes, as [`crate::known::put`] has them.
    pub bytes: &'a [u8],
    /// Where in the attributes what is.
    pub summary: &'a Summary,
}

/// What a policy has decided of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is taken or told.
    pub is_accepted: bool,
    /// The rule that has decided; `None` for the default.
    pub rule: Option<u16>,
    /// What it is then; `None` for what it was.
    pub changed: Option<Changed>,
}

/// The numbers of groups of peers by their names. A name keeps its number; 0 is that of peers
/// without a group.
#[derive(Clone, Debug, Default)]
pub struct Groups(BTreeMap<String, u16>);

/// All policies of a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policies {
    all: BTreeMap<String, Arc<Policy>>,
    groups: Groups,
}

impl Policy {
    /// Makes a policy of its keys.
    pub fn new(keys: &PolicyKeys, groups: &mut Groups) -> Policy {
        let rules = &keys.rules;
        let ases = |all: &[crate::config::Ases]| -> Vec<(u128, u128)> {
            all.iter().map(|one| (one.first.into(), one.last.into())).collect()
        };
        let lengths = rules.iter().map(|rule| match (rule.path_length_min, rule.path_length_max) {
            (None, None) => None,
            (least, most) => Some((least.unwrap_or(0).into(), most.unwrap_or(u16::MAX).into())),
        });
        let families = FAMILIES.each_ref().map(|row| {
            let is_meant = |at: &usize| {
                let own = &rules[*at].families;
                own.is_empty() || own.iter().any(|name| name.0 == row.family)
            };
            (0..rules.len()).filter(is_meant).collect()
        });
        let mut number = |name: &String| u128::from(groups.number(name));
        let named: Vec<Vec<(u128, u128)>> = rules
            .iter()
            .map(|rule| rule.groups.iter().map(&mut number).map(|one| (one, one)).collect())
            .collect();
        Policy {
            edits: rules.iter().map(|rule| Edit::new(&rule.set)).collect(),
            every: (0..rules.len()).collect(),
            prefixes: Prefixes::new(rules.iter().map(|rule| &rule.prefixes[..])),
            communities: Ranges::new(
                rules.iter().map(|rule| rule.communities.iter().map(|one| one.range())),
            ),
            path: Ranges::new(rules.iter().map(|rule| ases(&rule.path_has))),
            origins: Ranges::new(rules.iter().map(|rule| ases(&rule.origin_as))),
            lengths: Ranges::new(lengths),
            families,
            groups: Ranges::new(named.into_iter()),
            keys: keys.clone(),
        }
    }

    /// The policy of peers of another AS for which there is none: nothing is taken or told (RFC
    /// 8212 section 3).
    pub fn nothing() -> Policy {
        let (name, rules) = (String::new(), Vec::new());
        let keys = PolicyKeys { name, rules, default: Verdict::Reject };
        Policy::new(&keys, &mut Groups::default())
    }

    /// Returns whether it is that one.
    pub fn is_of_nobody(&self) -> bool {
        self.keys.name.is_empty()
    }

    /// Returns whether it takes nothing, whatever the route.
    pub fn takes_nothing(&self) -> bool {
        self.keys.rules.is_empty() && self.keys.default == Verdict::Reject
    }

    /// Returns its name; empty for that of peers for which there is none.
    pub fn name(&self) -> &str {
        &self.keys.name
    }

    /// Returns a rule in words: its number from 1 on, with its name if it has one; or the default.
    pub fn rule(&self, rule: Option<u16>) -> String {
        let Some(rule) = rule else { return "default".to_owned() };
        let name = self.keys.rules.get(usize::from(rule)).and_then(|rule| rule.name.as_ref());
        let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
        format!("rule {}{name}", rule + 1)
    }

    /// Returns whether any rule asks for a prefix: else what is decided follows from the attributes
    /// alone.
    pub fn asks_for_prefixes(&self) -> bool {
        !self.prefixes.is_empty()
    }

    /// Returns the rules that name the prefix of a route, with those that name none.
    #[inline]
    pub fn of_prefix(&self, family: Family, key: &[u8]) -> RuleSet {
        self.prefixes.of(family, key)
    }

    /// Decides what becomes of a route with a prefix that these rules name.
    pub fn decide(&self, subject: &Subject<'_>, named: RuleSet) -> Decision {
        let Subject { family, group, bytes, summary } = *subject;
        let of_peer = self.groups.of([u128::from(group)].into_iter());
        let outer = self.every & named & self.families[family as usize] & of_peer;
        let mut holds = outer & self.of_attributes(parts(bytes).1, summary);
        let mut changed: Option<Changed> = None;
        let mut from = 0;
        while let Some(rule) = holds.next(from) {
            let number = Some(rule as u16);
            if let Some(edit) = &self.edits[rule] {
                let now = changed.as_ref().map_or((bytes, summary), |it| (&it.bytes, &it.summary));
                let Some(mut next) = edit.apply(family, now) else {
                    return Decision { is_accepted: false, rule: number, changed: None };
                };
                if let Some(before) = &changed {
                    next.sets_med |= before.sets_med;
                    next.sets_next_hop |= before.sets_next_hop;
                }
                holds = outer & self.of_attributes(parts(&next.bytes).1, &next.summary);
                changed = Some(next);
            }
            match self.keys.rules[rule].then {
                Then::Accept => return Decision { is_accepted: true, rule: number, changed },
                Then::Reject => {
                    return Decision { is_accepted: false, rule: number, changed: None };
                }
                Then::Next => from = rule + 1,
            }
        }
        match self.keys.default {
            Verdict::Accept => Decision { is_accepted: true, rule: None, changed },
            Verdict::Reject => Decision { is_accepted: false, rule: None, changed: None },
        }
    }

    /// The rules that attributes fit.
    fn of_attributes(&self, block: &[u8], summary: &Summary) -> RuleSet {
        let mut all = RuleSet::ALL;
        if !self.communities.is_empty() {
            let spans =
                [summary.communities, summary.extended_communities, summary.large_communities];
            let values = CommunityKind::ALL.into_iter().flat_map(|kind| {
                let values = spans[kind as usize].of(block).chunks_exact(kind.len());
                let value =
                    |one: &[u8]| one.iter().fold(0, |all, byte| all << 8 | u128::from(*byte));
                values.map(move |one| kind.number(value(one)))
            });
            all = all & self.communities.of(values);
        }
        let path = summary.path.of(block);
        if !self.path.is_empty() {
            let ases = Segments::new(path).flat_map(|segment| segment.ases());
            all = all & self.path.of(ases.map(u128::from));
        }
        if !self.origins.is_empty() {
            all = all & self.origins.of(path::origin(path).into_iter().map(u128::from));
        }
        all & self.lengths.of([summary.path_weight.into()].into_iter())
    }
}

impl Groups {
    /// Returns the number of a name.
    pub fn number(&mut self, name: &str) -> u16 {
        let next = u16::try_from(self.0.len() + 1).unwrap_or(u16::MAX);
        *self.0.entry(name.to_owned()).or_insert(next)
    }
}

impl Policies {
    /// The policies of a configuration, after those of another one.
    pub fn new(config: &Config, before: Policies) -> Policies {
        let mut groups = before.groups;
        let of = |keys: &PolicyKeys| {
            let same = before.all.get(&keys.name).filter(|policy| policy.keys == *keys);
            let policy = same.cloned().unwrap_or_else(|| Arc::new(Policy::new(keys, &mut groups)));
            (keys.name.clone(), policy)
        };
        Policies { all: config.policies.iter().map(of).collect(), groups }
    }

    /// The policy of a name; `None` where everything is taken as it is.
    pub fn of(&self, name: Option<&String>, kind: Kind) -> Option<Arc<Policy>> {
        match name {
            Some(name) if name == ACCEPT => None,
            // Names were checked.
            Some(name) => self.all.get(name).cloned(),
            None if kind == Kind::External => Some(Arc::new(Policy::nothing())),
            None => None,
        }
    }

    /// The policy of a name.
    pub fn named(&self, name: &str) -> Option<&Policy> {
        self.all.get(name).map(|policy| &**policy)
    }

    /// The names of all policies.
    pub fn names(&self) -> Vec<&str> {
        self.all.keys().map(String::as_str).collect()
    }

    /// The number of a group.
    pub fn group(&mut self, name: Option<&String>) -> u16 {
        name.map_or(0, |name| self.groups.number(name))
    }
}

#[cfg(test)]
mod tests;
