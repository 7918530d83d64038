//! Keys of `failover`.

use std::time::Duration;

use measure::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

/// How many sessions are there, and what goes on, when the standby takes over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// How many sessions are opened, and acknowledged by the standby; fewer where the traffic has no more.
    pub sessions: u64,
    /// How many more are opened a second while the standby takes over.
    pub rate: f64,
    /// How long they are opened before the active one ends.
    pub before: Seconds,
    /// How long they are opened after that.
    pub after: Seconds,
    /// How often the standby takes over; the result is the median of times and the sum of sessions.
    pub repetitions: u32,
    /// How long the last sessions of a trial are waited for.
    pub wait: Seconds,
    /// How long the standby may take to acknowledge all sessions.
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
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let checks = [
            (self.sessions > 0, "sessions", "must be 1 or more"),
            (
                (1.0..=RATE_MAX).contains(&self.rate),
                "rate",
                "must be 1 to 1e9 sessions a second; 100000 is usual",
            ),
            (self.before.0 > 0.0, "before", "must be more than 0, `1 s` is usual"),
            (self.after.0 > 0.0, "after", "must be more than 0, `2 s` is usual"),
            ((1..=1000).contains(&self.repetitions), "repetitions", "must be 1 to 1000"),
            (self.wait.0 > 0.0, "wait", "must be more than 0"),
            (self.patience.0 > 0.0, "patience", "must be more than 0"),
        ];
        match checks.into_iter().find(|(holds, ..)| !holds) {
            Some((_, key, problem)) => Err(ConfigError::new(key, problem)),
            None => Ok(()),
        }
    }

    /// How long sessions are opened around the end of the active one.
    pub(super) fn around(&self) -> Duration {
        self.before.duration().saturating_add(self.after.duration())
    }

    /// How many those are.
    pub(super) fn more(&self) -> u64 {
        ((self.rate * self.around().as_secs_f64()).ceil() as u64).max(1)
    }
}

/// No tester opens more sessions a second.
const RATE_MAX: f64 = 1e9;
