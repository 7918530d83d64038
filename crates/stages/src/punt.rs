//! What the control plane gets, told apart by protocol: each has a ring and a rate of its own, so
//! that a flood of one takes nothing from another.
use packet::Reason;
use wire::bytes::{array_at, u16_at};
use wire::{ethernet, icmp, ipv4, ipv6, protocol};

use crate::icmp_host::is_ipv6;

/// Everything else for the function itself.
pub const LOCAL: Reason = Reason(0);

/// Bidirectional Forwarding Detection (RFC 5881, RFC 5883).
pub const BFD: Reason = Reason(1);

/// The Virtual Router Redundancy Protocol (RFC 9568).
pub const VRRP: Reason = Reason(2);

/// OSPF of both versions (RFC 2328, RFC 5340).
pub const OSPF: Reason = Reason(3);

/// IS-IS and what else has a length instead of an EtherType (ISO/IEC 10589).
pub const ISIS: Reason = Reason(4);

/// The Border Gateway Protocol (RFC 4271).
pub const BGP: Reason = Reason(5);

/// ICMP and ICMPv6 but for Neighbor Discovery.
pub const ICMP: Reason = Reason(6);

/// The Address Resolution Protocol (RFC 826).
pub const ARP: Reason = Reason(7);

/// Neighbor Discovery (RFC 4861).
pub const ND: Reason = Reason(8);

/// Fragments, whose protocol cannot be trusted.
pub const FRAGMENTS: Reason = Reason(9);

/// To a group of IP or to all of a link, of none of the protocols above.
pub const MULTICAST: Reason = Reason(10);

/// The names of the reasons, in the order of their numbers.
pub const NAMES: &[&str] =
    &["local", "bfd", "vrrp", "ospf", "isis", "bgp", "icmp", "arp", "nd", "fragments", "multicast"];

/// The reason of a frame without tag.
pub fn reason_of(frame: &[u8]) -> Reason {
    let Some(header) = frame.first_chunk::<{ ethernet::HEADER_LEN }>() else { return LOCAL };
    let packet = &frame[ethernet::HEADER_LEN..];
    match u16_at(header, ethernet::offset::TYPE) {
        ethernet::TYPE_ARP => ARP,
        ..=LENGTH_MAX => ISIS,
        ethernet::TYPE_IPV4 => match ipv4::View::parse_without_checksum(packet) {
            Ok(view) if view.is_fragment() => FRAGMENTS,
            Ok(view) => {
                let is_group = view.destination().is_multicast() || header.starts_with(&[0xff; 6]);
                of_upper(view.protocol(), view.payload(), is_group)
            }
            Err(_) => LOCAL,
        },
        ethernet::TYPE_IPV6 => {
            let Ok(view) = ipv6::View::parse(packet) else { return LOCAL };
            match view.upper_layer() {
                Ok(upper) if upper.fragment.is_some() => FRAGMENTS,
                Ok(upper) => {
                    of_upper(upper.protocol, upper.payload, view.destination().is_multicast())
                }
                Err(_) => LOCAL,
            }
        }
        _ => LOCAL,
    }
}

fn of_upper(number: u8, payload: &[u8], is_multicast: bool) -> Reason {
    let ports = payload.first_chunk::<4>().map(|ports| [u16_at(ports, 0), u16_at(ports, 2)]);
    let is_nd = |kind: &u8| (icmp::v6::ROUTER_SOLICITATION..=icmp::v6::REDIRECT).contains(kind);
    match (number, ports) {
        (protocol::ICMPV6, _) if payload.first().is_some_and(is_nd) => ND,
        (protocol::ICMP | protocol::ICMPV6, _) => ICMP,
        (protocol::UDP, Some([_, BFD_CONTROL | BFD_ECHO | BFD_MULTIHOP])) => BFD,
        (protocol::TCP, Some([BGP_PORT, _] | [_, BGP_PORT])) => BGP,
        (protocol::VRRP, _) => VRRP,
        (protocol::OSPF, _) => OSPF,
        _ if is_multicast => MULTICAST,
        _ => LOCAL,
    }
}

/// What the sender of a frame is known by: its IP address, or its Ethernet address.
pub fn source_of(frame: &[u8]) -> u64 {
    let Some(header) = frame.first_chunk::<{ ethernet::HEADER_LEN }>() else { return 0 };
    let packet = &frame[ethernet::HEADER_LEN..];
    match u16_at(header, ethernet::offset::TYPE) {
        ethernet::TYPE_IPV4 if packet.len() >= ipv4::HEADER_LEN => {
            u32::from_be_bytes(array_at(packet, ipv4::offset::SOURCE)).into()
        }
        // A host has a /64 at least to choose from.
        ethernet::TYPE_IPV6 if packet.len() >= ipv6::HEADER_LEN && is_ipv6(frame) => {
            u64::from_be_bytes(array_at(packet, ipv6::offset::SOURCE))
        }
        _ => {
            let [a, b, c, d, e, f] = array_at(header, ethernet::offset::SOURCE);
            u64::from_be_bytes([1, 0, a, b, c, d, e, f])
        }
    }
}

/// What is no EtherType is the length of a frame of IEEE 802.3.
const LENGTH_MAX: u16 = 1500;

const BFD_CONTROL: u16 = 3784;
const BFD_ECHO: u16 = 3785;
const BFD_MULTIHOP: u16 = 4784;
const BGP_PORT: u16 = 179;

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(number: u8, to: [u8; 4], payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend(ethernet::TYPE_IPV4.to_be_bytes());
        let len = (ipv4::HEADER_LEN + payload.len()) as u16;
        frame.extend([0x45, 0, len.to_be_bytes()[0], len.to_be_bytes()[1], 0, 0, 0, 0, 64, number]);
        frame.extend([0, 0, 192, 0, 2, 9]);
        frame.extend(to);
        frame.extend(payload);
        frame
    }

    #[test]
    fn each_protocol_has_its_own_reason() {
        let own = [192, 0, 2, 1];
        let ports = |from: u16, to: u16| [from.to_be_bytes(), to.to_be_bytes()].concat();
        let cases = [
            (ipv4(protocol::UDP, own, &ports(50_000, 3784)), "bfd"),
            (ipv4(protocol::UDP, own, &ports(3784, 50_000)), "local"),
            (ipv4(protocol::VRRP, [224, 0, 0, 18], &[0; 8]), "vrrp"),
            (ipv4(protocol::OSPF, [224, 0, 0, 5], &[0; 24]), "ospf"),
            (ipv4(protocol::TCP, own, &ports(40_000, 179)), "bgp"),
            (ipv4(protocol::TCP, own, &ports(179, 40_000)), "bgp"),
            (ipv4(protocol::ICMP, own, &[8, 0, 0, 0]), "icmp"),
            (ipv4(protocol::UDP, [224, 0, 0, 9], &ports(520, 520)), "multicast"),
            (ipv4(protocol::UDP, own, &[]), "local"),
            (
                [&[0xff; 6][..], &ipv4(protocol::UDP, [255; 4], &ports(68, 67))[6..]].concat(),
                "multicast",
            ),
            (vec![0; 3], "local"),
            (vec![0; 60], "isis"),
        ];
        for (frame, expected) in cases {
            assert_eq!(NAMES[usize::from(reason_of(&frame).0)], expected, "{frame:?}");
        }
        let frame = ipv4(protocol::UDP, own, &[]);
        assert_eq!(source_of(&frame), 0xc000_0209);
    }
}
