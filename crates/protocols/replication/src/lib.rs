//! The link by which a standby learns the state of an active function, so that nothing is lost when
//! it takes over: two machines without I/O.
//!
//! ```text
//!  active                                          standby
//!  worker --ring--> Active ======== TCP ========> Standby --ring--> worker
//!                   window <=== last applied ====  Link  <-----------'
//! ```
//! What is told is the state of a thing, not an event: whatever is lost, late or told twice, the
//! last word holds. A function says what its changes are by the trait [`Change`]; this crate knows
//! none of them. A change is acknowledged when it is in the standby's tables.
//!
//! A worker makes no system call, so nobody wakes a machine when there is something in a ring: it
//! asks to be polled, soon while there is something to do, 62 times a second where there is not.
//!
//! The files in reading order: [`change`] and [`config`] are what a function and an operator say,
//! [`trouble`] why a connection ends, [`link`] what a worker and its machine tell each other,
//! [`message`] is the codec, [`authentication`] signs and checks, `stream` is a connection, `pace`
//! how often and how much, [`active`] and [`standby`] the machines. Where either of two may tell
//! the other, [`pair`] is the machine of one, [`roles`] what its worker does, and [`hearing`] the
//! worker's end of what it is told. [`joined`] is an active function and its standby in one.

pub mod change;

pub mod config;

pub mod trouble;

pub mod link;

pub mod message;

pub mod authentication;

mod shown;

mod stream;

mod pace;

pub mod active;

pub mod standby;

pub mod pair;

pub mod roles;

pub mod hearing;

pub mod joined;

pub mod fuzz;

pub use active::Active;
pub use authentication::Credentials;
pub use change::{Change, Malformed, number, take};
pub use config::{Files, Key, Replication, Role};
pub use hearing::Hearing;
pub use joined::Joined;
pub use link::{Link, Phase, Status};
pub use message::Identity;
pub use pair::Pair;
pub use roles::{Part, Roles, Standing};
pub use standby::{Received, Standby};
pub use trouble::Trouble;

/// Replication as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "replication", fuzz: fuzz::fuzz, examples: fuzz::examples };

/// Changes between a worker and its machine.
pub const RING: usize = 16_384;
