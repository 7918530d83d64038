//! What all rooms speak of: how packets name sessions, what a frame is, sides and networks.

pub mod class;
pub mod ending;
pub mod flow;
pub mod fragment;
pub mod gre;
pub(crate) mod hops;
pub mod networks;
pub mod sides;
