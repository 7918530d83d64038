//! The BGP Monitoring Protocol (RFC 7854, RFC 9069) without I/O: the side of the router.
//!
//! ```text
//!  connected, taken, failed, time --> Collector: connects, again if need be --> Up, Down
//!  whoever has routes --message: initiation, peer up, routes, statistics--> Collector --> stream
//! ```
//! A collector listens and says nothing. One that takes nothing for a time loses its session, and
//! is told everything anew when it is back: nobody waits for it.
//!
//! The files in reading order: [`message`] writes messages, [`collector`] has the session with a
//! collector, [`fuzz`] is the fuzz target.

pub mod message;

pub mod collector;

pub mod fuzz;

pub use collector::{Collector, Event};
pub use message::PeerHeader;

/// BMP as the list of protocols has it.
pub const PROTOCOL: protocol_kit::Protocol =
    protocol_kit::Protocol { name: "bmp", fuzz: fuzz::fuzz, examples: fuzz::examples };
