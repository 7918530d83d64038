//! RADIUS: codec, client, accounting and dynamic authorization, without I/O.
//!
//! ```text
//!  Command: ask ------> client ----------+                  +--> a server, by many sockets
//!  Command: record ---> accounting ------+--> sockets ------+
//!                          backlog --> bytes for a file
//!  Report: asked <----- dynamic <-------- CoA, Disconnect <----- a server
//! ```
//! The files in reading order: [`attributes`] and [`packet`] are views of what came, [`seal`] makes
//! packets and checks who has made one, [`dictionary`] has names, `grants` is what a session can be
//! given, `targets` makes such of texts, [`mapping`] says what attributes give. [`config`] is what
//! a client is given, [`control`] what it is asked, `sockets` has identifiers, [`servers`] knows
//! who answers, `pending` is what is on its way, [`client`] holds all of them. [`record`] makes
//! accounting records, [`interims`] spreads them, [`backlog`] keeps them, [`accounting`] lets them
//! leave. [`asking`] is what servers ask of sessions, [`dynamic`] hears it. [`redact`] hides
//! secrets in traces.

pub mod attributes;

pub mod packet;

pub mod seal;

pub mod dictionary;

mod grants;

mod targets;

pub mod mapping;

pub mod config;

pub mod control;

mod sockets;

pub mod servers;

mod pending;

pub mod client;

pub mod record;

pub mod interims;

pub mod backlog;

pub mod accounting;

pub mod asking;

pub mod dynamic;

pub mod redact;

pub mod fuzz;

pub use attributes::{Attributes, Key, List};
pub use client::Client;
pub use config::{Config, Order, Server, Unusable, Wall};
pub use control::{Answer, Command, Refusal, Report, Request};
pub use dictionary::Dictionary;
pub use mapping::{Grant, Mapping};
pub use packet::{Code, Packet};
pub use seal::Credentials;

/// RADIUS as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "radius", fuzz: fuzz::fuzz, examples: fuzz::examples };
