//! Keys of `rate-precision`.

use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

/// Whose policers to measure, how much to offer them, and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// How many subscribers are counted one by one, the first ones of the workload; the others are
    /// offered as much.
    #[schemars(range(min = 1, max = 100_000))]
    pub subscribers: u32,
    /// What each subscriber is offered, as a multiple of its configured rate.
    pub overload: f64,
    /// What each is offered in the second phase, in which nothing may be dropped, as a fraction of
    /// its configured rate; 0 leaves the phase out.
    pub underload: f64,
    /// The load on each interface in place of the one that follows from `overload`; `underload` is
    /// then scaled as if this load were that one.
    pub load: Option<Pps>,
    /// The highest load that is offered, on each interface: rates that take more to exceed are an
    /// error.
    pub max_rate: Pps,
    /// How far what passes may lie from what is configured.
    pub tolerance: Ratio,
    /// How long each repetition lasts, and the second phase.
    pub duration: Seconds,
    /// How often the overload is measured; errors are over all of them together.
    pub repetitions: u32,
    /// How long to run at the overload before; 0 leaves it out. The warm-up is in the record but in
    /// no figure.
    pub warm_up: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            subscribers: 1000,
            overload: 1.5,
            underload: 0.9,
            load: None,
            max_rate: Pps(20e6),
            tolerance: Ratio(0.01),
            duration: Seconds(10.0),
            repetitions: 3,
            warm_up: Seconds(1.0),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key, problem| Err(ConfigError::new(key, problem));
        if !(1..=100_000).contains(&self.subscribers) {
            return wrong("subscribers", "must be 1 to 100000");
        }
        if !(1.01..=1000.0).contains(&self.overload) {
            return wrong("overload", "must be 1.01 to 1000, 1.5 is usual");
        }
        if !(0.0..1.0).contains(&self.underload) {
            return wrong("underload", "must be 0 or more and below 1, 0.9 is usual");
        }
        if self.max_rate.0 < 1.0 {
            return wrong("max-rate", "must be 1 pps or more");
        }
        if self.load.is_some_and(|load| load.0 < 1.0 || load > self.max_rate) {
            return wrong("load", "must be 1 pps or more, and not above max-rate");
        }
        if !(1e-6..=0.5).contains(&self.tolerance.0) {
            return wrong("tolerance", "must be between 1 ppm and 50 %");
        }
        if self.duration.0 <= 0.0 {
            return wrong("duration", "must be more than 0, `10 s` is usual");
        }
        if !(1..=100).contains(&self.repetitions) {
            return wrong("repetitions", "must be 1 to 100");
        }
        Ok(())
    }
}
