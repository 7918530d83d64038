//! Keys of `session-capacity`.

use measure::{Ratio, Seconds, SessionsThere};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

/// How sessions are added up, how they are proven, and what is tried when there is no more room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// How many sessions are opened a second; left out, as fast as they succeed.
    pub rate: Option<f64>,
    /// How many sessions the search begins with; it doubles them until some fail.
    pub start: u64,
    /// The most sessions that are tried; left out, as many as the traffic has.
    pub max_sessions: Option<u64>,
    /// How close the bounds must come, as a fraction of the upper one.
    pub precision: Ratio,
    /// What share of all sessions that are open is used after each step, a frame each way, to prove
    /// that they are there; 0 for none.
    pub verify: Ratio,
    /// The same of the capacity that was found, and after more than that were tried.
    pub verify_final: Ratio,
    /// How many sessions more than that fail are tried on the full device; 0 for none.
    pub beyond: u64,
    /// How long the last sessions of a trial are waited for.
    pub wait: Seconds,
    /// How often a step is tried again whose failures fit into the time in which a thread of the tester
    /// or the device did not run; all are in the record, the last one counts. 0 to 10.
    pub repeat_stalled: u32,
    /// When no further step of the search is begun; the capacity found by then is still proven.
    pub max_search_time: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rate: None,
            start: 10_000,
            max_sessions: None,
            precision: Ratio(0.01),
            verify: Ratio(0.01),
            verify_final: Ratio(1.0),
            beyond: 10_000,
            wait: Seconds(1.0),
            repeat_stalled: 2,
            max_search_time: Seconds(1200.0),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let rate_holds = self.rate.is_none_or(|rate| (1.0..=RATE_MAX).contains(&rate));
        let checks = [
            (
                rate_holds,
                "rate",
                "must be 1 to 1e9 sessions a second; leave it out for as fast as they succeed",
            ),
            (self.start > 0, "start", "must be 1 or more"),
            (
                self.max_sessions != Some(0),
                "max-sessions",
                "must be 1 or more; leave it out for as many as the traffic has",
            ),
            (
                (1e-6..=0.5).contains(&self.precision.0),
                "precision",
                "must be between 1 ppm and 50 %",
            ),
            ((0.0..=1.0).contains(&self.verify.0), "verify", "must be 0 to 100 %"),
            (
                self.verify_final.0 > 0.0 && self.verify_final.0 <= 1.0,
                "verify-final",
                "must be more than 0 and up to 100 %: a capacity that nobody proved is none",
            ),
            (self.wait.0 > 0.0, "wait", "must be more than 0, `1 s` is usual"),
            (self.repeat_stalled <= 10, "repeat-stalled", "must be 0 to 10"),
            (self.max_search_time.0 > 0.0, "max-search-time", "must be more than 0"),
        ];
        match checks.into_iter().find(|(holds, ..)| !holds) {
            Some((_, key, problem)) => Err(ConfigError::new(key, problem)),
            None => Ok(()),
        }
    }

    /// The most sessions that are tried.
    pub(super) fn ceiling(&self, there: SessionsThere) -> u64 {
        self.max_sessions.unwrap_or(u64::MAX).min(there.most)
    }
}

/// No tester begins more sessions a second.
const RATE_MAX: f64 = 1e9;
