//! Keys of `teardown-rate`.

use measure::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "teardown-rate";

/// Keys of the method `teardown-rate`: the number of sessions, and the rate of closing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Number of sessions that are opened and then closed; fewer if the traffic has no more.
    #[schemars(range(min = 1))]
    pub sessions: u64,
    /// Rate of closing, in sessions per second; by default as fast as they end.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub rate: Option<f64>,
    /// Number of repetitions of opening and closing; the result is the median.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
    /// Time to wait for the last sessions of a trial.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub wait: Seconds,
    /// Time after which no further repetition begins.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_time: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            sessions: 1_000_000,
            rate: None,
            repetitions: 3,
            wait: Seconds(1.0),
            max_time: Seconds(300.0),
        }
    }
}
