//! Keys of `failover`.

use std::time::Duration;

use measure::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "failover";

/// Keys of the method `failover`: the number of sessions, and the traffic while the standby takes
/// over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Number of sessions that are opened, and acknowledged by the standby, before the fail-over;
    /// fewer if the traffic has no more.
    #[schemars(range(min = 1))]
    pub sessions: u64,
    /// Rate at which further sessions are opened during the fail-over, in sessions per second.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub rate: f64,
    /// Time during which further sessions are opened before the active device ends.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub before: Seconds,
    /// Time during which further sessions are opened after the active device has ended.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub after: Seconds,
    /// Number of fail-overs. Times are reported as medians, sessions as sums.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
    /// Time to wait for the last sessions of a trial.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub wait: Seconds,
    /// Time limit for the standby to acknowledge all sessions.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub patience: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            sessions: 1_000_000,
            rate: 100_000.0,
            before: Seconds(1.0),
            after: Seconds(2.0),
            repetitions: 3,
            wait: Seconds(1.0),
            patience: Seconds(120.0),
        }
    }
}

impl Config {
    /// Time during which further sessions are opened around the end of the active device.
    pub(super) fn around(&self) -> Duration {
        self.before.duration().saturating_add(self.after.duration())
    }

    /// Number of further sessions that are opened around the end of the active device.
    pub(super) fn more(&self) -> u64 {
        ((self.rate * self.around().as_secs_f64()).ceil() as u64).max(1)
    }
}
