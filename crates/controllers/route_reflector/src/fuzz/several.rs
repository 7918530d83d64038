//! Peers that tell and are told several paths of a route (RFC 7911): each by an identifier that no
//! other path of the route has, and that is the same for as long as the path is there.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{By, Prefix};

/// Who tells and is told several paths, and by which identifiers.
#[derive(Debug, Default)]
pub struct Several {
    /// A bit for each peer.
    peers: u8,
    /// Most paths of a route that they are told.
    pub most: u8,
    slots: BTreeMap<(Prefix, By), u8>,
}

impl Several {
    /// Some peers, a bit for each, that are told so many paths of a route at most.
    pub fn new(peers: u8, most: u8) -> Several {
        Several { peers, most, slots: BTreeMap::new() }
    }

    /// Whether a peer is one of them.
    pub fn has(&self, peer: u16) -> bool {
        self.peers >> peer & 1 == 1
    }

    /// Takes the identifiers of all paths that are there; 0 stands for none.
    ///
    /// # Panics
    /// If one has changed since the last time, or two of a route are the same.
    pub fn compare(&mut self, slots: BTreeMap<(Prefix, By), u8>) {
        let mut used = BTreeSet::new();
        for (path, slot) in &slots {
            let before = self.slots.get(path).filter(|slot| **slot != 0);
            assert!(before.is_none_or(|before| before == slot), "{before:?} becomes {slot}");
            assert!(*slot == 0 || used.insert((path.0, *slot)), "two paths are {slot}: {path:?}");
        }
        self.slots = slots;
    }
}
