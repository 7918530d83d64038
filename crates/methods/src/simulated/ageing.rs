//! Devices that change with the time for which they run: they leak memory, become slower, and lose
//! a burst of frames now and then.

use std::time::Duration;

use hdrhistogram::Histogram;
use measure::Trial;

use super::random::SplitMix;

/// Ageing of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ageing {
    /// Initial memory, in bytes.
    pub resident_bytes: u64,
    /// Memory leak, in bytes per second.
    pub leak_bytes_per_s: f64,
    /// Growth of the latency per second, in nanoseconds.
    pub slower_ns_per_s: f64,
    /// Largest random deviation of a trial's latency in both directions, in nanoseconds.
    pub wandering_ns: f64,
    /// Interval of burst losses; none if zero.
    pub burst_every: Duration,
    /// Number of frames of each burst, per port and direction.
    pub burst_frames: u64,
}

impl Ageing {
    /// What it does to a trial at whose end the device is so old.
    pub(super) fn age(self, trial: &mut Trial, end: Duration, random: &mut SplitMix) {
        let begin = end.saturating_sub(trial.effective);
        let leaked = self.leak_bytes_per_s * end.as_secs_f64();
        trial.resident_bytes = Some(self.resident_bytes + leaked as u64);
        let wandering = self.wandering_ns * (2.0 * random.fraction() - 1.0);
        let later_ns = (self.slower_ns_per_s * end.as_secs_f64() + wandering) as i64;
        let bursts = |time: Duration| match self.burst_every.as_nanos() {
            0 => 0,
            every => time.as_nanos() / every,
        };
        let before = bursts(begin);
        let met = (bursts(end) - before) as u64;
        for direction in &mut trial.directions {
            direction.latency_ns = delayed(&direction.latency_ns, later_ns);
            let lost = (met * self.burst_frames).min(direction.received);
            direction.received -= lost;
            direction.lost += lost;
            if lost > 0 {
                let last = self.burst_every.as_nanos() * (before + u128::from(met));
                direction.last_lost_ns =
                    Some(last.saturating_sub(begin.as_nanos()).min(u128::from(u64::MAX)) as u64);
            }
        }
    }
}

/// The times, each increased (or reduced) by the same amount.
fn delayed(times: &Histogram<u64>, by_ns: i64) -> Histogram<u64> {
    let mut later = Histogram::new_from(times);
    for value in times.iter_recorded() {
        let longer = value.value_iterated_to().saturating_add_signed(by_ns);
        later.saturating_record_n(longer, value.count_since_last_iteration());
    }
    later
}
