//! Policies between what peers tell and the table.

use std::sync::Arc;

use protocol_bgp::families::{FAMILIES, Family};
use protocol_bgp::nlri::Nlri;
use protocol_bgp::update::Field;

use super::Reflector;
use super::hearing::routes_of;
use crate::groups::{Group, Identity};
use crate::known::Known;
use crate::membership::Delta;
use crate::policy::{Decision, Policy, RuleSet, Subject};

impl Reflector {
    /// The routes that a peer with a session tells are taken by a policy; all of them where there
    /// is none. What it has told before stays as it is until it is told again.
    pub fn import_by(&mut self, peer: u16, policy: Option<Arc<Policy>>) {
        if let Some(own) = self.imports.get_mut(usize::from(peer)) {
            *own = policy;
        }
    }

    /// Whether what a peer tells is in the table as it has told it.
    pub fn takes_as_told(&self, peer: u16) -> bool {
        self.imports.get(usize::from(peer)).is_some_and(Option::is_none)
    }

    /// A peer with a session is told by another policy from now on: it goes to other groups, and is
    /// told everything again, and what of that it is not told any more.
    pub fn export_by(&mut self, peer: u16, policy: Option<&Arc<Policy>>) {
        let waiting = self.waiting.get(usize::from(peer)).into_iter().flatten();
        let groups = self.members.get(usize::from(peer)).into_iter().flatten();
        let group =
            |&(family, at): &(Family, u32)| self.ribs[family as usize].groups[at as usize].as_ref();
        let told = groups.filter_map(group).map(Group::identity);
        let by = |before: &Identity| Identity { policy: policy.cloned(), ..before.clone() };
        let identities: Vec<Identity> = waiting.chain(told).map(by).collect();
        self.regroup(peer, identities);
    }

    /// Returns how many routes of a family that a peer tells its policy refuses.
    pub fn refused_by_policy(&self, peer: u16, family: Family) -> u32 {
        self.refused.count(peer, family)
    }

    /// Returns the rule of its policy that has refused a route of a peer, by the route's key; the
    /// outer `None` where none has, the inner one for the default.
    pub fn refusal(&self, peer: u16, family: Family, key: &[u8]) -> Option<Option<u16>> {
        self.refused.rule((peer, family, key, 0))
    }

    /// Takes the routes of a field that a policy accepts: what it decides it decides once for all
    /// that the same rules name.
    pub(super) fn announce_by(
        &mut self,
        policy: &Policy,
        peer: u16,
        field: &Field<'_>,
        (bytes, known): (&[u8], Known),
        delta: &mut Delta,
    ) {
        let (family, nlris) = routes_of(field);
        let group = self.sources[usize::from(peer)].group;
        let subject = Subject { family, group, bytes, summary: &known.summary };
        let named = |nlri: &Nlri<'_>| policy.of_prefix(family, nlri.key.as_slice());
        let mut all: Vec<(RuleSet, Nlri<'_>)> = match policy.asks_for_prefixes() {
            true => nlris.map(|nlri| (named(&nlri), nlri)).collect(),
            false => nlris.map(|nlri| (RuleSet::ALL, nlri)).collect(),
        };
        all.sort_by_key(|(named, _)| *named);
        for run in all.chunk_by(|one, other| one.0 == other.0) {
            let nlris = || run.iter().map(|(_, nlri)| nlri.clone());
            let Decision { is_accepted, rule, changed } = policy.decide(&subject, run[0].0);
            if !is_accepted {
                self.counters.refused += self.withdraw(peer, (family, nlris()), delta);
                self.refuse(peer, (family, nlris()), rule);
                continue;
            }
            self.admit(peer, (family, nlris()));
            match &changed {
                None => self.announce(peer, (family, nlris()), (bytes, known), delta),
                Some(changed) => {
                    let known = Known::new(&changed.bytes, changed.summary);
                    self.announce(peer, (family, nlris()), (&changed.bytes, known), delta);
                }
            }
        }
    }

    /// Notes routes of a peer that its policy has refused: they count as told.
    fn refuse<'a>(
        &mut self,
        peer: u16,
        (family, nlris): (Family, impl Iterator<Item = Nlri<'a>>),
        rule: Option<u16>,
    ) {
        let told = &mut self.told[usize::from(peer)];
        let ((taken, bound), mut beyond) = (told.of(family), 0);
        for nlri in nlris {
            let count = taken.saturating_add(self.refused.count(peer, family));
            let has_room = count <= bound.most && !bound.refuses(count);
            let route = (peer, family, nlri.key.as_slice(), nlri.path_id);
            let is_new = self.refused.add(route, rule, has_room);
            beyond += u64::from(is_new && bound.refuses(count));
        }
        let count = self.refused.count(peer, family);
        self.counters.beyond += beyond;
        self.notices.extend(told.refuse(peer, family, count, beyond));
    }

    /// Routes of a peer are taken, or withdrawn: they are not refused any more.
    pub(super) fn admit<'a>(
        &mut self,
        peer: u16,
        (family, nlris): (Family, impl Iterator<Item = Nlri<'a>>),
    ) {
        if self.refused.count(peer, family) == 0 {
            return;
        }
        for nlri in nlris {
            self.refused.remove((peer, family, nlri.key.as_slice(), nlri.path_id));
        }
        let count = self.refused.count(peer, family);
        let told = &mut self.told[usize::from(peer)];
        self.notices.extend(told.refuse(peer, family, count, 0));
    }

    /// Nothing counts as refused any more that a peer has told, of a family or of all.
    pub(super) fn admit_all(&mut self, peer: u16, family: Option<Family>) {
        for row in FAMILIES.iter().filter(|row| family.is_none_or(|family| family == row.family)) {
            if self.refused.count(peer, row.family) == 0 {
                continue;
            }
            self.refused.remove_all(peer, row.family);
            let told = &mut self.told[usize::from(peer)];
            self.notices.extend(told.refuse(peer, row.family, 0, 0));
        }
    }
}
