//! The bits: for each table and each value of a byte, which places do not match.
//!
//! A row is cut into blocks of [`WIDTH_MAX`] words, one cache line; the lines of a block lie
//! together, table by table, so that a look-up ends with the first block in which a rule matches.
//! Rules that do not fill a block have narrower rows, which widen when more come: how much memory a
//! look-up touches depends on the rules that there are, not on those that there is room for.

use std::io;

use super::order::Gap;
use super::words::Words;

/// Words of a row within a block, at most: a cache line.
pub(super) const WIDTH_MAX: usize = 8;

/// All rows of all tables, and which places are in use.
#[derive(Debug)]
pub(super) struct Rows {
    words: Words,
    /// Places that hold a rule; the others match nothing.
    used: Vec<u64>,
    /// Places whose rule looks at a table, table by table.
    lookers: Vec<u64>,
    tables: usize,
    width: usize,
    /// What `width` can grow to.
    width_max: usize,
}

/// The tables of a look-up, and when it is over before it has gone through all of them.
#[derive(Debug)]
pub(super) struct Plan {
    pub bytes: Vec<Byte>,
    pub edges: Vec<Edge>,
    /// Blocks in which there are rules.
    pub blocks: usize,
    /// After so many of the bytes a look-up may be over; 0 where that is not worth a look.
    pub pause: usize,
    /// The rules that look at nothing behind the pause: when one is the first of those left, it is
    /// the answer.
    pub settled: Vec<u64>,
}

/// The table of a byte of the key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Byte {
    pub at: usize,
    pub table: usize,
}

/// Two tables that count together, of a byte of the key and the one behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub at: usize,
    pub table: usize,
}

/// Which places look at any table, and which at more than one.
pub(super) struct Looks {
    any: Vec<u64>,
    several: Vec<u64>,
}

impl Looks {
    /// Whether the rule in a place looks at nothing but this table.
    pub fn are_at_most(&self, rows: &Rows, place: usize, table: usize) -> bool {
        let word = place / WORD_BITS;
        let only = !self.several[word] & rows.lookers[table * rows.used.len() + word];
        (!self.any[word] | only) >> (place % WORD_BITS) & 1 == 1
    }
}

impl Plan {
    pub fn with_capacity(bytes: usize, edges: usize, rows: &Rows) -> Plan {
        let (bytes, edges) = (Vec::with_capacity(bytes), Vec::with_capacity(edges));
        Plan { bytes, edges, blocks: 0, pause: 0, settled: vec![0; rows.used.len()] }
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.edges.clear();
        self.blocks = 0;
        self.pause = 0;
    }
}

impl Rows {
    pub fn new(tables: usize, rules_max: usize) -> io::Result<Rows> {
        let words = rules_max.max(1).div_ceil(WORD_BITS);
        let width_max = words.next_power_of_two().min(WIDTH_MAX);
        let words = words.next_multiple_of(width_max);
        let (used, lookers) = (vec![0; words], vec![0; words * tables]);
        let words = Words::new(words * tables * ROWS)?;
        Ok(Rows { words, used, lookers, tables, width: 1, width_max })
    }

    /// Places for rules.
    pub fn places(&self) -> usize {
        self.used.len() * WORD_BITS
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn bytes(&self) -> usize {
        self.words.bytes() + size_of_val(&*self.used) + size_of_val(&*self.lookers)
    }

    /// Blocks that hold the first `places` places.
    pub fn blocks_up_to(&self, places: usize) -> usize {
        places.div_ceil(self.width * WORD_BITS)
    }

    /// The first place that matches, or [`Rows::places`]. `WIDTH` is [`Rows::width`].
    #[inline(always)]
    pub fn first<const WIDTH: usize, const KEY: usize>(
        &self,
        plan: &Plan,
        key: &[u8; KEY],
    ) -> usize {
        let (used, _) = self.used.as_chunks::<WIDTH>();
        for (block, used) in used.iter().enumerate().take(plan.blocks) {
            let [wrong] = self.wrong::<WIDTH, KEY, 1>(plan, block, std::array::from_ref(key));
            if let Some(bit) = first_bit(used, &wrong) {
                return block * WIDTH * WORD_BITS + bit;
            }
        }
        self.places()
    }

    /// As [`Rows::first`] for several keys, where all rules are in the first block: the plan is
    /// read once for all of them, and their rows are fetched at the same time.
    #[inline(always)]
    pub fn firsts<const WIDTH: usize, const KEY: usize, const KEYS: usize>(
        &self,
        plan: &Plan,
        keys: &[[u8; KEY]; KEYS],
    ) -> [usize; KEYS] {
        let (used, _) = self.used.as_chunks::<WIDTH>();
        let wrong = self.wrong::<WIDTH, KEY, KEYS>(plan, 0, keys);
        wrong.map(|wrong| first_bit(&used[0], &wrong).unwrap_or(self.places()))
    }

    /// Which places of a block do not match each of some keys.
    #[inline(always)]
    fn wrong<const WIDTH: usize, const KEY: usize, const KEYS: usize>(
        &self,
        plan: &Plan,
        block: usize,
        keys: &[[u8; KEY]; KEYS],
    ) -> [[u64; WIDTH]; KEYS] {
        let (tables, _) = self.words.as_chunks::<WIDTH>().0.as_chunks::<ROWS>();
        let tables = &tables[block * self.tables..][..self.tables];
        let mut wrong = [[0; WIDTH]; KEYS];
        let (before, behind) = plan.bytes.split_at(plan.pause);
        add(tables, before, keys, &mut wrong);
        if plan.pause > 0 && self.are_settled(plan, block, &wrong) {
            return wrong;
        }
        add(tables, behind, keys, &mut wrong);
        for edge in &plan.edges {
            let [upper, lower] = [&tables[edge.table], &tables[edge.table + 1]];
            for (wrong, key) in wrong.iter_mut().zip(keys) {
                let high = &upper[usize::from(key[edge.at])];
                let low = &lower[usize::from(key[edge.at + 1])];
                for (wrong, (high, low)) in wrong.iter_mut().zip(high.iter().zip(low)) {
                    *wrong |= high & low;
                }
            }
        }
        wrong
    }

    /// Whether each key has its answer at the pause: no rule is left for it, or the first of those
    /// left looks at nothing that comes.
    #[inline(always)]
    fn are_settled<const WIDTH: usize, const KEYS: usize>(
        &self,
        plan: &Plan,
        block: usize,
        wrong: &[[u64; WIDTH]; KEYS],
    ) -> bool {
        let used = &self.used.as_chunks::<WIDTH>().0[block];
        let settled = &plan.settled.as_chunks::<WIDTH>().0[block];
        let mut open = 0;
        for wrong in wrong {
            let mut is_first = u64::MAX;
            for word in 0..WIDTH {
                let left = used[word] & !wrong[word];
                open |= left & left.wrapping_neg() & !settled[word] & is_first;
                is_first &= if left == 0 { u64::MAX } else { 0 };
            }
        }
        open == 0
    }

    /// The first place that matches if only this row of this table is asked.
    pub fn first_of_row(&self, table: usize, row: usize) -> Option<usize> {
        let words = self.used.iter().enumerate().take(self.words_wide());
        let mut left =
            words.map(|(word, used)| (word, used & !self.words[self.word(table, row, word)]));
        let (word, left) = left.find(|(_, left)| *left != 0)?;
        Some(word * WORD_BITS + left.trailing_zeros() as usize)
    }

    /// What all rules look at.
    pub fn looks(&self) -> Looks {
        let words = self.used.len();
        let mut looks = Looks { any: vec![0; words], several: vec![0; words] };
        for table in self.lookers.chunks(words) {
            for ((any, several), looks) in looks.any.iter_mut().zip(&mut looks.several).zip(table) {
                *several |= *any & looks;
                *any |= looks;
            }
        }
        looks
    }

    /// Words of a row that can be in use.
    fn words_wide(&self) -> usize {
        if self.width < self.width_max { self.width } else { self.used.len() }
    }

    /// Which places look at none of the tables from a plan's pause on; into the plan.
    pub fn settle(&self, plan: &mut Plan) {
        if plan.pause == 0 {
            return;
        }
        let edges = plan.edges.iter().flat_map(|edge| [edge.table, edge.table + 1]);
        let behind: Vec<usize> =
            plan.bytes[plan.pause..].iter().map(|byte| byte.table).chain(edges).collect();
        let words = self.used.len();
        for (word, settled) in plan.settled.iter_mut().enumerate() {
            let looks = behind.iter().map(|table| self.lookers[table * words + word]);
            *settled = !looks.fold(0, |all, table| all | table);
        }
    }

    /// Sets the bit of a place in those rows of a table whose value does not match; whether there
    /// is any.
    pub fn set(&mut self, table: usize, place: usize, is_wrong: impl Fn(u8) -> bool) -> bool {
        let (word, bit) = (place / WORD_BITS, 1 << (place % WORD_BITS));
        let mut is_any = false;
        for value in 0..=u8::MAX {
            if is_wrong(value) {
                let at = self.word(table, value.into(), word);
                self.words[at] |= bit;
                is_any = true;
            }
        }
        if is_any {
            self.lookers[table * self.used.len() + word] |= bit;
        }
        is_any
    }

    /// Clears the bit of a place in all rows of a table; whether any was set.
    pub fn clear(&mut self, table: usize, place: usize) -> bool {
        let (word, bit) = (place / WORD_BITS, 1 << (place % WORD_BITS));
        let mut any = 0;
        for row in 0..ROWS {
            let at = self.word(table, row, word);
            any |= self.words[at] & bit;
            self.words[at] &= !bit;
        }
        self.lookers[table * self.used.len() + word] &= !bit;
        any != 0
    }

    /// From now on a place can match.
    pub fn occupy(&mut self, place: usize) {
        self.used[place / WORD_BITS] |= 1 << (place % WORD_BITS);
    }

    /// From now on a place does not match.
    pub fn vacate(&mut self, place: usize) {
        self.used[place / WORD_BITS] &= !(1 << (place % WORD_BITS));
    }

    /// Moves what lies in a gap, whose free place has no bit set, by one; that of the wanted place
    /// is then clear. Tables without users are clear anyhow.
    pub fn open(&mut self, gap: Gap, users: &[u32]) {
        while gap.free.max(gap.wanted) >= self.width * WORD_BITS && self.width < self.width_max {
            self.widen();
        }
        if gap.free == gap.wanted {
            return;
        }
        let mut used = std::mem::take(&mut self.used);
        shift(gap, |word| word, &mut used);
        self.used = used;
        let words = self.used.len();
        for (table, _) in users.iter().enumerate().filter(|(_, users)| **users > 0) {
            shift(gap, |word| table * words + word, &mut self.lookers);
            for row in 0..ROWS {
                let (tables, width) = (self.tables, self.width);
                shift(gap, |word| place_of(tables, width, table, row, word), &mut self.words);
            }
        }
    }

    /// Makes rows twice as wide. They move up, the last one first, so that none is written over
    /// before it has moved.
    fn widen(&mut self) {
        let (old, new) = (self.width, 2 * self.width);
        for row in (0..self.tables * ROWS).rev() {
            self.words.copy_within(row * old..(row + 1) * old, row * new);
            self.words[row * new + old..(row + 1) * new].fill(0);
        }
        self.width = new;
    }

    fn word(&self, table: usize, row: usize, word: usize) -> usize {
        place_of(self.tables, self.width, table, row, word)
    }
}

/// Adds what does not match by some bytes of the keys.
#[inline(always)]
fn add<const WIDTH: usize, const KEY: usize, const KEYS: usize>(
    tables: &[[[u64; WIDTH]; ROWS]],
    bytes: &[Byte],
    keys: &[[u8; KEY]; KEYS],
    wrong: &mut [[u64; WIDTH]; KEYS],
) {
    for byte in bytes {
        let table = &tables[byte.table];
        for (wrong, key) in wrong.iter_mut().zip(keys) {
            let row = &table[usize::from(key[byte.at])];
            for (wrong, row) in wrong.iter_mut().zip(row) {
                *wrong |= row;
            }
        }
    }
}

/// Where the word of a row lies.
fn place_of(tables: usize, width: usize, table: usize, row: usize, word: usize) -> usize {
    ((word / width * tables + table) * ROWS + row) * width + word % width
}

/// The lowest bit that is used and not wrong.
#[inline(always)]
fn first_bit<const WIDTH: usize>(used: &[u64; WIDTH], wrong: &[u64; WIDTH]) -> Option<usize> {
    let mut any = 0;
    let mut first = 0;
    // From the last on, without a branch on what differs from packet to packet.
    for word in (0..WIDTH).rev() {
        let right = used[word] & !wrong[word];
        any |= right;
        let bit = word * WORD_BITS + right.trailing_zeros() as usize;
        first = if right == 0 { first } else { bit };
    }
    (any != 0).then_some(first)
}

/// Moves the bits between the ends of a gap by one, towards the free one; `at` tells where the
/// words of the row are.
fn shift(gap: Gap, at: impl Fn(usize) -> usize, words: &mut [u64]) {
    let (low, high) = (gap.free.min(gap.wanted), gap.free.max(gap.wanted));
    let (first, last) = (low / WORD_BITS, high / WORD_BITS);
    let goes_up = gap.free == high;
    let mut carry = 0;
    for word in first..=last {
        let mut within = u64::MAX;
        if word == first {
            within &= u64::MAX << (low % WORD_BITS);
        }
        if word == last {
            within &= u64::MAX >> (WORD_BITS - 1 - high % WORD_BITS);
        }
        let old = words[at(word)];
        let moved = if goes_up {
            let moved = (old & within) << 1 | carry;
            carry = old >> (WORD_BITS - 1);
            moved
        } else {
            let next = if word < last { words[at(word + 1)] } else { 0 };
            (old & within) >> 1 | next << (WORD_BITS - 1)
        };
        words[at(word)] = old & !within | moved & within;
    }
}

/// Values of a byte.
const ROWS: usize = 256;
const WORD_BITS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifting_is_as_rotating_a_list_of_bits() {
        let places = [0usize, 1, 62, 63, 64, 65, 127, 128, 150, 191];
        for free in places {
            for wanted in places {
                let mut bits: Vec<bool> = (0..192).map(|at| at * at % 7 < 3).collect();
                bits[free] = false;
                let mut words = [0u64; 3];
                for (at, &bit) in bits.iter().enumerate() {
                    words[at / 64] |= u64::from(bit) << (at % 64);
                }
                if free >= wanted {
                    bits[wanted..=free].rotate_right(1);
                } else {
                    bits[free..=wanted].rotate_left(1);
                }
                shift(Gap { free, wanted }, |word| word, &mut words);
                let got: Vec<bool> =
                    (0..192).map(|at| words[at / 64] >> (at % 64) & 1 == 1).collect();
                assert_eq!(got, bits, "free {free}, wanted {wanted}");
            }
        }
    }
}
