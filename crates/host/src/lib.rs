//! The host of machines without I/O: the kernel's sockets, the monotonic clock, and one thread that
//! sleeps until something arrives or a machine's deadline.
//!
//! ```text
//!  epoll --> socket: every waiting datagram --> input --> poll --> socket: send
//!    ^                                                      |
//!    +---------------- sleep until the deadline <-----------+--> reports
//! ```
//! What waits in the kernel is read before time is judged, so a host that was held up takes nothing
//! down. A turn reads a bounded number of messages and bytes of each socket, and takes a bounded
//! number of outputs, so none keeps the others waiting. What a machine wants of a socket that is
//! not there is counted and does no harm.
//!
//! The files in reading order: `told` has messages with their addresses, `udp`, `packets` and
//! `frames` are sockets for messages, `options` are those of sockets, `tls` is what encrypts,
//! `stream` and `listener` are sockets for streams, `greetings` those in a handshake, `netlink` one
//! of the kernel's, `socket` is one of any kind, `links` hears of links, `files` writes files,
//! `observer` is what others see of a host, `frame` and `observed` are its traces, [`Host`] is the
//! loop.
//!
//! **Not supported:** datagrams that are handed to a neighbour whatever their destination
//! (`Departure::Datagram` with `via`), as the kernel keeps what is addressed to itself; they are
//! counted. Memberships of multicast groups of IP. Whether what an interface adds to frames (a tag
//! of a VLAN) was there: frames with a tag are not handed over.

mod counters;

mod error;

mod told;

mod udp;

mod packets;

mod frames;

mod options;

mod tls;

mod stream;

mod listener;

mod greetings;

mod socket;

mod netlink;

mod links;

mod files;

mod observer;

mod frame;

mod observed;

mod host;

mod machines;

pub use counters::Counters;
pub use error::SocketError;
pub use host::Host;
pub use machines::Machines;
pub use observer::{Observer, Record, Timers, Trace};
pub use tls::{TlsCounters, TlsTrouble};
