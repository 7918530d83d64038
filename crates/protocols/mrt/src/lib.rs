//! MRT, the format of files of BGP tables and messages (RFC 6396, RFC 8050), without I/O.
//!
//! ```text
//!  bytes of a file --> Framing --> Frame: header, body --> Record: peers, routes, messages, states
//!  bytes of a file <-- write: a table's peers, a route with its paths, a message, a state <-- ...
//! ```
//! A file is read in pieces of any size, and a record lies whole in memory, nothing more. What is
//! damaged is told, and reading goes on behind it: with the next record where the length of the
//! damaged one can be relied upon, else where something looks like a record again.
//!
//! The files in reading order: [`header`] is what each record begins with, [`framing`] finds
//! records in a file, `bytes` reads fields, [`table`] are the records of tables, [`session`] those
//! of sessions, [`record`] is any of them, [`mod@write`] makes them, [`fuzz`] is the fuzz target.

pub mod header;

pub mod framing;

mod bytes;

pub mod table;

pub mod session;

pub mod record;

pub mod write;

pub mod fuzz;

pub use framing::{Frame, Framing, Unfinished};
pub use header::{Header, Malformed, Stamp};
pub use record::Record;

/// MRT as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "mrt", fuzz: fuzz::fuzz, examples: fuzz::examples };
