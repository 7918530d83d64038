//! Devices that change with the time for which they run: they leak memory, become slower, and lose a
//! burst of frames now and then.

use std::time::Duration;

use hdrhistogram::Histogram;
use measure::Trial;

use super::Simulated;

/// How a device ages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ageing {
    /// Memory that it has at first, in bytes.
    pub resident_bytes: u64,
    /// Memory that it leaks a second.
    pub leak_bytes_per_s: f64,
    /// By how much each frame takes longer after each second, in nanoseconds.
    pub slower_ns_per_s: f64,
    /// How far the latency of a trial wanders either way, in nanoseconds.
    pub wandering_ns: f64,
    /// How often it loses a burst; never if zero.
    pub burst_every: Duration,
    /// Frames of each burst, on each interface.
    pub burst_frames: u64,
}

impl Simulated {
    /// It ages from now on.
    pub fn ageing(mut self, ageing: Ageing) -> Self {
        self.ageing = Some((ageing, self.simulated));
        self
    }

    /// A new one of the same kind: its age is zero again.
    pub fn restarted(mut self) -> Self {
        let now = self.simulated;
        self.ageing.iter_mut().for_each(|(_, since)| *since = now);
        self
    }

    /// What age does to a trial that has just ended.
    pub(super) fn age(&mut self, trial: &mut Trial) {
        let Some((ageing, since)) = self.ageing else { return };
        let end = self.simulated.saturating_sub(since);
        let begin = end.saturating_sub(trial.effective);
        let leaked = ageing.leak_bytes_per_s * end.as_secs_f64();
        trial.resident_bytes = Some(ageing.resident_bytes + leaked as u64);
        let wandering = ageing.wandering_ns * (2.0 * self.random.fraction() - 1.0);
        let later_ns = (ageing.slower_ns_per_s * end.as_secs_f64() + wandering) as i64;
        let bursts = |time: Duration| match ageing.burst_every.as_nanos() {
            0 => 0,
            every => time.as_nanos() / every,
        };
        let before = bursts(begin);
        let met = (bursts(end) - before) as u64;
        for direction in &mut trial.directions {
            direction.latency_ns = delayed(&direction.latency_ns, later_ns);
            let lost = (met * ageing.burst_frames).min(direction.received);
            direction.received -= lost;
            direction.lost += lost;
            if lost > 0 {
                let last = ageing.burst_every.as_nanos() * (before + u128::from(met));
                direction.last_lost_ns =
                    Some(last.saturating_sub(begin.as_nanos()).min(u128::from(u64::MAX)) as u64);
            }
        }
    }
}

/// The same times, each so much longer (or shorter).
fn delayed(times: &Histogram<u64>, by_ns: i64) -> Histogram<u64> {
    let mut later = Histogram::new_from(times);
    for value in times.iter_recorded() {
        let longer = value.value_iterated_to().saturating_add_signed(by_ns);
        later.saturating_record_n(longer, value.count_since_last_iteration());
    }
    later
}
