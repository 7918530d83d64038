//! What one update rate showed, read from the records of its trials.

use hdrhistogram::Histogram;
use measure::record::{Baseline, Distribution, EventsRecord, Limit, Outcome, TrialRecord};

/// Results at one update rate.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// Requested updates per second.
    pub rate: f64,
    /// Throughput per port and direction in packets per second; none if no load passed.
    pub throughput_pps: Option<f64>,
    /// Baseline of the tester before the search.
    pub baseline: Option<Baseline>,
    /// Limits of the search.
    pub limits: Vec<Limit>,
    /// The changes in the trial that represents the throughput.
    pub changes: Option<Changes>,
    /// Results of the held load; none if it was not held.
    pub held: Option<Held>,
    /// Load and loss in percent of all trials at this rate, without warm-ups.
    pub losses: Vec<(f64, f64)>,
}

/// The changes of one trial, all kinds together.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub kinds: Vec<EventsRecord>,
    pub seconds: f64,
}

/// Loss of a held load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub lost: u64,
    /// Lost frames divided by the offered rate, in nanoseconds: CSIT's effective blocked time.
    pub blocked_ns: f64,
    pub acknowledged: u64,
}

/// A function that reads one of the times of a change.
pub(super) type Time = fn(&EventsRecord) -> &Option<Distribution>;

pub(super) const ACCEPTED: Time = |kind| &kind.accepted;
pub(super) const VISIBLE: Time = |kind| &kind.visible;
pub(super) const BLACKOUT: Time = |kind| &kind.blackout;

impl Row {
    /// The row of a search, from its outcome and trials.
    pub fn searched(rate: f64, outcome: Outcome, trials: &[TrialRecord]) -> Self {
        let lower = outcome.bounds.and_then(|bounds| bounds.lower_pps);
        let throughput_pps = outcome.figure("throughput").map(|figure| figure.value);
        let counted = || trials.iter().filter(|trial| trial.purpose != "warm-up");
        // The longest trial at the bound is the one that confirmed it; where the tester sent less
        // than the load, that is not the bound, and the longest of all stands for it.
        let shows = counted()
            .filter(|trial| trial.load_pps() == lower)
            .max_by_key(|trial| (trial.intended_ns, trial.index))
            .or_else(|| counted().max_by_key(|trial| (trial.intended_ns, trial.index)));
        Self {
            rate,
            throughput_pps,
            baseline: outcome.baseline,
            limits: outcome.validity.limits,
            changes: shows.filter(|_| throughput_pps.is_some()).map(Changes::of),
            held: None,
            losses: counted().filter_map(|t| Some((t.load_pps()?, t.loss_percent))).collect(),
        }
    }

    /// Adds the trial in which the load was held.
    pub fn hold(&mut self, trial: &TrialRecord) {
        let lost: u64 = trial.directions.iter().map(|d| d.lost).sum();
        let offered_pps: f64 = trial.directions.iter().map(|d| d.offered_pps).sum();
        let blocked_ns = if offered_pps > 0.0 { lost as f64 / offered_pps * 1e9 } else { 0.0 };
        let acknowledged = trial.events.iter().map(|kind| kind.acknowledged).sum();
        self.held = Some(Held { lost, blocked_ns, acknowledged });
        self.losses.extend(trial.load_pps().map(|load| (load, trial.loss_percent)));
    }
}

impl Changes {
    fn of(trial: &TrialRecord) -> Self {
        Self { kinds: trial.events.clone(), seconds: trial.effective_ns as f64 * 1e-9 }
    }

    pub fn sum(&self, count: fn(&EventsRecord) -> u64) -> u64 {
        self.kinds.iter().map(count).sum()
    }

    /// Acknowledged changes per second.
    pub fn achieved_per_s(&self) -> f64 {
        if self.seconds > 0.0 {
            self.sum(|kind| kind.acknowledged) as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// Requested changes per second.
    pub fn requested_per_s(&self) -> f64 {
        if self.seconds > 0.0 { self.sum(|kind| kind.requested) as f64 / self.seconds } else { 0.0 }
    }

    /// A quantile of one of the times over all kinds, in nanoseconds; none if nothing was timed.
    pub fn quantile_ns(&self, time: Time, quantile: f64) -> Option<f64> {
        let mut all: Option<Histogram<u64>> = None;
        for one in self.kinds.iter().filter_map(|kind| time(kind).as_ref()?.histogram()) {
            match &mut all {
                // One of the same kind of source; if its range differs, it grows.
                Some(sum) => {
                    sum.auto(true);
                    sum.add(&one).ok()?;
                }
                None => all = Some(one),
            }
        }
        all.filter(|all| !all.is_empty()).map(|all| all.value_at_quantile(quantile) as f64)
    }
}

impl Held {
    /// The blocked time per change in nanoseconds; none without changes.
    pub fn blocked_ns_per_update(&self) -> Option<f64> {
        (self.acknowledged > 0).then(|| self.blocked_ns / self.acknowledged as f64)
    }
}
