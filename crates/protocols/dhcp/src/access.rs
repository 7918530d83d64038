//! The lines of clients: what comes from them and what goes to them, as payloads of UDP. What lies
//! around that, tags of VLANs or a session of PPP, is the owner's.

use std::net::IpAddr;

use wire::MacAddr;

/// A line of the access network, by the owner's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(pub u32);

/// A datagram that came from a line, to the port of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The line.
    pub line: Line,
    /// The source of its frame.
    pub mac: MacAddr,
    /// Its source.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
    /// Its payload.
    pub bytes: Vec<u8>,
}

/// A datagram that goes to a line, from the port of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The line.
    pub line: Line,
    /// The destination of its frame.
    pub mac: MacAddr,
    /// Its source.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
    /// Its destination port.
    pub port: u16,
    /// Its payload.
    pub bytes: Vec<u8>,
}
