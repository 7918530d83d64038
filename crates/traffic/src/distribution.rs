//! How an item out of many is drawn: uniformly, or some far more often than others.

use rand::distr::Distribution as _;
use rand_distr::Zipf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::{Bits, Random};

/// A distribution over items numbered from 0, as named in a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// All items with equal probability.
    #[default]
    Uniform,
    /// Zipf: the probability of item k (from 1) is proportional to 1 / k^exponent; the value is the
    /// exponent.
    Zipf(#[schemars(extend("exclusiveMinimum" = 0))] f64),
}

/// A distribution ready to be drawn from.
#[derive(Clone, Copy, Debug)]
pub enum Draw {
    /// A uniform distribution over this number of items.
    Uniform(u32),
    /// A Zipf distribution.
    Zipf(Zipf<f64>),
}

impl Distribution {
    /// Checks the parameters.
    ///
    /// # Errors
    /// A description of the invalid parameter.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Distribution::Uniform => Ok(()),
            Distribution::Zipf(exponent) if *exponent > 0.0 && exponent.is_finite() => Ok(()),
            Distribution::Zipf(exponent) => {
                Err(format!("a Zipf exponent must be above 0, not {exponent}"))
            }
        }
    }

    /// Returns the distribution over `count` items; invalid parameters yield a uniform one (see
    /// [`Self::check`]).
    pub fn over(&self, count: u32) -> Draw {
        match self {
            Distribution::Zipf(exponent) if count > 0 => {
                Zipf::new(f64::from(count), *exponent).map_or(Draw::Uniform(count), Draw::Zipf)
            }
            _ => Draw::Uniform(count),
        }
    }
}

impl Draw {
    /// Draws an item: `bits` decide a uniform draw, the random sequence of `number` a Zipf draw.
    #[inline(always)]
    pub fn item(&self, bits: &mut Bits, random: &Random, number: u64) -> u32 {
        match self {
            Draw::Uniform(count) => bits.below(*count),
            Draw::Zipf(zipf) => skewed(zipf, random, number),
        }
    }
}

#[inline(never)]
fn skewed(zipf: &Zipf<f64>, random: &Random, number: u64) -> u32 {
    zipf.sample(&mut random.sequence(number)) as u32 - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn zipf_prefers_the_first_items_as_it_should() {
        let draw = Distribution::Zipf(1.0).over(1000);
        let random = Random::new(3, 0);
        let mut counts = vec![0u32; 1000];
        for index in 0..200_000 {
            counts[draw.item(&mut Bits(0), &random, index) as usize] += 1;
        }
        // The harmonic number H(1000) is 7.485: item 1 has 13.36 % of the draws, item 2 half that.
        assert!((26_000..27_500).contains(&counts[0]), "{}", counts[0]);
        assert!((12_900..13_900).contains(&counts[1]), "{}", counts[1]);
    }

    #[test]
    fn a_distribution_reads_as_it_is_written() {
        let read = |text| serde_json::from_str::<Distribution>(text).ok();
        assert_eq!(read(r#""uniform""#), Some(Distribution::Uniform));
        assert_eq!(read(r#"{"zipf": 1.2}"#), Some(Distribution::Zipf(1.2)));
        assert!(Distribution::Zipf(f64::NAN).check().is_err());
        assert!(matches!(Distribution::Zipf(-1.0).over(5), Draw::Uniform(5)));
    }
}
