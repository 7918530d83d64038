//! The kernel's netlink of routing without I/O: its messages, and a machine that knows what the
//! kernel has and hears of every change.
//!
//! ```text
//!  kernel --messages--> wire --> message: what it says --> ledger: what holds, what is stale
//!    ^                                                        | Report
//!    +---- lists are asked for: at first, and whenever messages may be missing
//! ```
//! The messages are those of Linux (`netlink(7)`, `rtnetlink(7)`), which also FRR's zebra speaks.
//!
//! The files in reading order: [`route`] has what is said of routes, `wire` messages and
//! attributes, `message` what they say, `ledger` what was told and holds, [`machine`] when lists
//! are read, [`links`] what else the kernel is asked.

pub mod route;

mod wire;

mod message;

mod ledger;

pub mod machine;

pub mod links;

pub mod fuzz;

pub use ledger::{Counters, Limited, Report};
pub use machine::{Config, Follows, Netlink};
pub use message::{Known, Said, Unread, read};
pub use route::{Destination, Hop, Key, Member, NextHop, Prefix, Route, RouteChange, table_of};
pub use wire::{Message, acknowledged, split_message};

/// The protocol as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "netlink", fuzz: fuzz::fuzz, examples: fuzz::examples };
