//! Frames that kernels, switches and routers send by themselves.
//!
//! On a real link a tester hears more than its own frames come back: questions for addresses,
//! groups joined, routers and bridges advertising themselves. They are known by their protocols and
//! nothing else, so that a test frame that was garbled on its way is not taken for one of them.

use wire::ethernet::{HEADER_LEN, TYPE_ARP, TYPE_IPV4, TYPE_IPV6, TYPE_MIN};
use wire::protocol::{ICMP, ICMPV6, IPV6_HOP_BY_HOP, UDP};

/// Returns true if a frame belongs to a link-layer or neighbour protocol.
#[cold]
pub(crate) fn is_talk(frame: &[u8]) -> bool {
    let Some((header, payload)) = frame.split_at_checked(HEADER_LEN) else { return false };
    match u16::from_be_bytes([header[12], header[13]]) {
        TYPE_ARP | TYPE_LLDP | TYPE_LOOPBACK | TYPE_SLOW => true,
        TYPE_IPV4 => payload.len() >= 20 && ipv4(payload, is_to_a_group(header)),
        TYPE_IPV6 => payload.len() >= 40 && ipv6(payload, is_to_a_group(header)),
        // Spanning tree and others with a length in the place of a type (IEEE 802.2).
        kind => kind < TYPE_MIN,
    }
}

/// Returns true if a frame is an ICMP error (RFC 792, RFC 4443 section 3), which a device sends on
/// its own.
pub(crate) fn is_error(frame: &[u8]) -> bool {
    let Some((header, payload)) = frame.split_at_checked(HEADER_LEN) else { return false };
    match u16::from_be_bytes([header[12], header[13]]) {
        TYPE_IPV4 => {
            let header_len = payload.first().map_or(0, |first| usize::from(first & 15) * 4);
            let kind = payload.get(header_len).copied();
            payload.get(9) == Some(&ICMP) && matches!(kind, Some(3 | 4 | 5 | 11 | 12))
        }
        TYPE_IPV6 => {
            payload.get(6) == Some(&ICMPV6) && matches!(payload.get(40), Some(1..=4 | 137))
        }
        _ => false,
    }
}

/// Returns true if the destination of an Ethernet header is a group of stations (IEEE 802.3 clause
/// 3.2.3).
fn is_to_a_group(header: &[u8]) -> bool {
    header[0] & 1 == 1
}

/// Recognises group membership (RFC 3376), and to a group address assignment (RFC 2131) and
/// multicast DNS (RFC 6762).
fn ipv4(packet: &[u8], is_to_a_group: bool) -> bool {
    let header_len = usize::from(packet[0] & 15) * 4;
    match packet[9] {
        IGMP => true,
        UDP if is_to_a_group => packet.get(header_len..header_len + 4).is_some_and(is_link_service),
        _ => false,
    }
}

/// Recognises Neighbor Discovery and group membership (RFC 4861, RFC 3810), and to a group the
/// services of [`is_link_service`].
fn ipv6(packet: &[u8], is_to_a_group: bool) -> bool {
    let kind = match packet[6] {
        ICMPV6 => packet.get(40),
        // Reports of groups stand behind a router alert.
        IPV6_HOP_BY_HOP if packet.get(40) == Some(&ICMPV6) => packet.get(48),
        UDP if is_to_a_group => return packet.get(40..44).is_some_and(is_link_service),
        _ => None,
    };
    matches!(kind, Some(130..=137 | 143))
}

/// Recognises link services by the ports of a datagram that goes to a group. Ports alone do not
/// tell: a NAT may choose port 5353 for a subscriber.
fn is_link_service(ports: &[u8]) -> bool {
    let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
    [port(0), port(2)].iter().any(|port| matches!(port, 67 | 68 | 546 | 547 | 5353 | 5355))
}

/// EtherType of link layer discovery (IEEE 802.1AB).
const TYPE_LLDP: u16 = 0x88cc;
/// EtherType of the configuration test (DIX 2.0).
const TYPE_LOOPBACK: u16 = 0x9000;
/// EtherType of slow protocols such as link aggregation (IEEE 802.3 annex 57A).
const TYPE_SLOW: u16 = 0x8809;
/// Protocol number of IPv4 group membership (RFC 3376).
const IGMP: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// First byte of the destination of these frames.
    const GROUP: u8 = 3;

    fn frame(ether_type: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = [[GROUP; 6], [2; 6]].concat();
        frame.extend(ether_type.to_be_bytes());
        frame.extend(payload);
        frame
    }

    fn over_ipv4(protocol: u8, inner: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20];
        (packet[0], packet[9]) = (0x45, protocol);
        packet.extend(inner);
        frame(TYPE_IPV4, &packet)
    }

    fn over_ipv6(next: u8, inner: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 40];
        (packet[0], packet[6]) = (0x60, next);
        packet.extend(inner);
        frame(TYPE_IPV6, &packet)
    }

    #[test]
    fn what_neighbours_say_is_told_from_what_a_tester_sends() {
        let talk = [
            frame(TYPE_ARP, &[0; 28]),
            frame(TYPE_LLDP, &[0; 46]),
            frame(38, &[0x42, 0x42, 3]),
            over_ipv4(IGMP, &[0x22; 8]),
            over_ipv4(UDP, &[0x14, 0xe9, 0x14, 0xe9, 0, 8, 0, 0]),
            over_ipv6(ICMPV6, &[134, 0, 0, 0]),
            over_ipv6(IPV6_HOP_BY_HOP, &[ICMPV6, 0, 5, 2, 0, 0, 1, 0, 143, 0]),
            over_ipv6(UDP, &[2, 34, 2, 35, 0, 8, 0, 0]),
        ];
        for frame in &talk {
            assert!(is_talk(frame), "{frame:02x?}");
        }
        let others = [
            over_ipv4(UDP, &[0x13, 0x88, 0x13, 0x89, 0, 8, 0, 0]),
            over_ipv4(ICMP, &[8, 0, 0, 0]),
            over_ipv6(ICMPV6, &[128, 0, 0, 0]),
            over_ipv6(17, &[]),
            frame(TYPE_IPV4, &[0x45]),
            frame(0x8847, &[0; 46]),
            vec![1, 2, 3],
            Vec::new(),
        ];
        for frame in &others {
            assert!(!is_talk(frame), "{frame:02x?}");
        }
    }

    #[test]
    fn a_datagram_to_one_station_is_a_test_frame_whatever_its_ports() {
        for (frame, service) in [
            (over_ipv4(UDP, &[0x14, 0xe9, 0, 80, 0, 8, 0, 0]), "mDNS"),
            (over_ipv6(UDP, &[2, 34, 2, 35, 0, 8, 0, 0]), "DHCPv6"),
        ] {
            assert!(is_talk(&frame), "{service} to a group");
            let mut to_one = frame;
            to_one[0] = 2;
            assert!(!is_talk(&to_one), "{service} to one station");
        }
    }

    #[test]
    fn errors_are_known_in_both_families() {
        assert!(is_error(&over_ipv4(ICMP, &[11, 0, 0, 0])));
        assert!(is_error(&over_ipv6(ICMPV6, &[3, 0, 0, 0])));
        assert!(!is_error(&over_ipv4(ICMP, &[0, 0, 0, 0])));
        assert!(!is_error(&over_ipv6(ICMPV6, &[129, 0, 0, 0])));
        assert!(!is_error(&[]));
    }
}
