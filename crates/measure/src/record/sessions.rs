//! What became of the sessions of a trial, in its serialisable form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use super::trial::ratio;
use crate::{SessionAction, SessionCounts};

/// What became of the sessions of a trial; attempted = succeeded + failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsRecord {
    /// What was done with each.
    pub action: SessionAction,
    /// How many the load asked for.
    pub asked: u64,
    /// How many were begun.
    pub attempted: u64,
    /// Those of which every frame came back where it belongs.
    pub succeeded: u64,
    /// The others.
    pub failed: u64,
    /// Of the failed: what came back can be no translation of this session.
    pub wrong: u64,
    /// Sessions begun a second of the effective duration.
    pub attempted_per_s: f64,
    /// Sessions that succeeded a second of the effective duration.
    pub succeeded_per_s: f64,
    /// From the first frame of a session sent to its last one received; absent when none succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Distribution>,
    /// Sessions that the device itself says it holds at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
}

impl SessionsRecord {
    /// The record of what became of the sessions of a trial that took so many seconds.
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
