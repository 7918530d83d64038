//! Keys of `occupancy`.

use std::time::Duration;

use measure::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

/// For how long clients do what the traffic says of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// How long it takes until the device holds what it holds from then on: the longest time-out of the function.
    pub settle: Seconds,
    /// For how long it is looked at behind that.
    pub duration: Seconds,
    /// How many times faster than by the clock clients do everything. Time-outs of the function have to be as many
    /// times shorter; figures are of clients that do it by the clock.
    pub speed: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { settle: Seconds(360.0), duration: Seconds(240.0), speed: 1.0 }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let checks = [
            (self.settle.0 >= 0.0, "settle", "must be 0 or more"),
            (self.duration.0 > 0.0, "duration", "must be more than 0, some minutes are usual"),
            ((0.01..=5.0).contains(&self.speed), "speed", "must be from 0.01 to 5"),
        ];
        match checks.into_iter().find(|(holds, ..)| !holds) {
            Some((_, key, problem)) => Err(ConfigError::new(key, problem)),
            None => Ok(()),
        }
    }

    /// Of the whole trial.
    pub(super) fn whole(&self) -> Duration {
        self.settle.duration().saturating_add(self.duration.duration())
    }
}
