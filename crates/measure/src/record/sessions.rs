//! What became of the sessions of a trial, in its serialisable form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{Distribution, ratio};
use crate::{SessionAction, SessionCounts};

/// Results of a trial of sessions; attempted = succeeded + failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsRecord {
    /// The action on each session.
    pub action: SessionAction,
    /// Number of sessions that the load requested.
    pub asked: u64,
    /// Number of sessions that were started.
    pub attempted: u64,
    /// Number of sessions of which every frame came back correctly.
    pub succeeded: u64,
    /// Number of sessions that failed.
    pub failed: u64,
    /// Number of failed sessions whose returned frames cannot be translations of the session.
    pub wrong: u64,
    /// Sessions started per second of the effective duration.
    pub attempted_per_s: f64,
    /// Sessions that succeeded per second of the effective duration.
    pub succeeded_per_s: f64,
    /// Time from the first sent to the last received frame of a session; absent if no session
    /// succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Distribution>,
    /// Number of sessions that the device reports at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
}

impl SessionsRecord {
    /// The record of a trial of sessions that took the given time in seconds.
    pub(super) fn new(counts: &SessionCounts, seconds: f64) -> Self {
        Self {
            action: counts.action,
            asked: counts.asked,
            attempted: counts.attempted,
            succeeded: counts.succeeded,
            failed: counts.failed,
            wrong: counts.wrong,
            attempted_per_s: ratio(counts.attempted as f64, seconds),
            succeeded_per_s: ratio(counts.succeeded as f64, seconds),
            answered: Distribution::of(&counts.answered_ns),
            held: counts.held,
        }
    }
}
