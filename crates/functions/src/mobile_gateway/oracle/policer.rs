//! A policer in exact arithmetic: one rate, one burst, and debt of one frame.
//!
//! A frame conforms iff `allowed_at <= now + burst`; then `allowed_at = max(allowed_at, now) +
//! length / rate`. Times are whole attoseconds, so nothing is rounded that a test could see.

use std::time::Duration;

/// The policer of one direction of a bearer.
#[derive(Clone, Copy)]
pub(super) struct Policer {
    rate_bytes_per_s: f64,
    burst: u128,
    allowed_at: u128,
}

impl Policer {
    pub fn new(rate_bytes_per_s: f64, burst_ms: f64) -> Policer {
        Policer { rate_bytes_per_s, burst: attoseconds(burst_ms / 1e3), allowed_at: 0 }
    }

    /// Whether a frame of so many bytes conforms at `now`; one that does is charged for.
    pub fn conforms(&mut self, len_bytes: usize, now: Duration) -> bool {
        let now = now.as_nanos() * 1_000_000_000;
        let conforms = self.allowed_at <= now + self.burst;
        if conforms {
            let cost = attoseconds(len_bytes as f64 / self.rate_bytes_per_s);
            self.allowed_at = self.allowed_at.max(now) + cost;
        }
        conforms
    }
}

fn attoseconds(seconds: f64) -> u128 {
    (seconds * 1e18).round() as u128
}
