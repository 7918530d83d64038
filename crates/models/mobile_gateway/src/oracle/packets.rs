//! Headers read and built byte by byte, each sum added up word by word.

use std::net::{Ipv4Addr, Ipv6Addr};

use model_kit::host::{internet_sum, set_ipv4_checksum, word};
use wire::{MacAddr, ethernet, gtpu, ipv4, ipv6, protocol, udp};

/// Where a packet was found, which decides the names of what is wrong with it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum At {
    /// Directly in the frame.
    Outside,
    /// In a tunnel.
    Inside,
}

impl At {
    fn malformed(self) -> &'static str {
        if self == At::Inside { "inner-malformed" } else { "ip-malformed" }
    }

    fn checksum(self) -> &'static str {
        if self == At::Inside { "inner-checksum" } else { "ip-checksum" }
    }

    fn options(self) -> &'static str {
        if self == At::Inside { "inner-options" } else { "ip-options" }
    }
}

/// A packet to or from a user, without padding.
#[derive(Clone)]
pub(super) enum UserPacket {
    V4 { bytes: Vec<u8>, source: Ipv4Addr, destination: Ipv4Addr },
    V6 { bytes: Vec<u8>, source: Ipv6Addr, destination: Ipv6Addr },
}

impl UserPacket {
    /// Of a checked IPv4 packet.
    pub fn ipv4(packet: &[u8]) -> UserPacket {
        UserPacket::V4 {
            bytes: packet.to_vec(),
            source: Ipv4Addr::new(packet[12], packet[13], packet[14], packet[15]),
            destination: Ipv4Addr::new(packet[16], packet[17], packet[18], packet[19]),
        }
    }

    /// Of a sound packet.
    pub fn of(packet: &[u8]) -> UserPacket {
        match UserPacket::ipv6(packet, At::Inside) {
            Ok(packet) => packet,
            Err(_) => UserPacket::ipv4(packet),
        }
    }

    /// RFC 8200: version, length, no hop-by-hop options.
    pub fn ipv6(packet: &[u8], at: At) -> Result<UserPacket, &'static str> {
        if packet.len() < ipv6::HEADER_LEN || packet[0] >> 4 != ipv6::VERSION {
            return Err(at.malformed());
        }
        let len = ipv6::HEADER_LEN + usize::from(word(packet, 4));
        let packet = packet.get(..len).ok_or(at.malformed())?;
        if packet[6] == protocol::IPV6_HOP_BY_HOP {
            return Err(at.options());
        }
        let address = |from: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&packet[from..from + 16]);
            Ipv6Addr::from(octets)
        };
        let (source, destination) = (address(8), address(24));
        Ok(UserPacket::V6 { bytes: packet.to_vec(), source, destination })
    }

    /// RFC 1812 section 5.3.1: whether it may not go on.
    pub fn is_spent(&self) -> bool {
        match self {
            UserPacket::V4 { bytes, .. } => bytes[8] <= 1,
            UserPacket::V6 { bytes, .. } => bytes[7] <= 1,
        }
    }

    /// RFC 791 section 2.3: whether a router may cut it.
    pub fn may_be_cut(&self) -> bool {
        match self {
            UserPacket::V4 { bytes, .. } => word(bytes, 6) & ipv4::FLAG_DONT_FRAGMENT == 0,
            UserPacket::V6 { .. } => false,
        }
    }

    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            UserPacket::V4 { bytes, .. } | UserPacket::V6 { bytes, .. } => bytes,
        }
    }

    pub fn ether_type(&self) -> u16 {
        match self {
            UserPacket::V4 { .. } => ethernet::TYPE_IPV4,
            UserPacket::V6 { .. } => ethernet::TYPE_IPV6,
        }
    }

    /// The packet with one hop less to go.
    pub fn after_a_hop(self) -> Vec<u8> {
        match self {
            UserPacket::V4 { mut bytes, .. } => {
                bytes[8] -= 1;
                set_ipv4_checksum(&mut bytes);
                bytes
            }
            UserPacket::V6 { mut bytes, .. } => {
                bytes[7] -= 1;
                bytes
            }
        }
    }
}

/// RFC 1812 section 5.2.2, and no options; gives the packet without padding.
pub(super) fn check_ipv4(packet: &[u8], at: At) -> Result<&[u8], &'static str> {
    if packet.len() < ipv4::HEADER_LEN || packet[0] >> 4 != ipv4::VERSION {
        return Err(at.malformed());
    }
    let header_len = usize::from(packet[0] & 0x0f) * 4;
    let total_len = usize::from(word(packet, 2));
    if header_len < ipv4::HEADER_LEN || total_len < header_len || packet.len() < total_len {
        return Err(at.malformed());
    }
    if internet_sum(&packet[..header_len]) != 0xffff {
        return Err(at.checksum());
    }
    if header_len > ipv4::HEADER_LEN {
        return Err(at.options());
    }
    Ok(&packet[..total_len])
}

/// RFC 768: the datagram without what follows it, if its length is right.
pub(super) fn dgram(payload: &[u8]) -> Option<&[u8]> {
    if payload.len() < udp::HEADER_LEN {
        return None;
    }
    let len = usize::from(word(payload, 4));
    (len >= udp::HEADER_LEN).then(|| payload.get(..len)).flatten()
}

/// RFC 768: the sum over pseudo-header and datagram.
pub(super) fn is_sound_udp(packet: &[u8], datagram: &[u8]) -> bool {
    let mut summed = packet[12..20].to_vec();
    summed.extend([0, protocol::UDP]);
    summed.extend((datagram.len() as u16).to_be_bytes());
    summed.extend(datagram);
    internet_sum(&summed) == 0xffff
}

/// TS 29.281 section 5: where the content of a message begins.
pub(super) fn gtpu_header_len(message: &[u8]) -> Result<usize, &'static str> {
    if message.len() < gtpu::HEADER_LEN {
        return Err("tunnel-malformed");
    }
    let flags = message[0];
    if flags >> 5 != gtpu::VERSION || flags & gtpu::FLAG_PROTOCOL_TYPE == 0 {
        return Err("gtp-version");
    }
    if gtpu::HEADER_LEN + usize::from(word(message, 2)) != message.len() {
        return Err("tunnel-malformed");
    }
    if flags & gtpu::FLAGS_OPTIONAL == 0 {
        return Ok(gtpu::HEADER_LEN);
    }
    if message.len() < gtpu::HEADER_LEN_OPTIONAL {
        return Err("tunnel-malformed");
    }
    let has_extensions = flags & gtpu::FLAG_EXTENSION != 0;
    let mut kind = if has_extensions { message[11] } else { 0 };
    let mut at = gtpu::HEADER_LEN_OPTIONAL;
    let mut kinds = Vec::new();
    while kind != 0 {
        kinds.push(kind);
        // The length is in words of four bytes; the last byte is the type of the next one.
        let len = usize::from(*message.get(at).ok_or("tunnel-malformed")?) * 4;
        if len == 0 || at + len > message.len() || kinds.len() > EXTENSION_HEADERS_MAX {
            return Err("tunnel-malformed");
        }
        at += len;
        kind = message[at - 1];
    }
    // Section 5.2.1: the upper bit says that a receiver must know the type.
    let is_unknown = |kind: &u8| kind & 0x80 != 0 && !EXTENSIONS_KNOWN.contains(kind);
    if kinds.iter().any(is_unknown) { Err("gtp-extension") } else { Ok(at) }
}

/// A G-PDU without optional fields.
pub(super) fn g_pdu(teid: u32, packet: &[u8]) -> Vec<u8> {
    let mut header = [0; gtpu::HEADER_LEN];
    let length = packet.len() as u16;
    gtpu::Fields { message_type: gtpu::MESSAGE_G_PDU, length, teid }.emit(&mut header);
    [&header, packet].concat()
}

/// RFC 7348: an Ethernet frame in a network.
pub(super) fn vxlan(vni: u32, bridged: &[u8]) -> Vec<u8> {
    let mut header = [0; wire::vxlan::HEADER_LEN];
    wire::vxlan::Fields { vni }.emit(&mut header);
    [&header, bridged].concat()
}

/// A UDP datagram without checksum in an IPv4 packet that must not be fragmented.
pub(super) fn datagram(
    (source, destination): (Ipv4Addr, Ipv4Addr),
    (source_port, destination_port): (u16, u16),
    payload: &[u8],
) -> Vec<u8> {
    let udp_len = (udp::HEADER_LEN + payload.len()) as u16;
    let mut packet = vec![ipv4::VERSION_IHL, 0];
    packet.extend((ipv4::HEADER_LEN as u16 + udp_len).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(ipv4::FLAG_DONT_FRAGMENT.to_be_bytes());
    packet.extend([TTL, protocol::UDP, 0, 0]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    set_ipv4_checksum(&mut packet);
    for field in [source_port, destination_port, udp_len, udp::CHECKSUM_NONE] {
        packet.extend(field.to_be_bytes());
    }
    packet.extend(payload);
    packet
}

pub(super) fn frame(to: MacAddr, from: MacAddr, ether_type: u16, content: &[u8]) -> Vec<u8> {
    [&to.0, &from.0, &ether_type.to_be_bytes()[..], content].concat()
}

/// Destination and source of a frame.
pub(super) fn stations(frame: &[u8]) -> (MacAddr, MacAddr) {
    let mut addresses = [MacAddr::ZERO; 2];
    addresses[0].0.copy_from_slice(&frame[..6]);
    addresses[1].0.copy_from_slice(&frame[6..12]);
    (addresses[0], addresses[1])
}

/// Time to live of packets that the gateway makes.
const TTL: u8 = 64;

/// Extension headers that a message may have.
const EXTENSION_HEADERS_MAX: usize = 8;

/// Types that must be understood, and are: they say nothing that forwarding depends on.
const EXTENSIONS_KNOWN: [u8; 2] =
    [gtpu::EXTENSION_PDU_SESSION_CONTAINER, gtpu::EXTENSION_PDCP_PDU_NUMBER];
