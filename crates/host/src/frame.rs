//! Ethernet frames around what sockets tell of messages, as a trace shows them. What they do not
//! tell is made up: Ethernet addresses are zero, as on a loopback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use wire::{ethernet, ipv4, ipv6, protocol, tcp, udp};

/// A piece of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// The numbers of its first byte, and of the next one in the other direction.
    pub sequence: u32,
    pub acknowledged: u32,
    /// Its bytes, at most [`PIECE_MAX`].
    pub bytes: &'a [u8],
}

/// A datagram of UDP.
pub(crate) fn datagram(from: SocketAddr, to: SocketAddr, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let mut fields = udp::Fields {
        source_port: from.port(),
        destination_port: to.port(),
        length: (udp::HEADER_LEN + payload.len()) as u16,
        checksum: 0,
    };
    let mut header = [0; udp::HEADER_LEN];
    fields.emit(&mut header);
    fields.checksum = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => udp::checksum_ipv4(from, to, &header, payload),
        (from, to) => udp::checksum_ipv6(v6(from), v6(to), &header, payload),
    };
    fields.emit(&mut header);
    packet(protocol::UDP, from.ip(), to.ip(), ttl, &[&header, payload].concat())
}

/// A segment of TCP.
pub(crate) fn segment(from: SocketAddr, to: SocketAddr, piece: Piece<'_>) -> Vec<u8> {
    let mut header = [0; tcp::HEADER_LEN];
    let fields = tcp::Fields {
        source_port: from.port(),
        destination_port: to.port(),
        sequence: piece.sequence,
        acknowledgment: piece.acknowledged,
        header_len: tcp::HEADER_LEN as u8,
        flags: tcp::FLAG_ACK | tcp::FLAG_PSH,
        window: u16::MAX,
        checksum: 0,
        urgent: 0,
    };
    fields.emit(&mut header);
    let mut segment = [&header, piece.bytes].concat();
    let checksum = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => tcp::checksum_ipv4(from, to, &segment),
        (from, to) => tcp::checksum_ipv6(v6(from), v6(to), &segment),
    };
    segment[tcp::offset::CHECKSUM..][..2].copy_from_slice(&checksum.to_be_bytes());
    packet(protocol::TCP, from.ip(), to.ip(), TTL, &segment)
}

/// A packet of an IP protocol.
pub(crate) fn packet(protocol: u8, from: IpAddr, to: IpAddr, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; ethernet::HEADER_LEN];
    match (from, to) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            frame[ethernet::offset::TYPE..].copy_from_slice(&ethernet::TYPE_IPV4.to_be_bytes());
            let fields = ipv4::Fields {
                dscp: 0,
                ecn: 0,
                total_len: (ipv4::HEADER_LEN + payload.len()) as u16,
                identification: 0,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl,
                protocol,
                source,
                destination,
            };
            let mut header = [0; ipv4::HEADER_LEN];
            fields.emit(&mut header);
            frame.extend(header);
        }
        (from, to) => {
            frame[ethernet::offset::TYPE..].copy_from_slice(&ethernet::TYPE_IPV6.to_be_bytes());
            let fields = ipv6::Fields {
                traffic_class: 0,
                flow_label: 0,
                payload_len: payload.len() as u16,
                next_header: protocol,
                hop_limit: ttl,
                source: v6(from),
                destination: v6(to),
            };
            let mut header = [0; ipv6::HEADER_LEN];
            fields.emit(&mut header);
            frame.extend(header);
        }
    }
    frame.extend_from_slice(payload);
    frame
}

/// The ends of a stream that has no addresses: a Unix socket, by the machine's number of it.
pub(crate) fn unix_ends(number: u32) -> [SocketAddr; 2] {
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, number as u16));
    [local, SocketAddr::from((UNIX_PEER, 0))]
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Most bytes of a stream in a segment.
pub(crate) const PIECE_MAX: usize = 16 << 10;

/// That of segments, which nobody tells.
const TTL: u8 = 64;

/// The far end of a Unix socket.
const UNIX_PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: [&str; 4] = ["192.0.2.1:3000", "192.0.2.2:2620", "[2001:db8::1]:5", "[fe80::2]:6"];

    #[test]
    fn headers_are_right() {
        let [a, b, c, d] = ENDS.map(|end| end.parse::<SocketAddr>().expect("an address"));
        let frame = datagram(a, b, 255, b"hello");
        let packet = ipv4::View::parse(&frame[14..]).expect("a packet");
        assert_eq!((packet.ttl(), packet.protocol()), (255, protocol::UDP));
        let datagram_of = udp::View::parse(packet.payload()).expect("a datagram");
        assert_eq!((datagram_of.destination_port(), datagram_of.payload()), (2620, &b"hello"[..]));
        assert!(datagram_of.verify_ipv4(packet.source(), packet.destination()).is_ok());
        assert_ne!(datagram_of.checksum(), 0);

        let piece = Piece { sequence: 7, acknowledged: 9, bytes: b"hello" };
        let frame = segment(c, d, piece);
        let packet = ipv6::View::parse(&frame[14..]).expect("a packet");
        assert_eq!(packet.next_header(), protocol::TCP);
        let segment_of = tcp::View::parse(packet.payload()).expect("a segment");
        assert_eq!((segment_of.sequence(), segment_of.acknowledgment()), (7, 9));
        assert_eq!(segment_of.payload(), b"hello");
        assert!(segment_of.verify_ipv6(packet.source(), packet.destination()).is_ok());
    }
}
