//! What a gateway is told and what it tells.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Which application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gateway {
    /// File transfer (RFC 959, RFC 2428).
    Ftp,
    /// Telephony (RFC 3261).
    Sip,
    /// Point-to-point tunnelling (RFC 2637).
    Pptp,
}

/// Which side of the NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Subscribers.
    Inside,
    /// The Internet.
    Outside,
}

/// What a mapping is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// TCP ports.
    Tcp,
    /// UDP ports.
    Udp,
    /// Call identifiers of enhanced GRE (RFC 2637 section 4), in the place of ports.
    Gre,
}

/// The session of a packet, and which way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Who sent it.
    pub from: Side,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// The subscriber's address and port.
    pub inside: SocketAddrV4,
    /// The same as the Internet sees it.
    pub outside: SocketAddrV4,
    /// The other end.
    pub remote: SocketAddrV4,
}

/// What the outside port of a mapping must be beside free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ports {
    /// Anything.
    Any,
    /// Even where the inside port is, and odd where it is (RFC 4787 section 4.2.2).
    SameParity,
    /// The same, and the next port of the inside has the next port of the outside: RTP and RTCP
    /// (RFC 4787 section 4.2.3).
    Pair,
}

/// The mappings of the NAT, as a gateway uses them.
pub trait Mappings {
    /// The outside address and port of an inside one, which is made a mapping if it has none, and
    /// which takes packets of `remote` from now on, of anybody where there is none; none where no
    /// port is left or a limit is met. Asked again, it answers the same.
    fn map(
        &mut self,
        protocol: Protocol,
        inside: SocketAddrV4,
        ports: Ports,
        remote: Option<Ipv4Addr>,
    ) -> Option<SocketAddrV4>;

    /// Whose an outside address and port is, if it has a mapping.
    fn look_up(&mut self, protocol: Protocol, outside: SocketAddrV4) -> Option<SocketAddrV4>;

    /// What is mapped from now on is for the message that begins at a place of the payload.
    fn begin(&mut self, message: usize);

    /// Takes back what was made new for this message and those behind it: nobody will read of it.
    fn undo(&mut self, message: usize);
}

/// A session that will follow, and which filtering must let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// What ports are of.
    pub protocol: Protocol,
    /// The subscriber's address and port, or call identifier.
    pub inside: SocketAddrV4,
    /// Its mapping.
    pub outside: SocketAddrV4,
    /// How many ports from these on: 2 for RTP with RTCP.
    pub ports: u16,
    /// From whom; none for anybody.
    pub remote: Option<Ipv4Addr>,
    /// The other end's port or call identifier, where it is known.
    pub remote_port: Option<u16>,
}

/// Why a message or line passes as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It begins like what the gateway is for, and breaks its grammar.
    Malformed,
    /// It goes on in another segment.
    Split,
    /// It is no message of the application.
    NoMessage,
    /// It tells more addresses than a gateway replaces.
    TooMany,
    /// It tells an inside address that is not the sender's: a bounce (RFC 2577 section 3).
    ForeignAddress,
    /// It asks for a port below 1024 to be opened (RFC 2577 section 3).
    PrivilegedPort,
    /// The NAT gave no mapping.
    NoMapping,
    /// The new payload does not fit.
    NoRoom,
}

impl Reason {
    /// The names of their counters, in the order of the reasons.
    pub const NAMES: [&'static str; 8] = [
        "alg-malformed",
        "alg-split",
        "alg-no-message",
        "alg-too-many",
        "alg-foreign-address",
        "alg-privileged-port",
        "alg-no-mapping",
        "alg-no-room",
    ];

    /// The name of its counter.
    pub fn name(self) -> &'static str {
        Reason::NAMES[self as usize]
    }
}

/// Sessions that can follow one payload.
pub const EXPECTATIONS_MAX: usize = 16;

/// Messages or lines of one payload that are changed.
pub const UNITS_MAX: usize = 8;
