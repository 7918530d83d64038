//! Keys of `session-capacity`.

use measure::{Ratio, Seconds, SessionsThere};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "session-capacity";

/// Keys of the method `session-capacity`: how sessions are added and verified, and the load on the
/// full device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Rate of new sessions, in sessions per second; by default as fast as they succeed.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub rate: Option<f64>,
    /// Number of sessions of the first step; the search doubles it until some sessions fail.
    #[schemars(range(min = 1))]
    pub start: u64,
    /// Largest number of sessions that is tried; by default all sessions of the traffic.
    #[schemars(range(min = 1))]
    pub max_sessions: Option<u64>,
    /// Largest distance of the bounds, as a fraction of the upper bound.
    #[schemars(extend("minimum" = 1e-6, "maximum" = 0.5))]
    pub precision: Ratio,
    /// Fraction of all open sessions that is used after each step, one frame each way, to verify
    /// that they exist; 0 for none.
    #[schemars(extend("maximum" = 1))]
    pub verify: Ratio,
    /// Fraction of all open sessions that is used at the capacity found, and again after more
    /// sessions were tried.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub verify_final: Ratio,
    /// Number of sessions that are tried on the full device, beyond the number that failed; 0 for
    /// none.
    pub beyond: u64,
    /// Time to wait for the last sessions of a trial.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub wait: Seconds,
    /// Number of times that a step is tried again if its failures fit into the time in which a
    /// thread of the tester or the device did not run, 0 to 10. All trials are in the record; the
    /// last one counts.
    #[schemars(range(max = 10))]
    pub repeat_stalled: u32,
    /// Time after which no further step begins; the capacity found by then is still verified.
    #[schemars(extend("exclusiveMinimum" = 0))]
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
    /// The largest number of sessions that is tried.
    pub(super) fn ceiling(&self, there: SessionsThere) -> u64 {
        self.max_sessions.unwrap_or(u64::MAX).min(there.most)
    }
}
