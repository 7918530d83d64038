//! Whether a result may be relied on, and what limited or disturbed it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a result can be trusted, apart from its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// False if one of the limits invalidates the figures.
    pub valid: bool,
    /// Everything that limited or disturbed the measurement.
    pub limits: Vec<Limit>,
}

/// Something that limited or disturbed a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Kind of the limit, for programs.
    pub kind: LimitKind,
    /// Whether the limit invalidates the figures.
    pub invalidates: bool,
    /// Observation, with numbers.
    pub what: String,
    /// Advice on how to avoid the limit.
    pub advice: String,
}

impl Limit {
    /// A limit that kept a search from an answer, or from a precise one.
    pub fn of_search(
        invalidates: bool,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> Limit {
        let (what, advice) = (what.into(), advice.into());
        Limit { kind: LimitKind::Search, invalidates, what, advice }
    }
}

/// Kind of a limit.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The tester sent less than requested.
    Tester,
    /// The tester's own ring overflowed: it lost frames that the device had forwarded.
    TesterRing,
    /// The result is close to the tester's own maximum, so the device may do more.
    Baseline,
    /// The device's receive ring overflowed.
    RingFull,
    /// A thread lost its core for some time.
    Stall,
    /// Another program used a worker's core.
    ForeignCpu,
    /// The clock is not reliable.
    Clock,
    /// Repetitions differ by more than the precision of the figure.
    Spread,
    /// The figure does not fit the one at a neighbouring frame size.
    OutOfLine,
    /// The search ended without both bounds, or the confirmation failed.
    Search,
    /// Frames came back wrong, at the wrong port, or twice.
    Forwarding,
    /// The device dropped frames, as configured.
    Drops,
    /// Too few frames for the requested precision.
    TooFewFrames,
}

impl Validity {
    /// What makes a valid result imprecise: repetitions that spread by more than
    /// [`SPREAD_MAX`](crate::validity::SPREAD_MAX), or a figure that does not fit its neighbours.
    pub fn imprecision(&self) -> Option<&Limit> {
        let is_spread =
            |limit: &&Limit| matches!(limit.kind, LimitKind::Spread | LimitKind::OutOfLine);
        self.limits.iter().filter(|_| self.valid).find(is_spread)
    }

    /// Whether the figures can be relied on, in words.
    pub fn words(&self) -> &'static str {
        match (self.valid, self.imprecision()) {
            (true, None) => "valid",
            (true, Some(_)) => "valid, imprecise",
            (false, _) => "not valid",
        }
    }

    /// A validity that is false if one of the limits invalidates.
    pub fn from_limits(limits: Vec<Limit>) -> Self {
        Self { valid: !limits.iter().any(|l| l.invalidates), limits }
    }
}
