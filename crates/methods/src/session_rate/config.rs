//! Keys of `session-rate`.

use std::time::Duration;

use measure::{Ratio, Seconds, SessionsThere};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

/// Where to search, how long sessions are opened, and how they are proven.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The lowest rate that is tried, in sessions a second.
    pub min_rate: f64,
    /// The highest rate that is tried, in sessions a second.
    pub max_rate: f64,
    /// How close the bounds must come, as a fraction of the upper one.
    pub precision: Ratio,
    /// How long each rate is held: `rate * hold` sessions are opened, from none.
    pub hold: Seconds,
    /// The most sessions of a trial, so that no table is exhausted by it (RFC 9693 section 4.5); left
    /// out, as many as the traffic has. Rates that would need more are held shorter.
    pub max_sessions: Option<u64>,
    /// What share of the sessions that were opened is then used, a frame each way, to prove that they
    /// are there (RFC 9693 section 4.6); 0 for none.
    pub verify: Ratio,
    /// How long the last sessions of a trial are waited for.
    pub wait: Seconds,
    /// How many more times a rate is tried of whose sessions a few failed (up to 2 %); 0 is the search
    /// of RFC 9693. Useful where the machine is shared.
    pub repeat_failed: u32,
    /// How often a rate is tried again whose failures fit into the time in which a thread of the tester
    /// or the device did not run; all are in the record, the last one counts. 0 to 10.
    pub repeat_stalled: u32,
    /// How many sessions are opened as fast as they succeed before the search, which begins at the rate
    /// at which they did; 0 leaves it out.
    pub warm_up_sessions: u64,
    /// The most trials in which sessions are opened, repetitions included.
    pub max_trials: u32,
    /// The longest that all trials may take together.
    pub max_search_time: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            min_rate: 1e3,
            max_rate: 10e6,
            precision: Ratio(0.02),
            hold: Seconds(10.0),
            max_sessions: None,
            verify: Ratio(0.01),
            wait: Seconds(1.0),
            repeat_failed: 1,
            repeat_stalled: 2,
            warm_up_sessions: 500_000,
            max_trials: 40,
            max_search_time: Seconds(600.0),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let whole = self.hold.0 + self.wait.0;
        let checks = [
            (self.min_rate >= 1.0, "min-rate", "must be 1 session a second or more"),
            (self.max_rate >= self.min_rate, "max-rate", "must not be below min-rate"),
            (self.max_rate <= RATE_MAX, "max-rate", "must be 1e9 sessions a second or less"),
            (
                (1e-6..=0.5).contains(&self.precision.0),
                "precision",
                "must be between 1 ppm and 50 %",
            ),
            (self.hold.0 > 0.0, "hold", "must be more than 0, `10 s` is usual"),
            (
                self.max_sessions != Some(0),
                "max-sessions",
                "must be 1 or more; leave it out for as many as the traffic has",
            ),
            ((0.0..=1.0).contains(&self.verify.0), "verify", "must be 0 to 100 %"),
            (self.wait.0 > 0.0, "wait", "must be more than 0, `1 s` is usual"),
            (self.repeat_failed <= 100, "repeat-failed", "must be 0 to 100"),
            (self.repeat_stalled <= 10, "repeat-stalled", "must be 0 to 10"),
            ((1..=10_000).contains(&self.max_trials), "max-trials", "must be 1 to 10000"),
            (
                self.max_search_time.0 >= whole,
                "max-search-time",
                "must leave time for a trial: hold and wait",
            ),
        ];
        match checks.into_iter().find(|(holds, ..)| !holds) {
            Some((_, key, problem)) => Err(ConfigError::new(key, problem)),
            None => Ok(()),
        }
    }

    /// How many sessions a rate is held for.
    pub(super) fn count(&self, rate: f64, there: SessionsThere) -> u64 {
        let wanted = (rate * self.hold.0).round().max(1.0) as u64;
        wanted.min(self.max_sessions.unwrap_or(u64::MAX)).min(there.most)
    }

    /// The longest that a trial at a rate takes, with its proof as slow as its sessions were opened.
    pub(super) fn trial_time(&self) -> Duration {
        self.hold.duration().mul_f64(1.0 + self.verify.0) + self.wait.duration()
    }
}

/// No tester begins more sessions a second.
const RATE_MAX: f64 = 1e9;
