//! What sessions are configured with, and what a session is given.

use std::net::Ipv4Addr;
use std::time::Duration;

use protocol_kit::Secret;

use crate::packet::protocol;

/// What many sessions have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Methods by which the peer has to authenticate, the preferred one first; empty if it need
    /// not.
    pub requires: Vec<Method>,
    /// The name in challenges, at most 253 bytes.
    pub name: Vec<u8>,
    /// The identity by which this side authenticates; without one, a peer that asks it to
    /// authenticate is refused.
    pub identity: Option<Identity>,
    /// The least MRU that a peer may ask for, 576 to 1,492 bytes.
    pub mru_min: u16,
    /// Time until something without an answer is sent again (`Restart timer`).
    pub restart: Duration,
    /// Longest time from the start of a session, or of a renegotiation, until the first network
    /// protocol is open. The time that the owner takes to answer is a part of it.
    pub setup_time: Duration,
    /// Keepalives; `None` if the owner sends them itself.
    pub keepalive: Option<Keepalive>,
    /// What sessions are given without asking the owner; `None` if the owner is asked. Only with an
    /// empty `requires`.
    pub network: Option<Network>,
}

/// A method of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Name and password, which everybody on the path can read (RFC 1334 section 2).
    Pap,
    /// The hash of a challenge with a secret (RFC 1994), by MD5.
    ChapMd5,
}

/// The identity by which this side authenticates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Methods that it accepts, the preferred one first.
    pub methods: Vec<Method>,
    /// Its name, at most 253 bytes.
    pub name: Vec<u8>,
    /// Its password or secret, at most 253 bytes.
    pub secret: Secret,
}

/// How often the peer has to show that it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// Time between two Echo-Requests.
    pub interval: Duration,
    /// After this many without any reply the session ends, 1 to 255.
    pub failures: u8,
}

/// What a session is given. A family that is `None` is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Of IPv4.
    pub v4: Option<V4>,
    /// Of IPv6; it needs a link of 1,280 bytes (RFC 8200 section 5).
    pub v6: Option<V6>,
}

/// What a session is given of IPv4 (RFC 1332, 1877).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V4 {
    /// The address of this side; 0.0.0.0 if the peer chooses it.
    pub local: Ipv4Addr,
    /// The address of the peer; 0.0.0.0 if the peer chooses it.
    pub remote: Ipv4Addr,
    /// The DNS servers that are given to a peer which asks for them.
    pub dns: [Option<Ipv4Addr>; 2],
    /// Whether the peer is asked for DNS servers.
    pub asks_dns: bool,
}

/// What a session is given of IPv6 (RFC 5072).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct V6 {
    /// The interface identifier of this side; 0 for a random one.
    pub local: u64,
    /// That of the peer, which may have no other one; 0 if the peer chooses it.
    pub remote: u64,
}

/// Why a configuration or a command cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The number is above the limit or in use, or names no session.
    #[error("the session exists already or does not, or its number is above the limit")]
    Session,
    /// An answer to a question that is not open.
    #[error("this question was not asked, or is not open any more")]
    Question,
    /// An MRU, or its minimum, that cannot be used.
    #[error("an MRU is 576 to 9,192 bytes, and not below `mru_min`, which is 576 to 1,492")]
    Mru,
    /// A name or secret that does not fit.
    #[error("names and secrets have at most 253 bytes, and an identity has a name and a method")]
    Name,
    /// A time of zero, or no failure that ends a session.
    #[error("times are 10 ms at least, and a keepalive has 1 to 255 failures")]
    Time,
    /// The same interface identifier for both sides.
    #[error("the interface identifiers of both sides differ, or are 0 for random ones")]
    Identifier,
    /// A peer that has to authenticate is given nothing before it has.
    #[error("`network` is given without asking, so it goes with an empty `requires` alone")]
    Network,
}

impl Config {
    /// A configuration that asks for CHAP, with the usual times.
    pub fn new() -> Config {
        Config {
            requires: vec![Method::ChapMd5],
            name: Vec::new(),
            identity: None,
            mru_min: 576,
            restart: Duration::from_secs(3),
            setup_time: Duration::from_secs(60),
            keepalive: Some(Keepalive { interval: Duration::from_secs(30), failures: 3 }),
            network: None,
        }
    }

    /// Checks it for a session over a link of `mru` bytes.
    pub(crate) fn check(&self, mru: u16) -> Result<(), Unusable> {
        if !(576..=1492).contains(&self.mru_min)
            || !(576..=9192).contains(&mru)
            || mru < self.mru_min
        {
            return Err(Unusable::Mru);
        }
        let is_usable = |identity: &Identity| {
            let lens = [identity.name.len(), identity.secret.0.len()];
            !identity.methods.is_empty() && lens[0] > 0 && lens.iter().all(|len| *len <= NAME_MAX)
        };
        if self.name.len() > NAME_MAX || !self.identity.iter().all(is_usable) {
            return Err(Unusable::Name);
        }
        let keepalive = self.keepalive.is_none_or(|one| one.interval >= LEAST && one.failures > 0);
        if !keepalive || self.restart < LEAST || self.setup_time < LEAST {
            return Err(Unusable::Time);
        }
        if self.network.is_some() && !self.requires.is_empty() {
            return Err(Unusable::Network);
        }
        self.network.map_or(Ok(()), |network| network.check())
    }
}

impl Network {
    /// Checks what a session is to be given.
    pub(crate) fn check(&self) -> Result<(), Unusable> {
        let is_same = |v6: V6| v6.local != 0 && v6.local == v6.remote;
        if self.v6.is_some_and(is_same) { Err(Unusable::Identifier) } else { Ok(()) }
    }
}

impl Default for V4 {
    /// The peer decides on both addresses, and is not asked for DNS servers.
    fn default() -> V4 {
        let [local, remote] = [Ipv4Addr::UNSPECIFIED; 2];
        V4 { local, remote, dns: [None; 2], asks_dns: false }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

impl Method {
    /// The value of LCP's option for it.
    pub(crate) fn value(self) -> &'static [u8] {
        match self {
            Method::Pap => &[0xc0, 0x23],
            Method::ChapMd5 => &[0xc2, 0x23, MD5],
        }
    }

    /// The method of a value of LCP's option; `None` for one that is not known here.
    pub(crate) fn of(value: &[u8]) -> Option<Method> {
        [Method::Pap, Method::ChapMd5].into_iter().find(|method| method.value() == value)
    }

    /// Its protocol.
    pub(crate) fn protocol(self) -> u16 {
        match self {
            Method::Pap => protocol::PAP,
            Method::ChapMd5 => protocol::CHAP,
        }
    }
}

/// Most bytes of a name or secret: an attribute of RADIUS has no more.
pub const NAME_MAX: usize = 253;

/// CHAP's number of MD5 (RFC 1994 section 3).
const MD5: u8 = 5;

const LEAST: Duration = Duration::from_millis(10);
