//! Keys of `session-rate`.

use std::time::Duration;

use keys::Invalid;
use measure::{Ratio, Seconds, SessionsThere};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "session-rate";

/// Keys of the method `session-rate`: the search range, and how sessions are opened and verified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Lowest rate that is tried, in sessions per second.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub min_rate: f64,
    /// Highest rate that is tried, in sessions per second.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub max_rate: f64,
    /// Largest distance of the bounds, as a fraction of the upper bound.
    #[schemars(extend("minimum" = 1e-6, "maximum" = 0.5))]
    pub precision: Ratio,
    /// Duration of each rate: `rate * hold` sessions are opened, beginning with an empty table.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub hold: Seconds,
    /// Largest number of sessions of a trial, so that no table is exhausted (RFC 9693 section 4.5);
    /// by default all sessions of the traffic. Rates that would need more sessions are held for a
    /// shorter time.
    #[schemars(range(min = 1))]
    pub max_sessions: Option<u64>,
    /// Fraction of the opened sessions that is used afterwards, one frame each way, to verify that
    /// they exist (RFC 9693 section 4.6); 0 for none.
    #[schemars(extend("maximum" = 1))]
    pub verify: Ratio,
    /// Time to wait for the last sessions of a trial.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub wait: Seconds,
    /// Number of times that a rate with few failed sessions (up to 2 %) is tried again; 0 gives the
    /// search of RFC 9693. Useful on a shared machine.
    #[schemars(range(max = 100))]
    pub repeat_failed: u32,
    /// Number of times that a rate is tried again if its failures fit into the time in which a
    /// thread of the tester or the device did not run, 0 to 10. All trials are in the record; the
    /// last one counts.
    #[schemars(range(max = 10))]
    pub repeat_stalled: u32,
    /// Number of sessions that are opened as fast as they succeed before the search; the resulting
    /// rate is the first rate of the search. 0 omits it.
    pub warm_up_sessions: u64,
    /// Largest number of trials in which sessions are opened, including repetitions.
    #[schemars(range(min = 1, max = 10_000))]
    pub max_trials: u32,
    /// Largest total duration of all trials.
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
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        if self.max_rate < self.min_rate {
            return Err(Invalid::new("max-rate", "must not be below min-rate", ""));
        }
        if self.max_search_time.0 < self.hold.0 + self.wait.0 {
            let what = "must leave time for a trial: hold and wait";
            return Err(Invalid::new("max-search-time", what, ""));
        }
        Ok(())
    }

    /// The number of sessions that are opened at a rate.
    pub(super) fn count(&self, rate: f64, there: SessionsThere) -> u64 {
        let wanted = (rate * self.hold.0).round().max(1.0) as u64;
        wanted.min(self.max_sessions.unwrap_or(u64::MAX)).min(there.most)
    }

    /// Upper bound of the duration of a trial, if verification takes as long as opening.
    pub(super) fn trial_time(&self) -> Duration {
        self.hold.duration().mul_f64(1.0 + self.verify.0) + self.wait.duration()
    }
}
