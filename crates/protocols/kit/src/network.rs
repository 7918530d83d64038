//! What arrives from a network at a machine, and what departs from it.
//!
//! A machine names its sockets by numbers of its own choice; who opens them is the driver. So one
//! driver serves every protocol, and a machine can be driven without any network.
//!
//! | socket ([`Opening`]) | departs | arrives |
//! |---|---|---|
//! | datagrams of UDP | [`Departure::Datagram`] | [`Arrival::Datagram`] |
//! | packets of an IP protocol | [`Departure::Packet`] | [`Arrival::Packet`] |
//! | frames of an interface | [`Departure::Frame`] | [`Arrival::Frame`] |
//! | a listener | | [`Arrival::Connected`], by a stream of its range |
//! | a stream of TCP or of a Unix socket | [`Departure::Bytes`], [`Departure::Finish`], [`Departure::Read`] | [`Arrival::Connected`], [`Arrival::Bytes`], [`Arrival::Taken`], [`Arrival::Finished`] |
//! | a file that is written ([`FileOpening`]) | [`Departure::Bytes`], [`Departure::Finish`] | [`Arrival::Connected`], [`Arrival::Taken`], [`Arrival::Finished`] |
//! | the kernel's netlink of routing | [`Departure::Netlink`], [`Departure::Read`] | [`Arrival::Netlink`], [`Arrival::Overrun`] |

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use bytes::Bytes;

use crate::endpoint::{Endpoint, Interface, StreamOptions};

/// A socket of a machine, by the machine's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Socket(pub u32);

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
    /// A packet of the socket's IP protocol has arrived.
    Packet {
        /// The socket.
        socket: Socket,
        /// Interface at which it came in.
        interface: Interface,
        /// Its source.
        from: IpAddr,
        /// Its destination address.
        to: IpAddr,
        /// Its Time To Live or Hop Limit as it came in.
        ttl: u8,
        /// What follows its IP header.
        bytes: &'a [u8],
    },
    /// A frame has arrived.
    Frame {
        /// The socket.
        socket: Socket,
        /// Interface at which it came in.
        interface: Interface,
        /// The frame from its destination address on, without check sequence.
        bytes: &'a [u8],
    },
    /// A stream stands: one that was opened, or one that a listener has accepted.
    Connected {
        /// The stream.
        socket: Socket,
        /// The local end; `None` for a Unix socket.
        local: Option<SocketAddr>,
        /// The far end; `None` for a Unix socket.
        peer: Option<SocketAddr>,
    },
    /// Bytes of a stream have arrived, in order, in pieces of any size.
    Bytes {
        /// The stream.
        socket: Socket,
        /// The bytes, at least one.
        bytes: &'a [u8],
    },
    /// The transport has taken bytes of a stream that had departed: there is room for as many more.
    Taken {
        /// The stream.
        socket: Socket,
        /// Their number.
        count: usize,
    },
    /// The far end sends no more bytes on a stream, which still carries those to it.
    Finished {
        /// The stream.
        socket: Socket,
    },
    /// The kernel has told something.
    Netlink {
        /// The socket.
        socket: Socket,
        /// Whole messages (`netlink(7)`), one behind the other.
        bytes: &'a [u8],
    },
    /// The kernel has told more than there was room for, and some of it is lost.
    Overrun {
        /// The socket.
        socket: Socket,
    },
    /// A link has come up or gone down. At the start all links count as up.
    Link {
        /// Its interface.
        interface: Interface,
        /// Whether it is up now.
        is_up: bool,
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
    /// A socket.
    Open {
        /// The number of the socket, which names no open one.
        socket: Socket,
        /// What it is.
        opening: Opening,
    },
    /// A socket is closed, and with a stream whatever of it was not taken yet.
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
    /// A packet of the socket's IP protocol leaves.
    Packet {
        /// The socket.
        socket: Socket,
        /// Interface by which it leaves; `None` for that of the route to its destination.
        interface: Option<Interface>,
        /// Its source address.
        from: IpAddr,
        /// Its destination.
        to: IpAddr,
        /// Its Time To Live or Hop Limit.
        ttl: u8,
        /// What follows its IP header.
        bytes: Vec<u8>,
    },
    /// A frame leaves by an interface.
    Frame {
        /// A socket for frames of this interface.
        socket: Socket,
        /// The frame from its destination address on, without check sequence.
        bytes: Vec<u8>,
    },
    /// The kernel is asked something.
    Netlink {
        /// A socket of netlink.
        socket: Socket,
        /// A whole message (`netlink(7)`).
        bytes: Vec<u8>,
    },
    /// Bytes leave on a stream that stands. Of all that have departed and were not
    /// [`Arrival::Taken`] there are at most [`STREAM_ROOM`]; a stream of more fails.
    Bytes {
        /// The stream.
        socket: Socket,
        /// The bytes, at least one. What departs on many streams may exist once.
        bytes: Bytes,
    },
    /// No more bytes leave on a stream, which still carries those from the far end.
    Finish {
        /// The stream.
        socket: Socket,
    },
    /// Bytes of a stream are wanted, as at its beginning, or are not: then the far end has to wait.
    /// The same of what the kernel tells, of which some is lost if it has to wait for long.
    Read {
        /// The stream, or the socket of netlink.
        socket: Socket,
        /// Whether they are wanted.
        is_wanted: bool,
    },
}

/// What a socket is when it is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// For datagrams of UDP.
    Datagrams {
        /// Local address and port; an unspecified address stands for each of the node's.
        local: SocketAddr,
        /// The only interface whose datagrams it takes; `None` for any.
        interface: Option<Interface>,
    },
    /// For packets of an IP protocol, in the family of an address.
    Packets {
        /// The number of the protocol.
        protocol: u8,
        /// Local address; an unspecified one stands for each of the node's.
        local: IpAddr,
        /// The only interface whose packets it takes; `None` for any.
        interface: Option<Interface>,
    },
    /// For frames of an interface.
    Frames {
        /// The interface.
        interface: Interface,
        /// The frames that it takes; those of any entry.
        takes: Vec<Takes>,
        /// Group addresses that the interface listens to for this socket.
        groups: Vec<[u8; 6]>,
    },
    /// For the kernel's netlink of routing (`rtnetlink(7)`), in the driver's network namespace.
    Netlink {
        /// The groups of which it is told, by the bits of `nl_groups`.
        groups: u32,
    },
    /// For streams that others begin.
    Listener {
        /// Where it listens.
        at: Endpoint,
        /// What holds for each stream.
        options: StreamOptions,
        /// The numbers of its streams: an accepted one has the lowest that names no open socket.
        /// While all are in use none is accepted.
        streams: Range<u32>,
    },
    /// A stream to a far end. It stands when [`Arrival::Connected`] says so.
    Stream {
        /// The local address and port; `None` for any.
        from: Option<SocketAddr>,
        /// The far end.
        to: Endpoint,
        /// What holds for it.
        options: StreamOptions,
    },
    /// A file, to which bytes depart as to a stream: it is there when [`Arrival::Connected`] says
    /// so, bytes are in it when they are [`Arrival::Taken`], and after [`Departure::Finish`] it is
    /// whole when [`Arrival::Finished`] says so. Then, or after it has failed, its number is free.
    File(FileOpening),
}

/// A file that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOpening {
    /// The folder, which is made if it is absent.
    pub folder: String,
    /// The name in it.
    pub name: String,
    /// Whether it appears by its name when it is whole, and not at all if it never is. Else it
    /// appears at once, goes on behind what a file of this name has, and ends behind a departure
    /// if one could not be written as a whole.
    pub appears_whole: bool,
    /// Which files of the folder are kept when it is there; all if that is `None`.
    pub kept: Option<Kept>,
}

/// Which files are kept of those with such names: the last ones in the order of the names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// How the names begin.
    pub begin: String,
    /// How the names end.
    pub end: String,
    /// Most files, this one among them; at least 1.
    pub files_max: u32,
}

/// Frames that a socket takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// Their EtherType, behind no tag.
    pub ether_type: u16,
    /// The protocol in the header of IPv4 or the first Next Header of IPv6; `None` for any.
    pub protocol: Option<u8>,
}

/// Bytes of a stream that may have departed without being taken.
pub const STREAM_ROOM: usize = 256 << 10;
