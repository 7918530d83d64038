//! A standby that knows every session, so that none is lost when it takes over.
//!
//! The link is that of [`protocol_replication`]: machines that whoever runs the function drives.
//! Here is what a NAT tells over it: which sessions changed and when they are told (`teller`), a
//! change and what of a session does not stand in its record ([`change`], `kept`), and how changes
//! are applied (`applier`, and [`crate::state::State::adopt`] for a session,
//! [`crate::state::State::keep`] for what is kept beside it).
//!
//! Where either of two NATs may tell the other, `pair` says which one does.
//!
//! Blocks and pairings are not told at all, because they follow from the mappings.

mod adopt;
mod applier;
mod beside;
pub mod change;
mod keep;
mod kept;
mod pair;
mod replication;
mod rules;
mod teller;
#[cfg(test)]
mod tests;

pub use self::beside::{Beside, Rehearsal, Rehearses};
pub use self::change::{Change, Told};
pub use self::kept::{KEPT_MAX, Kept};
pub use self::replication::Replication;
