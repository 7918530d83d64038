//! What the bench knows of a route reflector (RFC 4456): what its peers must be told.
//!
//! ```text
//!  seed --> course of random events --> oracle --------> what each peer must have
//!                    |                                            | compared, attribute by attribute
//!                    +--> conversations over TCP --> reflector --> what each peer has
//! ```
//! The oracle is slow and plain, and shares no code with the reflector; messages are written and
//! read by a codec of others. The files in reading order: [`sections`] has the keys, [`path`]
//! routes and attributes, [`policy`] what becomes of them, [`oracle`] decides who must be told
//! what, [`otherwise`] names what reflectors do otherwise, `wire` turns routes into messages,
//! `conversation` is a session, [`check`] compares, and [`workload`] is what the tester measures
//! with.

pub mod sections;

pub mod path;

pub mod policy;

pub mod oracle;

pub mod otherwise;

mod wire;

mod conversation;

pub mod check;

pub mod workload;
