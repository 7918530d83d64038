//! Keys of `burst`.

use measure::{Pps, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConfigError, reference, throughput};

/// How bursts are sent, and how the longest one is searched for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// How fast the frames of a burst follow each other, on each interface. Where the tester cannot
    /// send as fast, it is as fast as it can, found by a first trial.
    pub max_rate: Pps,
    /// The throughput of the device, for the correction by what it forwards during the burst; where
    /// it is left out, it is found first.
    pub of: Option<Pps>,
    /// How it is found: the keys of the throughput method.
    pub search: throughput::Config,
    /// Lengths of bursts are multiples of this, in frames: the resolution of the result.
    pub step: u32,
    /// The longest burst that is tried, as the time that it takes; RFC 9004 asks for 30 s or more.
    pub max_burst: Seconds,
    /// The silence after a burst has come through, in which the device empties its buffers; RFC 9004
    /// asks for 2 s. It is as long as the burst where that is longer.
    pub depletion: Seconds,
    /// A rate of interest below the throughput, for which the buffer is told as a time, too.
    pub actual_rate: Option<Pps>,
    /// How many whole searches are made; the result is their mean.
    pub repetitions: u32,
    /// How many more times a burst with a little loss is repeated before the loss counts (loss
    /// verification of TST009).
    pub repeat_lossy: u32,
    /// The longest that all searches for bursts may take together.
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
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key, problem| Err(ConfigError::new(key, problem));
        if self.max_rate.0 <= 0.0 {
            return wrong("max-rate", "must be more than 0, `20 Mpps` is usual");
        }
        reference::validate(self.of, &self.search)?;
        if self.step == 0 {
            return wrong("step", "must be 1 frame or more, 256 is usual");
        }
        if self.max_burst.0 <= 0.0 || self.max_burst.0 > MAX_BURST_S {
            return wrong("max-burst", "must be more than 0 and up to 1 h");
        }
        if self.actual_rate.is_some_and(|rate| rate.0 <= 0.0) {
            return wrong("actual-rate", "must be more than 0; leave it out for no such figure");
        }
        if !(1..=1000).contains(&self.repetitions) {
            return wrong("repetitions", "must be 1 to 1000");
        }
        if self.repeat_lossy > 100 {
            return wrong("repeat-lossy", "must be 0 to 100");
        }
        if self.max_search_time.0 < self.max_burst.0 + self.depletion.0 {
            return wrong("max-search-time", "must leave time for max-burst and depletion");
        }
        Ok(())
    }
}

/// An hour of frames at any rate that we can send is beyond every buffer.
const MAX_BURST_S: f64 = 3600.0;
