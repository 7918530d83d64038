//! The tester of control planes of routes: feeders that tell routes to a device, clients that are
//! told them, and what each client has, exactly and with times.
//!
//! ```text
//!  source --> feeders' UPDATEs --> sessions ==> device ==> sessions --> heard: chain, tables
//!     |                                                                    |
//!     +-----> known: what a client may be told, with hashes --> expected --+--> Convergence
//! ```
//! It is code of the bench: of the product it has the formats of sessions and messages alone, and
//! reads routes by code of its own. What it costs is a thread and little memory: of 40 million
//! routes in sequence the bytes that are sent and those that one client was told, and a bit a route
//! for each client that was told something else.
//!
//! The files in reading order. What is said: `octets` takes bytes, [`nlri`] reads routes,
//! [`attributes`] has sets of attributes in one form, [`update`] takes a message apart, [`routes`]
//! is what a source is, [`source`] has them, [`fed`] says which feeder tells what, [`pack`] writes
//! it. What is to be heard: [`hash`] makes hashes, [`known`] has those of all that may be told and
//! what clients are to have, [`heard`] what they were told. Between the two: [`speaking`] is what
//! sessions say first, `session` is one, `sessions` are all on one thread, `kernel` tells of memory
//! and time. What a method sees: [`device`] is what is asked of a device's owner, [`plan`] what a
//! tester is made of, and [`tester`] lets events happen.
//!
//! Not supported: paths with identifiers (RFC 7911), sessions that a device opens, TCP MD5, and
//! ASes of two bytes. Routes of families that no feeder tells are not looked at.

mod octets;

pub mod nlri;

pub mod attributes;

pub mod update;

pub mod routes;

pub mod source;

pub mod fed;

pub mod pack;

pub mod hash;

pub mod known;

pub mod heard;

pub mod speaking;

mod session;

mod kernel;

mod sessions;

pub mod device;

pub mod plan;

pub mod tester;

pub use device::{Device, Usage};
pub use fed::{Fed, Sharing};
pub use known::{Best, Change, Passed, Told};
pub use plan::Plan;
pub use routes::Routes;
pub use speaking::{Speaker, Speaking};
pub use tester::Tester;
