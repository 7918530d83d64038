//! What a session is given.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// What a session is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// An address of IPv4.
    Address(Ipv4Addr),
    /// An address of IPv6 (by DHCPv6).
    Ipv6Address(Ipv6Addr),
    /// A prefix that its link has, with its length.
    Prefix(Ipv6Addr, u8),
    /// A prefix that is delegated, with its length.
    DelegatedPrefix(Ipv6Addr, u8),
    /// The pool of a kind of address.
    Pool(PoolKind, String),
    /// A profile, for which direction.
    Profile(Way, String),
    /// A rate in bit/s, of what and in which direction.
    Rate {
        /// What has it.
        of: Limiter,
        /// The direction.
        way: Way,
        /// Class of the policer or queue; none for all.
        class: Option<u32>,
        /// The rate in bit/s.
        bits_per_second: u64,
    },
    /// A burst in bytes, as the rate.
    Burst {
        /// What has it.
        of: Limiter,
        /// The direction.
        way: Way,
        /// Class of the policer or queue; none for all.
        class: Option<u32>,
        /// The burst in bytes.
        bytes: u64,
    },
    /// A list of rules by its name, for which direction.
    List(Way, String),
    /// A rule of a list of its own (RFC 4849).
    FilterRule(String),
    /// It ends after this time.
    SessionTimeout(Duration),
    /// It ends when nothing has passed for this time.
    IdleTimeout(Duration),
    /// Time between two interim records.
    InterimInterval(Duration),
    /// Its VRF.
    Vrf(String),
    /// Whether it is mirrored, and where to: `on`, `off`, or a name.
    Mirror(String),
    /// A route to a network behind it, as the server writes it.
    Route(String),
    /// A server of names.
    Dns(IpAddr),
    /// Where its first request is led to.
    RedirectUrl(String),
    /// Its largest packet, in bytes.
    Mtu(u32),
}

/// Kinds of addresses that pools have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// Addresses of IPv4.
    Ipv4,
    /// Addresses of IPv6.
    Ipv6,
    /// Prefixes of links.
    Prefix,
    /// Prefixes that are delegated.
    Delegated,
}

/// A direction, seen from the subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the subscriber.
    Up,
    /// To the subscriber.
    Down,
    /// Both.
    Both,
}

/// What limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// All of the session.
    Session,
    /// A policer of it.
    Policer,
    /// A queue of it.
    Queue,
}
