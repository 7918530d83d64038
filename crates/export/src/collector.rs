//! Where logs go: the headers of Ethernet, IP and UDP around a message.

use std::net::IpAddr;

use packet::PortId;
use wire::{MacAddr, ethernet, ipv4, ipv6, protocol, udp};

/// The way to a collector, which does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collector {
    /// The Ethernet address of the next hop.
    pub next_hop_mac: MacAddr,
    /// The Ethernet address of the port by which messages leave.
    pub source_mac: MacAddr,
    /// That port.
    pub leaves_by: PortId,
    /// The address that messages come from, of the same version as the collector's.
    pub source: IpAddr,
    /// The collector's address.
    pub address: IpAddr,
    /// The UDP port that messages come from.
    pub source_port: u16,
    /// The collector's UDP port.
    pub port: u16,
}

impl Collector {
    /// Whether a frame that left by a port is a message.
    pub fn is_message(&self, port: PortId, frame: &[u8]) -> bool {
        let Some((link, packet)) = frame.split_at_checked(ethernet::HEADER_LEN) else {
            return false;
        };
        let goes_there = link[..6] == self.next_hop_mac.0 && link[6..12] == self.source_mac.0;
        let ends = match (self.source, self.address) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => packet
                .get(12..20)
                .map(|ends| ends[..4] == source.octets() && ends[4..] == destination.octets()),
            (source, destination) => packet.get(8..40).map(|ends| {
                ends[..16] == to_ipv6(source).octets()
                    && ends[16..] == to_ipv6(destination).octets()
            }),
        };
        port == self.leaves_by && goes_there && ends == Some(true)
    }

    /// Length of all headers in bytes.
    pub fn headers_len(&self) -> usize {
        let ip = if self.address.is_ipv4() { ipv4::HEADER_LEN } else { ipv6::HEADER_LEN };
        ethernet::HEADER_LEN + ip + udp::HEADER_LEN
    }

    /// Writes the headers before a message that stands in its place in the frame.
    ///
    /// # Panics
    /// When the frame is shorter than the headers, or longer than a datagram can be: whoever
    /// composes it leaves their room and keeps to an MTU.
    pub fn seal(&self, frame: &mut [u8]) {
        let (link, packet) = frame.split_first_chunk_mut().expect("room for the headers");
        let ether_type =
            if self.address.is_ipv4() { ethernet::TYPE_IPV4 } else { ethernet::TYPE_IPV6 };
        let fields = ethernet::Fields {
            destination: self.next_hop_mac,
            source: self.source_mac,
            ether_type,
        };
        fields.emit(link);
        match (self.source, self.address) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let len = u16::try_from(packet.len()).expect("a packet within an MTU");
                let (network, datagram) = packet.split_first_chunk_mut().expect("room for IPv4");
                let fields = ipv4::Fields {
                    dscp: 0,
                    ecn: 0,
                    total_len: len,
                    // A packet that is never fragmented needs none (RFC 6864 section 4.1).
                    identification: 0,
                    dont_fragment: true,
                    more_fragments: false,
                    fragment_offset: 0,
                    ttl: TTL,
                    protocol: protocol::UDP,
                    source,
                    destination,
                };
                fields.emit(network);
                self.seal_datagram(datagram, |header, payload| {
                    udp::checksum_ipv4(source, destination, header, payload)
                });
            }
            (source, destination) => {
                let (source, destination) = (to_ipv6(source), to_ipv6(destination));
                let (network, datagram) = packet.split_first_chunk_mut().expect("room for IPv6");
                let fields = ipv6::Fields {
                    traffic_class: 0,
                    flow_label: 0,
                    payload_len: u16::try_from(datagram.len()).expect("a packet within an MTU"),
                    next_header: protocol::UDP,
                    hop_limit: TTL,
                    source,
                    destination,
                };
                fields.emit(network);
                self.seal_datagram(datagram, |header, payload| {
                    udp::checksum_ipv6(source, destination, header, payload)
                });
            }
        }
    }

    fn seal_datagram(
        &self,
        datagram: &mut [u8],
        checksum: impl Fn(&[u8; udp::HEADER_LEN], &[u8]) -> u16,
    ) {
        let length = datagram.len() as u16;
        let (header, payload) = datagram.split_first_chunk_mut().expect("room for UDP");
        let mut fields = udp::Fields {
            source_port: self.source_port,
            destination_port: self.port,
            length,
            checksum: 0,
        };
        fields.emit(header);
        fields.checksum = checksum(header, payload);
        fields.emit(header);
    }
}

/// An address as IPv6; one of IPv4 in its mapped form.
fn to_ipv6(address: IpAddr) -> std::net::Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// What time to live or hop limit messages have at the start.
const TTL: u8 = 64;
