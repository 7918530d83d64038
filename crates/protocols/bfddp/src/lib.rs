//! The protocol by which FRR's bfdd has a data plane run its BFD sessions, the side of the data
//! plane: codec and machine, without I/O.
//!
//! ```text
//!  bfdd --dplaneaddr unix:/run/frr/bfdd.dplane        listens
//!     | a stream of messages: sessions wanted         ^ states, counters
//!     v                                               |
//!  machine: sessions, and which are stale -----> Report, Command <-----
//! ```
//! The protocol has no document of its own: it is what `bfdd/bfddp_packet.h` of FRR 8.4 declares
//! and `bfdd/dplane.c` does.
//!
//! The files in reading order: [`session`] has what is wanted and what is told, [`message`] is the
//! codec, `sessions` those that are wanted, [`machine`] the connection.

pub mod session;

pub mod message;

mod sessions;

mod shown;

pub mod machine;

pub mod fuzz;

pub use machine::{BfdDataPlane, Command, Config, Counters, Lost, Report};
pub use session::{Change, Session, SessionCounters, State};

/// The protocol as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "bfddp", fuzz: fuzz::fuzz, examples: fuzz::examples };
