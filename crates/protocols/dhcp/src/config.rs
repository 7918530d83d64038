//! What servers and relays are made of.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol_kit::Secret;

use crate::pool::PoolConfig;

/// What servers and relays have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Secret of the hash by which clients are found: random, so that nobody chooses identifiers
    /// that collide.
    pub seed: Secret<u64>,
    /// Most leases, requests for one among them.
    pub leases_max: u32,
    /// Most of them on one line.
    pub leases_per_line_max: u16,
    /// Most addresses, and most delegated prefixes, of a client of DHCPv6; at most 16.
    pub holdings_max: u8,
    /// Most messages that wait for the owner.
    pub waiting_max: u32,
    /// For how long others are waited for.
    pub patience: Patience,
    /// For how long what was released, and what was declined, is not given again.
    pub quarantine: [Duration; 2],
    /// Rates of messages.
    pub rates: Rates,
    /// Pools, by their places.
    pub pools: Vec<PoolConfig>,
    /// Classes, by their places; a client whose class is not there has the times of a default one
    /// and no options.
    pub classes: Vec<Class>,
    /// The class of clients without a lease that ask for options alone; `None` for no answer.
    pub stateless_class: Option<u16>,
    /// Whether no other server can know clients that this one does not: they are told so.
    pub is_authoritative: bool,
    /// Whether access nodes add the relay agent's option (DHCPv4), or are relay agents of a line
    /// (RFC 6221, DHCPv6). Otherwise what has such things is dropped.
    pub trusts_access_nodes: bool,
}

/// For how long others are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the owner to accept or reject.
    pub answer: Duration,
    /// For a client to take what it was offered.
    pub offer: Duration,
    /// For the owner to acknowledge.
    pub start: Duration,
}

/// Rates of messages of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Of a line.
    pub line: Rate,
    /// Of a MAC address on a line.
    pub mac: Rate,
    /// Of all together.
    pub all: Rate,
    /// Meters of lines, and as many of MAC addresses: a power of two. With four times as many as
    /// lines, of which one in a hundred floods, one other line in 40,000 is slowed down by them.
    pub places: u32,
}

/// A rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Messages per second, at least 1.
    pub per_second: u32,
    /// Messages at one moment after a pause, at least 1.
    pub burst: u32,
}

/// Times and options that clients have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// For how long a lease is valid, in whole seconds.
    pub valid: Duration,
    /// For how long it is preferred (DHCPv6); it is renewed after half of that, and rebound after
    /// four fifths. In DHCPv4 it is renewed after half of the time that it is valid, and rebound
    /// after seven eighths.
    pub preferred: Duration,
    /// Options, by their codes, that a client is given if it asks for them.
    pub options: BTreeMap<u16, Vec<u8>>,
}

impl Class {
    /// A class of these times without options.
    pub fn new(valid: Duration) -> Class {
        Class { valid, preferred: valid, options: BTreeMap::new() }
    }

    /// The same with one more option.
    #[must_use]
    pub fn with(mut self, code: u16, value: &[u8]) -> Class {
        self.options.insert(code, value.to_vec());
        self
    }

    /// A time of it in seconds: at least one, and less than what means "for ever".
    pub(crate) fn seconds(time: Duration) -> u32 {
        u32::try_from(time.as_secs()).unwrap_or(u32::MAX).clamp(1, u32::MAX - 1)
    }
}

impl Config {
    /// A configuration for this many leases, without pools and classes.
    pub fn new(seed: u64, leases_max: u32) -> Config {
        let second = Duration::from_secs(1);
        Config {
            seed: Secret(seed),
            leases_max,
            leases_per_line_max: 16,
            holdings_max: 4,
            waiting_max: leases_max.clamp(1, 65_536),
            patience: Patience { answer: 30 * second, offer: 60 * second, start: 10 * second },
            quarantine: [60 * second, 3600 * second],
            rates: Rates {
                line: Rate { per_second: 20, burst: 60 },
                mac: Rate { per_second: 10, burst: 30 },
                all: Rate { per_second: 100_000, burst: 20_000 },
                places: leases_max.saturating_mul(4).clamp(1 << 10, 1 << 22).next_power_of_two(),
            },
            pools: Vec::new(),
            classes: Vec::new(),
            stateless_class: None,
            is_authoritative: true,
            trusts_access_nodes: false,
        }
    }
}
