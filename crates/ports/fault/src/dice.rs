//! Chances from a seed: the same draws for the same frames, whatever they turn out to be.

use machine::clock::Ticks;

use crate::config::Faults;

/// Faults of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) lost: bool,
    /// Random number that selects the bit to flip; `None` for an intact frame.
    pub(crate) corrupted: Option<u64>,
    pub(crate) duplicated: bool,
    /// Number of later frames behind which the frame is delivered.
    pub(crate) displaced: u64,
    pub(crate) delay: Ticks,
}

/// Generator of faults.
pub(crate) struct Dice {
    state: u64,
    loss: u64,
    corruption: u64,
    duplication: u64,
    reordering: u64,
    delay: Ticks,
    jitter: Ticks,
}

impl Dice {
    /// Creates the generator of a queue and direction.
    pub(crate) fn new(faults: &Faults, seed: u64, stream: u64, ticks_per_second: f64) -> Dice {
        let ticks = |us: u32| (f64::from(us) * ticks_per_second / 1e6) as Ticks;
        Dice {
            state: mix(seed) ^ mix(stream.wrapping_add(0x51)),
            loss: threshold(faults.loss),
            corruption: threshold(faults.corruption),
            duplication: threshold(faults.duplication),
            reordering: threshold(faults.reordering),
            delay: ticks(faults.delay_us),
            jitter: ticks(faults.jitter_us),
        }
    }

    /// Returns the faults of the next frame. The number of draws is the same for all frames.
    pub(crate) fn draw(&mut self) -> Fate {
        let lost = self.chance(self.loss);
        let corrupted = self.chance(self.corruption);
        let duplicated = self.chance(self.duplication);
        let reordered = self.chance(self.reordering);
        let (place, distance, jitter) = (self.number(), self.number(), self.number());
        Fate {
            lost,
            corrupted: corrupted.then_some(place),
            duplicated,
            displaced: if reordered { 1 + distance % DISTANCE_MAX } else { 0 },
            delay: self.delay + jitter % (self.jitter + 1),
        }
    }

    fn chance(&mut self, threshold: u64) -> bool {
        self.number() < threshold
    }

    /// Returns the next number of SplitMix64 (Steele, Lea and Flood, 2014).
    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // Never the greatest, so that a chance of 1 is certain.
        mix(self.state).min(u64::MAX - 1)
    }
}

/// Returns the bound below which random numbers fall with this probability.
fn threshold(chance: f64) -> u64 {
    if chance >= 1.0 { u64::MAX } else { (chance * u64::MAX as f64) as u64 }
}

fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Largest number of later frames behind which a frame is delivered.
const DISTANCE_MAX: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_what_was_asked_for_and_follow_from_the_seed() {
        let faults = Faults { loss: 0.1, duplication: 1.0, reordering: 0.5, ..Faults::default() };
        let draw = |seed| {
            let mut dice = Dice::new(&faults, seed, 0, 1e9);
            (0..100_000).map(|_| dice.draw()).collect::<Vec<_>>()
        };
        let fates = draw(1);
        let lost = fates.iter().filter(|fate| fate.lost).count();
        // Five standard deviations of a binomial distribution: 5 * sqrt(100000 * 0.1 * 0.9) = 474.
        assert!((9526..=10_474).contains(&lost), "{lost}");
        assert!(fates.iter().all(|fate| fate.duplicated && fate.corrupted.is_none()));
        assert!(fates.iter().all(|fate| fate.displaced <= DISTANCE_MAX));
        assert!(fates == draw(1) && fates != draw(2));
    }
}
