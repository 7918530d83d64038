//! Keys of `latency`.

use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConfigError, reference, throughput};

/// At which loads to measure, how often and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The throughput that loads are fractions of, on each interface; where it is left out, it is
    /// found first.
    pub of: Option<Pps>,
    /// How it is found: the keys of the throughput method.
    pub search: throughput::Config,
    /// The loads, as fractions of the throughput: `[10 %, 50 %, 90 %, 100 %]`.
    pub loads: Vec<Ratio>,
    /// The rate that counts as no load; 0 leaves it out.
    pub no_load_rate: Pps,
    /// How many times to measure at each load; medians and extremes are over these.
    pub repetitions: u32,
    /// How long each lasts; RFC 2544 and RFC 8219 ask for 120 s, and 60 s for the delay variation.
    pub duration: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            of: None,
            search: throughput::Config::default(),
            loads: [0.1, 0.5, 0.9, 1.0].map(Ratio).to_vec(),
            no_load_rate: Pps(1000.0),
            repetitions: 5,
            duration: Seconds(2.0),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key, problem| Err(ConfigError::new(key, problem));
        reference::validate(self.of, &self.search)?;
        if self.loads.len() > LOADS_MAX || self.loads.iter().any(|l| l.0 <= 0.0 || l.0 > 1.0) {
            return wrong("loads", "must be at most 20 fractions above 0 and up to 1 (100 %)");
        }
        if self.loads.is_empty() && self.no_load_rate.0 <= 0.0 {
            return wrong("loads", "must not be empty where no-load-rate is 0 too");
        }
        if !(1..=1000).contains(&self.repetitions) {
            return wrong("repetitions", "must be 1 to 1000");
        }
        if self.duration.0 <= 0.0 {
            return wrong("duration", "must be more than 0, `2 s` is usual");
        }
        Ok(())
    }
}

/// The most loads of one measurement.
const LOADS_MAX: usize = 20;
