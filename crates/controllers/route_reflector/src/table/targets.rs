//! Route targets (RFC 4360 section 4): which sets of them attribute blocks have, each kept once.

use std::sync::Arc;

use protocol_bgp::summary::Summary;

use crate::table::Interned;

/// Route targets in order, each the eight bytes of its extended community; `None` for those of a
/// set that is not kept, which everybody is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Targets(pub Option<Arc<[u64]>>);

/// Sets of route targets by number, counted by their users as in [`Interned`].
#[derive(Debug)]
pub struct Sets {
    sets: Interned<Targets>,
    empty: Targets,
    targets: Vec<u64>,
    bytes: Vec<u8>,
    /// Sets that were not kept.
    unmarked: u64,
}

impl Targets {
    /// Those that a set is known by alone.
    fn new(targets: &[u64]) -> Targets {
        Targets(Some(targets.into()))
    }
}

impl Sets {
    /// Creates an empty table, whose hashes nobody can foresee who does not know the secret.
    pub fn new(secret: [u64; 2]) -> Sets {
        Sets {
            sets: Interned::new(secret),
            empty: Targets::new(&[]),
            targets: Vec::new(),
            bytes: Vec::new(),
            unmarked: 0,
        }
    }

    /// Returns the number of the set of an attribute block, and makes the caller a user of it.
    pub fn of_block(&mut self, summary: &Summary, block: &[u8]) -> u32 {
        self.targets.clear();
        let all = summary.extended_communities.extended(block).filter(is_target);
        self.targets.extend(all.map(u64::from_be_bytes));
        self.intern()
    }

    /// Returns the number of the set of those that are in either, and makes the caller a user of
    /// it.
    pub fn union(&mut self, one: u32, other: u32) -> u32 {
        let (one, other) = (self.get(one), self.get(other));
        let (Some(one), Some(other)) = (one.0, other.0) else { return EVERYBODY };
        self.targets.clear();
        self.targets.extend(one.iter().chain(&*other));
        self.intern()
    }

    fn intern(&mut self) -> u32 {
        self.targets.sort_unstable();
        self.targets.dedup();
        if self.targets.is_empty() {
            return EMPTY;
        }
        self.bytes.clear();
        // One that is known needs no room.
        let is_narrow = self.targets.len() <= TARGETS_MAX;
        self.bytes.extend(self.targets.iter().flat_map(|target| target.to_be_bytes()));
        let has_room = self.sets.len() < SETS_MAX || self.sets.find(&self.bytes).is_some();
        let targets = &self.targets;
        let number = match is_narrow && has_room {
            true => self.sets.intern(&self.bytes, || Targets::new(targets)),
            false => None,
        };
        self.unmarked += u64::from(number.is_none());
        number.unwrap_or(EVERYBODY)
    }

    /// Returns a set.
    pub fn get(&self, number: u32) -> Targets {
        match number {
            EMPTY => self.empty.clone(),
            EVERYBODY => Targets(None),
            _ => self.sets.known(number).cloned().unwrap_or(Targets(None)),
        }
    }

    /// Returns a number above that of every set that is kept.
    pub fn end(&self) -> u32 {
        self.sets.end()
    }

    /// Returns a set that is kept, and how often it is used; `None` for a number that is free.
    pub fn kept(&self, number: u32) -> Option<(&Targets, u32)> {
        (number < self.end()).then(|| self.sets.known(number).zip(Some(self.sets.users(number))))?
    }

    /// Makes the caller a user of a set once more.
    pub fn share(&mut self, number: u32) {
        if number < EMPTY {
            self.sets.share(number);
        }
    }

    /// Ends a use.
    pub fn release(&mut self, number: u32) {
        if number < EMPTY {
            self.sets.release(number);
        }
    }

    /// Returns how many sets there are.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Returns how many sets were not kept.
    pub fn unmarked(&self) -> u64 {
        self.unmarked
    }

    /// Returns about how many bytes of memory are used; others of [`Sets::memory`] are free.
    pub fn used(&self) -> usize {
        2 * self.sets.used() + self.sets.len() * 2 * size_of::<usize>()
    }

    /// Returns about how many bytes of memory they have.
    pub fn memory(&self) -> usize {
        // Each has its bytes twice: as a string and as targets behind two counters.
        2 * self.sets.memory() + self.sets.len() * 2 * size_of::<usize>()
    }
}

/// Whether an extended community is a route target: of an AS of two bytes, of an address, of an AS
/// of four bytes (RFC 4360 section 4, RFC 5668), or of an Ethernet segment, for which the same is
/// asked (RFC 7432 section 7.6).
fn is_target(community: &[u8; 8]) -> bool {
    matches!(community, [0 | 1 | 2 | 6, 2, ..])
}

/// The set of no targets.
pub const EMPTY: u32 = u32::MAX - 2;

/// In the place of a set that is not kept: everybody is told of such routes.
pub const EVERYBODY: u32 = u32::MAX - 1;

/// No set.
pub const NO_SET: u32 = u32::MAX;

/// Targets of a set that is kept. Nobody has as many, and each is looked up for each peer.
const TARGETS_MAX: usize = 64;

/// Sets that are kept at once.
pub const SETS_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use protocol_bgp::attributes::{EXTENDED_COMMUNITIES, push};
    use protocol_bgp::rules::Reading;
    use protocol_bgp::update::Scan;

    use super::*;

    fn scan(communities: &[[u8; 8]]) -> (Summary, Vec<u8>) {
        let mut attributes = vec![0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 3, 4, 10, 0, 0, 9];
        push(0xc0, EXTENDED_COMMUNITIES, &communities.concat(), &mut attributes);
        let len = (attributes.len() as u16).to_be_bytes();
        let body = [&[0, 0][..], &len, &attributes, &[8, 10]].concat();
        let reading = Reading {
            families: [protocol_bgp::families::Family::Ipv4Unicast].into_iter().collect(),
            path_ids: protocol_bgp::families::FamilySet::NONE,
            extended_next_hops: protocol_bgp::families::FamilySet::NONE,
            is_wide: true,
            is_external: false,
        };
        let mut scan = Scan::default();
        scan.read(&body, &reading).expect("it is one");
        (*scan.summary(), scan.block().to_vec())
    }

    /// - `route-reflector`, RFC 4360 section 4 and RFC 7432 section 7.6: which communities are
    ///   route targets
    #[test]
    fn sets_have_targets_and_nothing_else() {
        let mut sets = Sets::new([1, 2]);
        let targets: [[u8; 8]; 4] = [
            [0, 2, 0, 9, 0, 0, 0, 1],
            [1, 2, 9, 9, 9, 9, 0, 1],
            [2, 2, 0, 1, 0, 0, 0, 1],
            [6, 2, 1, 2, 3, 4, 5, 6],
        ];
        let others =
            [[0, 3, 0, 9, 0, 0, 0, 1], [0x40, 2, 0, 9, 0, 0, 0, 1], [6, 0, 0, 0, 0, 0, 0, 1]];
        let (summary, block) = scan(&[&targets[..], &others].concat());
        let all = sets.of_block(&summary, &block);
        let expected: Vec<u64> = targets.iter().map(|one| u64::from_be_bytes(*one)).collect();
        assert_eq!(sets.get(all).0.as_deref(), Some(&expected[..]));
        let (summary, block) = scan(&others);
        assert_eq!(sets.of_block(&summary, &block), EMPTY);
        let (summary, block) = scan(&[targets[3], targets[0], targets[3]]);
        let two = sets.of_block(&summary, &block);
        let one = scan(&targets[1..2]);
        let one = sets.of_block(&one.0, &one.1);
        let three = sets.union(two, one);
        assert_eq!(sets.get(three).0.map(|it| it.len()), Some(3));
        assert_eq!(sets.union(EMPTY, two), two);
        [all, two, one, three, two].into_iter().for_each(|set| sets.release(set));
        assert!(sets.is_empty());
    }

    /// - `route-reflector`: sets are bounded, and those without room are told to everybody
    #[test]
    fn sets_without_room_are_counted() {
        let mut sets = Sets::new([1, 2]);
        let target = |number: u32| u64::from_be_bytes([0, 2, 0, 9, 0, 0, 0, 0]) | u64::from(number);
        for number in 0..SETS_MAX as u32 + 5 {
            sets.targets = vec![target(number)];
            assert_eq!(sets.intern() == EVERYBODY, number >= SETS_MAX as u32);
        }
        assert_eq!((sets.len(), sets.unmarked()), (SETS_MAX, 5));
        sets.targets = vec![target(3)];
        assert_eq!(sets.intern(), 3, "one that is known");
        assert_eq!(sets.get(EVERYBODY), Targets(None));
        let mut sets = Sets::new([1, 2]);
        sets.targets = (0..TARGETS_MAX as u32 + 1).map(target).collect();
        assert_eq!(sets.intern(), EVERYBODY);
        assert_eq!(sets.union(EVERYBODY, EMPTY), EVERYBODY);
    }
}
