//! Keys of `capacity`.

use measure::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

/// How often and how long to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// How many times to measure; medians and extremes are over these.
    pub repetitions: u32,
    /// How long each repetition lasts.
    pub duration: Seconds,
    /// How long to run before the first repetition, so that caches, pages and clock rates settle;
    /// 0 leaves it out. The warm-up is in the record but in no figure.
    pub warm_up: Seconds,
    /// Changes a second, all kinds together: each repetition is then measured twice, without changes
    /// and with them, and the result says what is left of the rate.
    pub update_rate: Option<f64>,
}

impl Default for Config {
    fn default() -> Self {
        Self { repetitions: 5, duration: Seconds(1.0), warm_up: Seconds(0.5), update_rate: None }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        if !(1..=1000).contains(&self.repetitions) {
            return Err(ConfigError::new("repetitions", "must be 1 to 1000"));
        }
        if self.duration.0 <= 0.0 {
            return Err(ConfigError::new("duration", "must be more than 0, `1 s` is usual"));
        }
        if self.update_rate.is_some_and(|rate| !(rate > 0.0 && rate <= UPDATES_MAX)) {
            return Err(ConfigError::new(
                "update-rate",
                "must be more than 0 and at most 10000000; leave it out to change nothing",
            ));
        }
        Ok(())
    }
}

/// More changes a second than any device here takes.
const UPDATES_MAX: f64 = 1e7;
