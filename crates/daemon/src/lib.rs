//! A function as a daemon: ports and workers from a file, and everything a running function needs
//! around it.
//!
//! ```text
//!  function.yaml --read--> Configuration --start--> Daemon: keeper thread
//!                                                     | orders, updates        ^ requests, signals
//!                                                     v                        |
//!                                          workers on their cores       control socket, metrics
//! ```
//! Modules stand in the order in which a daemon comes to be. A worker never waits for anything
//! here: what is asked of it goes through the engine's bounded queues. Not here: privileges are
//! neither taken nor dropped, and the process stays in the foreground, as a service manager wants
//! it.

mod before;
mod board;
mod capture;
pub mod client;
mod conditions;
pub mod config;
mod control;
mod controlled;
mod controller;
mod controllers;
mod ending;
mod error;
mod exchange;
mod inbox;
mod keeper;
mod links;
pub mod logs;
mod machines;
pub mod manager;
mod member;
mod metrics;
mod nothing;
mod piece;
mod plane;
pub mod protocol;
mod read;
mod reload;
mod saving;
mod schema;
mod sections;
pub mod signals;
mod snapshot;
pub mod state;
mod stream;
mod tables;
mod team;
mod times;
mod unit;
mod watching;
pub mod words;

pub use control::default_socket;
pub use error::RunError;
pub use functions::FUNCTIONS;
pub use inbox::{Inbox, Remote};
pub use keeper::{Daemon, Source};
pub use read::{Configuration, Parts};
pub use schema::{file_schema, update_schema};
pub use unit::Refused;
