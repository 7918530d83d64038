//! What every protocol and every controller provides: a machine without I/O.
//!
//! ```text
//!  what drives it: a host of real sockets, the bench, or a simulated network
//!     | input(now, Input)       arrivals, commands        ^ poll(now) -> Output
//!     v                                                   | departures, reports
//!  +--------------------------- Machine ---------------------------+
//!  |  state of fixed size; no socket, clock, thread or randomness  |  deadline() -> Time
//!  +---------------------------------------------------------------+
//! ```
//! A driver hands over everything that has arrived, then polls until there is no output, then waits
//! for the next arrival or the deadline. What waits is handed over before time is judged, so a
//! driver that was held up takes no session down. The same inputs at the same times yield the same
//! outputs, on real sockets and in a simulation.
//!
//! The files in reading order: [`time`], [`random`], [`equal`] for secrets, [`endpoint`] for
//! interfaces and streams, [`network`] with what arrives and departs, [`shown`] to operators,
//! [`machine`], [`several`] machines as one, [`protocol`] for the list. Nothing here knows a
//! protocol.

pub mod time;

pub mod random;

pub mod equal;

pub mod endpoint;

pub mod network;

pub mod shown;

pub mod machine;

pub mod several;

pub mod protocol;

pub use bytes::Bytes;

pub use endpoint::{Endpoint, Interface, Secret, StreamOptions, Tls};
pub use equal::is_equal;
pub use machine::{Input, Machine, Output};
pub use network::{Arrival, Departure, FileOpening, Kept, Opening, STREAM_ROOM, Socket, Takes};
pub use protocol::Protocol;
pub use random::Random;
pub use several::{Companion, Several};
pub use shown::{Content, Neighbour, Trace};
pub use time::Time;
