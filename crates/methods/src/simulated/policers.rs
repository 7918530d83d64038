//! Policers whose rates, and errors, are known: a token bucket a subscriber and direction.
//!
//! A bucket starts empty, earns its rate times (1 + its error), never holds more than its burst,
//! and lets whole frames pass as long as it holds one. Between trials no time passes.

use measure::{Policed, Trial};

use super::random::SplitMix;

/// Policed subscribers.
#[derive(Clone, Debug)]
pub(super) struct Policers {
    pub(super) users: Vec<User>,
    burst_bytes: f64,
    pub(super) conforming_lost: f64,
    pub(super) scattered: bool,
}

#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) bytes_per_s: f64,
    pub(super) error: f64,
    /// Weight of the subscriber in the traffic.
    pub(super) weight: f64,
    /// Tokens in the bucket of each direction.
    tokens: [f64; 2],
}

impl Policers {
    pub(super) fn new(users: usize, bytes_per_s: f64, burst_bytes: f64) -> Self {
        let user = User { bytes_per_s, error: 0.0, weight: 1.0, tokens: [0.0; 2] };
        let users = vec![user; users];
        Self { users, burst_bytes, conforming_lost: 0.0, scattered: false }
    }

    /// Polices the frames of a trial, and adds the counters of the first `counted` subscribers.
    pub(super) fn police(&mut self, trial: &mut Trial, counted: usize, random: &mut SplitMix) {
        let seconds = trial.effective.as_secs_f64();
        let weights: f64 = self.users.iter().map(|user| user.weight).sum();
        for (at, direction) in trial.directions.iter_mut().enumerate().take(2) {
            let mut dropped = 0;
            for (number, user) in self.users.iter_mut().enumerate() {
                let mean = direction.sent as f64 * user.weight / weights;
                let scatter = match self.scattered {
                    // The sum of twelve has a deviation of 1, and is near enough to a normal one.
                    true => (0..12).map(|_| random.fraction()).sum::<f64>() - 6.0,
                    false => 0.0,
                };
                let frames = (mean + scatter * mean.sqrt()).round().max(0.0);
                let earned = user.bytes_per_s * (1.0 + user.error) * seconds;
                let held = user.tokens[at] + earned;
                let conforming = frames.min((held / POLICED_LEN_BYTES).floor());
                let passed = (conforming * (1.0 - self.conforming_lost)).floor();
                user.tokens[at] = (held - conforming * POLICED_LEN_BYTES).min(self.burst_bytes);
                dropped += (frames - passed) as u64;
                if number < counted {
                    trial.policed.push(Policed {
                        subscriber: number as u64,
                        class: direction.name.clone(),
                        configured_bytes_per_s: user.bytes_per_s,
                        burst_bytes: self.burst_bytes,
                        offered_bytes: (frames * POLICED_LEN_BYTES) as u64,
                        passed_bytes: (passed * POLICED_LEN_BYTES) as u64,
                    });
                }
            }
            direction.received = direction.received.saturating_sub(dropped);
            direction.lost = direction.sent - direction.received;
            if dropped > 0 {
                trial.drops.push(("rate-limit".into(), dropped));
            }
        }
    }
}

/// Length that a policer counts for a frame of 64 bytes: the packet in it.
const POLICED_LEN_BYTES: f64 = 46.0;
