//! A mobile gateway's user plane: users behind base stations on one side, the Internet on the other.
//!
//! ```text
//!            access port 0                                            core port 1
//!  base stations ==GTP-U==> checks > decapsulate > bearer > police > route > Internet
//!                <==GTP-U== route < encapsulate < police < bearer < checks <
//! ```
//! The files stand in the order in which a reader wants them: what is configured ([`config`]), what
//! objects that makes ([`catalogue`]), the state of a worker ([`state`]), the packet's way through
//! ([`pipeline`], with [`parse`] for everything out of the ordinary), change ([`control`]), what the
//! tester sends ([`workload`]) and what it must get back ([`oracle`], [`sample`]). Not here: GTP-C,
//! PFCP, charging, IPv6 transport of the tunnel, reassembly, IPv6 neighbour discovery.

pub mod config;

pub mod catalogue;

pub mod state;

pub mod reasons;

pub mod pipeline;

mod plain;

mod parse;

mod answer;

pub mod control;

pub mod workload;

mod frames;

pub use self::config::{Config, Traffic};
pub use self::control::Update;
pub use self::pipeline::Pipeline;
pub use self::workload::Users;
