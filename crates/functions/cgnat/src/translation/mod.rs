//! Packets of IPv4 become packets of IPv6 and the other way round, without state (RFC 7915).
//!
//! ```text
//!  IPv4 header, options          │ transport header, ports, checksum │ payload
//!       │ taken away             │ checksum by what changed          │ not touched
//!  IPv6 header, fragment header  │ transport header                  │ payload
//! ```
//!
//! Stateful NAT64 (RFC 6146), explicit address mappings (RFC 7757) and 464XLAT (RFC 6877) differ in
//! where the new addresses come from, so the caller says what the [`Ends`] of a packet become: two
//! addresses and, where a session has one, a port. An ICMP error quotes a packet with ends of its
//! own; they are asked for through a closure that sees the quoted packet.
//!
//! A frame begins with its Ethernet header, of which the type is changed and the addresses are
//! kept. Who calls has checked the IPv4 header with its checksum, and that the addresses may be
//! translated (RFC 6052 section 3.1, [`Prefix::forbids`](wire::embedded::Prefix::forbids)). The
//! translator takes one from time to live or hop limit, as sections 4.1 and 5.1 say; a packet that
//! was refused is as before, so that it can be quoted in an answer ([`answer_to_ipv4`],
//! [`answer_to_ipv6`]). Link-layer padding is cut off.
//!
//! Guarantees: a checksum of a transport header is changed by what changed (RFC 1624), so one that
//! was right is right afterwards and one that was wrong stays wrong; those of ICMP errors, whose
//! length changes, are verified and computed anew (RFC 5508 requirement 3). Bytes of any kind are
//! survived; the work is bounded by [`ERROR_LEN_MAX`] for ICMP errors, by the length of the packet
//! for a UDP datagram without checksum, and else by the headers. No allocation. Every case has a
//! slow twin in the model.
//!
//! Packets that are longer than the next link takes are the caller's: of IPv4 without "do not
//! fragment", pieces of at most [`ipv4_len_max`] bytes are made before they are translated.
//!
//! **Not supported:** ports of SCTP, whose checksum covers them in a way that needs every byte
//! (they pass unchanged), and IPv4 options, which are left away as section 4.1 says.

mod errors;

mod ipv4;

mod ipv6;

mod plain;

mod quote;

mod rare;

mod refusal;

mod rules;

mod transport;

mod types;

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::{Batch, Slot};

pub(super) use ipv6::Packet as Ipv6Packet;
pub use quote::{Quote, quoted_by_ipv4, quoted_by_ipv6};
pub use rare::{answer_to_ipv4, answer_to_ipv6};
pub use refusal::Refusal;
use rules::{DCCP, ERROR_LEN_MIN, LEN_MAX_FRAGMENTABLE, UDP_LITE};
pub use rules::{ERROR_LEN_MAX, Ends, Port, Rules};

/// Turns the IPv4 packet of a frame into one of IPv6. `quoted` says what the ends of a packet
/// become that an ICMP error quotes; it is not asked for other packets.
///
/// # Errors
/// [`Refusal`], and the frame is as before.
#[inline]
pub fn to_ipv6(
    batch: &mut Batch,
    slot: Slot,
    ends: &Ends<Ipv6Addr>,
    rules: &Rules,
    mut quoted: impl FnMut(&Quote<Ipv4Addr>) -> Option<Ends<Ipv6Addr>>,
) -> Result<(), Refusal> {
    if plain::to_ipv6(batch, slot, ends, rules) {
        return Ok(());
    }
    rare::to_ipv6(batch, slot, ends, rules, &mut quoted)
}

/// Turns the IPv6 packet of a frame into one of IPv4. `identification` is for packets that may be
/// fragmented later and bring none along: it must not repeat soon between two stations (RFC 6864),
/// so a counter of the worker will do. `quoted` is as in [`to_ipv6`].
///
/// # Errors
/// [`Refusal`], and the frame is as before.
#[inline]
pub fn to_ipv4(
    batch: &mut Batch,
    slot: Slot,
    ends: &Ends<Ipv4Addr>,
    identification: u16,
    rules: &Rules,
    mut quoted: impl FnMut(&Quote<Ipv6Addr>) -> Option<Ends<Ipv4Addr>>,
) -> Result<(), Refusal> {
    if plain::to_ipv4(batch, slot, ends, identification, rules) {
        return Ok(());
    }
    rare::to_ipv4(batch, slot, ends, identification, rules, &mut quoted)
}

/// The longest piece of an IPv4 packet, in bytes with its header, that is no longer than
/// `ipv6_mtu` when it has become a fragment of IPv6 (section 4.1).
pub const fn ipv4_len_max(ipv6_mtu: u16) -> u16 {
    const GROWTH: u16 = (wire::ipv6::HEADER_LEN + wire::ipv6::FRAGMENT_HEADER_LEN) as u16;
    let payload = ipv6_mtu.saturating_sub(GROWTH) & !7;
    payload + wire::ipv4::HEADER_LEN as u16
}

#[cfg(test)]
mod tests {
    use packet::{Batch, PortId, Room};
    use wire::embedded::Prefix;
    use wire::{ethernet, ipv4, ipv6};

    use super::*;

    #[test]
    fn a_servers_answer_reaches_the_subscriber_of_its_session() {
        // A datagram of a server, 203.0.113.9, to a subscriber's outside address and port.
        let mut batch = Batch::new(1, Room::default()).unwrap();
        let frame = batch.append(PortId(1), 14 + 28).unwrap();
        frame.fill(0);
        frame[12..14].copy_from_slice(&ethernet::TYPE_IPV4.to_be_bytes());
        let header = ipv4::Fields {
            dscp: 0,
            ecn: 0,
            total_len: 28,
            identification: 7,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: 17,
            source: "203.0.113.9".parse().unwrap(),
            destination: "192.0.2.1".parse().unwrap(),
        };
        header.emit(frame[14..].first_chunk_mut().unwrap());
        frame[34..42].copy_from_slice(&[0, 53, 0xc0, 0, 0, 8, 0x99, 0x99]);

        // The session that the outside address and port belong to says who the subscriber is.
        let prefix = Prefix::new("2001:db8:64::".parse().unwrap(), 96).unwrap();
        let ends = Ends {
            source: prefix.embed("203.0.113.9".parse().unwrap()),
            destination: "2001:db8::17".parse().unwrap(),
            port: Port::Destination(5353),
        };
        to_ipv6(&mut batch, 0, &ends, &Rules::default(), |_quote| None).unwrap();

        let packet = ipv6::View::parse(&batch.frame(0)[14..]).unwrap();
        assert_eq!((packet.source(), packet.destination()), (ends.source, ends.destination));
        assert_eq!((packet.hop_limit(), packet.next_header(), packet.payload_len()), (63, 17, 8));
        assert_eq!(packet.payload()[2..4], 5353u16.to_be_bytes());
    }
}
