//! Slow, obviously right twins of the tables: what tests and the functions' models compare with.
//!
//! Simple enough to be checked by reading; no cleverness may move in here. The twin of
//! [`crate::index::Index`] is `std::collections::HashMap`.

use std::collections::BTreeMap;

use crate::classifier::{Condition, Field};

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
