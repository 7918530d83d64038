//! One flood: what is sent, and what its trials showed.

use measure::{Pps, Trial};

/// Rates in frames per second: the background per port and direction, and the flood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rates {
    pub(super) background: Pps,
    pub(super) flood: Pps,
}

/// A flood, or none, and the results of its trials.
pub(super) struct Course {
    pub(super) name: &'static str,
    pub(super) kind: Option<usize>,
    pub(super) seen: Vec<Seen>,
    /// Indices of the trials.
    pub(super) trials: Vec<usize>,
}

impl Course {
    pub(super) fn new(name: &'static str, kind: Option<usize>) -> Course {
        Course { name, kind, seen: Vec::new(), trials: Vec::new() }
    }
}

/// Results of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// Lost fraction of the background.
    pub(super) loss: f64,
    /// Offered frames of the flood per second.
    pub(super) offered_pps: f64,
    /// Answers to the flood per second.
    pub(super) answered_pps: f64,
    /// Fraction of answered pings; none if no pings were sent.
    pub(super) pings: Option<f64>,
    /// Load of the busiest core as a fraction; none if unknown.
    pub(super) busy: Option<f64>,
    /// Latency of the background in the slower direction, in nanoseconds.
    pub(super) p99_ns: Option<f64>,
}

pub(super) fn seen(trial: &Trial, name: &str) -> Seen {
    let seconds = trial.effective.as_secs_f64();
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let counts = |name: &str| trial.floods.iter().find(|flood| flood.name == name);
    let flood = counts(name).cloned().unwrap_or_default();
    let timed = trial.directions.iter().filter(|d| !d.latency_ns.is_empty());
    Seen {
        loss: trial.loss_ratio(),
        offered_pps: rate(flood.sent),
        answered_pps: rate(flood.answered),
        pings: counts(PING)
            .filter(|pings| pings.sent > 0)
            .map(|pings| pings.answered as f64 / pings.sent as f64),
        busy: busy(trial),
        p99_ns: timed.map(|d| d.latency_ns.value_at_quantile(0.99) as f64).max_by(f64::total_cmp),
    }
}

/// Fraction of time in which the device's busiest core processed frames. Workers of this program
/// poll, so their stages are counted; for other devices it is the CPU time.
fn busy(trial: &Trial) -> Option<f64> {
    let seconds = trial.effective.as_secs_f64();
    if seconds <= 0.0 {
        return None;
    }
    if !trial.stages.is_empty() && trial.ticks_per_second > 0.0 {
        let ticks: u64 = trial.stages.iter().map(|stage| stage.ticks).sum();
        // Stages are counted for all workers together.
        let workers = trial.workers.len().max(1) as f64;
        return Some(ticks as f64 / trial.ticks_per_second / seconds / workers);
    }
    trial.device_cpu.as_ref().map(|cpu| cpu.ns as f64 * 1e-9 / seconds)
}

/// Name of the flood of pings, which show whether the device still answers.
pub(super) const PING: &str = "ping";
