//! What is read to tell groups of routes.

use crate::known::Known;
use crate::own::{Own, Source};
use crate::policy::{Decision, Policy, RuleSet, Subject};
use crate::table::targets::EMPTY;
use crate::table::{Family, Interned, Path, Routes, Sets};

/// What is read to tell a group of routes.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The reflector.
    pub own: &'a Own,
    /// The family.
    pub family: &'a Family,
    /// Its routes.
    pub routes: &'a Routes,
    /// Sets of route targets.
    pub sets: &'a Sets,
    /// Attributes of all families.
    pub attributes: &'a Interned<Known>,
    /// What NLRI have beside their keys.
    pub rests: &'a Interned<()>,
    /// Who has told paths, by the number of the peer.
    pub sources: &'a [Source],
}

impl View<'_> {
    /// Returns the number of the set of a path's targets.
    #[inline]
    pub fn targets_of(&self, path: &Path) -> u32 {
        self.attributes.known(path.attributes).map_or(EMPTY, |known| known.targets)
    }

    /// Decides by a policy what becomes of attributes that a peer has told of a route of a family,
    /// whose prefix these rules name; `None` of attributes that are not there.
    pub fn decides(
        self,
        policy: &Policy,
        family: protocol_bgp::Family,
        (attributes, peer, named): (u32, u16, RuleSet),
    ) -> Option<Decision> {
        let known = self.attributes.known(attributes)?;
        let bytes = self.attributes.bytes_of(attributes);
        let group = self.sources[usize::from(peer)].group;
        let subject = Subject { family, group, bytes, summary: &known.summary };
        Some(policy.decide(&subject, named))
    }
}
