//! Random numbers of a seed that the driver gives: jitter, discriminators, identifiers.

use std::time::Duration;

/// The SplitMix64 generator (Steele, Lea and Flood, OOPSLA 2014). Whoever sees some of its numbers
/// can tell the others: it is not for keys.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit, which must not be zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// Returns a duration that is shorter than this one by a random share from `least` to `most`
    /// percent, in thousandths of it.
    pub fn shortened(&mut self, duration: Duration, least: u32, most: u32) -> Duration {
        let share = 1000 - u64::from(least) * 10 - self.below(u64::from(most - least) * 10 + 1);
        let ns = duration.as_nanos() * u128::from(share) / 1000;
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_within_their_limits_and_reach_them() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..1000).map(|_| random.below(4)).collect();
        assert!((0..4).all(|number| drawn.contains(&number)) && drawn.iter().all(|n| *n < 4));
        let second = Duration::from_secs(1);
        let shares: Vec<_> = (0..20_000).map(|_| random.shortened(second, 10, 25)).collect();
        let [least, most] = [shares.iter().min(), shares.iter().max()].map(|share| *share.unwrap());
        assert_eq!([least, most], [750, 900].map(Duration::from_millis));
        assert_eq!(random.shortened(second, 0, 0), second);
    }
}
