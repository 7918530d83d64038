//! Several workers: which one has a packet, and packets that one hands to another.

mod stage;
pub mod steering;
pub(crate) mod validate;
