//! The host of machines without I/O: the kernel's sockets, the monotonic clock, and one thread that
//! sleeps until something arrives or a machine's deadline.
//!
//! ```text
//!  epoll --> socket: every waiting datagram --> input --> poll --> socket: send
//!    ^                                                      |
//!    +---------------- sleep until the deadline <-----------+--> reports
//! ```
//! What waits in the kernel is read before time is judged, so a host that was held up takes nothing
//! down. The files in reading order: `socket` is one socket of the kernel, [`Host`] the loop.
//!
//! **Not supported:** datagrams that are handed to a neighbour whatever their destination
//! (`Departure::Datagram` with `via`), as the kernel keeps what is addressed to itself. They are
//! counted.

mod counters;

mod error;

mod told;

mod udp;

mod packets;

mod frames;

mod options;

mod stream;

mod listener;

mod socket;

mod host;

mod machines;

pub use counters::Counters;
pub use error::SocketError;
pub use host::Host;
pub use machines::Machines;
