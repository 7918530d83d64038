//! A node: 256 entries for the next 8 bits of an address, and the routes that end in them.
//!
//! ```text
//!  starts, 256 bits   1...1.1...............1....   a run of equal entries starts here
//!  ranks              runs before each 64 bits
//!  runs ──────────►   [ - | a | b | - ]             one word a run: a value, a child, or nothing
//!                                                   of its own: then `inherited` holds
//!  marks, 512 bits    .1.....1..                    the routes: 1 the whole, 2 and 3 its halves ...
//!  values ────────►   [ a | b ]                     one word a route, in the order of the marks
//! ```
//! A look-up reads the one cache line of the header and one of the runs. Nodes of the first octets
//! have their entries in full instead of runs.

use zerocopy::FromZeros;

/// What look-ups read of a node, and where the rest is: one cache line.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub(super) struct Node {
    starts: [u64; 4],
    ranks: [u8; 4],
    /// Where its runs are among the blocks.
    pub runs: u32,
    /// What holds where no route of this node does: the answer of the nodes above.
    pub inherited: u32,
    /// Where the values of its routes are among the blocks.
    pub values: u32,
    pub run_count: u16,
    /// Routes that end in this node.
    pub routes: u16,
    /// Nodes below it.
    pub children: u16,
}

impl Node {
    /// The place of an entry's run among the blocks.
    #[inline(always)]
    pub fn place(&self, slot: usize) -> u32 {
        let word = slot >> 6 & 3;
        let up_to_slot = self.starts[word] & u64::MAX >> (63 - (slot & 63));
        let rank = u32::from(self.ranks[word]) + up_to_slot.count_ones();
        (self.runs + rank).wrapping_sub(1)
    }

    /// Where the runs start, in order.
    pub fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        self.starts.into_iter().enumerate().flat_map(|(word, starts)| {
            let rests =
                std::iter::successors(Some(starts), |rest| Some(rest & rest.wrapping_sub(1)));
            let bits = rests.take(starts.count_ones() as usize).map(u64::trailing_zeros);
            bits.map(move |bit| word * 64 + bit as usize)
        })
    }

    /// Replaces the entries from `first` on, given all runs as they are; notes where the runs start
    /// then, and returns how many there are and what they are.
    pub fn splice(&mut self, old: &[u32], first: usize, entries: &[u32]) -> (usize, [u32; SLOTS]) {
        let mut runs = [0; SLOTS];
        let end = first + entries.len();
        // The runs before, of which the last may go on; those of the entries; those behind, of
        // which the first may be the rest of one.
        let kept = if first == 0 { 0 } else { self.rank(first - 1) };
        runs[..kept].copy_from_slice(&old[..kept]);
        let mut count = kept;
        let behind = (end < SLOTS).then(|| self.rank(end));
        let entry_behind = behind.map(|rank| old[rank - 1]);
        for (slot, &entry) in (first..).zip(entries.iter().chain(entry_behind.as_ref())) {
            let is_start = count == 0 || runs[count - 1] != entry;
            let bit = 1 << (slot & 63);
            self.starts[slot >> 6] &= !bit;
            if is_start {
                self.starts[slot >> 6] |= bit;
                runs[count] = entry;
                count += 1;
            }
        }
        let rest = behind.map_or(&[][..], |rank| &old[rank..]);
        runs[count..count + rest.len()].copy_from_slice(rest);
        count += rest.len();
        let mut before = 0;
        for (rank, starts) in self.ranks.iter_mut().zip(self.starts) {
            *rank = before as u8;
            before += starts.count_ones();
        }
        self.run_count = count as u16;
        (count, runs)
    }

    /// Runs that start up to this entry.
    fn rank(&self, slot: usize) -> usize {
        self.place(slot).wrapping_sub(self.runs).wrapping_add(1) as usize
    }
}

/// Which routes end in a node: a bit for each part of it, halved again and again.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub(super) struct Marks([u64; 8]);

impl Marks {
    pub fn has(&self, part: usize) -> bool {
        self.0[part >> 6] >> (part & 63) & 1 == 1
    }

    pub fn set(&mut self, part: usize) {
        self.0[part >> 6] |= 1 << (part & 63);
    }

    pub fn clear(&mut self, part: usize) {
        self.0[part >> 6] &= !(1 << (part & 63));
    }

    /// The place of a part's route among the routes of the node.
    pub fn rank(&self, part: usize) -> usize {
        let whole: u32 = self.0[..part >> 6].iter().map(|word| word.count_ones()).sum();
        let below = self.0[part >> 6] & ((1 << (part & 63)) - 1);
        (whole + below.count_ones()) as usize
    }

    /// The smallest part with a route that has this entry.
    pub fn longest(&self, slot: usize) -> Option<usize> {
        std::iter::successors(Some(SLOTS | slot), |part| Some(part >> 1))
            .take(9)
            .find(|&part| self.has(part))
    }
}

/// The part of its node that a prefix is whose last octet is `octet` and of which `bits` count.
pub(super) fn part(octet: usize, bits: usize) -> usize {
    1 << bits | octet >> (8 - bits)
}

/// Entries of a node.
pub(super) const SLOTS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spliced_in_is_found_and_the_rest_is_as_before() {
        let mut node = Node::new_zeroed();
        let mut entries = [7; SLOTS];
        let (mut count, mut runs) = node.splice(&[], 0, &entries);
        for step in 0..400 {
            let first = step * 37 % SLOTS;
            let len = (step * step % 23).min(SLOTS - first);
            for (at, entry) in entries[first..first + len].iter_mut().enumerate() {
                *entry = ((at / 3 + step) % 4) as u32;
            }
            (count, runs) = node.splice(&runs[..count], first, &entries[first..first + len]);
            for (slot, &entry) in entries.iter().enumerate() {
                assert_eq!(runs[node.place(slot) as usize], entry, "{step}");
            }
            let changes = (1..SLOTS).filter(|&slot| entries[slot] != entries[slot - 1]);
            assert!(node.starts().eq([0].into_iter().chain(changes)), "{step}");
        }
    }

    #[test]
    fn a_header_is_one_cache_line() {
        assert_eq!((size_of::<Node>(), size_of::<Marks>()), (64, 64));
    }

    #[test]
    fn the_longest_route_of_an_entry_is_its_smallest_part() {
        let mut marks = Marks::new_zeroed();
        assert_eq!(marks.longest(0), None);
        for (part, rank) in [(1, 0), (2, 1), (5, 2), (SLOTS | 127, 3)] {
            marks.set(part);
            assert_eq!(marks.rank(part), rank);
        }
        assert_eq!(
            [255, 0, 64, 127].map(|slot| marks.longest(slot)),
            [Some(1), Some(2), Some(5), Some(SLOTS | 127)]
        );
        assert_eq!(part(0b0100_0000, 2), 5);
        marks.clear(5);
        assert_eq!(marks.longest(64), Some(2));
    }
}
