//! FRR as the routing suite of the router: what zebra tells becomes its next hops, groups and
//! routes.
//!
//! ```text
//!  zebra --TCP--> protocol_fpm::Fpm --Report--> table --Update--> workers of the router
//!                                                 ^                  |
//!                                                 +--Applied, Refused+
//! ```
//! The table is that of [`controller_routing`]. The files in reading order: [`config`] has the
//! keys,
//! `machine` the controller, `show` what a person sees.

pub mod config;

mod machine;

mod show;

pub use config::Config;
pub use machine::Frr;
