//! Policers whose rates, and errors, are known: a token bucket a subscriber and direction.
//!
//! A bucket starts empty, earns its rate times (1 + its error), never holds more than its burst, and
//! lets whole frames pass as long as it holds one. Between trials no time passes.

use measure::{Policed, Trial};

use super::Simulated;

/// Policed subscribers.
#[derive(Clone, Debug)]
pub(super) struct Policers {
    users: Vec<User>,
    burst_bytes: f64,
    conforming_lost: f64,
    scattered: bool,
}

#[derive(Clone, Debug)]
struct User {
    bytes_per_s: f64,
    error: f64,
    /// Of the traffic, relative to the others.
    weight: f64,
    /// What the bucket of each direction holds.
    tokens: [f64; 2],
}

impl Simulated {
    /// Its traffic is of `users` subscribers, to each of which it lets `bytes_per_s` pass in each
    /// direction, and `burst_bytes` at once.
    pub fn policing(mut self, users: usize, bytes_per_s: f64, burst_bytes: f64) -> Self {
        let user = User { bytes_per_s, error: 0.0, weight: 1.0, tokens: [0.0; 2] };
        let users = vec![user; users];
        self.policers =
            Some(Policers { users, burst_bytes, conforming_lost: 0.0, scattered: false });
        self
    }

    /// The policer of subscriber *n* is wrong by this fraction of its rate.
    pub fn policer_errors(mut self, error: impl Fn(usize) -> f64) -> Self {
        self.each_user(|number, user| user.error = error(number));
        self
    }

    /// Subscriber *n* has this rate, in bytes a second.
    pub fn policer_rates(mut self, bytes_per_s: impl Fn(usize) -> f64) -> Self {
        self.each_user(|number, user| user.bytes_per_s = bytes_per_s(number));
        self
    }

    /// Subscriber *n* has this weight in the traffic; all have 1 at first.
    pub fn traffic_weights(mut self, weight: impl Fn(usize) -> f64) -> Self {
        self.each_user(|number, user| user.weight = weight(number));
        self
    }

    /// The frames of a subscriber are drawn at random: their number has the deviation of Poisson.
    pub fn scattered(mut self) -> Self {
        self.policers.iter_mut().for_each(|policers| policers.scattered = true);
        self
    }

    /// It loses this fraction of the frames that conform, too.
    pub fn losing_conforming(mut self, fraction: f64) -> Self {
        self.policers.iter_mut().for_each(|policers| policers.conforming_lost = fraction);
        self
    }

    fn each_user(&mut self, change: impl Fn(usize, &mut User)) {
        let users = self.policers.iter_mut().flat_map(|policers| &mut policers.users);
        users.enumerate().for_each(|(number, user)| change(number, user));
    }

    /// Polices what a trial forwarded; tells of as many subscribers as the conditions ask for.
    pub(super) fn police(&mut self, trial: &mut Trial) {
        let Some(policers) = &mut self.policers else { return };
        let counted = self.conditions.subscribers_counted as usize;
        let seconds = trial.effective.as_secs_f64();
        let weights: f64 = policers.users.iter().map(|user| user.weight).sum();
        for (at, direction) in trial.directions.iter_mut().enumerate().take(2) {
            let mut dropped = 0;
            for (number, user) in policers.users.iter_mut().enumerate() {
                let mean = direction.sent as f64 * user.weight / weights;
                let scatter = match policers.scattered {
                    // The sum of twelve has a deviation of 1, and is near enough to a normal one.
                    true => (0..12).map(|_| self.random.fraction()).sum::<f64>() - 6.0,
                    false => 0.0,
                };
                let frames = (mean + scatter * mean.sqrt()).round().max(0.0);
                let earned = user.bytes_per_s * (1.0 + user.error) * seconds;
                let held = user.tokens[at] + earned;
                let conforming = frames.min((held / POLICED_LEN_BYTES).floor());
                let passed = (conforming * (1.0 - policers.conforming_lost)).floor();
                user.tokens[at] = (held - conforming * POLICED_LEN_BYTES).min(policers.burst_bytes);
                dropped += (frames - passed) as u64;
                if number < counted {
                    trial.policed.push(Policed {
                        subscriber: number as u64,
                        class: direction.name.clone(),
                        configured_bytes_per_s: user.bytes_per_s,
                        burst_bytes: policers.burst_bytes,
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

/// What a policer counts of a frame of 64 bytes: the packet in it.
const POLICED_LEN_BYTES: f64 = 46.0;
