//! BFD for FRR: the first worker of a router runs the sessions that bfdd wants, and bfdd is told
//! how they are.
//!
//! ```text
//!  bfdd <--stream--> protocol_bfddp --Report--> sessions --SetBfd, RemoveBfd--> workers
//!                          ^                                                       |
//!                          +--Command: a change <--- Event::Happened --------------+
//! ```
//! The files in reading order: [`config`] has the keys, `places` the interfaces of the router,
//! `sessions` what bfdd wants and what the router has of it, `show` what a person sees, `machine`
//! the controller.

pub mod config;

mod places;

mod sessions;

mod show;

mod machine;

pub use config::Config;
pub use machine::FrrBfd;
