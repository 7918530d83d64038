//! What a random load from memory costs, by size of the table and loads in flight.
//!
//! One chain, each address coming from the load before, is what a lookup costs that waits for each
//! step; sixteen chains at a time are what batched, prefetched lookups can reach. The order visits
//! every line once, in a sequence that no prefetcher follows.

use std::time::{Duration, Instant};

use machine::memory::HugeArray;
use measure::record::RandomAccess;

/// Measures random access to tables of each of `sizes_bytes`, powers of two, for about `each` per
/// figure. Sizes for which there is no memory are left out.
pub fn random_access(sizes_bytes: &[u64], each: Duration) -> Vec<RandomAccess> {
    let mut found = Vec::new();
    for &bytes in sizes_bytes {
        let Some(table) = Table::new(bytes) else { continue };
        for in_flight in [1, CHAINS as u32] {
            let ns_per_access = match in_flight {
                1 => table.walk::<1>(each),
                _ => table.walk::<CHAINS>(each),
            };
            found.push(RandomAccess { bytes, in_flight, ns_per_access });
        }
    }
    found
}

/// The table sizes to measure: at most a quarter of the available memory.
pub fn sizes(available_bytes: u64) -> Vec<u64> {
    SIZES_BYTES.into_iter().filter(|&bytes| bytes <= available_bytes / 4).collect()
}

const SIZES_BYTES: [u64; 7] =
    [16 << 10, 256 << 10, 2 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30];
const CHAINS: usize = 16;
const WORDS_PER_LINE: usize = 8;
const SLICES: usize = 5;
const STEPS_BETWEEN_LOOKS: usize = 1 << 10;

/// A table whose lines hold the number of the next line to visit.
struct Table {
    words: HugeArray<u64>,
    order: Order,
}

impl Table {
    fn new(bytes: u64) -> Option<Table> {
        let words = usize::try_from(bytes / 8).ok()?;
        let order = Order::new((words / WORDS_PER_LINE).checked_ilog2()?);
        let mut words = HugeArray::<u64>::zeroed(words).ok()?;
        for line in 0..order.lines() {
            words[line as usize * WORDS_PER_LINE] = order.after(line);
        }
        Some(Table { words, order })
    }

    /// Mean time per load in nanoseconds, as the median of several time slices.
    fn walk<const N: usize>(&self, time: Duration) -> f64 {
        let mut at: [u64; N] = std::array::from_fn(|chain| {
            self.order.line(self.order.lines() / N as u64 * chain as u64)
        });
        self.steps(&mut at, (self.order.lines() as usize / N).min(1 << 16));
        let mut slices: Vec<f64> = (0..SLICES)
            .map(|_| {
                let start = Instant::now();
                let mut loads = 0;
                while start.elapsed() < time / SLICES as u32 {
                    self.steps(&mut at, STEPS_BETWEEN_LOOKS);
                    loads += STEPS_BETWEEN_LOOKS * N;
                }
                start.elapsed().as_nanos() as f64 / loads.max(1) as f64
            })
            .collect();
        // The walk has no other result, so the compiler must not leave it out.
        std::hint::black_box(at);
        slices.sort_unstable_by(f64::total_cmp);
        slices[SLICES / 2]
    }

    fn steps<const N: usize>(&self, at: &mut [u64; N], steps: usize) {
        for _ in 0..steps {
            for line in at.iter_mut() {
                *line = self.words[*line as usize * WORDS_PER_LINE];
            }
        }
    }
}

/// A cycle through all lines, `line(0)`, `line(1)` …, scattered over the table.
///
/// Both steps of [`Order::line`] are invertible. The table can therefore be filled in memory order,
/// which is fast, instead of the order of the cycle.
struct Order {
    bits: u32,
    mask: u64,
}

impl Order {
    fn new(bits: u32) -> Order {
        Order { bits, mask: (1 << bits) - 1 }
    }

    fn lines(&self) -> u64 {
        1 << self.bits
    }

    fn line(&self, position: u64) -> u64 {
        self.fold(position.wrapping_mul(MULTIPLIER) & self.mask)
    }

    fn after(&self, line: u64) -> u64 {
        let position = self.fold(line).wrapping_mul(MULTIPLIER_INVERSE) & self.mask;
        self.line(position.wrapping_add(1) & self.mask)
    }

    /// Mixes the upper half into the lower; the function is its own inverse.
    fn fold(&self, value: u64) -> u64 {
        value ^ (value >> self.bits.div_ceil(2).max(1))
    }
}

/// An odd number, which is invertible modulo any power of two.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
const MULTIPLIER_INVERSE: u64 = inverse(MULTIPLIER);

/// The inverse of an odd number modulo 2^64 by Newton's iteration, which doubles the number of
/// correct bits in each step, from 3.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut round = 0;
    while round < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_one_cycle_through_all_lines() {
        for bits in [0, 1, 2, 5, 8, 13] {
            let order = Order::new(bits);
            let mut seen = vec![false; order.lines() as usize];
            let mut line = order.line(0);
            for position in 0..order.lines() {
                assert_eq!(line, order.line(position), "{bits} bits, position {position}");
                assert!(!std::mem::replace(&mut seen[line as usize], true), "{bits} bits");
                line = order.after(line);
            }
            assert_eq!(line, order.line(0), "{bits} bits: the cycle closes");
        }
    }

    #[test]
    fn small_tables_are_measured_and_impossible_ones_left_out() {
        let found = random_access(&[16 << 10, 1 << 62], Duration::from_millis(2));
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|one| one.ns_per_access > 0.0), "{found:?}");
        assert_eq!((found[0].in_flight, found[1].in_flight), (1, 16));
    }

    #[test]
    fn sizes_keep_within_a_quarter_of_the_memory() {
        assert_eq!(sizes(4 << 30).last(), Some(&(1 << 30)));
        assert_eq!(sizes((4 << 30) - 1).last(), Some(&(256 << 20)));
        assert!(sizes(0).is_empty());
    }
}
