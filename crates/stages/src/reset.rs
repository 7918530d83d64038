//! Resets of TCP: what a host says of a segment for which nobody listens (RFC 9293 section
//! 3.10.7.1).

use packet::{Batch, Slot};
use wire::bytes::{array_at, put_array, put_u16, put_u32, u32_at};
use wire::{MacAddr, ethernet, ipv4, ipv6, protocol, tcp};

use crate::icmpv4::{TTL, turn};

/// Whether a frame without tag bears a segment that is answered: right behind a plain header of IP,
/// and no reset itself.
pub fn is_answered(frame: &[u8]) -> bool {
    Segment::read(frame).is_some_and(|segment| segment.flags & tcp::FLAG_RST == 0)
}

/// Makes a frame without tag with a segment of TCP the reset of its connection, which goes back to
/// the station that it came from. False, and the frame is as it was, where it is none that is
/// answered.
///
/// The checksum of the segment is not looked at: a segment may come from its sender's own machine
/// before it is computed.
pub fn write(batch: &mut Batch, slot: Slot) -> bool {
    let frame = batch.frame(slot);
    let own = array_at(frame.first_chunk::<{ ethernet::HEADER_LEN }>().unwrap_or(&[0; 14]), 0);
    let Some(mut segment) = Segment::read(frame).filter(|_| is_answered(frame)) else {
        return false;
    };
    segment.answer();
    let len = ethernet::HEADER_LEN + segment.ip_len() + tcp::HEADER_LEN;
    batch.truncate(slot, len);
    let frame = batch.frame_mut(slot);
    segment.emit(frame);
    turn(frame, MacAddr(own));
    true
}

/// What of a segment its reset depends on; addresses and ports are those of the segment.
struct Segment {
    is_ipv6: bool,
    ports: [u8; 4],
    sequence: u32,
    acknowledgment: u32,
    flags: u8,
    /// Its bytes, with one each for SYN and FIN.
    len: u32,
}

impl Segment {
    fn read(frame: &[u8]) -> Option<Segment> {
        let packet = frame.get(ethernet::HEADER_LEN..)?;
        let is_ipv6 = packet.first().is_some_and(|first| first >> 4 == ipv6::VERSION);
        let payload = match is_ipv6 {
            false => {
                let view = ipv4::View::parse_without_checksum(packet).ok()?;
                let is_plain = !view.has_options() && !view.is_fragment();
                (is_plain && view.protocol() == protocol::TCP).then_some(view.payload())?
            }
            true => {
                let view = ipv6::View::parse(packet).ok()?;
                (view.next_header() == protocol::TCP).then_some(view.payload())?
            }
        };
        let header = payload.first_chunk::<{ tcp::HEADER_LEN }>()?;
        let data = payload.get(usize::from(header[tcp::offset::DATA_OFFSET] >> 4) * 4..)?;
        let flags = header[tcp::offset::FLAGS];
        let counts = |flag: u8| u32::from(flags & flag != 0);
        Some(Segment {
            is_ipv6,
            ports: array_at(header, 0),
            sequence: u32_at(header, tcp::offset::SEQUENCE),
            acknowledgment: u32_at(header, tcp::offset::ACKNOWLEDGMENT),
            flags,
            len: data.len() as u32 + counts(tcp::FLAG_SYN) + counts(tcp::FLAG_FIN),
        })
    }

    /// What acknowledges is believed, and what does not is acknowledged.
    fn answer(&mut self) {
        (self.sequence, self.acknowledgment, self.flags) = match self.flags & tcp::FLAG_ACK {
            0 => (0, self.sequence.wrapping_add(self.len), tcp::FLAG_RST | tcp::FLAG_ACK),
            _ => (self.acknowledgment, 0, tcp::FLAG_RST),
        };
    }

    fn ip_len(&self) -> usize {
        if self.is_ipv6 { ipv6::HEADER_LEN } else { ipv4::HEADER_LEN }
    }

    /// Writes the way back over the headers of a segment.
    fn emit(&self, frame: &mut [u8]) {
        const IP: usize = ethernet::HEADER_LEN;
        let at = IP + self.ip_len();
        let [a, b, c, d] = self.ports;
        let header = &mut frame[at..at + tcp::HEADER_LEN];
        header.fill(0);
        put_array(header, 0, [c, d, a, b]);
        put_u32(header, tcp::offset::SEQUENCE, self.sequence);
        put_u32(header, tcp::offset::ACKNOWLEDGMENT, self.acknowledgment);
        header[tcp::offset::DATA_OFFSET] = (tcp::HEADER_LEN as u8 / 4) << 4;
        header[tcp::offset::FLAGS] = self.flags;
        let sum = match self.is_ipv6 {
            false => emit_ipv4(&mut frame[IP..]),
            true => emit_ipv6(&mut frame[IP..]),
        };
        put_u16(frame, at + tcp::offset::CHECKSUM, sum);
    }
}

/// Writes the header of a packet whose addresses change places; returns the segment's checksum.
fn emit_ipv4(packet: &mut [u8]) -> u16 {
    let [source, destination] =
        [ipv4::offset::DESTINATION, ipv4::offset::SOURCE].map(|at| array_at::<4>(packet, at));
    let fields = ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len: (ipv4::HEADER_LEN + tcp::HEADER_LEN) as u16,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: TTL,
        protocol: protocol::TCP,
        source: source.into(),
        destination: destination.into(),
    };
    packet.first_chunk_mut().into_iter().for_each(|header| fields.emit(header));
    tcp::checksum_ipv4(source.into(), destination.into(), &packet[ipv4::HEADER_LEN..])
}

/// The same of IPv6.
fn emit_ipv6(packet: &mut [u8]) -> u16 {
    let [source, destination] =
        [ipv6::offset::DESTINATION, ipv6::offset::SOURCE].map(|at| array_at::<16>(packet, at));
    let fields = ipv6::Fields {
        traffic_class: 0,
        flow_label: 0,
        payload_len: tcp::HEADER_LEN as u16,
        next_header: protocol::TCP,
        hop_limit: TTL,
        source: source.into(),
        destination: destination.into(),
    };
    packet.first_chunk_mut().into_iter().for_each(|header| fields.emit(header));
    tcp::checksum_ipv6(source.into(), destination.into(), &packet[ipv6::HEADER_LEN..])
}
