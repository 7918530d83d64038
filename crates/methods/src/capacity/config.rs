//! Keys of `capacity`.

use measure::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "capacity";

/// Keys of the method `capacity`: the repetitions and their duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Number of repetitions, for medians and extremes.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
    /// Duration of each repetition.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Seconds,
    /// Duration of the warm-up before the first repetition, in which caches, pages and clock rates
    /// settle; 0 omits it. The warm-up is in the record but in no figure.
    pub warm_up: Seconds,
    /// Where the frames of a repetition are when the function gets them; each repetition is
    /// measured once with each of these.
    #[schemars(length(min = 1, max = 2))]
    pub frames: Vec<Frames>,
    /// Update rate in changes per second, all kinds together. The last of `frames` is then measured
    /// twice, without and with changes, and the result is the fraction of the rate that remains.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 10_000_000))]
    pub update_rate: Option<f64>,
}

/// Where frames are when the function gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Frames {
    /// In memory and in no cache, as a network card leaves them that does not write into caches.
    Cold,
    /// In the cache of the worker, whose source has written them just before.
    Hot,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            repetitions: 5,
            duration: Seconds(1.0),
            warm_up: Seconds(0.5),
            frames: vec![Frames::Cold, Frames::Hot],
            update_rate: None,
        }
    }
}

impl Frames {
    /// The purpose of a trial with these.
    pub(super) fn purpose(self) -> &'static str {
        match self {
            Frames::Cold => "cold repetition",
            Frames::Hot => "repetition",
        }
    }
}
