//! Where a frame of another making takes a stamp, and the checksums that then change.
//!
//! The stamp lies at the end of a frame ([`crate::stamp`]), so it fits where the frame ends with
//! the payload of UDP or TCP and that is long enough. Behind a tunnel (GTP-U, VXLAN) it is the
//! payload of the packet inside. Fragments, other protocols and short payloads take none.

use wire::bytes::{put_u16, u16_at};
use wire::checksum::Sum;
use wire::{ethernet, gtpu, ipv4, ipv6, protocol, tcp, udp, vxlan};

use crate::stamp::STAMP_LEN;

/// The checksum that changes with the stamp of a frame.
///
/// In a tunnel that is the one of the packet inside: its change makes up for that of the stamp in
/// what the tunnel's own checksum covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Covering {
    /// Position of the checksum field in the frame; 0 where no checksum covers the stamp.
    at: u16,
    /// True if the stamp begins in the middle of one of the words that are summed.
    is_odd: bool,
    /// True for UDP, in which 0 means that there is none.
    is_udp: bool,
}

/// Makes the end of a frame ready for stamps: clears it, and makes the checksums that cover it
/// right for that. Returns the one that changes with the stamp; `None`, and the frame as it was,
/// if it takes no stamp.
pub fn prepare(frame: &mut [u8]) -> Option<Covering> {
    let mut layers = Layers::default();
    let ether_type = find_ether_type(frame)?;
    layers.packet(frame, ether_type)?;
    let tail = frame.len().checked_sub(STAMP_LEN)?;
    frame[tail..].fill(0);
    // The inner checksum is part of what the outer one covers.
    let used = || layers.found.iter().flatten().rev().filter(|layer| layer.is_used);
    used().for_each(|layer| layer.mend(frame));
    Some(used().next().map_or_else(Covering::default, |layer| layer.covering(tail)))
}

impl Covering {
    /// Corrects the checksum of a prepared frame whose end bears a stamp now (RFC 1624).
    #[inline(always)]
    pub fn correct(&self, frame: &mut [u8]) {
        let Some(tail) = frame.last_chunk::<STAMP_LEN>().filter(|_| self.at > 0) else { return };
        let added = Sum::ZERO.add_bytes(tail).fold();
        let added = if self.is_odd { added.swap_bytes() } else { added };
        let before = u16_at(frame, self.at.into());
        let sum = match Sum::ZERO.add_u16(!before).add_u16(added).checksum() {
            0 if self.is_udp => 0xffff,
            sum => sum,
        };
        put_u16(frame, self.at.into(), sum);
    }
}

/// Transport headers around the payload at the end of a frame, from the outside.
#[derive(Debug, Default)]
struct Layers {
    found: [Option<Layer>; 2],
}

/// A transport header and the addresses above it.
#[derive(Clone, Copy, Debug)]
struct Layer {
    /// Where the addresses begin, and their common length.
    addresses: (usize, usize),
    /// Where the header begins.
    start: usize,
    protocol: u8,
    /// False for UDP without a checksum.
    is_used: bool,
}

impl Layers {
    /// Looks at the packet that begins at a position and reaches the end of the frame.
    fn packet(&mut self, frame: &[u8], (ether_type, at): (u16, usize)) -> Option<()> {
        let packet = frame.get(at..)?;
        let (addresses, start, protocol) = match ether_type {
            ethernet::TYPE_IPV4 => {
                let header = packet.first_chunk::<{ ipv4::HEADER_LEN }>()?;
                let len = usize::from(header[0] & 15) * 4;
                let is_whole = usize::from(u16_at(header, 2)) == packet.len();
                let is_fragment = u16_at(header, 6) & 0x3fff != 0;
                if header[0] >> 4 != 4 || len < ipv4::HEADER_LEN || !is_whole || is_fragment {
                    return None;
                }
                ((at + 12, 4), at + len, header[9])
            }
            ethernet::TYPE_IPV6 => {
                let header = packet.first_chunk::<{ ipv6::HEADER_LEN }>()?;
                let is_whole = usize::from(u16_at(header, 4)) + ipv6::HEADER_LEN == packet.len();
                if header[0] >> 4 != 6 || !is_whole {
                    return None;
                }
                ((at + 8, 16), at + ipv6::HEADER_LEN, header[6])
            }
            _ => return None,
        };
        self.segment(frame, Layer { addresses, start, protocol, is_used: true })
    }

    /// Looks at a transport header, and into a tunnel behind it.
    fn segment(&mut self, frame: &[u8], mut layer: Layer) -> Option<()> {
        let segment = frame.get(layer.start..)?;
        let place = self.found.iter().position(Option::is_none)?;
        let header_len = match layer.protocol {
            protocol::UDP => {
                let header = segment.first_chunk::<{ udp::HEADER_LEN }>()?;
                layer.is_used = u16_at(header, udp::offset::CHECKSUM) != udp::CHECKSUM_NONE;
                if usize::from(u16_at(header, udp::offset::LENGTH)) != segment.len() {
                    return None;
                }
                self.found[place] = Some(layer);
                let payload = layer.start + udp::HEADER_LEN;
                match u16_at(header, udp::offset::DESTINATION_PORT) {
                    gtpu::GTPU_PORT => return self.gtpu(frame, payload),
                    vxlan::VXLAN_PORT => return self.vxlan(frame, payload),
                    _ => udp::HEADER_LEN,
                }
            }
            protocol::TCP => {
                let header = segment.first_chunk::<{ tcp::HEADER_LEN }>()?;
                let len = usize::from(header[tcp::offset::DATA_OFFSET] >> 4) * 4;
                if len < tcp::HEADER_LEN {
                    return None;
                }
                self.found[place] = Some(layer);
                len
            }
            _ => return None,
        };
        (segment.len() >= header_len + STAMP_LEN).then_some(())
    }

    /// Looks into a G-PDU (TS 29.281 section 7.3.1).
    fn gtpu(&mut self, frame: &[u8], at: usize) -> Option<()> {
        let view = gtpu::View::parse(frame.get(at..)?).ok()?;
        if view.message_type() != gtpu::MESSAGE_G_PDU {
            return None;
        }
        let inner = at + view.header_len();
        let ether_type = match frame.get(inner)? >> 4 {
            4 => ethernet::TYPE_IPV4,
            6 => ethernet::TYPE_IPV6,
            _ => return None,
        };
        self.packet(frame, (ether_type, inner))
    }

    /// Looks into a frame of VXLAN (RFC 7348 section 5).
    fn vxlan(&mut self, frame: &[u8], at: usize) -> Option<()> {
        let inner = at + vxlan::HEADER_LEN;
        let (ether_type, packet) = find_ether_type(frame.get(inner..)?)?;
        self.packet(frame, (ether_type, inner + packet))
    }
}

impl Layer {
    fn field(&self) -> usize {
        self.start
            + match self.protocol {
                protocol::UDP => udp::offset::CHECKSUM,
                _ => tcp::offset::CHECKSUM,
            }
    }

    /// Makes the checksum right, by a sum over all that it covers.
    fn mend(&self, frame: &mut [u8]) {
        if !self.is_used {
            return;
        }
        put_u16(frame, self.field(), 0);
        let (at, len) = self.addresses;
        let segment = &frame[self.start..];
        let sum = Sum::ZERO
            .add_bytes(&frame[at..at + 2 * len])
            .add_u32(segment.len() as u32)
            .add_u16(self.protocol.into())
            .add_bytes(segment)
            .checksum();
        let is_udp = self.protocol == protocol::UDP;
        put_u16(frame, self.field(), if sum == 0 && is_udp { 0xffff } else { sum });
    }

    fn covering(&self, tail: usize) -> Covering {
        Covering {
            at: self.field() as u16,
            is_odd: !(tail - self.start).is_multiple_of(2),
            is_udp: self.protocol == protocol::UDP,
        }
    }
}

/// Returns the EtherType behind at most two VLAN tags (IEEE 802.1Q), and where the packet begins.
pub fn find_ether_type(frame: &[u8]) -> Option<(u16, usize)> {
    let mut at = ethernet::HEADER_LEN;
    for _ in 0..3 {
        let field = frame.get(at - 2..at)?;
        match u16::from_be_bytes([field[0], field[1]]) {
            ethernet::TYPE_VLAN | TYPE_SERVICE_VLAN => at += 4,
            ether_type => return Some((ether_type, at)),
        }
    }
    None
}

/// EtherType of a service VLAN tag (IEEE 802.1ad).
const TYPE_SERVICE_VLAN: u16 = 0x88a8;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::Stamp;

    const STAMP: Stamp = Stamp { stream: 3, sequence: 0x0123_4567_89ab, time: 0xfeed_beef_0102 };

    fn ethernet(tags: usize, ether_type: u16, packet: &[u8]) -> Vec<u8> {
        let tag = [0x81, 0, 0, 7].repeat(tags);
        [&[2; 12][..], &tag, &ether_type.to_be_bytes(), packet].concat()
    }

    fn ipv4(protocol: u8, segment: &[u8]) -> Vec<u8> {
        let len = (20 + segment.len()) as u16;
        let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, protocol, 0, 0];
        put_u16(&mut packet, 2, len);
        packet.extend([10, 0, 0, 1, 198, 51, 100, 7]);
        let sum = wire::checksum::checksum(&packet);
        put_u16(&mut packet, 10, sum);
        [packet, segment.to_vec()].concat()
    }

    fn ipv6(next: u8, segment: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 64];
        put_u16(&mut packet, 4, segment.len() as u16);
        packet.extend(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).octets());
        packet.extend(Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 9).octets());
        [packet, segment.to_vec()].concat()
    }

    /// A datagram whose checksum field says that there is one, or not.
    fn udp(to: u16, payload: &[u8], has_checksum: bool) -> Vec<u8> {
        let mut header = vec![0; 8];
        put_u16(&mut header, 0, 40_001);
        put_u16(&mut header, 2, to);
        put_u16(&mut header, 4, (8 + payload.len()) as u16);
        put_u16(&mut header, 6, u16::from(has_checksum));
        [header, payload.to_vec()].concat()
    }

    fn tcp(options: usize, payload: &[u8]) -> Vec<u8> {
        let mut header = vec![1; 20 + options];
        header[12] = ((20 + options) as u8 / 4) << 4;
        [header, payload.to_vec()].concat()
    }

    fn gtpu(packet: &[u8]) -> Vec<u8> {
        let mut header = vec![0x30, 255, 0, 0, 0, 0, 0, 9];
        put_u16(&mut header, 2, packet.len() as u16);
        [header, packet.to_vec()].concat()
    }

    fn stamped(mut frame: Vec<u8>) -> Option<Vec<u8>> {
        let covering = prepare(&mut frame)?;
        STAMP.write(&mut frame);
        covering.correct(&mut frame);
        assert_eq!(Stamp::read(&frame), Some(STAMP));
        Some(frame)
    }

    /// Holds the checksums of a stamped packet against the views of `wire`, which share no code
    /// with the correction.
    fn is_right(packet: &[u8]) {
        let ends = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(198, 51, 100, 7)];
        if packet[0] >> 4 == 6 {
            let view = ipv6::View::parse(packet).expect("IPv6");
            let udp = udp::View::parse(view.payload()).expect("UDP");
            assert_eq!(udp.verify_ipv6(view.source(), view.destination()), Ok(()));
            return;
        }
        let segment = &packet[20..];
        if packet[9] == protocol::TCP {
            let mut zeroed = segment.to_vec();
            put_u16(&mut zeroed, 16, 0);
            let sum = tcp::checksum_ipv4(ends[0], ends[1], &zeroed);
            assert_eq!(u16_at(segment, 16), sum);
            return;
        }
        let udp = udp::View::parse(segment).expect("UDP");
        assert_eq!(udp.verify_ipv4(ends[0], ends[1]), Ok(()));
        if udp.destination_port() == gtpu::GTPU_PORT {
            is_right(&udp.payload()[8..]);
        }
    }

    #[test]
    fn a_stamp_leaves_every_checksum_right() {
        for len in 18..64 {
            let payload: Vec<u8> = (0..len).map(|byte| byte as u8 ^ 0x5a).collect();
            let inner = ipv4(protocol::UDP, &udp(9, &payload, true));
            let bare = ipv4(protocol::UDP, &udp(9, &payload, false));
            for packet in [
                ipv4(protocol::UDP, &udp(9, &payload, true)),
                ipv4(protocol::TCP, &tcp(0, &payload)),
                ipv4(protocol::TCP, &tcp(12, &payload)),
                ipv4(protocol::UDP, &udp(2152, &gtpu(&inner), true)),
                ipv4(protocol::UDP, &udp(2152, &gtpu(&inner), false)),
                ipv4(protocol::UDP, &udp(2152, &gtpu(&bare), true)),
            ] {
                for tags in 0..3 {
                    let frame = stamped(ethernet(tags, 0x0800, &packet)).expect("there is room");
                    is_right(&frame[14 + 4 * tags..]);
                }
            }
            let packet = ipv6(protocol::UDP, &udp(9, &payload, true));
            is_right(&stamped(ethernet(0, 0x86dd, &packet)).expect("there is room")[14..]);
        }
    }

    #[test]
    fn a_frame_without_room_is_left_as_it_was() {
        let mut fragment = ipv4(protocol::UDP, &udp(9, &[1; 40], true));
        fragment[6] = 0x20;
        let mut padded = ipv4(protocol::UDP, &udp(9, &[1; 18], true));
        padded.push(0);
        let packets = [
            ipv4(protocol::UDP, &udp(9, &[1; 17], true)),
            ipv4(protocol::TCP, &tcp(8, &[1; 17])),
            ipv4(protocol::ICMP, &[8; 60]),
            ipv4(protocol::UDP, &udp(2152, &[0x30; 40], true)),
            fragment,
            padded,
        ];
        for packet in packets {
            let frame = ethernet(0, 0x0800, &packet);
            let mut other = frame.clone();
            assert_eq!(prepare(&mut other), None, "{packet:02x?}");
            assert_eq!(other, frame);
        }
        assert_eq!(prepare(&mut ethernet(0, 0x0806, &[0; 46])), None);
        for len in 0..60 {
            assert_eq!(prepare(&mut vec![0x45; len]), None, "no bytes make it panic");
        }
    }
}
