//! FRR as the routing suite of the router: what zebra tells becomes its next hops, groups and
//! routes.
//!
//! ```text
//!  zebra --TCP--> protocol_fpm::Fpm --Report--> table --Update--> workers of the router
//!                                                 ^                  |
//!                                                 +--Applied, Refused+
//! ```
//! The files in reading order: [`config`] has the keys, `router` what the router is, `account`
//! changes without an answer, `places` the numbers that are free, `hops`, `groups` and `routes`
//! what the router has, `refused` what it has no room for, `ways` who leads to what of it,
//! `objects` the next hops as zebra tells them, `table` the whole, `machine` the controller, `show`
//! what a person sees.

pub mod config;

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

mod machine;

mod show;

pub use config::Config;
pub use machine::Frr;
