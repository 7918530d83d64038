//! Keys of `occupancy`.

use std::time::Duration;

use measure::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "occupancy";

/// Keys of the method `occupancy`: how long clients run before and during the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Time until the number of table entries is stationary: the longest time-out of the function.
    #[schemars(extend("minimum" = 0))]
    pub settle: Seconds,
    /// Duration of the measurement, after `settle`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Seconds,
    /// Factor by which clients run faster than real time. Time-outs of the function must be shorter
    /// by the same factor. Figures are those of clients in real time.
    #[schemars(range(min = 0.01, max = 5.0))]
    pub speed: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { settle: Seconds(360.0), duration: Seconds(240.0), speed: 1.0 }
    }
}

impl Config {
    /// Total duration of the trial.
    pub(super) fn whole(&self) -> Duration {
        self.settle.duration().saturating_add(self.duration.duration())
    }
}
