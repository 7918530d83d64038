//! A BGP route reflector (RFC 4456): routes of clients go to all others, which need no sessions
//! with each other.
//!
//! ```text
//!  sessions --UPDATE--> reflector: attributes and routes once --> groups of peers --> shared streams
//!     ^                                                                                    |
//!     +---------------------------------- bytes for a thousand peers ----------------------+
//! ```
//! It controls no function. The files in reading order: [`config`] has the keys, [`own`] what the
//! reflector and its peers are, [`known`] attributes as they are kept, [`table`] the routes,
//! [`groups`] who is told what, [`reflector`] puts these together, `peers` has the sessions,
//! `machine` is the controller, `show` what a person sees.

pub mod config;

pub mod own;

pub mod known;

pub mod table;

pub mod groups;

pub mod reflector;

mod peers;

mod show;

mod machine;

pub use config::Config;
pub use machine::RouteReflector;
