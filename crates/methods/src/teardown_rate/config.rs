//! Keys of `teardown-rate`.

use measure::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

/// How many sessions are closed, and how fast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// How many sessions are opened and then closed; fewer where the traffic has no more.
    pub sessions: u64,
    /// How many are closed a second; left out, as fast as they end.
    pub rate: Option<f64>,
    /// How often they are opened and closed; the result is the median.
    pub repetitions: u32,
    /// How long the last sessions of a trial are waited for.
    pub wait: Seconds,
    /// When no further repetition is begun.
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

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let rate_holds = self.rate.is_none_or(|rate| (1.0..=RATE_MAX).contains(&rate));
        let checks = [
            (self.sessions > 0, "sessions", "must be 1 or more"),
            (
                rate_holds,
                "rate",
                "must be 1 to 1e9 sessions a second; leave it out for as fast as they end",
            ),
            ((1..=1000).contains(&self.repetitions), "repetitions", "must be 1 to 1000"),
            (self.wait.0 > 0.0, "wait", "must be more than 0, `1 s` is usual"),
            (self.max_time.0 > 0.0, "max-time", "must be more than 0"),
        ];
        match checks.into_iter().find(|(holds, ..)| !holds) {
            Some((_, key, problem)) => Err(ConfigError::new(key, problem)),
            None => Ok(()),
        }
    }
}

/// No tester closes more sessions a second.
const RATE_MAX: f64 = 1e9;
