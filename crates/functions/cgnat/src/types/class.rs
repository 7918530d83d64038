//! What a frame is, and where things are in it.

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::Reason;
use wire::{icmp, ipv4, tcp};

use super::flow::{Inside, Outside};

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A packet of a subscriber.
    FromInside(Inside, Shape),
    /// A packet for a mapping.
    FromOutside(Outside, Shape),
    /// A packet of a subscriber's call (enhanced GRE), which bears the other end's identifier in
    /// the place of its port; the subscriber's own stands nowhere.
    Call(Inside, Shape),
    /// An ICMP error about a packet of a session.
    Error(About),
    /// A question for an Ethernet address of this port.
    Arp,
    /// A packet for the NAT itself.
    Local,
    /// A frame for the host, which has the interface, too.
    Hosted,
    /// A question for an IPv6 address of this port, by whom asked.
    Solicitation(Ipv6Addr),
    /// A part of a datagram.
    Fragment,
    /// A packet that is translated without a session, and whether it is an ICMP error.
    Siit(Becomes, bool),
    /// A packet that is forwarded as it is.
    Bypassed,
    /// Nothing to do with it.
    Drop(Reason),
}

impl Class {
    /// The same in a realm, if it was read of a packet from inside as one of the main one.
    #[must_use]
    pub fn of_realm(self, realm: u16) -> Class {
        self.with_inside(|key| Inside { near: key.near | u32::from(realm), ..key })
    }

    /// The same with another name of a session of a packet from inside, or of one that an error
    /// from there quotes.
    #[must_use]
    pub fn with_inside(self, other: impl Fn(Inside) -> Inside) -> Class {
        match self {
            Class::FromInside(key, shape) => Class::FromInside(other(key), shape),
            Class::Call(key, shape) => Class::Call(other(key), shape),
            Class::Error(About::Inside(key, shape)) => {
                Class::Error(About::Inside(other(key), shape))
            }
            class => class,
        }
    }
}

/// Where things are in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Where the transport header begins, in bytes from the start of the frame.
    pub transport: u16,
    /// Length of the frame without padding.
    pub len: u16,
    /// The control bits of a TCP segment; of ICMP that of ACK where it answers a query; 0 of
    /// others.
    pub tcp_flags: u8,
}

impl Shape {
    /// Whether it is a TCP segment that begins or ends a connection.
    #[inline(always)]
    pub fn says(self) -> bool {
        self.tcp_flags & (tcp::FLAG_SYN | tcp::FLAG_FIN | tcp::FLAG_RST) != 0
    }
}

/// What a packet that passes becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Becomes {
    /// IPv4, from and to these.
    Ipv4(Ipv4Addr, Ipv4Addr),
    /// IPv6.
    Ipv6(Ipv6Addr, Ipv6Addr),
    /// IPv4 for no longer than it takes to turn around, and IPv6 again.
    Ipv6Again(Ipv4Addr, Ipv4Addr),
}

/// The session that an ICMP error is about, by the packet that it quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Quoted as the outside sees it: the error came from there.
    Outside(Outside, Shape),
    /// Quoted as the subscriber sees it.
    Inside(Inside, Shape),
}

/// [`Shape::tcp_flags`] of a query or its answer: that one opens no session from inside.
pub fn flags_of_query(kind: u8) -> u8 {
    match kind {
        icmp::v4::ECHO_REPLY | TIMESTAMP_REPLY | icmp::v6::ECHO_REPLY => tcp::FLAG_ACK,
        _ => 0,
    }
}

/// Whether a type of ICMP is a query that has sessions, or its answer.
pub fn is_followed(kind: u8) -> bool {
    matches!(kind, icmp::v4::ECHO_REQUEST | icmp::v4::ECHO_REPLY | TIMESTAMP | TIMESTAMP_REPLY)
}

/// "More fragments" or an offset.
pub const NOT_WHOLE: u16 = ipv4::FLAG_MORE_FRAGMENTS | ipv4::FRAGMENT_OFFSET_MASK;

/// ICMP: a question for the time (RFC 792).
const TIMESTAMP: u8 = 13;

/// Its answer.
const TIMESTAMP_REPLY: u8 = 14;
