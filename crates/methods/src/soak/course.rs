//! What is kept of a soak while it runs: a line a slice, the sums, and a few slices whole.
//!
//! Memory is bounded by the number of slices (a hundred bytes each) and by `slices-kept`, not by
//! what the slices measured: latencies go into one histogram a direction.

use hdrhistogram::Histogram;
use measure::record::{LimitKind, TrialRecord};
use measure::validity::Tally;

/// A soak so far.
#[derive(Default)]
pub(super) struct Course {
    pub slices: Vec<Slice>,
    /// Latencies of all slices, by direction.
    pub latencies: Vec<(String, Histogram<u64>)>,
    pub tally: Tally,
    /// The first slice, and slices with loss that are kept whole.
    pub kept: Vec<TrialRecord>,
    /// The last slice, if it is not in `kept`.
    pub last: Option<TrialRecord>,
    keep_most: usize,
    lossy_kept: usize,
}

/// A slice of a soak.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slice {
    /// Whether the device may have been set up again: the first slice, and the first after an
    /// interruption.
    pub starts: bool,
    /// Start in measured seconds, without the time of interruptions.
    pub begin_s: f64,
    pub seconds: f64,
    pub sent: u64,
    pub received: u64,
    /// Number of directions in which frames were sent.
    pub interfaces: usize,
    pub latency_p50_ns: Option<u64>,
    pub latency_p99_9_ns: Option<u64>,
    pub resident_bytes: Option<u64>,
    /// Time at which the last lost frame was sent, since the start of the slice.
    pub last_lost_ns: Option<u64>,
    /// Whether a thread that lost its core may explain the loss.
    pub stalled: bool,
}

impl Slice {
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    pub fn loss_fraction(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost() as f64 / self.sent as f64 }
    }

    /// Frames per second that came back, per port and direction.
    pub fn forwarded_pps(&self) -> f64 {
        let time = self.seconds * self.interfaces as f64;
        if time > 0.0 { self.received as f64 / time } else { 0.0 }
    }
}

impl Course {
    pub fn new(slices_kept: u32) -> Self {
        Self { keep_most: slices_kept as usize, ..Self::default() }
    }

    /// Adds a slice that was measured now or in an earlier run.
    pub fn add(&mut self, record: TrialRecord) {
        let mut all: Option<Histogram<u64>> = None;
        for direction in &record.directions {
            let Some(times) = direction.latency.as_ref().and_then(|times| times.histogram()) else {
                continue;
            };
            merge(&mut all, &times);
            let known = self.latencies.iter_mut().find(|(name, _)| *name == direction.name);
            match known {
                Some((_, sum)) => add(sum, &times),
                None => self.latencies.push((direction.name.clone(), times)),
            }
        }
        let quantile = |q| all.as_ref().map(|times| times.value_at_quantile(q));
        let slice = Slice {
            starts: record.purpose == START,
            begin_s: self.seconds(),
            seconds: record.effective_ns as f64 * 1e-9,
            sent: record.directions.iter().map(|d| d.sent).sum(),
            received: record.directions.iter().map(|d| d.received).sum(),
            interfaces: record.directions.len(),
            latency_p50_ns: quantile(0.5),
            latency_p99_9_ns: quantile(0.999),
            resident_bytes: record.resident_bytes,
            last_lost_ns: record.directions.iter().filter_map(|d| d.last_lost_ns).max(),
            stalled: record.limits.iter().any(|limit| limit.kind == LimitKind::Stall),
        };
        self.slices.push(slice);
        self.tally.add(&record.limits);
        self.keep(record, slice);
    }

    /// Measured time so far, in seconds.
    pub fn seconds(&self) -> f64 {
        self.slices.last().map_or(0.0, |slice| slice.begin_s + slice.seconds)
    }

    /// The trials for the record, in order.
    pub fn trials(&mut self) -> Vec<TrialRecord> {
        let mut trials = std::mem::take(&mut self.kept);
        trials.extend(self.last.take());
        trials
    }

    /// A value of each slice by its time in seconds, in one list for each stretch without a restart
    /// of the device.
    pub fn stretches(&self, value: fn(&Slice) -> Option<f64>) -> Vec<Vec<(f64, f64)>> {
        let mut stretches: Vec<Vec<(f64, f64)>> = Vec::new();
        for slice in &self.slices {
            if slice.starts || stretches.is_empty() {
                stretches.push(Vec::new());
            }
            let point = value(slice).map(|value| (slice.begin_s + slice.seconds, value));
            stretches.iter_mut().next_back().into_iter().for_each(|last| last.extend(point));
        }
        stretches
    }

    /// The longest time without loss and without a restart of the device, with the resolution of a
    /// slice, in seconds.
    pub fn lossless_longest_s(&self) -> f64 {
        let (mut longest, mut now): (f64, f64) = (0.0, 0.0);
        for slice in &self.slices {
            now = match (slice.lost() > 0, slice.starts) {
                (true, _) => 0.0,
                (false, true) => slice.seconds,
                (false, false) => now + slice.seconds,
            };
            longest = longest.max(now);
        }
        longest
    }

    fn keep(&mut self, record: TrialRecord, slice: Slice) {
        let lossy = slice.lost() > 0 && self.lossy_kept < self.keep_most;
        if lossy || self.slices.len() == 1 {
            self.lossy_kept += usize::from(lossy);
            self.last = None;
            self.kept.push(record);
        } else {
            self.last = Some(record);
        }
    }
}

fn merge(all: &mut Option<Histogram<u64>>, times: &Histogram<u64>) {
    match all {
        Some(sum) => add(sum, times),
        None => *all = Some(times.clone()),
    }
}

/// Adds one histogram to another, which grows as needed.
fn add(sum: &mut Histogram<u64>, times: &Histogram<u64>) {
    sum.auto(true);
    // A histogram that resizes takes every other one.
    let _ = sum.add(times);
}

/// Purpose of a slice's trial.
pub(super) const SLICE: &str = "slice";
/// Purpose of the trial of the first slice, and of the first after an interruption.
pub(super) const START: &str = "slice-after-start";
