//! What sessions are configured with, and what a session is given.

use std::net::Ipv4Addr;
use std::time::Duration;

use protocol_kit::Secret;

use crate::packet::protocol;

/// What many sessions have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// By which of these the peer has to prove who it is, the preferred one first; by none if there
    /// is none.
    pub requires: Vec<Method>,
    /// The name in challenges, at most 253 bytes.
    pub name: Vec<u8>,
    /// Who this side is, if the peer may ask; a peer that asks is refused otherwise.
    pub identity: Option<Identity>,
    /// The least that a peer may say that it can receive, 576 to 1,492 bytes.
    pub mru_min: u16,
    /// Time until something without an answer is sent again (`Restart timer`).
    pub restart: Duration,
    /// Longest time from the start of a session, or of its negotiation anew, until the first
    /// network protocol is open: it includes that of the owner's answer.
    pub setup_time: Duration,
    /// How the peer is watched; `None` if somebody else does that.
    pub keepalive: Option<Keepalive>,
    /// What sessions are given without asking the owner, who is asked otherwise. Only with an empty
    /// `requires`.
    pub network: Option<Network>,
}

/// How one side proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Name and password, which everybody on the way can read (RFC 1334 section 2).
    Pap,
    /// The hash of a challenge with a secret (RFC 1994), by MD5.
    ChapMd5,
}

/// Who this side is, where the peer asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// By which of these it says so, the preferred one first.
    pub methods: Vec<Method>,
    /// Its name, at most 253 bytes.
    pub name: Vec<u8>,
    /// Its password or secret, at most 253 bytes.
    pub secret: Secret,
}

/// How a peer is watched.
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
    /// The address of this side; 0.0.0.0 to be given one by the peer.
    pub local: Ipv4Addr,
    /// The address of the peer; 0.0.0.0 for what the peer says.
    pub remote: Ipv4Addr,
    /// The servers of names that a peer is told that asks for them.
    pub dns: [Option<Ipv4Addr>; 2],
    /// Whether the peer is asked for servers of names.
    pub asks_dns: bool,
}

/// What a session is given of IPv6 (RFC 5072).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct V6 {
    /// The interface identifier of this side; 0 for a random one.
    pub local: u64,
    /// That of the peer; 0 for what the peer says.
    pub remote: u64,
}

/// Why a configuration or a command cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The number is above the limit or in use, or names no session.
    #[error("the session exists already or does not, or its number is above the limit")]
    Session,
    /// An answer to a question that is not open.
    #[error("nobody has asked this question, or not any more")]
    Question,
    /// The greatest unit that the link carries.
    #[error("an MRU is 576 to 9,192 bytes, and not below `mru_min`, which is 576 to 1,492")]
    Mru,
    /// A name or secret that does not fit.
    #[error("names and secrets have at most 253 bytes, and an identity has a name and a method")]
    Name,
    /// A time of zero, or no failure that ends a session.
    #[error("times are 10 ms at least, and a keepalive has 1 to 255 failures")]
    Time,
    /// Whoever has to prove who it is cannot be given anything before.
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
        Ok(())
    }
}

impl Default for V4 {
    /// All of it is wanted of the peer, but for servers of names.
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
