//! What an operator gives the host's interfaces in the kernel, as the router's own: addresses,
//! neighbours and routes.
//!
//! ```text
//!  kernel --netlink--> protocol_netlink --Report--> mirrors, routing --Update--> workers
//!                                                      ^                  |
//!                                                      +--Applied, Refused+
//! ```
//! The files in reading order: [`config`] has the keys, `places` the interfaces of the router,
//! `mirror` what the kernel has and what the router has of it, `order` changes without an answer,
//! `machine` the controller.

pub mod config;

mod places;

mod mirror;

mod order;

mod machine;

pub use config::{Config, Followed};
pub use machine::Kernel;
