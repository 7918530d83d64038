//! The Forwarding Plane Manager protocol of FRR, the side of the data plane: codec and machine,
//! without I/O.
//!
//! ```text
//!  zebra -M dplane_fpm_nl
//!     | TCP, a stream of frames, each with messages of the kernel's routing netlink
//!     v
//!  framing --> messages --> machine: which keys are told, and which are stale --> Report
//! ```
//! The protocol has no document of its own: it is what `zebra/dplane_fpm_nl.c` and
//! `zebra/rt_netlink.c` of FRR 8.4 write, in the messages of Linux (`rtnetlink(7)`).
//!
//! The messages are read by [`protocol_netlink`]. The files in reading order: `framing` the frames
//! of the stream, `keys` the routes that were told, `objects` the next hops, `told` both with their
//! reports, [`machine`] the connection.

mod framing;

mod keys;

mod objects;

mod told;

pub mod machine;

pub mod fuzz;

pub use framing::Malformed;
pub use machine::{Config, Fpm};
pub use protocol_netlink::{Destination, Hop, Key, Member, NextHop, Prefix, Route, RouteChange};
pub use told::{Counters, Limited, Lost, Report};

/// The protocol as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "fpm", fuzz: fuzz::fuzz, examples: fuzz::examples };
