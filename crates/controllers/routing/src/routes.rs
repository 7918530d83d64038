//! The routes: what zebra wants of each, and what the router has.

use std::collections::{BTreeMap, btree_map};
use std::ops::Bound;

use crate::router::Network;

/// Where zebra wants a route to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// It was told in an earlier life of the controller.
    Untold,
    /// Nowhere: its packets are dropped.
    Nowhere,
    /// To what has this number of zebra's.
    Object(u32),
    /// To one of a list of next hops, by the controller's number of the list.
    List(u32),
}

/// A route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub wanted: Wanted,
    /// To what it leads at the router; `None` if the router does not have it.
    pub installed: Option<u32>,
    /// The connection in which it was told.
    pub generation: u32,
    /// It leads where it led before, until everything was told again, because what it is to lead to
    /// is not there yet.
    pub is_kept: bool,
}

/// The routes.
#[derive(Default)]
pub(crate) struct Routes {
    entries: BTreeMap<Network, Entry>,
    /// The connection in which zebra tells routes now, from 1.
    pub generation: u32,
    installed: usize,
    /// Routes of earlier connections.
    stale: usize,
}

impl Routes {
    /// Takes a route over that was told in an earlier life.
    pub fn adopt(&mut self, network: Network, to: u32) {
        let entry =
            Entry { wanted: Wanted::Untold, installed: Some(to), generation: 0, is_kept: false };
        if self.entries.insert(network, entry).is_none() {
            self.installed += 1;
            self.stale += 1;
        }
    }

    /// A connection begins: all routes are of earlier ones.
    pub fn renew(&mut self) {
        self.generation += 1;
        self.stale = self.entries.len();
    }

    /// Says what is wanted of a route; returns its entry, and the one before if there was one.
    pub fn tell(&mut self, network: Network, wanted: Wanted) -> (Entry, Option<Entry>) {
        let generation = self.generation;
        let told = Entry { wanted, installed: None, generation, is_kept: false };
        match self.entries.entry(network) {
            btree_map::Entry::Vacant(place) => (*place.insert(told), None),
            btree_map::Entry::Occupied(place) => {
                let entry = place.into_mut();
                let before = *entry;
                let is_stale = before.generation != generation;
                let is_kept = (is_stale || before.is_kept) && before.installed.is_some();
                *entry = Entry { installed: before.installed, is_kept, ..told };
                self.stale -= usize::from(is_stale);
                (*entry, Some(before))
            }
        }
    }

    /// Forgets a route that is not at the router any more.
    pub fn forget(&mut self, network: &Network) {
        if let Some(entry) = self.entries.remove(network) {
            self.stale -= usize::from(entry.generation != self.generation);
        }
    }

    /// A route; `None` if there is no such one.
    pub fn get(&self, network: &Network) -> Option<Entry> {
        self.entries.get(network).copied()
    }

    /// To what a route leads at the router.
    pub fn installed(&self, network: &Network) -> Option<u32> {
        self.entries.get(network)?.installed
    }

    /// Says to what it leads.
    pub fn set_installed(&mut self, network: &Network, to: Option<u32>) {
        if let Some(entry) = self.entries.get_mut(network) {
            self.installed -= usize::from(entry.installed.is_some());
            self.installed += usize::from(to.is_some());
            entry.installed = to;
        }
    }

    /// Its way of before is kept no longer.
    pub fn let_go(&mut self, network: &Network) {
        if let Some(entry) = self.entries.get_mut(network) {
            entry.is_kept = false;
        }
    }

    /// The routes behind one, or all.
    pub fn behind(&self, last: Option<Network>) -> impl Iterator<Item = (&Network, &Entry)> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        self.entries.range((from, Bound::Unbounded))
    }

    /// How many there are, how many of them the router has, and how many are of earlier
    /// connections.
    pub fn counts(&self) -> [usize; 3] {
        [self.entries.len(), self.installed, self.stale]
    }
}
