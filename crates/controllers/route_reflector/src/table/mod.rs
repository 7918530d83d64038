//! What the reflector knows: attribute blocks, and the routes of each family with their paths.
//!
//! ```text
//!  UPDATE --> attribute block, interned --> path of a route --> best path --> log of changes
//! ```
//! Nothing of it is kept for each peer. The files in reading order: `free` gives memory back,
//! [`interned`] keeps what many have in common, [`targets`] the sets of route targets, [`keys`] and
//! [`routes`] are the table, [`slots`] identifies paths, [`decision`] chooses among them,
//! [`mod@losses`] says why, [`log`] is read by whoever tells others.

mod free;

pub mod interned;

pub mod targets;

pub mod keys;

pub mod slots;

pub mod routes;

pub mod decision;

pub mod losses;

pub mod log;

mod family;

#[cfg(test)]
mod tests;

pub use decision::{Candidate, Mobility, Rank, Rules, Teller};
pub use family::{Change, Family};
pub use interned::Interned;
pub use log::{Log, Place};
pub use routes::{NONE, Path, Rest, Route, Routes};
pub use slots::{SLOTS_MAX, Slots};
pub use targets::{Sets, Targets};
