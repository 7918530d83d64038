//! Frames that a virtual router sends and takes: advertisements to the group (RFC 9568 sections
//! 5.1 and 7.2), and what tells the neighbours and switches where its addresses are.
//!
//! **Not supported:** tagged frames; a VLAN is an interface of its own. Of IPv6 no extension header
//! is walked: an advertisement has none.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use protocol_kit::Takes;
use wire::ethernet::{self, MacAddr};
use wire::icmp::{self, v6};
use wire::{arp, ipv4, ipv6, protocol};

use crate::packet::{Ends, PROTOCOL_NUMBER};

/// The payload of an IP packet of VRRP in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Between which addresses it goes.
    pub ends: Ends,
    /// Its Time To Live or Hop Limit.
    pub ttl: u8,
    /// The advertisement.
    pub bytes: &'a [u8],
}

/// Reads a frame; `None` if it is no whole packet of VRRP. Options of IPv4 are skipped.
pub fn parse(frame: &[u8]) -> Option<Payload<'_>> {
    let frame = ethernet::View::parse(frame).ok()?;
    match frame.ether_type() {
        ethernet::TYPE_IPV4 => {
            let packet = ipv4::View::parse(frame.payload()).ok()?;
            let is_whole = packet.protocol() == PROTOCOL_NUMBER && !packet.is_fragment();
            let ends = Ends { from: packet.source().into(), to: packet.destination().into() };
            is_whole.then_some(Payload { ends, ttl: packet.ttl(), bytes: packet.payload() })
        }
        ethernet::TYPE_IPV6 => {
            let packet = ipv6::View::parse(frame.payload()).ok()?;
            let is_whole = packet.next_header() == PROTOCOL_NUMBER;
            let ends = Ends { from: packet.source().into(), to: packet.destination().into() };
            is_whole.then_some(Payload { ends, ttl: packet.hop_limit(), bytes: packet.payload() })
        }
        _ => None,
    }
}

/// Writes the frame of an advertisement to the group of its family.
pub fn advertisement(mac: MacAddr, ends: Ends, bytes: &[u8]) -> Vec<u8> {
    let destination = MacAddr(if ends.to.is_ipv6() { GROUP_MAC_V6 } else { GROUP_MAC_V4 });
    packet(mac, destination, ends, PROTOCOL_NUMBER, bytes)
}

/// Writes a frame that tells everybody on the link that an address is at a MAC address: a
/// gratuitous ARP request, or an unsolicited Neighbor Advertisement of a router that overrides
/// (RFC 9568 section 6.4.2).
pub fn announcement(mac: MacAddr, address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => {
            let fields = arp::Fields {
                operation: arp::OPERATION_REQUEST,
                sender_mac: mac,
                sender_ip: address,
                target_mac: MacAddr::ZERO,
                target_ip: address,
            };
            let mut bytes = [0; arp::HEADER_LEN];
            fields.emit(&mut bytes);
            frame(mac, MacAddr::BROADCAST, ethernet::TYPE_ARP, &[&bytes])
        }
        IpAddr::V6(address) => {
            // RFC 4861 section 4.4, with the option of section 4.6.1.
            let mut bytes = vec![v6::NEIGHBOR_ADVERTISEMENT, 0, 0, 0, ROUTER_OVERRIDE, 0, 0, 0];
            bytes.extend(address.octets());
            bytes.extend([TARGET_LINK_LAYER_ADDRESS, 1]);
            bytes.extend(mac.octets());
            let checksum = icmp::checksum_ipv6(address, ALL_NODES, &bytes);
            bytes[icmp::offset::CHECKSUM..][..2].copy_from_slice(&checksum.to_be_bytes());
            let ends = Ends { from: address.into(), to: ALL_NODES.into() };
            packet(mac, ALL_NODES_MAC, ends, protocol::ICMPV6, &bytes)
        }
    }
}

/// The group to which routers advertise (RFC 9568 sections 5.1.1.2 and 5.1.2.2).
pub fn group(is_v6: bool) -> IpAddr {
    if is_v6 { GROUP_V6.into() } else { GROUP_V4.into() }
}

/// What a socket takes that advertisements to the group arrive at.
pub const TAKES: [Takes; 2] = [
    Takes { ether_type: ethernet::TYPE_IPV4, protocol: Some(PROTOCOL_NUMBER) },
    Takes { ether_type: ethernet::TYPE_IPV6, protocol: Some(PROTOCOL_NUMBER) },
];

/// The addresses of both groups on the link.
pub const GROUPS: [[u8; 6]; 2] = [GROUP_MAC_V4, GROUP_MAC_V6];

/// Time To Live and Hop Limit of every packet: the highest, which no router's forwarding leaves
/// (RFC 9568 sections 5.1.1.3 and 5.1.2.3).
pub const TTL: u8 = 255;

fn packet(mac: MacAddr, to: MacAddr, ends: Ends, protocol: u8, bytes: &[u8]) -> Vec<u8> {
    match (ends.from, ends.to) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let fields = ipv4::Fields {
                dscp: CS6,
                ecn: 0,
                total_len: (ipv4::HEADER_LEN + bytes.len()) as u16,
                identification: 0,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: TTL,
                protocol,
                source,
                destination,
            };
            let mut header = [0; ipv4::HEADER_LEN];
            fields.emit(&mut header);
            frame(mac, to, ethernet::TYPE_IPV4, &[&header, bytes])
        }
        (source, destination) => {
            let octets = |address| match address {
                IpAddr::V4(address) => address.to_ipv6_mapped(),
                IpAddr::V6(address) => address,
            };
            let fields = ipv6::Fields {
                traffic_class: CS6 << 2,
                flow_label: 0,
                payload_len: bytes.len() as u16,
                next_header: protocol,
                hop_limit: TTL,
                source: octets(source),
                destination: octets(destination),
            };
            let mut header = [0; ipv6::HEADER_LEN];
            fields.emit(&mut header);
            frame(mac, to, ethernet::TYPE_IPV6, &[&header, bytes])
        }
    }
}

fn frame(source: MacAddr, destination: MacAddr, ether_type: u16, parts: &[&[u8]]) -> Vec<u8> {
    let mut header = [0; ethernet::HEADER_LEN];
    ethernet::Fields { destination, source, ether_type }.emit(&mut header);
    let mut bytes = header.to_vec();
    parts.iter().for_each(|part| bytes.extend(*part));
    bytes
}

const GROUP_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 18);
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x12);
const GROUP_MAC_V4: [u8; 6] = [0x01, 0, 0x5e, 0, 0, 0x12];
const GROUP_MAC_V6: [u8; 6] = [0x33, 0x33, 0, 0, 0, 0x12];
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_NODES_MAC: MacAddr = MacAddr([0x33, 0x33, 0, 0, 0, 1]);

/// Network control (RFC 4594 section 3.1).
const CS6: u8 = 48;

/// The flags R and O of a Neighbor Advertisement; S stays clear.
const ROUTER_OVERRIDE: u8 = 0xa0;

/// The option with the MAC address, of one unit of 8 bytes.
const TARGET_LINK_LAYER_ADDRESS: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr([0, 0, 0x5e, 0, 1, 7]);

    #[test]
    fn advertisements_are_read_as_they_are_written() {
        for (from, is_v6) in [("10.0.0.1", false), ("fe80::1", true)] {
            let ends = Ends { from: from.parse().expect("an address"), to: group(is_v6) };
            let frame = advertisement(MAC, ends, &[1, 2, 3, 4]);
            assert!(GROUPS.iter().any(|group| frame[..6] == *group) && frame[6..12] == MAC.0);
            let payload = Payload { ends, ttl: TTL, bytes: &[1, 2, 3, 4] };
            assert_eq!(parse(&frame), Some(payload));
            let padded = [&frame[..], &[0; 30]].concat();
            assert_eq!(parse(&padded), Some(payload), "padding is no part of it");
            assert_eq!(parse(&frame[..frame.len() - 1]), None);
        }
    }

    #[test]
    fn options_are_skipped_and_fragments_are_not_taken() {
        let ends = Ends { from: [10, 0, 0, 1].into(), to: group(false) };
        let frame = advertisement(MAC, ends, &[1, 2, 3, 4]);
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut packet = frame[14..].to_vec();
            change(&mut packet);
            packet[10..12].fill(0);
            let header_len = usize::from(packet[0] & 0x0f) * 4;
            let checksum = wire::checksum::checksum(&packet[..header_len]);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            [&frame[..14], &packet].concat()
        };
        let with_options = changed(&|packet| {
            packet.splice(20..20, [148, 4, 0, 0]);
            (packet[0], packet[3]) = (0x46, packet[3] + 4);
        });
        assert_eq!(parse(&with_options).map(|payload| payload.bytes), Some(&[1, 2, 3, 4][..]));
        assert_eq!(parse(&changed(&|packet| packet[7] = 1)), None, "a fragment");
        assert_eq!(parse(&changed(&|packet| packet[9] = 17)), None, "another protocol");
    }

    #[test]
    fn announcements_are_for_everybody_and_override() {
        let arp = announcement(MAC, [10, 0, 0, 9].into());
        let view = ethernet::View::parse(&arp).expect("a frame");
        assert!(view.destination().is_broadcast() && view.source() == MAC);
        let fields = arp::View::parse(view.payload()).expect("ARP").fields();
        assert_eq!((fields.sender_mac, fields.sender_ip), (MAC, [10, 0, 0, 9].into()));
        assert_eq!(fields.target_ip, fields.sender_ip);

        let address: Ipv6Addr = "fe80::9".parse().expect("an address");
        let neighbor = announcement(MAC, address.into());
        let view = ethernet::View::parse(&neighbor).expect("a frame");
        let packet = ipv6::View::parse(view.payload()).expect("a packet");
        assert_eq!((packet.source(), packet.destination()), (address, ALL_NODES));
        assert_eq!((packet.hop_limit(), view.destination()), (255, ALL_NODES_MAC));
        assert!(icmp::verify_ipv6(address, ALL_NODES, packet.payload()));
        assert_eq!(packet.payload()[..2], [136, 0]);
        assert_eq!(packet.payload()[4], 0xa0, "a router that overrides");
        assert_eq!(packet.payload()[8..24], address.octets());
        assert_eq!(packet.payload()[24..], [2, 1, 0, 0, 0x5e, 0, 1, 7]);
    }
}
