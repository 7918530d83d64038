//! What the doctor finds, and what it means.

use measure::record::HostFacts;
use serde::Serialize;

use super::stalls::CoreStalls;
use super::usable::Usable;

/// The findings of `plumbline doctor`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// Facts of the machine, and the probes that a run also records.
    pub host: HostFacts,
    /// Memory that is available now, in bytes.
    pub memory_available_bytes: u64,
    /// Time to read a clock.
    pub clock_costs: ClockCosts,
    /// Gaps on each core.
    pub stalls: Vec<CoreStalls>,
    /// All devices, and whether they can run here.
    pub devices: Vec<Usable>,
    /// All port types, and whether they can be opened here.
    pub ports: Vec<Usable>,
    /// Conclusions, one sentence each.
    pub verdicts: Vec<Verdict>,
}

/// Time to read a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClockCosts {
    /// The time-stamp counter, in nanoseconds.
    pub tsc_ns: f64,
    /// The operating system's monotonic clock, in nanoseconds.
    pub monotonic_ns: f64,
}

/// A conclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Severity of the conclusion.
    pub level: Level,
    /// The finding and its meaning.
    pub what: String,
    /// Advice; empty if there is nothing to do.
    pub advice: String,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// No restriction.
    Good,
    /// Measurements work, but figures are limited.
    Limiting,
    /// Some measurements are impossible or unreliable.
    Bad,
}
