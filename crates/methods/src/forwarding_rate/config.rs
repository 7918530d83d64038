//! Keys of `forwarding-rate`.

use measure::{Pps, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

/// What to offer, and how often and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The load on each interface. One that the tester cannot send gives the forwarding rate at the
    /// maximum offered load: as much as it can.
    pub rate: Pps,
    /// How long each repetition lasts.
    pub duration: Seconds,
    /// How many times to measure; medians and extremes are over these.
    pub repetitions: u32,
    /// How long to run before the first repetition, so that caches, pages and clock rates settle;
    /// 0 leaves it out. The warm-up is in the record but in no figure.
    pub warm_up: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self { rate: Pps(20e6), duration: Seconds(1.0), repetitions: 10, warm_up: Seconds(0.5) }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        if self.rate.0 <= 0.0 {
            return Err(ConfigError::new("rate", "must be more than 0, `20 Mpps` is usual"));
        }
        if self.duration.0 <= 0.0 {
            return Err(ConfigError::new("duration", "must be more than 0, `1 s` is usual"));
        }
        if !(1..=1000).contains(&self.repetitions) {
            return Err(ConfigError::new("repetitions", "must be 1 to 1000"));
        }
        Ok(())
    }
}
