//! The messages (RFC 7854 section 4, RFC 9069 section 4 and 5).
//!
//! ```text
//!  | version 3 | length u32, with this header | kind u8 | ...
//!  about a peer: | kind u8 | flags u8 | distinguisher 8 | address 16 | AS u32 | identifier u32 | s u32 | us u32 |
//!  Route Monitoring   peer, UPDATE with its header
//!  Statistics Report  peer, | count u32 | kind u16 | length u16 | value | ...
//!  Peer Down          peer, | why u8 | what belongs to that |
//!  Peer Up            peer, | own address 16 | own port u16 | port u16 | OPEN sent | OPEN received | information |
//!  Initiation         information: | kind u16 | length u16 | value | ...
//!  Termination        information
//! ```

use std::net::IpAddr;

use protocol_bgp::families::Family;

/// What a message says of the peer or table that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerHeader {
    /// What it is.
    pub kind: PeerKind,
    /// The Route Distinguisher of its table; zeros for the global one.
    pub distinguisher: [u8; 8],
    /// The address of the peer; `None` for the own table.
    pub address: Option<IpAddr>,
    /// The AS of the peer, or the own one.
    pub asn: u32,
    /// The identifier of the peer, or the own one.
    pub identifier: u32,
    /// When what is told was known, in microseconds since 1970; 0 if that is not known.
    pub micros: u64,
    /// Whether ASes of what is told have 2 bytes.
    pub is_narrow: bool,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// What a peer has told, before any policy.
    PrePolicy,
    /// What a peer has told and a policy has left.
    PostPolicy,
    /// The own table, Loc-RIB (RFC 9069).
    LocRib,
}

/// Why there is nothing more to tell of a peer or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down<'a> {
    /// This side has ended the session with a NOTIFICATION, whole with its header.
    LocalNotification(&'a [u8]),
    /// This side has ended the session without one, by this event of the states (RFC 4271 section
    /// 8.1); 0 for none.
    Local(u16),
    /// The peer has ended the session with a NOTIFICATION, whole with its header.
    RemoteNotification(&'a [u8]),
    /// The peer has ended the session without one.
    Remote,
    /// Nothing is told of the peer any more.
    Deconfigured,
    /// The own table is told no more.
    LocRib,
}

/// A figure of a Statistics Report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Routes of the own table.
    LocRib(u64),
    /// Routes of a family in the own table.
    LocRibOf(Family, u64),
    /// Routes that a peer has told, before any policy.
    AdjRibIn(u64),
    /// Those of a family.
    AdjRibInOf(Family, u64),
}

/// Why the session with a collector ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Termination {
    /// An operator wants it.
    Administrative = 0,
    /// No reason is told.
    Unspecified = 1,
    /// There is no room.
    Resources = 2,
    /// There is another session with the collector.
    Redundant = 3,
    /// For good.
    Permanent = 4,
}

/// Appends the first message of a session: what the router is, and its name.
pub fn initiation(description: &str, name: &str, out: &mut Vec<u8>) {
    let start = begin(INITIATION, out);
    information(SYS_DESCR, description.as_bytes(), out);
    information(SYS_NAME, name.as_bytes(), out);
    end(start, out);
}

/// Appends the last message of a session.
pub fn termination(why: Termination, out: &mut Vec<u8>) {
    let start = begin(TERMINATION, out);
    information(REASON, &(why as u16).to_be_bytes(), out);
    end(start, out);
}

/// What a Peer Up says beside the peer.
#[derive(Clone, Copy, Debug)]
pub struct Up<'a> {
    /// The own address of the session; `None` for the own table.
    pub local: Option<IpAddr>,
    /// The own port and the peer's; 0 where there is none.
    pub ports: [u16; 2],
    /// The OPENs that were sent and received, whole with their headers.
    pub opens: [&'a [u8]; 2],
    /// The name of the table; empty for none.
    pub table: &'a str,
}

/// Appends the message that a session or table is there.
pub fn peer_up(peer: &PeerHeader, up: &Up<'_>, out: &mut Vec<u8>) {
    let start = begin(PEER_UP, out);
    put_peer(peer, out);
    put_address(up.local, out);
    up.ports.iter().for_each(|port| out.extend(port.to_be_bytes()));
    up.opens.iter().for_each(|open| out.extend(*open));
    if !up.table.is_empty() {
        information(TABLE_NAME, up.table.as_bytes(), out);
    }
    end(start, out);
}

/// Appends the message that a session or table is there no more.
pub fn peer_down(peer: &PeerHeader, why: Down<'_>, table: &str, out: &mut Vec<u8>) {
    let start = begin(PEER_DOWN, out);
    put_peer(peer, out);
    match why {
        Down::LocalNotification(message) => {
            out.push(1);
            out.extend(message);
        }
        Down::Local(event) => {
            out.push(2);
            out.extend(event.to_be_bytes());
        }
        Down::RemoteNotification(message) => {
            out.push(3);
            out.extend(message);
        }
        Down::Remote => out.push(4),
        Down::Deconfigured => out.push(5),
        Down::LocRib => {
            out.push(6);
            information(TABLE_NAME, table.as_bytes(), out);
        }
    }
    end(start, out);
}

/// Appends a message for each message of BGP, which are whole and one behind the other.
pub fn route_monitoring(peer: &PeerHeader, mut messages: &[u8], out: &mut Vec<u8>) {
    let mut header = Vec::with_capacity(PEER_LEN);
    put_peer(peer, &mut header);
    while let Some(len) = messages.get(16..18) {
        let len = usize::from(u16::from_be_bytes([len[0], len[1]])).max(BGP_HEADER_LEN);
        let (message, rest) = messages.split_at(len.min(messages.len()));
        let start = begin(ROUTE_MONITORING, out);
        out.extend(&header);
        out.extend(message);
        end(start, out);
        messages = rest;
    }
}

/// Appends a report of figures.
pub fn statistics(peer: &PeerHeader, figures: &[Figure], out: &mut Vec<u8>) {
    let start = begin(STATISTICS, out);
    put_peer(peer, out);
    out.extend((figures.len() as u32).to_be_bytes());
    for figure in figures {
        match figure {
            Figure::AdjRibIn(count) => information(7, &count.to_be_bytes(), out),
            Figure::LocRib(count) => information(8, &count.to_be_bytes(), out),
            Figure::AdjRibInOf(family, count) => of_family(9, *family, *count, out),
            Figure::LocRibOf(family, count) => of_family(10, *family, *count, out),
        }
    }
    end(start, out);
}

fn of_family(kind: u16, family: Family, count: u64, out: &mut Vec<u8>) {
    let (afi, safi) = family.numbers();
    let value = [&afi.to_be_bytes()[..], &[safi], &count.to_be_bytes()].concat();
    information(kind, &value, out);
}

/// Appends a kind, a length, and a value, of which at most 65,535 bytes count.
fn information(kind: u16, value: &[u8], out: &mut Vec<u8>) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    out.extend(kind.to_be_bytes());
    out.extend((value.len() as u16).to_be_bytes());
    out.extend(value);
}

fn put_peer(peer: &PeerHeader, out: &mut Vec<u8>) {
    let (kind, policy) = match peer.kind {
        PeerKind::LocRib => (3, 0),
        PeerKind::PrePolicy if peer.distinguisher == [0; 8] => (0, 0),
        PeerKind::PostPolicy if peer.distinguisher == [0; 8] => (0, POST_POLICY),
        PeerKind::PrePolicy => (1, 0),
        PeerKind::PostPolicy => (1, POST_POLICY),
    };
    let is_ipv6 = peer.address.is_some_and(|address| address.is_ipv6());
    let narrow = if peer.is_narrow { NARROW } else { 0 };
    out.extend([kind, policy | narrow | if is_ipv6 { IPV6 } else { 0 }]);
    out.extend(peer.distinguisher);
    put_address(peer.address, out);
    out.extend(peer.asn.to_be_bytes());
    out.extend(peer.identifier.to_be_bytes());
    let seconds = u32::try_from(peer.micros / 1_000_000).unwrap_or(u32::MAX);
    out.extend(seconds.to_be_bytes());
    out.extend(((peer.micros % 1_000_000) as u32).to_be_bytes());
}

/// An address in 16 bytes: one of IPv4 in the last four.
fn put_address(address: Option<IpAddr>, out: &mut Vec<u8>) {
    match address {
        None => out.extend([0; 16]),
        Some(IpAddr::V4(address)) => {
            out.extend([0; 12]);
            out.extend(address.octets());
        }
        Some(IpAddr::V6(address)) => out.extend(address.octets()),
    }
}

/// Appends the header of a message whose length is not known yet; returns where it begins.
fn begin(kind: u8, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend([VERSION, 0, 0, 0, 0, kind]);
    start
}

/// Writes the length of the message that begins at a place and ends where the bytes end.
fn end(start: usize, out: &mut [u8]) {
    let len = (out.len() - start) as u32;
    out[start + 1..start + 5].copy_from_slice(&len.to_be_bytes());
}

const VERSION: u8 = 3;

const ROUTE_MONITORING: u8 = 0;
const STATISTICS: u8 = 1;
const PEER_DOWN: u8 = 2;
const PEER_UP: u8 = 3;
const INITIATION: u8 = 4;
const TERMINATION: u8 = 5;

/// Kinds of information in an Initiation, a Termination, and a Peer Up or Peer Down.
const SYS_DESCR: u16 = 1;
const SYS_NAME: u16 = 2;
const REASON: u16 = 1;
const TABLE_NAME: u16 = 3;

/// The flags of a peer with an address of IPv6, of what a policy has left, and of ASes of 2 bytes.
const IPV6: u8 = 0x80;
const POST_POLICY: u8 = 0x40;
const NARROW: u8 = 0x20;

/// Bytes about a peer.
pub const PEER_LEN: usize = 42;

/// Bytes that stand before an UPDATE in a Route Monitoring.
pub const OVERHEAD: usize = 6 + PEER_LEN;

const BGP_HEADER_LEN: usize = 19;
