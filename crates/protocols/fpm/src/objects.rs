//! The next hops and groups that were told, by their numbers alone.

use std::collections::BTreeMap;

use crate::keys::Told;

/// Numbers, and in which connection each was told last.
#[derive(Debug)]
pub(crate) struct Objects {
    held: BTreeMap<u32, Object>,
    limit: u32,
    generation: u32,
    stale: usize,
    /// Below this number, nothing of this kind is stale; groups go before what they may name.
    swept: (Kind, u32),
}

/// What a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Group,
    NextHop,
}

#[derive(Clone, Copy, Debug)]
struct Object {
    generation: u32,
    kind: Kind,
}

impl Objects {
    /// For this many numbers.
    pub fn new(limit: u32) -> Objects {
        let swept = (Kind::Group, 0);
        Objects { held: BTreeMap::new(), limit, generation: 0, stale: 0, swept }
    }

    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Numbers that were not told since [`Objects::age`].
    pub fn stale(&self) -> usize {
        self.stale
    }

    /// Notes that a number was told.
    pub fn tell(&mut self, id: u32, kind: Kind) -> Told {
        let is_full = self.held.len() >= self.limit as usize;
        let told = Object { generation: self.generation, kind };
        match self.held.get_mut(&id) {
            None if is_full => return Told::Refused,
            None => drop(self.held.insert(id, told)),
            Some(object) => {
                let before = std::mem::replace(object, told);
                if before.generation != self.generation {
                    self.stale -= 1;
                    return Told::Renewed;
                }
            }
        }
        Told::Noted
    }

    /// Forgets a number; false if it is not held.
    pub fn forget(&mut self, id: u32) -> bool {
        let Some(object) = self.held.remove(&id) else { return false };
        self.stale -= usize::from(object.generation != self.generation);
        true
    }

    /// Makes all numbers stale.
    pub fn age(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.stale = self.len();
        self.swept = (Kind::Group, 0);
    }

    /// Forgets a stale number and returns it, groups first; `None` when none is stale.
    pub fn sweep(&mut self) -> Option<u32> {
        while self.stale > 0 {
            let (kind, from) = self.swept;
            let is_stale = |(_, object): &(&u32, &Object)| {
                object.kind == kind && object.generation != self.generation
            };
            match self.held.range(from..).find(is_stale).map(|(id, _)| *id) {
                Some(id) => {
                    self.swept = (kind, id);
                    self.forget(id);
                    return Some(id);
                }
                // A number may have become another kind's since.
                None if kind == Kind::NextHop => self.swept = (Kind::Group, 0),
                None => self.swept = (Kind::NextHop, 0),
            }
        }
        None
    }
}
