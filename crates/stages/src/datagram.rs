//! Datagrams of a function's own: UDP over IPv4 or IPv6 in a frame.

use std::net::IpAddr;

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
            let packet = &frame[ethernet::HEADER_LEN..len];
            let read = match (from, to) {
                (IpAddr::V4(from), IpAddr::V4(to)) => {
                    let view = ipv4::View::parse(packet).expect("a packet");
                    assert_eq!((view.source(), view.destination()), (from, to));
                    assert_eq!((view.ttl(), view.dscp()), (255, 48));
                    let read = udp::View::parse(view.payload()).expect("a datagram");
                    read.verify_ipv4(from, to).expect("a checksum");
                    read
                }
                (IpAddr::V6(from), IpAddr::V6(to)) => {
                    let view = ipv6::View::parse(packet).expect("a packet");
                    assert_eq!((view.source(), view.destination()), (from, to));
                    assert_eq!((view.hop_limit(), view.traffic_class()), (255, 192));
                    let read = udp::View::parse(view.payload()).expect("a datagram");
                    read.verify_ipv6(from, to).expect("a checksum");
                    read
                }
                _ => unreachable!("of one family"),
            };
            assert_eq!([read.source_port(), read.destination_port()], ports);
            assert_eq!((read.payload(), len), (payload, frame_len(from)));
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
