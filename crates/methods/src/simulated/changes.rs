//! Changes at run time whose cost is known: each takes time of the worker, silences the device for a
//! while, and is acknowledged and seen after times that are spread evenly between known ends.

use std::ops::RangeInclusive;

use hdrhistogram::Histogram;
use measure::{Events, Trial};

use super::Simulated;

/// What a change costs.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Worker time that each takes from forwarding, in nanoseconds.
    pub cost_ns: f64,
    /// How long each silences the device, in nanoseconds.
    pub blackout_ns: u64,
    /// Frames of each interface that wait meanwhile; the others are lost.
    pub buffer_frames: f64,
    /// From request to acknowledgement, in nanoseconds.
    pub accepted_ns: RangeInclusive<u64>,
    /// From request to the first frame that shows it, in nanoseconds.
    pub visible_ns: RangeInclusive<u64>,
    /// The most that it accepts a second; it refuses the others.
    pub most_per_s: f64,
}

impl Simulated {
    /// It changes at run time, as often as the conditions ask; never by itself.
    pub fn changing(mut self, changes: Changes) -> Self {
        self.changes = Some(changes);
        self
    }

    /// The fraction of its capacity that changes leave.
    pub(super) fn unchanged_share(&self) -> f64 {
        let cost_ns = self.changes.as_ref().map_or(0.0, |changes| changes.cost_ns);
        (1.0 - self.changes_per_s() * cost_ns * 1e-9).max(0.0)
    }

    /// Tells of the changes of a trial, and takes away what their blackouts lost.
    pub(super) fn change(&self, trial: &mut Trial) {
        let Some(changes) = &self.changes else { return };
        let seconds = trial.effective.as_secs_f64();
        let asked = self.conditions.updates_per_s.unwrap_or(0.0);
        let requested = (asked * seconds).round() as u64;
        let acknowledged = (self.changes_per_s() * seconds).round() as u64;
        let offered_pps = trial.load.rate().map_or(0.0, |rate| rate.0);
        let met = offered_pps * changes.blackout_ns as f64 * 1e-9;
        let lost = ((met - changes.buffer_frames).max(0.0) * acknowledged as f64).round() as u64;
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
            accepted_ns: spread(&changes.accepted_ns, acknowledged),
            visible_ns: spread(&changes.visible_ns, acknowledged),
            blackout_ns: spread(&(changes.blackout_ns..=changes.blackout_ns), acknowledged),
        }];
    }

    fn changes_per_s(&self) -> f64 {
        let most = self.changes.as_ref().map_or(0.0, |changes| changes.most_per_s);
        self.conditions.updates_per_s.unwrap_or(0.0).min(most)
    }
}

/// A thousand times from one end to the other, each for as many changes.
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
