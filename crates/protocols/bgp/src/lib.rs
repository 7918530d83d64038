//! Border Gateway Protocol version 4 (RFC 4271): codec and sessions, without I/O.
//!
//! ```text
//!  bytes --> framing --> Peer: states, timers, collisions --> Event: established, down, UPDATE
//!                          |                                             |
//!  bytes <-----------------+--- Builder <-- routes, block     Scan: block, summary, routes
//! ```
//! An UPDATE is read where it lies, once: a [`update::Scan`] checks it by RFC 7606, leaves its
//! attributes as a block of bytes by which equal ones are found, with a summary, and its routes
//! where they are. A [`builder::Builder`] makes UPDATEs of a block and routes. What there are of
//! families, attributes, capabilities and causes is a table each, and one more is a row.
//!
//! The files in reading order: [`bytes`] reads fields, [`message`] has the kinds of messages,
//! [`notification`] why sessions end, [`framing`] finds messages in a stream, [`capabilities`],
//! [`open`] and [`refresh`] are what speakers say beside routes. [`families`] is the table of
//! families, [`octets`], `evpn` and [`nlri`] read routes, [`prefix`] compares prefixes, [`text`]
//! shows routes. [`path`] has AS paths, [`attributes`] the table of attributes and the block,
//! [`attribute_text`] shows them, [`rules`] says what is wrong with one, [`summary`] what routes
//! are compared by, [`update`] reads and [`builder`] writes. [`config`] is what an operator says,
//! [`negotiated`] what follows from it with a peer, [`ended`] why it is over, `connection` a
//! connection and [`peer`] the states of those with a peer. [`speaker`] is a machine of them.

pub mod bytes;

pub mod message;

pub mod notification;

pub mod framing;

pub mod capabilities;

pub mod open;

pub mod refresh;

pub mod families;

pub mod octets;

mod evpn;

pub mod nlri;

pub mod prefix;

pub mod text;

pub mod path;

pub mod attributes;

pub mod attribute_text;

pub mod rules;

pub mod summary;

pub mod update;

pub mod builder;

pub mod config;

pub mod negotiated;

pub mod ended;

mod connection;

pub mod peer;

pub mod speaker;

pub mod fuzz;

pub use builder::{Builder, Writing};
pub use config::Config;
pub use families::{Family, FamilySet};
pub use negotiated::Negotiated;
pub use notification::Notification;
pub use peer::{Event, Peer, Sink};
pub use rules::Reading;
pub use speaker::Speaker;
pub use summary::Summary;
pub use update::{Scan, Update};

/// BGP as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "bgp", fuzz: fuzz::fuzz, examples: fuzz::examples };
