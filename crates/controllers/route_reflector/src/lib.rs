//! A BGP route reflector (RFC 4456): routes of clients go to all others, which need no sessions
//! with each other.
//!
//! ```text
//!  sessions --UPDATE--> reflector: attributes and routes once --> groups of peers --> shared streams
//!     ^                                                                                    |
//!     +---------------------------------- bytes for a thousand peers ----------------------+
//! ```
//! It controls no function. The files in reading order: [`config`] has the keys, [`bounds`] how
//! much peers may tell, [`own`] what the reflector and its peers are, [`leaks`] which routes are
//! for customers only, [`known`] attributes as they are kept, [`table`] the routes, [`membership`]
//! what peers ask for, [`groups`] who is told what, [`reflector`] puts these together, `peers` has
//! the sessions, `lines` says what happens with them, `restarting` has the own restart, `agreed`
//! what a peer is told by what was agreed on, `dumps` writes files of MRT and `monitors` has the
//! collectors of BMP, `machine` is the controller, `show` what a person sees, `asked` what one asks
//! for, `commands` what one tells it to do,
//! `metrics` what is measured, [`fuzz`] compares it with a plain one.

pub mod config;

pub mod bounds;

pub mod own;

pub mod leaks;

pub mod known;

pub mod table;

pub mod membership;

pub mod groups;

pub mod reflector;

mod peers;

mod lines;

mod restarting;

mod agreed;

mod dumps;

mod monitors;

mod show;

mod asked;

mod commands;

mod metrics;

mod machine;

pub mod fuzz;

pub use config::Config;
pub use machine::RouteReflector;
