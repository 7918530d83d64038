//! Carrier-grade NAT: subscribers with addresses of their own share the addresses of an operator.
//!
//! ```text
//!           inside port 0                                     outside port 1
//!  subscribers -----> check > find > translate (source) ----------------> Internet
//!              <----- translate (destination) < find < check <-----------
//!                        | no session: open | over: sweep |
//! ```
//! The files stand in the order in which a reader wants them: what is configured ([`config`]), how packets
//! name sessions ([`flow`]), a session ([`session`]) and all of them ([`sessions`]), subscribers, outside
//! addresses and ports ([`subscribers`], [`addresses`], [`ports`], [`allocation`]), the state of a worker
//! ([`state`]), the packet's way through ([`pipeline`], with [`parse`], [`rewrite`] and `icmp`), change
//! ([`control`]), and what the tester sends ([`workload`]).

pub mod alg;
pub mod config;
pub mod deterministic;

pub mod flow;

pub mod times;

pub mod session;

pub mod sessions;

pub mod subscribers;

pub mod addresses;

pub mod ports;

mod dice;

pub mod allocation;

pub mod state;

pub mod reasons;

pub mod interfaces;

pub mod pipeline;

pub mod parse;

pub mod rewrite;

mod icmp;

pub mod control;

pub mod oracle;

pub mod workload;

pub mod log;

pub mod eam;
pub mod translation;

pub use self::config::{Config, Traffic};
pub use self::control::Update;
pub use self::oracle::Model;
pub use self::pipeline::Pipeline;
pub use self::workload::{Clients, Packet};
