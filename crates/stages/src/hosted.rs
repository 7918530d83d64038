//! What the host sees of an interface that it has too, beside packets for the function's addresses.
//!
//! ```text
//!  ARP, Neighbor Discovery ---------> learned from, and to the host, which answers
//!  groups that end on the link -----> to the host: 224.0.0.0/24, ff02::/16, IS-IS
//!  IPv4 to all, IPv6 to fe80::/10 --> to the host
//!  DHCP to a client ----------------> to the host, while the interface has no address of IPv4
//! ```
//! Only frames come here that the fast path has not taken. What is for other stations, and all that
//! is in transit, never does. The host checks what it gets.
use std::net::Ipv6Addr;

use wire::bytes::{array_at, u16_at};
use wire::{MacAddr, ethernet, ipv4, ipv6, protocol};

use crate::nd;

/// Whether the host sees a frame without tag at an interface with this Ethernet address, which
/// seeks an address of IPv4 or not, and whose own addresses of IPv6 are known.
pub fn sees(
    frame: &[u8],
    (own, seeks): (MacAddr, bool),
    is_own: impl Fn(Ipv6Addr) -> bool,
) -> bool {
    let Some(header) = frame.first_chunk::<{ ethernet::HEADER_LEN }>() else { return false };
    let to = MacAddr(array_at(header, ethernet::offset::DESTINATION));
    let packet = &frame[ethernet::HEADER_LEN..];
    let is_station = to == own;
    let is_for_all = to == MacAddr::BROADCAST;
    match u16_at(header, ethernet::offset::TYPE) {
        ethernet::TYPE_ARP => is_station || is_for_all,
        ethernet::TYPE_IPV4 => ipv4::View::parse_without_checksum(packet).is_ok_and(|view| {
            let is_near = to.0.starts_with(&GROUPS_IPV4)
                && view.destination().octets().starts_with(&[224, 0, 0]);
            let is_lease = is_station && seeks && is_for_client(view.protocol(), view.payload());
            is_for_all || is_near || is_lease
        }),
        ethernet::TYPE_IPV6 => ipv6::View::parse(packet).is_ok_and(|view| {
            let (source, destination) = (view.source(), view.destination());
            let is_near = to.0.starts_with(&GROUPS_IPV6)
                && destination.is_multicast()
                && destination.octets()[1] & SCOPE == LINK_LOCAL;
            let is_of_link =
                || source.is_unicast_link_local() || source.is_unspecified() || nd::is_one(frame);
            let is_for_it = is_station
                && (destination.is_unicast_link_local() || is_of_link() && is_own(destination));
            is_near || is_for_it
        }),
        ..ethernet::TYPE_MIN => is_station || GROUPS_ISIS.contains(&to),
        _ => false,
    }
}

/// Whether what a packet carries is for a client of DHCP, which does not have the packet's address
/// yet (RFC 2131 section 4.1).
fn is_for_client(number: u8, payload: &[u8]) -> bool {
    let ports = payload.first_chunk::<4>().map(|ports| [u16_at(ports, 0), u16_at(ports, 2)]);
    number == protocol::UDP && ports == Some([DHCP_SERVER, DHCP_CLIENT])
}

/// The ports of DHCP over IPv4.
const DHCP_SERVER: u16 = 67;
const DHCP_CLIENT: u16 = 68;

/// How the Ethernet addresses of 224.0.0.0/24 begin (RFC 1112 section 6.4).
const GROUPS_IPV4: [u8; 5] = [0x01, 0, 0x5e, 0, 0];

/// How those of all groups of IPv6 begin (RFC 2464 section 7).
const GROUPS_IPV6: [u8; 2] = [0x33, 0x33];

/// The scope of a group of IPv6, in its second byte, and the one that ends on the link (RFC 4291
/// section 2.7).
const SCOPE: u8 = 0x0f;
const LINK_LOCAL: u8 = 2;

/// All intermediate systems of level 1, of level 2, and of both (ISO/IEC 10589 section 8.4.8, RFC
/// 5309).
const GROUPS_ISIS: [MacAddr; 3] = [
    MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x14]),
    MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x15]),
    MacAddr([0x09, 0, 0x2b, 0, 0, 0x05]),
];
