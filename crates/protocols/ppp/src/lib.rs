//! The Point-to-Point Protocol (RFC 1661) over PPPoE: codec and machine, without I/O.
//!
//! ```text
//!  payload --> machine: which session? --> session: LCP -> PAP, CHAP -> IPCP, IPv6CP
//!                 |  wheel of timers          |  negotiation by one automaton, with options
//!  Report  <------+---------------------------+  authenticator asks, prover is asked
//! ```
//! The files in reading order: [`packet`] and [`options`] are the codec, [`redact`] hides secrets,
//! [`automaton`] is the table of RFC 1661, [`draws`] draws numbers that cannot be guessed,
//! [`config`] is what sessions are configured with, [`control`] is what the owner says and hears,
//! [`counters`] counts, `outbox` is what a session may use, `layer` is what the negotiation asks of
//! `lcp`, `ipcp` and `ipv6cp`, which have the options. `negotiation` is that of all three,
//! `authenticator` and `prover` are both sides of PAP and CHAP, `session` joins them, `network` is
//! its part of IPv4 and IPv6, [`machine`] has all sessions.

pub mod packet;

pub mod options;

pub mod redact;

pub mod automaton;

pub mod draws;

pub mod config;

pub mod control;

pub mod counters;

mod outbox;

mod layer;

mod lcp;

mod ipcp;

mod ipv6cp;

mod negotiation;

mod authenticator;

mod prover;

mod session;

mod network;

pub mod machine;

pub mod fuzz;

pub use config::{Config, Identity, Keepalive, Method, Network, Unusable, V4, V6};
pub use control::{
    Answer, Command, Credentials, Link, Phase, Reason, Report, V4Agreed, View, chap_response,
};
pub use counters::Counters;
pub use machine::Ppp;

/// PPP as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "ppp", fuzz: fuzz::fuzz, examples: fuzz::examples };
