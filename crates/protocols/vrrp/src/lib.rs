//! Virtual Router Redundancy Protocol version 3 (RFC 9568): codec and machine, without I/O.
//!
//! ```text
//!  Arrival --> machine: which virtual router? --> router: state, priority, preemption
//!                 |  wheel of timers                 |  announcements, rivals
//!  Departure <----+----------------------------------+--> Report: a state changed, a mistake
//! ```
//! The files in reading order: [`packet`] is the codec, [`frames`] what is around it on the link,
//! [`config`] is what a controller asks for, [`counters`] counts, `announcements` and `rivals` are
//! parts of `router`, the states of RFC 9568 section 6.4, [`control`] is what a controller says and
//! hears, `sockets` has what routers share, `place` is where a router is, [`machine`] holds all of
//! them and finds that of an advertisement, and `groups` lets several change together.

pub mod packet;

pub mod frames;

pub mod config;

pub mod counters;

mod announcements;

mod rivals;

mod router;

mod place;

pub mod control;

pub mod redact;

mod sockets;

pub mod machine;

mod groups;

pub mod fuzz;

pub use config::{Config, Effect, Group, Key, Tracked, Unusable};
pub use control::{Command, Report, View};
pub use counters::Counters;
pub use machine::Vrrp;
pub use packet::Coverage;
pub use rivals::Told;
pub use router::{Reason, State};

/// VRRP as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "vrrp", fuzz: fuzz::fuzz, examples: fuzz::examples };
