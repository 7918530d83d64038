//! Sources of routes: a file each.
//!
//! [`Synthetic`] has addresses in sequence, [`generated`] a table that is distributed as the
//! Internet's, [`mrt`] what a collector has recorded; both of these are a [`Listed`]. [`Divided`]
//! has the routes of another source, by classes. [`Evpn`] and [`Vpn`] have the routes of provider
//! edges, which are feeders and clients. What can be computed from a number is not kept.

mod plain;

mod listed;

mod divided;

mod synthetic;

pub mod generated;

pub mod mrt;

mod members;

mod evpn;

mod vpn;

pub use divided::Divided;
pub use evpn::Evpn;
pub use listed::{Listed, Listing};
pub use members::Members;
pub use synthetic::Synthetic;
pub use vpn::Vpn;
