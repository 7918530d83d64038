//! What arrives from a network at a machine, and what departs from it.
//!
//! A machine names its sockets by numbers of its own choice; who opens them is the driver. So one
//! driver serves every protocol, and a machine can be driven without any network.

use std::net::{IpAddr, SocketAddr};

/// A socket of a machine, by the machine's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Socket(pub u32);

/// An interface of the node, by the driver's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interface(pub u32);

/// What happened in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival<'a> {
    /// A datagram has arrived at a socket.
    Datagram {
        /// The socket.
        socket: Socket,
        /// Interface at which it came in.
        interface: Interface,
        /// Its source.
        from: SocketAddr,
        /// Its destination address.
        to: IpAddr,
        /// Its Time To Live or Hop Limit as it came in.
        ttl: u8,
        /// Its payload.
        bytes: &'a [u8],
    },
    /// A socket could not be opened, or was closed by an error; it is closed.
    Failed {
        /// The socket.
        socket: Socket,
    },
}

/// What a machine wants of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Departure {
    /// A socket for datagrams.
    Open {
        /// The number of the socket, which names no open one.
        socket: Socket,
        /// Local address and port; an unspecified address stands for each of the node's.
        local: SocketAddr,
        /// The only interface whose datagrams it takes; `None` for any.
        interface: Option<Interface>,
    },
    /// A socket is closed.
    Close {
        /// The socket.
        socket: Socket,
    },
    /// A datagram leaves by an open socket.
    Datagram {
        /// The socket.
        socket: Socket,
        /// Interface by which it leaves; `None` for that of the route to its destination.
        interface: Option<Interface>,
        /// The neighbour that it is handed to, whatever its destination; `None` for that of the
        /// route.
        via: Option<IpAddr>,
        /// Its source address; its source port is that of the socket.
        from: IpAddr,
        /// Its destination.
        to: SocketAddr,
        /// Its Time To Live or Hop Limit.
        ttl: u8,
        /// Its payload.
        bytes: Vec<u8>,
    },
}
