//! DHCPv4 (RFC 2131) and DHCPv6 (RFC 8415) for the lines of subscribers: codecs, servers and
//! relays, without I/O.
//!
//! ```text
//!  lines --Heard--> server or relay --Wanted--> owner: accepts, rejects
//!    ^                 |  leases        Up -->         acknowledges
//!    +------Said-------+  pools         Gone -->
//!                      |
//!                   relay <--datagrams--> external servers
//! ```
//! The files in reading order: [`prefix`] is what pools have, [`pool`] and [`pools`] give it and
//! never twice, `octets` reads options, [`access`] is what comes from lines and goes to them,
//! [`counters`] counts, [`control`] is what an owner says and hears, [`config`] what it asks for.
//! `limits` bounds floods, `lease` is one lease, [`record`] keeps it over a restart, [`leases`] are
//! all of them, `asking` are the servers of a relay, [`machines`] is what all four show. [`v4`] and
//! [`v6`] have a codec, a server and a relay each, [`framed`] puts one of them behind frames,
//! [`fuzz`] breaks them.

pub mod prefix;

pub mod pool;

pub mod pools;

mod octets;

pub mod access;

pub mod counters;

pub mod control;

pub mod config;

mod limits;

mod lease;

pub mod record;

pub mod leases;

mod asking;

pub mod machines;

pub mod v4;

pub mod v6;

pub mod framed;

pub mod fuzz;

pub use access::{Heard, Line, Said};
pub use config::{Class, Config, Patience, Rate, Rates};
pub use control::{Client, Command, Grant, Identifier, LeaseId, Report, Source, Why, Words};
pub use counters::Counters;
pub use framed::{Framed, Place};
pub use leases::NotMade;
pub use machines::Access;
pub use pool::PoolConfig;
pub use pools::{Pools, Return};
pub use prefix::{Kind, Prefix};
pub use record::NotRestored;

/// DHCP as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "dhcp", fuzz: fuzz::fuzz, examples: fuzz::examples };
