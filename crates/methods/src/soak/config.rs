//! Keys of `soak`.

use measure::{Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::HeldLoad;
use crate::{ConfigError, throughput};

/// Which load to hold, and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The load on each interface: a rate, or a share of the throughput, which is then searched
    /// first: `4 Mpps`, `50 %`.
    pub load: HeldLoad,
    /// How long it is held, all slices together; at most 100,000 slices.
    pub duration: Seconds,
    /// How long a slice is: what an interruption loses at most, and the step of the trend.
    pub slice: Seconds,
    /// How long to run before the first slice, and after each restart; 0 leaves it out. The warm-up
    /// is in the record but in no figure.
    pub warm_up: Seconds,
    /// The most slices with loss that are kept whole in the record, the first ones; the series have
    /// all slices.
    pub slices_kept: u32,
    /// How the throughput is searched, where `load` is a share of it; keys and meaning as those of
    /// the method `throughput`.
    pub throughput: throughput::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            load: HeldLoad::Share(Ratio(0.5)),
            duration: Seconds(3600.0),
            slice: Seconds(10.0),
            warm_up: Seconds(1.0),
            slices_kept: 100,
            throughput: throughput::Config::default(),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key, problem| Err(ConfigError::new(key, problem));
        match self.load {
            HeldLoad::Rate(rate) if rate.0 <= 0.0 => return wrong("load", "must be more than 0"),
            HeldLoad::Share(share) if !(0.001..=1.0).contains(&share.0) => {
                return wrong("load", "must be 0.1 % to 100 % of the throughput, or a rate");
            }
            _ => {}
        }
        if self.slice.0 < 0.1 {
            return wrong("slice", "must be 100 ms or more, `10 s` is usual");
        }
        if self.duration < self.slice {
            return wrong("duration", "must not be shorter than slice");
        }
        if self.duration.0 / self.slice.0 > SLICES_MAX {
            return wrong("slice", "is too short: the duration would have more than 100000 slices");
        }
        if self.slices_kept > 10_000 {
            return wrong("slices-kept", "must be 0 to 10000");
        }
        self.throughput.validate().map_err(|error| ConfigError {
            key: format!("throughput.{}", error.key),
            problem: error.problem,
        })
    }
}

const SLICES_MAX: f64 = 100_000.0;
