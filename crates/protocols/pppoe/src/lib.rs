//! PPP over Ethernet (RFC 2516, 4638): codec, access concentrator and client, without I/O.
//!
//! ```text
//!  PADI --> access concentrator --> PADO with a cookie: nothing is kept
//!  PADR --> is the cookie its own, is there room? --> PADS with a session  --> Report::Opened
//!  PADT --> is it the host's session?                                      --> Report::Closed
//! ```
//! The files in reading order: [`packet`] and [`tags`] are the codec, [`config`] is what an owner
//! configures, [`control`] is what it says and hears, [`counters`] counts, `cookie` makes cookies,
//! `sessions` are those that there are, [`machine`] is the access concentrator, [`client`] the
//! other side.

pub mod packet;

pub mod tags;

pub mod config;

pub mod control;

pub mod counters;

mod cookie;

mod sessions;

pub mod machine;

pub mod client;

pub mod fuzz;

pub use config::{Config, Limits, Unusable};
pub use control::{Command, Line, Opened, Origin, Reason, Report, View};
pub use counters::Counters;
pub use machine::AccessConcentrator;

/// PPPoE as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "pppoe", fuzz: fuzz::fuzz, examples: fuzz::examples };
