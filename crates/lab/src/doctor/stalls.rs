//! Gaps that a busy loop sees in its own time.
//!
//! A thread that only reads the clock should see it advance by a few nanoseconds each time; a
//! larger step is time the thread did not get: a timer tick, another process, the hypervisor. A
//! frame that arrives in a gap waits that long, or is lost where the ring is full.

use std::time::Duration;

use machine::clock::{Clock, now};
use measure::record::StallProbe;
use serde::Serialize;

/// Gaps on one core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoreStalls {
    /// The core the loop was pinned to.
    pub core: usize,
    /// Whether the loop was pinned; if the system refused, it ran on any core.
    pub pinned: bool,
    /// Number, sum and maximum of the gaps.
    #[serde(flatten)]
    pub probe: StallProbe,
    /// Fraction of the time lost: `total_ns / duration_ns`.
    pub time_fraction: f64,
    /// Fraction of the time lost in gaps longer than `LONG_GAP_NS`, which a device's ring does not
    /// bridge.
    pub long_time_fraction: f64,
    /// Number of gaps longer than `LONG_GAP_NS`.
    pub long: u64,
    /// Number of gaps longer than `UNBRIDGED_GAP_NS`.
    pub unbridged: u64,
    /// Number of gaps by length, see [`BUCKET_LIMITS_NS`]; the last bucket holds all longer gaps.
    pub histogram: [u64; BUCKETS],
}

/// Upper limits of the histogram's buckets except the last, in nanoseconds.
pub const BUCKET_LIMITS_NS: [u64; BUCKETS - 1] = [10_000, 100_000, 1_000_000, 10_000_000];
const BUCKETS: usize = 5;

/// Shortest gap that is counted, in nanoseconds.
pub const THRESHOLD_NS: u64 = 1_000;

/// Shortest long gap, in nanoseconds: at 10 Mpps it fills a ring of 1024 frames.
pub const LONG_GAP_NS: u64 = 100_000;

/// Longest gap that the rings between tester and device bridge at any load, in nanoseconds. A trial
/// that meets a longer one loses frames, and is repeated.
pub const UNBRIDGED_GAP_NS: u64 = 5_000_000;

/// Watches one core for `duration`, on a separate thread.
pub fn watch(core: usize, duration: Duration, clock: &Clock) -> CoreStalls {
    let watching = || {
        let pinned = machine::cpu::pin_current_thread(core);
        let threshold = clock.ticks(Duration::from_nanos(THRESHOLD_NS));
        let (start, length) = (now(), clock.ticks(duration));
        let mut gaps = Gaps::default();
        let mut before = start;
        loop {
            let at = now();
            let gap = at.saturating_sub(before);
            if gap > threshold {
                gaps.add(clock.nanos(gap));
            }
            before = at;
            if at.saturating_sub(start) >= length {
                return gaps.result(core, pinned, clock.nanos(at - start));
            }
        }
    };
    on_own_thread(watching)
}

#[derive(Default)]
struct Gaps {
    count: u64,
    total_ns: u64,
    long_ns: u64,
    longest_ns: u64,
    long: u64,
    unbridged: u64,
    histogram: [u64; BUCKETS],
}

impl Gaps {
    fn add(&mut self, gap_ns: u64) {
        self.count += 1;
        self.total_ns += gap_ns;
        self.long_ns += if gap_ns > LONG_GAP_NS { gap_ns } else { 0 };
        self.longest_ns = self.longest_ns.max(gap_ns);
        self.long += u64::from(gap_ns > LONG_GAP_NS);
        self.unbridged += u64::from(gap_ns > UNBRIDGED_GAP_NS);
        self.histogram[BUCKET_LIMITS_NS.partition_point(|&limit| limit < gap_ns)] += 1;
    }

    fn result(self, core: usize, pinned: bool, duration_ns: u64) -> CoreStalls {
        CoreStalls {
            core,
            pinned,
            probe: StallProbe {
                duration_ns,
                threshold_ns: THRESHOLD_NS,
                count: self.count,
                total_ns: self.total_ns,
                longest_ns: self.longest_ns,
            },
            time_fraction: self.total_ns as f64 / duration_ns.max(1) as f64,
            long_time_fraction: self.long_ns as f64 / duration_ns.max(1) as f64,
            long: self.long,
            unbridged: self.unbridged,
            histogram: self.histogram,
        }
    }
}

/// Runs a probe on a separate thread, so that pinning does not affect the caller.
fn on_own_thread<T: Send>(probe: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(probe).join() {
        Ok(found) => found,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_fall_into_their_buckets() {
        let mut gaps = Gaps::default();
        for gap_ns in [2_000, 10_000, 10_001, 5_000_000, 60_000_000] {
            gaps.add(gap_ns);
        }
        let result = gaps.result(0, true, 650_120_010);
        assert_eq!(result.histogram, [2, 1, 0, 1, 1]);
        assert_eq!((result.probe.count, result.probe.longest_ns), (5, 60_000_000));
        assert_eq!((result.long, result.unbridged), (2, 1), "5 ms are bridged");
        assert!((result.time_fraction - 0.1).abs() < 1e-3);
        assert!(result.long_time_fraction < result.time_fraction);
    }

    #[test]
    fn a_core_is_watched_for_the_time_asked() {
        let clock = Clock::calibrate(Duration::from_millis(5));
        let core = machine::cpu::available_cores()[0];
        let stalls = watch(core, Duration::from_millis(20), &clock);
        assert!(stalls.probe.duration_ns >= 19_000_000, "{stalls:?}");
        assert!(stalls.probe.total_ns <= stalls.probe.duration_ns, "{stalls:?}");
        assert_eq!(stalls.histogram.iter().sum::<u64>(), stalls.probe.count);
    }
}
