//! What is read of the reflector by people's requests.

use protocol_bgp::families::Family;
use protocol_bgp::rules::Fault;

use super::Reflector;
use crate::groups::Group;
use crate::groups::view::View;
use crate::known::Known;
use crate::table::{Interned, Sets};

impl Reflector {
    /// Returns about how many bytes of memory it has.
    pub fn memory(&self) -> usize {
        let ribs: usize = self.ribs.iter().map(|rib| rib.family.memory()).sum();
        let others = self.rests.memory() + self.sets.memory() + self.refused.memory();
        ribs + self.attributes.memory() + others
    }

    /// Returns what is read of a family.
    pub fn view(&self, family: Family) -> View<'_> {
        let Reflector { own, ribs, attributes, rests, sets, sources, .. } = self;
        let family = &ribs[family as usize].family;
        View { own, family, routes: family.routes(), sets, attributes, rests, sources }
    }

    /// Returns a number above that of every group of a family.
    pub fn groups_end(&self, family: Family) -> u32 {
        self.ribs[family as usize].groups.len() as u32
    }

    /// Returns a group of a family by its number.
    pub fn group(&self, family: Family, number: u32) -> Option<&Group> {
        self.ribs[family as usize].groups.get(number as usize)?.as_ref()
    }

    /// Returns the families of whose routes a peer is told, each with the number of its group.
    pub fn groups_of(&self, peer: u16) -> impl Iterator<Item = (Family, u32)> {
        self.members.get(usize::from(peer)).into_iter().flatten().copied()
    }

    /// Returns whether a peer will be told of a family when it has told which route targets it asks
    /// for.
    pub fn is_awaited(&self, peer: u16, family: Family) -> bool {
        let waiting = self.waiting.get(usize::from(peer)).into_iter().flatten();
        waiting.map(|identity| identity.family).any(|one| one == family)
    }

    /// Returns what was wrong with the last UPDATE, which may have been the end of its session.
    pub fn wrong(&self, fault: Option<&Fault>) -> Vec<String> {
        let findings = self.scan.findings().iter().map(ToString::to_string);
        findings.chain(fault.map(ToString::to_string)).collect()
    }

    /// Returns next hops with attribute blocks, and what is known of them.
    pub fn blocks(&self) -> &Interned<Known> {
        &self.attributes
    }

    /// Returns the sets of route targets.
    pub fn target_sets(&self) -> &Sets {
        &self.sets
    }
}
