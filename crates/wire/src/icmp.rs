//! The Internet Control Message Protocol for IPv4 (RFC 792) and IPv6 (RFC 4443).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Type      |     Code      |           Checksum            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          of the type: unused, MTU, identifier …               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Both versions share the format and differ in their numbers and in the checksum, which for IPv6
//! covers a pseudo-header. Making a view does not check it; [`verify_ipv4`] and [`verify_ipv6`] do.
//! **Not supported:** extensions behind the quoted packet (RFC 4884) are bytes like others.

use std::net::Ipv6Addr;

use crate::bytes::{self, put_u16, put_u32};
use crate::checksum::Sum;
use crate::protocol;
use crate::{Law, Malformed};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 8;

/// Offsets of the fields, in bytes from the start of the header.
pub mod offset {
    /// Type, 1 byte.
    pub const TYPE: usize = 0;
    /// Code, 1 byte.
    pub const CODE: usize = 1;
    /// Checksum, 2 bytes.
    pub const CHECKSUM: usize = 2;
    /// Rest of the header, whose meaning depends on the type, 4 bytes.
    pub const REST: usize = 4;
}

/// Types and codes for IPv4 (RFC 792, RFC 1122 section 3.2.2.1, RFC 1812 section 5.2.7).
pub mod v4 {
    /// Echo reply.
    pub const ECHO_REPLY: u8 = 0;
    /// Destination unreachable.
    pub const UNREACHABLE: u8 = 3;
    /// Source quench (deprecated by RFC 6633).
    pub const SOURCE_QUENCH: u8 = 4;
    /// Redirect.
    pub const REDIRECT: u8 = 5;
    /// Echo request.
    pub const ECHO_REQUEST: u8 = 8;
    /// Time exceeded.
    pub const TIME_EXCEEDED: u8 = 11;
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: u8 = 12;

    /// Code of unreachable: network unreachable.
    pub const NO_ROUTE: u8 = 0;
    /// Code of unreachable: host unreachable.
    pub const HOST: u8 = 1;
    /// Code of unreachable: protocol unreachable.
    pub const PROTOCOL: u8 = 2;
    /// Code of unreachable: port unreachable.
    pub const PORT: u8 = 3;
    /// Code of unreachable: fragmentation needed but not permitted (RFC 1191).
    pub const TOO_BIG: u8 = 4;
    /// Code of unreachable: the source route failed.
    pub const SOURCE_ROUTE_FAILED: u8 = 5;
    /// Code of unreachable: communication with the host administratively prohibited.
    pub const HOST_PROHIBITED: u8 = 10;
    /// Code of unreachable: host unreachable for this type of service.
    pub const HOST_TYPE_OF_SERVICE: u8 = 12;
    /// Code of unreachable: communication administratively prohibited.
    pub const PROHIBITED: u8 = 13;
    /// Code of unreachable: host precedence violation.
    pub const PRECEDENCE_VIOLATION: u8 = 14;
    /// Code of unreachable: precedence cutoff in effect.
    pub const PRECEDENCE_CUTOFF: u8 = 15;

    /// Code of parameter problem: the pointer indicates the error.
    pub const POINTER: u8 = 0;
    /// Code of parameter problem: an option is missing (RFC 1108).
    pub const MISSING_OPTION: u8 = 1;
    /// Code of parameter problem: a length is wrong.
    pub const BAD_LENGTH: u8 = 2;

    /// Returns true if a type is a query or a reply and not an error (RFC 1122 section 3.2.2, RFC
    /// 950).
    pub const fn is_query(kind: u8) -> bool {
        matches!(kind, ECHO_REPLY | ECHO_REQUEST | 9 | 10 | 13..=18)
    }
}

/// Types and codes for IPv6 (RFC 4443).
pub mod v6 {
    /// Destination unreachable.
    pub const UNREACHABLE: u8 = 1;
    /// Packet too big.
    pub const TOO_BIG: u8 = 2;
    /// Time exceeded.
    pub const TIME_EXCEEDED: u8 = 3;
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: u8 = 4;
    /// Echo request.
    pub const ECHO_REQUEST: u8 = 128;
    /// Echo reply.
    pub const ECHO_REPLY: u8 = 129;
    /// Router solicitation, the first type of Neighbor Discovery (RFC 4861).
    pub const ROUTER_SOLICITATION: u8 = 133;
    /// Router advertisement.
    pub const ROUTER_ADVERTISEMENT: u8 = 134;
    /// Neighbor solicitation.
    pub const NEIGHBOR_SOLICITATION: u8 = 135;
    /// Neighbor advertisement.
    pub const NEIGHBOR_ADVERTISEMENT: u8 = 136;
    /// Redirect, the last type of Neighbor Discovery.
    pub const REDIRECT: u8 = 137;

    /// Code of unreachable: no route to the destination.
    pub const NO_ROUTE: u8 = 0;
    /// Code of unreachable: communication administratively prohibited.
    pub const PROHIBITED: u8 = 1;
    /// Code of unreachable: beyond scope of source address.
    pub const BEYOND_SCOPE: u8 = 2;
    /// Code of unreachable: address unreachable.
    pub const ADDRESS: u8 = 3;
    /// Code of unreachable: port unreachable.
    pub const PORT: u8 = 4;

    /// Code of parameter problem: erroneous header field.
    pub const BAD_FIELD: u8 = 0;
    /// Code of parameter problem: unrecognized next header.
    pub const BAD_NEXT_HEADER: u8 = 1;
    /// Code of parameter problem: unrecognized option.
    pub const BAD_OPTION: u8 = 2;

    /// Returns true if a type is neither an error (RFC 4443 section 2.1) nor a redirect, in reply
    /// to which no error may be sent either (section 2.4).
    pub const fn is_query(kind: u8) -> bool {
        kind >= 128 && kind != REDIRECT
    }
}

/// A message that is long enough for its header.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that the header is complete.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    #[inline]
    pub fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) =
            message.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// The type.
    #[inline]
    pub fn kind(&self) -> u8 {
        self.header[offset::TYPE]
    }

    /// The code.
    #[inline]
    pub fn code(&self) -> u8 {
        self.header[offset::CODE]
    }

    /// Checksum field.
    #[inline]
    pub fn checksum(&self) -> u16 {
        bytes::u16_at(self.header, offset::CHECKSUM)
    }

    /// Rest of the header, whose meaning depends on the type.
    #[inline]
    pub fn rest(&self) -> u32 {
        bytes::u32_at(self.header, offset::REST)
    }

    /// Payload after the header.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as values.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields { kind: self.kind(), code: self.code(), rest: self.rest() }
    }
}

/// A header as values, without its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The type.
    pub kind: u8,
    /// The code.
    pub code: u8,
    /// Rest of the header, whose meaning depends on the type.
    pub rest: u32,
}

impl Fields {
    /// Writes the complete header, the checksum as zero.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        header[offset::TYPE] = self.kind;
        header[offset::CODE] = self.code;
        put_u16(header, offset::CHECKSUM, 0);
        put_u32(header, offset::REST, self.rest);
    }
}

/// Returns true if the checksum of a whole message over IPv4 is correct.
pub fn verify_ipv4(message: &[u8]) -> bool {
    Sum::ZERO.add_bytes(message).fold() == 0xffff
}

/// Returns true if the checksum of a whole message over IPv6 is correct.
pub fn verify_ipv6(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> bool {
    pseudo_header(source, destination, message.len()).add_bytes(message).fold() == 0xffff
}

/// Returns the checksum of a message over IPv6 whose checksum field is zero.
pub fn checksum_ipv6(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> u16 {
    pseudo_header(source, destination, message.len()).add_bytes(message).checksum()
}

/// Returns the sum of the pseudo header (RFC 8200 section 8.1).
fn pseudo_header(source: Ipv6Addr, destination: Ipv6Addr, len: usize) -> Sum {
    Sum::ZERO
        .add_bytes(&source.octets())
        .add_bytes(&destination.octets())
        .add_u32(len as u32)
        .add_u16(u16::from(protocol::ICMPV6))
}

/// The law of this module.
pub const LAW: Law = Law { name: "icmp", holds: law, examples: &[] };

/// ICMP: what is accepted is written back the same but for its checksum; a computed one is right.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    view.fields().emit(&mut written);
    put_u16(&mut written, offset::CHECKSUM, view.checksum());
    assert_eq!([&written[..], view.payload()].concat(), data);

    let address = Ipv6Addr::LOCALHOST;
    let mut message = data.to_vec();
    message[offset::CHECKSUM..][..2].fill(0);
    let sum = checksum_ipv6(address, address, &message);
    message[offset::CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
    assert!(verify_ipv6(address, address, &message));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_as_it_was_written() {
        let fields = Fields { kind: v4::UNREACHABLE, code: v4::TOO_BIG, rest: 1400 };
        let mut header = [0xff; HEADER_LEN];
        fields.emit(&mut header);
        assert_eq!(header, [3, 4, 0, 0, 0, 0, 0x05, 0x78]);
        let view = View::parse(&header).expect("whole");
        assert_eq!((view.fields(), view.payload(), view.checksum()), (fields, &[][..], 0));
        assert_eq!(View::parse(&header[..7]).err(), Some(Malformed::Truncated));
    }

    #[test]
    fn checksums_are_those_of_the_standards() {
        // An echo request of ping: identifier 1, sequence 1, "abcd".
        let mut message = [8, 0, 0, 0, 0, 1, 0, 1, b'a', b'b', b'c', b'd'];
        let sum = crate::checksum::checksum(&message);
        put_u16(&mut message, offset::CHECKSUM, sum);
        assert_eq!(sum, !(0x0800 + 1 + 1 + 0x6162 + 0x6364));
        assert!(verify_ipv4(&message));
        message[9] ^= 1;
        assert!(!verify_ipv4(&message));
        let [one, other] = [1, 2].map(|last| Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, last));
        let mut message = [128, 0, 0, 0, 0, 1, 0, 1, 7];
        let sum = checksum_ipv6(one, other, &message);
        put_u16(&mut message, offset::CHECKSUM, sum);
        assert!(verify_ipv6(one, other, &message) && verify_ipv6(other, one, &message));
        assert!(!verify_ipv6(one, one, &message));
    }

    #[test]
    fn errors_are_told_from_queries() {
        assert!([0, 8, 13, 17].into_iter().all(v4::is_query));
        assert!(![3, 4, 5, 11, 12, 40].into_iter().any(v4::is_query));
        assert!([128, 135, 200].into_iter().all(v6::is_query));
        assert!(![1, 2, 3, 4, 100, 137].into_iter().any(v6::is_query));
    }
}
