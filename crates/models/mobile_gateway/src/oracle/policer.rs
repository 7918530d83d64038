//! A policer in exact arithmetic: one rate, one burst, and debt of one packet.
//!
//! A packet conforms iff `allowed_at <= now + burst`; then `allowed_at = max(allowed_at, now) +
//! length / rate`. A new policer has earned nothing of its burst. Times are whole attoseconds, so
//! nothing is rounded that a test could see.

use std::time::Duration;

/// The policer of one direction of a bearer.
#[derive(Clone, Copy)]
pub(super) struct Policer {
    rate_bytes_per_s: f64,
    burst: u128,
    allowed_at: u128,
}

impl Policer {
    /// A policer that begins at `now`.
    pub fn new(rate_bytes_per_s: f64, burst_bytes: f64, now: Duration) -> Policer {
        let burst = attoseconds(burst_bytes / rate_bytes_per_s);
        Policer { rate_bytes_per_s, burst, allowed_at: exact(now) + burst }
    }

    /// Whether a packet of so many bytes conforms at `now`; one that does is charged for.
    pub fn conforms(&mut self, len_bytes: usize, now: Duration) -> bool {
        let now = exact(now);
        let conforms = self.allowed_at <= now + self.burst;
        if conforms {
            let cost = attoseconds(len_bytes as f64 / self.rate_bytes_per_s);
            self.allowed_at = self.allowed_at.max(now) + cost;
        }
        conforms
    }
}

fn exact(time: Duration) -> u128 {
    time.as_nanos() * 1_000_000_000
}

fn attoseconds(seconds: f64) -> u128 {
    (seconds * 1e18).round() as u128
}
