//! Sessions of a worker and what they take: subscribers, outside addresses and ports, time.
//!
//! A session ([`session`]) stands in a table with three indexes ([`table`]). It belongs to one of
//! the [`subscribers`], and to a mapping whose outside port comes from [`allocation`] out of
//! [`addresses`] and [`ports`]. When it ends is for [`times`] to say. How sessions begin and end is
//! in [`crate::state`].

pub mod addresses;
pub mod allocation;
mod dice;
mod dirty;
pub mod fields;
pub(crate) mod journal;
pub(crate) mod pools;
pub mod ports;
pub mod published;
pub mod refusals;
pub mod rewrite;
pub mod session;
pub mod steering;
pub mod subscribers;
pub mod table;
pub(crate) mod timeouts;
pub mod times;
