//! The time-stamp clock: the cheapest monotonic time a program can read, in ticks.
//!
//! On x86-64 a tick is one count of the time-stamp counter (TSC), on AArch64 one of the virtual
//! counter; elsewhere a nanosecond of the monotonic clock. [`Clock`] holds how long a tick is.
//! It does not correct for a counter that stops or changes its rate: [`is_invariant`] tells
//! whether the processor promises that it does not.

use std::time::{Duration, Instant};

/// A time or duration of the time-stamp clock. 64 bits at 2.6 GHz last 225 years.
pub type Ticks = u64;

/// Returns the current time in ticks; takes about 9 ns on known machines.
#[inline(always)]
pub fn now() -> Ticks {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has the time-stamp counter; Linux leaves it readable.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: the virtual counter is readable at EL0 under Linux; the read has no effect.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        use std::sync::OnceLock;
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// Returns true if the processor guarantees a counter of constant rate that never stops.
pub fn is_invariant() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // CPUID leaf 8000_0007h, EDX bit 8: "invariant TSC" (AMD APM vol. 3, Intel SDM vol. 2).
        let highest = core::arch::x86_64::__cpuid(0x8000_0000).eax;
        highest >= 0x8000_0007 && core::arch::x86_64::__cpuid(0x8000_0007).edx & (1 << 8) != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        true
    }
}

/// Duration of a tick, measured once with the operating system's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    ticks_per_second: f64,
    ns_per_tick: f64,
}

impl Clock {
    /// Measures the tick for `span`; 20 ms give about 10 parts per million.
    pub fn calibrate(span: Duration) -> Clock {
        let (wall_start, tick_start) = simultaneous();
        while wall_start.elapsed() < span {
            std::hint::spin_loop();
        }
        let (wall_end, tick_end) = simultaneous();
        let seconds = wall_end.duration_since(wall_start).as_secs_f64();
        Clock::with_rate((tick_end - tick_start) as f64 / seconds)
    }

    /// Creates a clock of a known rate, for tests and for replaying a record.
    pub fn with_rate(ticks_per_second: f64) -> Clock {
        assert!(ticks_per_second > 0.0, "the rate of a clock must be positive");
        Clock { ticks_per_second, ns_per_tick: 1e9 / ticks_per_second }
    }

    /// Returns the ticks per second.
    pub fn ticks_per_second(&self) -> f64 {
        self.ticks_per_second
    }

    /// Returns a duration in ticks, rounded to the nearest.
    pub fn ticks(&self, span: Duration) -> Ticks {
        (span.as_secs_f64() * self.ticks_per_second) as Ticks
    }

    /// Converts ticks to nanoseconds.
    #[inline]
    pub fn nanos(&self, span: Ticks) -> u64 {
        (span as f64 * self.ns_per_tick) as u64
    }

    /// Converts ticks to a duration.
    pub fn duration(&self, span: Ticks) -> Duration {
        Duration::from_nanos(self.nanos(span))
    }
}

/// Returns a wall-clock time and a tick time, read as close together as a few tries permit.
fn simultaneous() -> (Instant, Ticks) {
    let mut best = (u64::MAX, Instant::now(), now());
    for _ in 0..16 {
        let before = now();
        let wall = Instant::now();
        let after = now();
        if after - before < best.0 {
            best = (after - before, wall, before + (after - before) / 2);
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calibrations_agree() {
        let a = Clock::calibrate(Duration::from_millis(20)).ticks_per_second();
        let b = Clock::calibrate(Duration::from_millis(20)).ticks_per_second();
        assert!((a / b - 1.0).abs() < 0.05, "{a} and {b} ticks a second");
    }

    #[test]
    fn ticks_and_nanos_are_inverse() {
        let clock = Clock::with_rate(2.5e9);
        assert_eq!(clock.ticks(Duration::from_micros(2)), 5000);
        assert_eq!(clock.nanos(5000), 2000);
        assert_eq!(clock.duration(5000), Duration::from_micros(2));
    }
}
