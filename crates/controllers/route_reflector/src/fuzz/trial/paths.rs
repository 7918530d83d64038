//! The trial of peers that tell and are told several paths of a route (RFC 7911): what they know,
//! with the identifiers that the table gives.

use protocol_bgp::builder::Writing;
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::message::LEN_MAX;
use protocol_bgp::rules::Reading;

use super::super::model::{By, Prefix};
use super::super::several::Several;
use super::super::wire::{self, Paths};
use super::{STRANGER, Told, Trial, is_external, prefix};

impl Trial {
    /// Both, where some peers, a bit for each, tell and are told several paths of a route, and so
    /// many at most.
    pub fn with_paths(mut self, peers: u8, most: u8) -> Trial {
        self.several = Several::new(peers, most);
        self
    }

    /// The families of which a peer tells and is told several paths.
    pub(super) fn path_ids(&self, peer: u16) -> FamilySet {
        let is_meant = peer < STRANGER && self.several.has(peer);
        is_meant.then(|| self.family()).into_iter().collect()
    }

    /// How a peer is told, and tells.
    pub(super) fn writing(&self, peer: u16) -> Writing {
        Writing {
            families: self.families(),
            path_ids: self.path_ids(peer),
            extended_next_hops: FamilySet::NONE,
            is_wide: true,
            len_max: LEN_MAX,
        }
    }

    /// How what it tells is read.
    pub(super) fn reading(&self, peer: u16) -> Reading {
        Reading {
            families: self.families(),
            path_ids: self.path_ids(peer),
            extended_next_hops: FamilySet::NONE,
            is_wide: true,
            is_external: is_external(peer),
        }
    }

    /// The paths of a peer that numbers describe.
    pub(super) fn paths(&self, peer: u16, numbers: &[u8]) -> Told {
        let has_several = !self.path_ids(peer).is_empty();
        let path = |number: &u8| match has_several {
            true => (prefix(number % PREFIXES), u32::from(number / PREFIXES)),
            false => (prefix(number % PREFIXES), 0),
        };
        numbers.iter().map(path).collect()
    }

    /// All that a peer has to know that is told everything.
    pub(super) fn told(&self, peer: u16) -> Paths {
        let family = self.family();
        if self.path_ids(peer).is_empty() {
            let told = self.model.told(peer).into_iter();
            return told.map(|(prefix, it)| ((family, prefix, 0), it)).collect();
        }
        let told = self.model.told_several(peer, self.several.most.into()).into_iter();
        let slot = |(prefix, by)| u32::from(self.slot_of(family, prefix, by));
        told.map(|(key, it)| ((family, key.0, slot(key)), it)).collect()
    }

    /// The identifier of a path, by which others are told of it; 0 for none.
    fn slot_of(&self, family: Family, prefix: Prefix, by: By) -> u8 {
        let view = self.reflector.view(family);
        let number = view.routes.find(&wire::key(family, prefix));
        let mut paths = number.into_iter().flat_map(|number| view.routes.paths(number));
        let path = paths.find(|path| (path.peer, path.identifier) == by);
        path.map_or(0, |path| path.slot)
    }

    /// Compares the identifiers of paths with those before.
    ///
    /// # Panics
    /// If one has changed, or two of a route are the same.
    pub(super) fn look_at_slots(&mut self) {
        if self.several.most == 0 {
            return;
        }
        let all = self.model.paths.keys();
        let slots = all.map(|(prefix, by)| {
            let slot = self.slot_of(self.family(), *prefix, *by);
            ((*prefix, *by), slot)
        });
        let slots = slots.collect();
        self.several.compare(slots);
    }
}

/// Prefixes; what is above their number in that of a prefix is the path's.
const PREFIXES: u8 = 14;
