//! Routes of an l3-router as controllers are told them: what they lead to becomes next hops, groups
//! and routes of the router, whoever tells them.
//!
//! ```text
//!  zebra's FPM, the kernel --RouteChange--> table --Update--> workers of the router
//!                                      ^                  |
//!                                      +--Applied, Refused+
//! ```
//! The files in reading order: [`tables`] has the key that names VRFs, `router` what the router is,
//! `account` changes without an answer, `places` the numbers that are free, `hops`, `groups` and
//! `routes` what the router has, `refused` what it has no room for, `ways` who leads to what of it,
//! `objects` the next hops as they are told, `table` the whole, [`routing`] what controllers see.

pub mod tables;

mod router;

mod account;

mod places;

mod hops;

mod groups;

mod routes;

mod refused;

mod ways;

mod objects;

mod table;

pub mod routing;

pub use routing::Routing;
pub use tables::Table;
