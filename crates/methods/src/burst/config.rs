//! Keys of `burst`.

use keys::Invalid;
use measure::{Pps, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{reference, throughput};

/// Its name in scenario files.
pub(super) const NAME: &str = "burst";

/// Keys of the method `burst`: how bursts are sent, and how the longest one is searched for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Rate of the frames within a burst, per port and direction. If the tester cannot send it, the
    /// rate is the tester's maximum, found by a first trial.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_rate: Pps,
    /// Throughput of the device, which corrects for the frames forwarded during a burst; by default
    /// it is searched first.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub of: Option<Pps>,
    /// Keys of the throughput search, which are those of the method `throughput`.
    pub search: throughput::Config,
    /// Step of the burst length, in frames: the resolution of the result.
    #[schemars(range(min = 1))]
    pub step: u32,
    /// Duration of the longest burst that is tried; RFC 9004 requires at least 30 s.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 3600))]
    pub max_burst: Seconds,
    /// Silence after a burst has passed, in which the device empties its buffers; RFC 9004 requires
    /// 2 s. The silence is at least as long as the burst.
    pub depletion: Seconds,
    /// A rate below the throughput for which the buffer is also reported as a time.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub actual_rate: Option<Pps>,
    /// Number of complete searches; the result is their mean.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
    /// Number of times that a burst with little loss is repeated before the loss counts (loss
    /// verification of TST009).
    #[schemars(range(max = 100))]
    pub repeat_lossy: u32,
    /// Largest total duration of all searches for bursts.
    pub max_search_time: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_rate: Pps(20e6),
            of: None,
            search: throughput::Config::default(),
            step: 256,
            max_burst: Seconds(30.0),
            depletion: Seconds(2.0),
            actual_rate: None,
            repetitions: 5,
            repeat_lossy: 2,
            max_search_time: Seconds(600.0),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        reference::validate(&self.search)?;
        if self.max_search_time.0 < self.max_burst.0 + self.depletion.0 {
            let what = "must leave time for max-burst and depletion";
            return Err(Invalid::new("max-search-time", what, ""));
        }
        Ok(())
    }
}
