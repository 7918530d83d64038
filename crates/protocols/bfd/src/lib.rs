//! Bidirectional Forwarding Detection (RFC 5880, 5881, 5883): codec and machine, without I/O.
//!
//! ```text
//!  Arrival --> machine: which session? --> session: state, intervals, poll, authentication
//!                 |  wheel of timers                      |
//!  Departure <----+---------------------------------------+--> Report: a session changed
//! ```
//! The files in reading order: [`packet`] is the codec, [`authentication`] signs and checks,
//! [`config`] is what a controller asks for, `session` is the state of RFC 5880 section 6.8.1,
//! `echo` has the packets that a session sends to itself, [`sockets`] what sessions share, [`view`]
//! is what is seen of a session, [`machine`] holds all sessions and finds that of a packet.

pub mod packet;

pub mod authentication;

pub mod config;

pub mod redact;

mod session;

mod echo;

pub mod sockets;

pub mod view;

pub mod machine;

pub mod fuzz;

pub use config::{Config, Path, Reach, Unusable};
pub use machine::{Bfd, Command, Counters, Report};
pub use packet::{Diagnostic, State};
pub use view::{Heard, View};

/// BFD as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "bfd", fuzz: fuzz::fuzz, examples: fuzz::examples };
