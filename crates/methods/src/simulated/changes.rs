//! Changes at run time whose cost is known: each takes time of the worker, silences the device for
//! a while, and is acknowledged and seen after times that are spread evenly between known ends.

use std::ops::RangeInclusive;

use hdrhistogram::Histogram;
use measure::{Events, Trial};

/// Cost of a change.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Worker time of each change, in nanoseconds.
    pub cost_ns: f64,
    /// Silence of the device around each change, in nanoseconds.
    pub blackout_ns: u64,
    /// Number of frames per interface that are buffered during a silence; further frames are lost.
    pub buffer_frames: f64,
    /// Time from request to acknowledgement, in nanoseconds.
    pub accepted_ns: RangeInclusive<u64>,
    /// Time from request to the first frame that shows the change, in nanoseconds.
    pub visible_ns: RangeInclusive<u64>,
    /// Largest number of accepted changes per second; further changes are refused.
    pub most_per_s: f64,
}

impl Changes {
    /// The fraction of the capacity that changes leave.
    pub(super) fn unchanged_share(&self, asked_per_s: f64) -> f64 {
        (1.0 - asked_per_s.min(self.most_per_s) * self.cost_ns * 1e-9).max(0.0)
    }

    /// Adds the changes of a trial, and subtracts the frames lost in their outage times.
    pub(super) fn change(&self, trial: &mut Trial, asked_per_s: f64) {
        let seconds = trial.effective.as_secs_f64();
        let requested = (asked_per_s * seconds).round() as u64;
        let acknowledged = (asked_per_s.min(self.most_per_s) * seconds).round() as u64;
        let offered_pps = trial.load.rate().map_or(0.0, |rate| rate.0);
        let met = offered_pps * self.blackout_ns as f64 * 1e-9;
        let lost = ((met - self.buffer_frames).max(0.0) * acknowledged as f64).round() as u64;
        for direction in &mut trial.directions {
            direction.received = direction.received.saturating_sub(lost);
            direction.lost = direction.sent - direction.received;
        }
        trial.events = vec![Events {
            kind: "handover".into(),
            requested,
            acknowledged,
            refused: requested.saturating_sub(acknowledged),
            late_frames: acknowledged / 100,
            accepted_ns: spread(&self.accepted_ns, acknowledged),
            visible_ns: spread(&self.visible_ns, acknowledged),
            blackout_ns: spread(&(self.blackout_ns..=self.blackout_ns), acknowledged),
        }];
    }
}

/// A thousand evenly spaced times between both ends, each for the same number of changes.
fn spread(ends: &RangeInclusive<u64>, count: u64) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3)
        .unwrap_or_else(|_| unreachable!("these bounds are allowed"));
    if count > 0 {
        let width = (ends.end() - ends.start()) as f64;
        for part in 0..1000 {
            let value = ends.start() + (width * (f64::from(part) + 0.5) / 1000.0) as u64;
            histogram.saturating_record_n(value, count.div_ceil(1000));
        }
    }
    histogram
}
