//! Datagrams of a function's own, and for it: UDP over IPv4 or IPv6 in a frame without a tag.

use std::net::IpAddr;

use wire::bytes::u16_at;
use wire::{MacAddr, ethernet, ipv4, ipv6, protocol, udp};

/// What a datagram says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Ethernet addresses: destination and source.
    pub macs: [MacAddr; 2],
    /// Its source.
    pub from: IpAddr,
    /// Its destination, of the same family.
    pub to: IpAddr,
    /// Source and destination port.
    pub ports: [u16; 2],
    /// Its Time To Live or Hop Limit.
    pub ttl: u8,
    /// Its code point, 6 bits.
    pub dscp: u8,
    /// Its payload.
    pub payload: &'a [u8],
}

/// Bytes of the headers over IPv6, the longer ones.
pub const HEADERS_MAX: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN + udp::HEADER_LEN;

impl Datagram<'_> {
    /// Writes the frame and returns its length; `None` if it does not fit into `frame`, or the
    /// addresses are of two families.
    pub fn write(&self, frame: &mut [u8]) -> Option<usize> {
        let Datagram { macs: [destination, source], ports, ttl, dscp, payload, .. } = *self;
        let length = u16::try_from(udp::HEADER_LEN + payload.len()).ok()?;
        let mut header = [0; udp::HEADER_LEN];
        let [source_port, destination_port] = ports;
        let mut fields = udp::Fields { source_port, destination_port, length, checksum: 0 };
        fields.emit(&mut header);
        let (ethernet, rest) = frame.split_first_chunk_mut::<{ ethernet::HEADER_LEN }>()?;
        let (ether_type, network_len, rest) = match (self.from, self.to) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let (network, rest) = rest.split_first_chunk_mut::<{ ipv4::HEADER_LEN }>()?;
                let total_len = length.checked_add(ipv4::HEADER_LEN as u16)?;
                let (ecn, identification, fragment_offset, protocol) = (0, 0, 0, protocol::UDP);
                let (dont_fragment, more_fragments) = (true, false);
                ipv4::Fields {
                    dscp,
                    ecn,
                    total_len,
                    identification,
                    dont_fragment,
                    more_fragments,
                    fragment_offset,
                    ttl,
                    protocol,
                    source,
                    destination,
                }
                .emit(network);
                fields.checksum = udp::checksum_ipv4(source, destination, &header, payload);
                (ethernet::TYPE_IPV4, ipv4::HEADER_LEN, rest)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let (network, rest) = rest.split_first_chunk_mut::<{ ipv6::HEADER_LEN }>()?;
                ipv6::Fields {
                    traffic_class: dscp << 2,
                    flow_label: 0,
                    payload_len: length,
                    next_header: protocol::UDP,
                    hop_limit: ttl,
                    source,
                    destination,
                }
                .emit(network);
                fields.checksum = udp::checksum_ipv6(source, destination, &header, payload);
                (ethernet::TYPE_IPV6, ipv6::HEADER_LEN, rest)
            }
            _ => return None,
        };
        ethernet::Fields { destination, source, ether_type }.emit(ethernet);
        let (header, rest) = rest.split_first_chunk_mut::<{ udp::HEADER_LEN }>()?;
        fields.emit(header);
        rest.get_mut(..payload.len())?.copy_from_slice(payload);
        Some(ethernet::HEADER_LEN + network_len + usize::from(length))
    }
}

/// A datagram that a frame has.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Its source.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
    /// Its Time To Live or Hop Limit.
    pub ttl: u8,
    /// Its ports and payload.
    pub datagram: udp::View<'a>,
}

/// Reads a frame of a whole datagram whose checksum is right; `None` for any other.
pub fn read(frame: &[u8]) -> Option<Received<'_>> {
    let (header, packet) = frame.split_first_chunk::<{ ethernet::HEADER_LEN }>()?;
    match u16_at(header, ethernet::offset::TYPE) {
        ethernet::TYPE_IPV4 => {
            let view = ipv4::View::parse(packet).ok()?;
            if view.protocol() != protocol::UDP || view.is_fragment() {
                return None;
            }
            let datagram = udp::View::parse(view.payload()).ok()?;
            datagram.verify_ipv4(view.source(), view.destination()).ok()?;
            let (from, to) = (view.source().into(), view.destination().into());
            Some(Received { from, to, ttl: view.ttl(), datagram })
        }
        ethernet::TYPE_IPV6 => {
            let view = ipv6::View::parse(packet).ok()?;
            let upper = view.upper_layer().ok().filter(|upper| upper.protocol == protocol::UDP)?;
            let datagram = udp::View::parse(upper.payload).ok()?;
            datagram.verify_ipv6(view.source(), view.destination()).ok()?;
            let (from, to) = (view.source().into(), view.destination().into());
            Some(Received { from, to, ttl: view.hop_limit(), datagram })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_reads_as_it_was_written() {
        for [from, to] in [["192.0.2.1", "198.51.100.9"], ["2001:db8::1", "2001:db8::9"]] {
            let [from, to]: [IpAddr; 2] = [from, to].map(|one| one.parse().expect("an address"));
            let macs = [MacAddr([2; 6]), MacAddr([4; 6])];
            let (ports, payload) = ([50_000, 3784], &b"payload"[..]);
            let datagram = Datagram { macs, from, to, ports, ttl: 255, dscp: 48, payload };
            let mut frame = [0xaa; 100];
            let len = datagram.write(&mut frame).expect("room");
            let class = match from {
                IpAddr::V4(_) => frame[ethernet::HEADER_LEN + 1],
                IpAddr::V6(_) => frame[ethernet::HEADER_LEN] << 4 | frame[15] >> 4,
            };
            assert_eq!(class, 48 << 2);
            let got = read(&frame[..len]).expect("a datagram");
            assert_eq!((got.from, got.to, got.ttl), (from, to, 255));
            let read_ports = [got.datagram.source_port(), got.datagram.destination_port()];
            assert_eq!(read_ports, ports);
            assert_eq!((got.datagram.payload(), len), (payload, frame_len(from)));
            // What is cut short or changed is none: the type, the protocol, an address, the sum.
            let next = if from.is_ipv4() { 23 } else { 20 };
            for at in [12, next, 28, len - 1] {
                let mut other = frame;
                other[at] ^= 1;
                assert!(read(&other[..len]).is_none(), "{at}");
            }
            assert!((0..len).all(|short| read(&frame[..short]).is_none()));
            for short in 0..len {
                assert_eq!(datagram.write(&mut frame[..short]), None);
            }
        }
        let mixed = Datagram {
            macs: [MacAddr([2; 6]); 2],
            from: "192.0.2.1".parse().expect("an address"),
            to: "2001:db8::1".parse().expect("an address"),
            ports: [1, 2],
            ttl: 1,
            dscp: 0,
            payload: &[],
        };
        assert_eq!(mixed.write(&mut [0; 100]), None);
    }

    fn frame_len(from: IpAddr) -> usize {
        HEADERS_MAX + 7 - if from.is_ipv4() { ipv6::HEADER_LEN - ipv4::HEADER_LEN } else { 0 }
    }
}
