//! Frames of functional checks, built from their layers so that each layer can be spoiled.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::bytes::{put_u16, u16_at};
use wire::{MacAddr, checksum, ethernet, gtpu, icmp, ipv4, ipv6, protocol, udp, vxlan};

/// An Ethernet frame.
pub fn frame(to: MacAddr, from: MacAddr, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&to.0, &from.0, &ether_type.to_be_bytes()[..], payload].concat()
}

/// An IPv4 packet without options.
pub fn packet(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; ipv4::HEADER_LEN];
    ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len: (ipv4::HEADER_LEN + payload.len()) as u16,
        identification: 0x1234,
        dont_fragment: false,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol,
        source: from,
        destination: to,
    }
    .emit(&mut header);
    [&header, payload].concat()
}

/// An IPv6 packet of `len` bytes with a UDP datagram.
pub fn packet_ipv6(source: Ipv6Addr, destination: Ipv6Addr, len: usize) -> Vec<u8> {
    let mut datagram = datagram((40_000, 9), &text(len.saturating_sub(48)));
    if let Some((header, payload)) = datagram.split_first_chunk_mut() {
        let sum = udp::checksum_ipv6(source, destination, header, payload);
        put_u16(header, udp::offset::CHECKSUM, sum);
    }
    let fields = ipv6::Fields {
        traffic_class: 0,
        flow_label: 0x12345,
        payload_len: datagram.len() as u16,
        next_header: protocol::UDP,
        hop_limit: 64,
        source,
        destination,
    };
    behind_ipv6(fields, &datagram)
}

/// An IPv6 packet that carries `payload` right behind its header.
pub fn packet_ipv6_with(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    next_header: u8,
    payload: &[u8],
) -> Vec<u8> {
    let fields = ipv6::Fields {
        traffic_class: 0,
        flow_label: 0,
        payload_len: payload.len() as u16,
        next_header,
        hop_limit: 64,
        source,
        destination,
    };
    behind_ipv6(fields, payload)
}

/// A packet with a header of IPv6.
pub fn behind_ipv6(fields: ipv6::Fields, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; ipv6::HEADER_LEN];
    fields.emit(&mut header);
    [&header, payload].concat()
}

/// A message of Neighbor Discovery about one address (RFC 4861 sections 4.3 and 4.4).
#[derive(Clone, Debug)]
pub struct NeighbourMessage {
    /// Destination of the frame.
    pub to: MacAddr,
    /// Source of the frame.
    pub from: MacAddr,
    /// Source and destination of the IPv6 packet.
    pub ends: [Ipv6Addr; 2],
    /// ICMPv6 type.
    pub kind: u8,
    /// First byte behind the checksum: the flags of an advertisement.
    pub flags: u8,
    /// Address that the message is about.
    pub target: Ipv6Addr,
    /// Options as they stand in the message, sound or not.
    pub options: Vec<u8>,
}

impl NeighbourMessage {
    /// Returns the frame, with the checksum made right.
    pub fn frame(&self) -> Vec<u8> {
        let [source, destination] = self.ends;
        let head = [self.kind, 0, 0, 0, self.flags, 0, 0, 0];
        let mut message = [&head[..], &self.target.octets(), &self.options].concat();
        let sum = icmp::checksum_ipv6(source, destination, &message);
        put_u16(&mut message, icmp::offset::CHECKSUM, sum);
        let fields = ipv6::Fields {
            traffic_class: 0,
            flow_label: 0,
            payload_len: message.len() as u16,
            next_header: protocol::ICMPV6,
            hop_limit: 255,
            source,
            destination,
        };
        frame(self.to, self.from, ethernet::TYPE_IPV6, &behind_ipv6(fields, &message))
    }
}

/// Segments of TCP, SYNs and others, with a maximum segment size at any place among their options,
/// or none.
pub fn segments_with_options() -> Vec<Vec<u8>> {
    let size = |most: u16| [&[2, 4][..], &most.to_be_bytes()].concat();
    let options: [Vec<u8>; 8] = [
        size(1460),
        size(1000),
        [&[1][..], &size(1460), &[1, 0, 0]].concat(),
        [&[3, 3, 7][..], &size(1460), &[0]].concat(),
        [&[0; 4][..], &size(1460)].concat(),
        vec![2, 3, 5, 1],
        vec![3, 9, 0, 0],
        Vec::new(),
    ];
    let segment = |flags: u8, options: &Vec<u8>| {
        let words = (5 + options.len() / 4) as u8;
        let head = [0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, words << 4, flags, 255, 255];
        [&head[..], &[0x12, 0x34, 0, 0], options].concat()
    };
    let of_flags = |flags: u8| options.iter().map(move |options| segment(flags, options));
    [2, 18, 16].into_iter().flat_map(of_flags).collect()
}

/// A datagram without checksum.
pub fn datagram((from, to): (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut header = [0; udp::HEADER_LEN];
    let length = (udp::HEADER_LEN + payload.len()) as u16;
    let checksum = udp::CHECKSUM_NONE;
    udp::Fields { source_port: from, destination_port: to, length, checksum }.emit(&mut header);
    [&header, payload].concat()
}

/// Changes a byte of an IPv4 header without options and mends the checksum.
pub fn set(at: usize, value: u8) -> impl FnOnce(&mut Vec<u8>) {
    move |packet| {
        packet[at] = value;
        mend(packet);
    }
}

/// Changes a 16-bit field of an IPv4 header without options and mends the checksum.
pub fn set_word(at: usize, value: u16) -> impl FnOnce(&mut Vec<u8>) {
    move |packet| {
        put_u16(packet, at, value);
        mend(packet);
    }
}

/// Makes the checksum of an IPv4 header right, whatever length it states.
pub fn mend(packet: &mut [u8]) {
    let stated = usize::from(packet[0] & 0x0f) * 4;
    let len = stated.max(ipv4::HEADER_LEN).min(packet.len());
    put_u16(packet, ipv4::offset::CHECKSUM, 0);
    let sum = checksum::checksum(&packet[..len]);
    put_u16(packet, ipv4::offset::CHECKSUM, sum);
}

/// Makes the IPv4 header checksums of a frame right, the one inside a tunnel too; the tunnel's own
/// datagram then has none.
pub fn repair(frame: &mut [u8]) {
    let Some((_, packet)) = frame.split_first_chunk_mut::<{ ethernet::HEADER_LEN }>() else {
        return;
    };
    repair_ipv4(packet);
    const TUNNEL: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;
    if packet.len() < TUNNEL || packet[0] != ipv4::VERSION_IHL {
        return;
    }
    let port = u16_at(packet, ipv4::HEADER_LEN + udp::offset::DESTINATION_PORT);
    let (outer, message) = packet.split_at_mut(TUNNEL);
    let inner_at = match port {
        gtpu::GTPU_PORT => gtpu::View::parse(message).map(|view| view.header_len()).ok(),
        vxlan::VXLAN_PORT => Some(vxlan::HEADER_LEN + ethernet::HEADER_LEN),
        _ => return,
    };
    put_u16(outer, ipv4::HEADER_LEN + udp::offset::CHECKSUM, udp::CHECKSUM_NONE);
    if let Some(inner) = inner_at.and_then(|at| message.get_mut(at..)) {
        repair_ipv4(inner);
    }
}

fn repair_ipv4(packet: &mut [u8]) {
    if packet.len() >= ipv4::HEADER_LEN && packet[0] >> 4 == ipv4::VERSION {
        mend(packet);
    }
}

/// Puts four bytes of options into an IPv4 packet.
pub fn add_options(packet: &mut Vec<u8>) {
    let router_alert = [ipv4::OPTION_ROUTER_ALERT, 4, 0, 0];
    packet.splice(ipv4::HEADER_LEN..ipv4::HEADER_LEN, router_alert);
    packet[0] += 1;
    let len = packet.len() as u16;
    set_word(ipv4::offset::TOTAL_LEN, len)(packet);
}

/// Bytes that differ from their neighbours.
pub fn text(len: usize) -> Vec<u8> {
    (0..len).map(|index| index as u8).collect()
}

/// The Ethernet type of an IP packet.
pub fn ether_type_of(packet: &[u8]) -> u16 {
    match packet.first().map(|byte| byte >> 4) {
        Some(ipv6::VERSION) => ethernet::TYPE_IPV6,
        _ => ethernet::TYPE_IPV4,
    }
}
