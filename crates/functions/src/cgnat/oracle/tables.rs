//! Mappings and sessions in the standard library's maps, times in full.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use super::super::config::Config;

/// An address and a port.
pub type End = (Ipv4Addr, u16);
/// What a mapping belongs to: protocol and the subscriber's end.
pub type Own = (u8, End);

/// What is known of one mapping.
#[derive(Clone, Debug)]
pub struct Mapping {
    pub outside: End,
    /// By the other end.
    pub sessions: BTreeMap<End, Session>,
}

/// One session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Session {
    /// When the last packet from inside came.
    pub used: Duration,
    pub syn: [bool; 2],
    pub fin: [bool; 2],
    pub reset: bool,
}

/// All mappings, and ports that rest.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    pub mappings: BTreeMap<Own, Mapping>,
    /// Until when a port rests, and whose it was.
    resting: BTreeMap<(u8, End), (Duration, Own)>,
}

impl Session {
    /// How long it lives without a packet from inside.
    fn timeout(&self, protocol: u8, config: &Config) -> Duration {
        let times = &config.timeouts;
        let closed = self.reset || self.fin == [true; 2];
        Duration::from_secs_f64(match protocol {
            6 if self.syn == [true; 2] && !closed => times.tcp_established_s,
            6 => times.tcp_transitory_s,
            1 => times.icmp_s,
            _ => times.udp_s,
        })
    }

    /// Notes what a segment says; `side` is 0 from inside and 1 from outside.
    pub fn segment(&mut self, flags: u8, side: usize) {
        let [fin, syn, reset] = [flags & 1 != 0, flags & 2 != 0, flags & 4 != 0];
        if syn && side == 0 && (self.reset || self.fin == [true; 2]) {
            *self = Session { used: self.used, ..Session::default() };
        }
        self.syn[side] |= syn;
        self.fin[side] |= fin;
        self.reset |= reset;
    }
}

impl Tables {
    /// Forgets what is over.
    pub fn pass(&mut self, config: &Config, now: Duration) {
        let quarantine = Duration::from_secs_f64(config.quarantine_s);
        let mut gone = Vec::new();
        for (own, mapping) in &mut self.mappings {
            let mut last_end = Duration::ZERO;
            mapping.sessions.retain(|_, session| {
                let end = session.used + session.timeout(own.0, config);
                last_end = last_end.max(end);
                now <= end
            });
            if mapping.sessions.is_empty() {
                gone.push((*own, mapping.outside, last_end));
            }
        }
        for (own, outside, end) in gone {
            self.mappings.remove(&own);
            self.resting.insert((own.0, outside), (end + quarantine, own));
        }
    }

    /// Who has an outside port.
    pub fn owner(&self, protocol: u8, outside: End) -> Option<Own> {
        let has = |(own, mapping): (&Own, &Mapping)| {
            (own.0 == protocol && mapping.outside == outside).then_some(*own)
        };
        self.mappings.iter().find_map(has)
    }

    /// Whether a mapping may get an outside port: nobody has it, and it does not rest, but for the one
    /// that it had itself.
    pub fn may_have(&self, own: Own, outside: End, now: Duration) -> bool {
        let rests = self.resting.get(&(own.0, outside));
        let rests = rests.is_some_and(|(until, was)| now < *until && *was != own);
        !rests && self.owner(own.0, outside).is_none()
    }

    /// The outside addresses that a subscriber has.
    pub fn addresses_of(&self, subscriber: Ipv4Addr) -> BTreeSet<Ipv4Addr> {
        let own = self.mappings.iter().filter(|(own, _)| own.1.0 == subscriber);
        own.map(|(_, mapping)| mapping.outside.0).collect()
    }

    /// The ports that a subscriber has, of any protocol, with their addresses.
    pub fn ports_of(&self, subscriber: Ipv4Addr) -> BTreeSet<End> {
        let own = self.mappings.iter().filter(|(own, _)| own.1.0 == subscriber);
        own.map(|(_, mapping)| mapping.outside).collect()
    }

    /// How many sessions a subscriber has.
    pub fn sessions_of(&self, subscriber: Ipv4Addr) -> usize {
        let own = self.mappings.iter().filter(|(own, _)| own.1.0 == subscriber);
        own.map(|(_, mapping)| mapping.sessions.len()).sum()
    }

    /// All sessions.
    pub fn sessions(&self) -> usize {
        self.mappings.values().map(|mapping| mapping.sessions.len()).sum()
    }

    /// All subscribers.
    pub fn subscribers(&self) -> BTreeSet<Ipv4Addr> {
        self.mappings.keys().map(|own| own.1.0).collect()
    }

    /// Ends all sessions of a subscriber; whether there were any.
    pub fn clear(&mut self, subscriber: Ipv4Addr, config: &Config, now: Duration) -> bool {
        let until = now + Duration::from_secs_f64(config.quarantine_s);
        let own: Vec<Own> =
            self.mappings.keys().copied().filter(|own| own.1.0 == subscriber).collect();
        for own in &own {
            if let Some(mapping) = self.mappings.remove(own) {
                self.resting.insert((own.0, mapping.outside), (until, *own));
            }
        }
        !own.is_empty()
    }
}
