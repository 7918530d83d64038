//! How long a cache line takes from one core to another and back.
//!
//! Tester and device hand frames to each other through memory, so this is the least a frame can
//! take between them. Hypervisors move virtual cores: the value belongs beside every figure that
//! took two cores.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use machine::clock::{Clock, now};
use measure::record::CoreToCoreProbe;

/// Sends a cache line back and forth between two cores for at most `limit`. None if there is no
/// round trip within that time, for example if both threads run on one core.
pub fn round_trip(cores: [usize; 2], limit: Duration, clock: &Clock) -> Option<CoreToCoreProbe> {
    let (ping, pong) = (Line::default(), Line::default());
    let mut times = std::thread::scope(|scope| {
        scope.spawn(|| {
            machine::cpu::pin_current_thread(cores[1]);
            answer(&ping, &pong);
        });
        scope
            .spawn(|| {
                machine::cpu::pin_current_thread(cores[0]);
                let times = ask(&ping, &pong, limit);
                ping.0.store(STOP, Ordering::Release);
                times
            })
            .join()
            .unwrap_or_default()
    });
    times.sort_unstable();
    let ns = |ticks: u64| ticks as f64 * 1e9 / clock.ticks_per_second();
    Some(CoreToCoreProbe {
        cores,
        round_trip_ns_min: ns(*times.first()?),
        round_trip_ns_median: ns(times[times.len() / 2]),
    })
}

/// A cache line, padded to include the line that the prefetcher loads with it.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

fn ask(ping: &Line, pong: &Line, limit: Duration) -> Vec<u64> {
    let start = Instant::now();
    let mut times = Vec::with_capacity(ROUNDS_MAX as usize);
    for round in 1..=ROUNDS_MAX {
        let sent = now();
        ping.0.store(round, Ordering::Release);
        let mut spins = 0_u32;
        while pong.0.load(Ordering::Acquire) != round {
            std::hint::spin_loop();
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(SPINS_BETWEEN_LOOKS) && start.elapsed() > limit {
                return times;
            }
        }
        times.push(now().saturating_sub(sent));
    }
    times
}

fn answer(ping: &Line, pong: &Line) {
    let mut seen = 0;
    while seen != STOP {
        let round = ping.0.load(Ordering::Acquire);
        if round != seen {
            pong.0.store(round, Ordering::Release);
            seen = round;
        } else {
            std::hint::spin_loop();
        }
    }
}

const ROUNDS_MAX: u64 = 20_000;
const SPINS_BETWEEN_LOOKS: u32 = 1 << 12;
const STOP: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_between_two_cores_is_measured() {
        let clock = Clock::calibrate(Duration::from_millis(5));
        let cores = machine::cpu::available_cores();
        let pair = [cores[0], *cores.last().expect("at least one core")];
        // On one core the two threads alternate only when the scheduler says so; then there may be
        // none, and the call still returns.
        if let Some(probe) = round_trip(pair, Duration::from_secs(2), &clock) {
            assert!(probe.round_trip_ns_min > 0.0, "{probe:?}");
            assert!(probe.round_trip_ns_min <= probe.round_trip_ns_median, "{probe:?}");
        }
    }
}
