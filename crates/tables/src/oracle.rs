//! Slow, obviously right twins of the tables: what tests and the functions' models compare with.
//!
//! Simple enough to be checked by reading; no cleverness may move in here. The twin of
//! [`crate::index::Index`] is `std::collections::HashMap`.

mod mac;
mod scheduler;

use std::collections::BTreeMap;

use crate::classifier::{Condition, Field};
use crate::policer::Colour;

pub use mac::Stations;
pub use scheduler::Hierarchy;

/// Longest-prefix match by looking at every route. Addresses of any width are widened to `u128`.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    routes: Vec<Route>,
}

#[derive(Clone, Debug)]
struct Route {
    prefix: u128,
    len: u8,
    value: u32,
}

impl Routes {
    /// Sets the value of `prefix`/`len`, and returns the one it had. `bits` is the width of an
    /// address.
    pub fn insert(&mut self, bits: u8, prefix: u128, len: u8, value: u32) -> Option<u32> {
        let old = self.remove(bits, prefix, len);
        self.routes.push(Route { prefix: aligned(bits, prefix), len, value });
        old
    }

    /// Removes `prefix`/`len`, and returns the value it had.
    pub fn remove(&mut self, bits: u8, prefix: u128, len: u8) -> Option<u32> {
        let prefix = aligned(bits, prefix);
        let at = self.routes.iter().position(|r| r.prefix == prefix && r.len == len)?;
        Some(self.routes.remove(at).value)
    }

    /// The value of the longest prefix that covers `address`.
    pub fn lookup(&self, bits: u8, address: u128) -> Option<u32> {
        let address = aligned(bits, address);
        let covering = self.routes.iter().filter(|route| {
            let differing = address ^ route.prefix;
            differing.leading_zeros() >= u32::from(route.len)
        });
        covering.max_by_key(|route| route.len).map(|route| route.value)
    }

    /// All routes as (prefix, length, value), in the order of prefix and length.
    pub fn sorted(&self, bits: u8) -> Vec<(u128, u8, u32)> {
        let own = |route: &Route| (route.prefix >> (128 - bits), route.len, route.value);
        let mut routes: Vec<_> = self.routes.iter().map(own).collect();
        routes.sort_unstable();
        routes
    }
}

/// An address of `bits` bits moved to the top of a `u128`.
fn aligned(bits: u8, address: u128) -> u128 {
    address << (128 - bits)
}

/// The policer of [`crate::meter`] without rounding, for rates that are whole bytes per second.
///
/// Every time is multiplied by the rate, which turns the cost of a frame, `length / rate` seconds,
/// into a whole number.
#[derive(Clone, Debug)]
pub struct ExactMeter {
    allowed_at: u128,
    bytes_per_s: u128,
    burst_bytes: u128,
    ticks_per_s: u128,
}

impl ExactMeter {
    /// A meter for `bytes_per_s`, `burst_bytes` and a clock of `ticks_per_s`.
    pub fn new(bytes_per_s: u64, burst_bytes: u64, ticks_per_s: u64) -> ExactMeter {
        ExactMeter {
            allowed_at: 0,
            bytes_per_s: bytes_per_s.into(),
            burst_bytes: burst_bytes.into(),
            ticks_per_s: ticks_per_s.into(),
        }
    }

    /// Whether a frame that arrives at `now`, in ticks, conforms; if so, charges for it.
    pub fn conforms(&mut self, now: u64, length_bytes: u32) -> bool {
        let now = u128::from(now) * self.bytes_per_s;
        if self.allowed_at > now + self.burst_bytes * self.ticks_per_s {
            return false;
        }
        self.allowed_at = self.allowed_at.max(now) + u128::from(length_bytes) * self.ticks_per_s;
        true
    }
}

/// First match by looking at every rule: the twin of [`crate::classifier::Classifier`].
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: BTreeMap<u32, (Vec<Condition>, u32)>,
}

impl Rules {
    /// Adds a rule, or replaces the one of the same precedence and returns its value.
    pub fn insert(&mut self, precedence: u32, rule: &[Condition], value: u32) -> Option<u32> {
        self.rules.insert(precedence, (rule.to_vec(), value)).map(|(_, value)| value)
    }

    /// Removes the rule of this precedence and returns its value.
    pub fn remove(&mut self, precedence: u32) -> Option<u32> {
        self.rules.remove(&precedence).map(|(_, value)| value)
    }

    /// The value of the rule of the lowest precedence that matches a key with these fields.
    pub fn classify(&self, fields: &[Field], key: &[u8]) -> Option<u32> {
        let numbers = numbers(fields, key);
        let matches = |rule: &[Condition]| {
            rule.iter().zip(&numbers).all(|(condition, &(bits, number))| match *condition {
                Condition::Any => true,
                Condition::Masked { value, mask } => {
                    (value ^ number) & mask & (u128::MAX >> (128 - bits)) == 0
                }
                Condition::Range { first, last } => {
                    u128::from(first) <= number && number <= u128::from(last)
                }
            })
        };
        self.rules.values().find(|(rule, _)| matches(rule)).map(|&(_, value)| value)
    }
}

/// The fields of a key as numbers, each with its width in bits.
fn numbers(fields: &[Field], key: &[u8]) -> Vec<(u32, u128)> {
    let mut rest = key;
    let number = |field: &Field| {
        let bytes = match *field {
            Field::Masked(bytes) => usize::from(bytes),
            Field::Ranged => 2,
        };
        let (own, behind) = rest.split_at(bytes);
        rest = behind;
        (8 * bytes as u32, own.iter().fold(0, |number, &byte| number << 8 | u128::from(byte)))
    };
    fields.iter().map(number).collect()
}

/// The shares of [`crate::groups`] seat by seat: each goes to whoever has the most weight for each
/// seat he would have then, the first of equals.
pub fn shares(weights: &[u32], seats: usize) -> Vec<usize> {
    let mut shares = vec![0; weights.len()];
    for _ in 0..if weights.is_empty() { 0 } else { seats } {
        let mut best = 0;
        for at in 0..weights.len() {
            let [mine, his] = [at, best].map(|of| (u64::from(weights[of]), shares[of] as u64 + 1));
            if mine.0 * his.1 > his.0 * mine.1 {
                best = at;
            }
        }
        shares[best] += 1;
    }
    shares
}

/// The policer of [`crate::policer`] without rounding, for rates that are whole bytes per second.
///
/// A token is a byte divided by the ticks of a second, so that a tick brings a whole number of
/// them.
#[derive(Clone, Copy, Debug)]
pub struct ExactPolicer {
    /// RFC 2697, 2698 or 4115.
    rfc: u32,
    is_colour_aware: bool,
    rates: [u128; 2],
    bursts: [u128; 2],
    tokens: [u128; 2],
    ticks_per_s: u128,
    filled_at: u64,
}

impl ExactPolicer {
    /// A policer of the `rfc` (2697, 2698, 4115), with rates in bytes per second and bursts in
    /// bytes: the committed ones, then those of excess or peak. RFC 2697 has no second rate.
    pub fn new(
        rfc: u32,
        is_colour_aware: bool,
        rates: [u64; 2],
        bursts: [u64; 2],
        ticks_per_s: u64,
        now: u64,
    ) -> ExactPolicer {
        let ticks_per_s = u128::from(ticks_per_s);
        let bursts = bursts.map(|burst| u128::from(burst) * ticks_per_s);
        ExactPolicer {
            rfc,
            is_colour_aware,
            rates: rates.map(u128::from),
            bursts,
            tokens: bursts,
            ticks_per_s,
            filled_at: now,
        }
    }

    /// Takes over what another one like it has in its buckets, whose clock may be another one.
    pub fn charge_as(&mut self, other: &ExactPolicer) {
        self.tokens = other.tokens;
    }

    /// The colour of a frame; it is charged for it.
    pub fn mark(&mut self, now: u64, length_bytes: u32, colour: Colour) -> Colour {
        let colour = self.judge(now, length_bytes, colour);
        self.charge(length_bytes, colour);
        colour
    }

    /// As [`ExactPolicer::mark`] for a child under this parent; the frame has the colour returned.
    pub fn mark_child(
        &mut self,
        child: &mut ExactPolicer,
        now: u64,
        length_bytes: u32,
        colour: Colour,
    ) -> Colour {
        ExactPolicer::mark_all(&mut [child, self], now, length_bytes, colour)
    }

    /// As [`ExactPolicer::mark`] for a child and those above it, one after the other.
    pub fn mark_all(
        chain: &mut [&mut ExactPolicer],
        now: u64,
        length_bytes: u32,
        colour: Colour,
    ) -> Colour {
        let mut frame = colour;
        let mut said = Vec::new();
        for (above, policer) in chain.iter_mut().enumerate() {
            let own = policer.judge(now, length_bytes, frame);
            if own == Colour::Red {
                return Colour::Red;
            }
            // A child that is not colour-aware may improve a frame, nobody above it.
            frame = if above == 0 { own } else { frame.max(own) };
            said.push(own);
        }
        for (policer, own) in chain.iter_mut().zip(said) {
            policer.charge(length_bytes, own);
        }
        frame
    }

    fn judge(&mut self, now: u64, length_bytes: u32, colour: Colour) -> Colour {
        let ticks = u128::from(now.saturating_sub(self.filled_at));
        self.filled_at = self.filled_at.max(now);
        let mut come = [ticks * self.rates[0], ticks * self.rates[1]];
        if self.rfc == 2697 {
            let room = self.bursts[0] - self.tokens[0];
            come = [come[0].min(room), come[0].saturating_sub(room)];
        }
        for (bucket, come) in come.into_iter().enumerate() {
            self.tokens[bucket] = (self.tokens[bucket] + come).min(self.bursts[bucket]);
        }
        let length = u128::from(length_bytes) * self.ticks_per_s;
        let colour = if self.is_colour_aware { colour } else { Colour::Green };
        let [first, second] = self.tokens.map(|tokens| tokens >= length);
        match (self.rfc, colour) {
            (_, Colour::Red) => Colour::Red,
            (2698, _) if !second => Colour::Red,
            (2698, Colour::Green) if first => Colour::Green,
            (2698, _) => Colour::Yellow,
            (_, Colour::Green) if first => Colour::Green,
            _ if second => Colour::Yellow,
            _ => Colour::Red,
        }
    }

    fn charge(&mut self, length_bytes: u32, colour: Colour) {
        let length = u128::from(length_bytes) * self.ticks_per_s;
        if colour == Colour::Green {
            self.tokens[0] -= length;
        }
        if colour == Colour::Yellow || colour == Colour::Green && self.rfc == 2698 {
            self.tokens[1] -= length;
        }
    }
}
