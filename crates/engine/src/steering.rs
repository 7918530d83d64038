//! Which of several workers has a subscriber.
//!
//! A function derives 32 bits of steering from what names a subscriber; these bits decide the
//! worker, evenly and with one multiplication. Subscribers choose much of what names them, so the
//! bits come from a hash with a key ([`Steering`]): who does not know the key cannot choose a
//! worker, nor bring many subscribers to one.

use machine::hash::Keyed;

/// Keyed hash by which subscribers are distributed over workers. All components that steer packets
/// of a function have the same key: its workers, the ports in front of them, a tester, a standby.
#[derive(Clone, Debug)]
pub struct Steering {
    keyed: Keyed,
}

impl Steering {
    /// Creates the steering of a key.
    pub fn new(key: [u64; 2]) -> Steering {
        Steering { keyed: Keyed::new(key) }
    }

    /// Returns the steering bits of two words that identify a subscriber, in their order.
    #[inline(always)]
    pub fn bits(&self, a: u64, b: u64) -> u32 {
        (self.keyed.of2(a, b) >> 32) as u32
    }
}

/// Returns a number below `count` from 32 uniformly distributed bits; the high bits decide.
#[inline(always)]
pub const fn below(bits: u32, count: u32) -> u32 {
    ((bits as u64 * count as u64) >> 32) as u32
}

/// Returns the worker, of `count` workers, of the subscriber with these steering bits.
#[inline(always)]
pub const fn worker_of(steering: u32, count: u32) -> u32 {
    below(steering, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of subscribers with consecutive numbers, as addresses are assigned.
    const SUBSCRIBERS: u64 = 60_000;

    #[test]
    fn neighbours_are_spread_evenly_whichever_word_names_them() {
        for key in [[0, 0], [1, 2], [u64::MAX, 0x0123_4567_89ab_cdef]] {
            let steering = Steering::new(key);
            let named: [&dyn Fn(u64) -> u32; 4] = [
                &|n| steering.bits(0x0a00_0000 + n, 0),
                &|n| steering.bits(0, n),
                &|n| steering.bits(n << 40, 7),
                &|n| steering.bits(n >> 8, n & 0xff),
            ];
            for (which, bits) in named.iter().enumerate() {
                for count in [2, 3, 8, 60] {
                    let mut of = vec![0u32; count as usize];
                    (0..SUBSCRIBERS).for_each(|n| of[worker_of(bits(n), count) as usize] += 1);
                    // Five standard deviations of a fair draw.
                    let mean = SUBSCRIBERS as f64 / f64::from(count);
                    let fair = |&n: &u32| (f64::from(n) - mean).abs() < 5.0 * mean.sqrt();
                    assert!(of.iter().all(fair), "{key:x?}, words {which}, {count}: {of:?}");
                }
            }
        }
    }

    #[test]
    fn who_shares_a_worker_depends_on_every_bit_of_the_key() {
        let key = [3, 5];
        let of = |key| {
            let steering = Steering::new(key);
            (0..SUBSCRIBERS).map(|n| worker_of(steering.bits(n, 0), 4)).collect::<Vec<u32>>()
        };
        let workers = of(key);
        assert_eq!(of(key), workers, "a key repeats");
        for bit in 0..128 {
            let mut other = key;
            other[bit / 64] ^= 1 << (bit % 64);
            let other = of(other);
            let stay = workers.iter().zip(&other).filter(|(one, other)| one == other).count();
            let share = stay as f64 / SUBSCRIBERS as f64;
            assert!((0.23..0.27).contains(&share), "key bit {bit}: {share} stay");
            // Those that one worker has under one key are of all workers under the other.
            let of_first = workers.iter().zip(&other).filter(|(one, _)| **one == 0);
            let mut met = [0; 4];
            of_first.for_each(|(_, other)| met[*other as usize] += 1);
            let fair = met.iter().all(|&n| (3300..4200).contains(&n));
            assert!(fair, "key bit {bit}: {met:?}");
        }
    }

    #[test]
    fn the_order_of_words_matters() {
        let steering = Steering::new([1, 2]);
        assert_ne!(steering.bits(3, 4), steering.bits(4, 3));
        assert_ne!(steering.bits(3, 0), steering.bits(0, 3));
    }
}
