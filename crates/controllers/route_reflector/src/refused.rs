//! Routes that peers tell and that policies have not taken: nothing is kept of them but that they
//! are told, by which rule they were refused, and how many there are.

use hashbrown::HashTable;
use protocol_bgp::families::{FAMILIES, Family};
use tables::hash::Keyed;

use crate::table::interned::hash;

/// Routes that were refused, of all peers.
#[derive(Debug)]
pub(crate) struct Refused {
    all: HashTable<One>,
    /// By peer, and then by family.
    counts: Vec<[u32; FAMILIES.len()]>,
    keyed: Keyed,
}

/// A route by its hash: that two have the same one happens once in 2^64 times.
#[derive(Clone, Copy, Debug)]
struct One {
    hash: u64,
    peer: u16,
    family: Family,
    /// The rule; [`DEFAULT`] where none has.
    rule: u16,
}

/// Which route of which peer: the family, the key and the path identifier.
pub(crate) type Told<'a> = (u16, Family, &'a [u8], u32);

impl Refused {
    /// None. Nobody can foresee its hashes who does not know the secret.
    pub fn new(secret: [u64; 2]) -> Refused {
        Refused { all: HashTable::new(), counts: Vec::new(), keyed: Keyed::new(secret) }
    }

    /// Adds a route, if there is room, or notes another rule. Returns whether it is new.
    pub fn add(&mut self, told: Told<'_>, rule: Option<u16>, has_room: bool) -> bool {
        let (peer, family, ..) = told;
        let one = One { hash: self.hash(told), peer, family, rule: rule.unwrap_or(DEFAULT) };
        if let Some(known) = self.all.find_mut(one.hash, |known| known.is(one.hash, peer, family)) {
            known.rule = one.rule;
            return false;
        }
        if has_room {
            let place = usize::from(peer);
            if self.counts.len() <= place {
                self.counts.resize(place + 1, [0; FAMILIES.len()]);
            }
            self.counts[place][family as usize] += 1;
            self.all.insert_unique(one.hash, one, |known| known.hash);
        }
        true
    }

    /// Takes a route out. Returns whether it was there.
    pub fn remove(&mut self, told: Told<'_>) -> bool {
        let (peer, family, ..) = told;
        let hash = self.hash(told);
        let found = self.all.find_entry(hash, |known| known.is(hash, peer, family));
        let is_there = found.is_ok();
        if let Ok(entry) = found {
            entry.remove();
            self.counts[usize::from(peer)][family as usize] -= 1;
        }
        if self.all.is_empty() {
            self.all = HashTable::new();
        }
        is_there
    }

    /// Takes out all routes of a peer, or of a family of it.
    pub fn remove_all(&mut self, peer: u16, family: Family) {
        if self.count(peer, family) == 0 {
            return;
        }
        self.all.retain(|one| (one.peer, one.family) != (peer, family));
        self.counts[usize::from(peer)][family as usize] = 0;
        self.all.shrink_to(self.all.len() * 2, |known| known.hash);
    }

    /// Returns how many routes of a family a peer tells that are refused.
    pub fn count(&self, peer: u16, family: Family) -> u32 {
        self.counts.get(usize::from(peer)).map_or(0, |counts| counts[family as usize])
    }

    /// Returns the rule that has refused a route, if one or the default has.
    pub fn rule(&self, told: Told<'_>) -> Option<Option<u16>> {
        let (peer, family, ..) = told;
        let hash = self.hash(told);
        let found = self.all.find(hash, |known| known.is(hash, peer, family))?;
        Some(Some(found.rule).filter(|rule| *rule != DEFAULT))
    }

    /// Returns how many bytes of memory are used.
    pub fn used(&self) -> usize {
        // The table may have twice as many places as it has routes.
        self.all.len() * 2 * (size_of::<One>() + 1) * 8 / 7
    }

    /// Returns how many bytes of memory it has.
    pub fn memory(&self) -> usize {
        self.all.capacity() * (size_of::<One>() + 1) * 8 / 7
    }

    fn hash(&self, (peer, family, key, identifier): Told<'_>) -> u64 {
        let whose = u64::from(peer) << 8 | family as u64;
        self.keyed.of2(hash(&self.keyed, key) ^ whose << 32, u64::from(identifier) ^ whose << 40)
    }
}

impl One {
    fn is(&self, hash: u64, peer: u16, family: Family) -> bool {
        (self.hash, self.peer, self.family) == (hash, peer, family)
    }
}

/// The number in the place of a rule where none has decided.
const DEFAULT: u16 = u16::MAX;
