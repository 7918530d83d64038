//! Whether a frame of TCP or UDP follows another, so that both become one that is cut into both
//! again.

use std::ops::Range;

use wire::bytes::{put_u16, u16_at, u32_at};
use wire::{checksum, ipv4, ipv6, tcp, udp};

use crate::layout::Layout;

/// Longest frame that comes of joining, in bytes.
pub const JOINED_BYTES_MAX: usize = 65_535;

/// Most datagrams of UDP that become one, as in Linux (`UDP_GRO_CNT_MAX`).
const DATAGRAMS_MAX: u16 = 64;

/// What is known of a frame of TCP or UDP that others may follow; its bytes are its user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    pub(crate) layout: Layout,
    /// Bytes of payload of each frame but the last.
    segment_len: u16,
    /// Frames so far.
    pub(crate) count: u16,
    /// Its checksums were looked at, and are right.
    is_sound: bool,
    /// No frame follows: the last one was shorter, or says so.
    is_closed: bool,
}

impl Join {
    /// Of a frame; none if it is neither of TCP nor of UDP. One that is not data alone is followed
    /// by none.
    pub fn of(frame: &[u8]) -> Option<Join> {
        let layout = Layout::of(frame)?;
        Some(Join {
            layout,
            segment_len: (layout.end - layout.payload).min(JOINED_BYTES_MAX) as u16,
            count: 1,
            is_sound: false,
            is_closed: !is_data(frame, &layout) || is_last(frame, &layout),
        })
    }

    /// Says that the checksums of a frame are known to be right, as who has just written them does.
    pub fn set_sound(&mut self) {
        self.is_sound = !self.is_closed;
    }

    /// Whether it is a segment of TCP.
    pub fn is_tcp(&self) -> bool {
        !self.layout.is_udp
    }

    /// Whether the frame may be joined with others: data and nothing else, without options of IP,
    /// padding or errors. A checksum that is not what cutting would make of it again is one, too:
    /// in TCP all ones, in UDP none.
    pub(crate) fn is_plain(&mut self, frame: &[u8]) -> bool {
        self.is_sound |= is_data(frame, &self.layout) && is_sound(frame, &self.layout);
        self.is_sound
    }

    /// Whether frames may follow, of which one comes that no router may fragment.
    pub fn may_be_followed(&self, frame: &[u8]) -> bool {
        !self.is_closed && self.layout.stays_whole(frame)
    }

    /// Most bytes of payload of one of the frames.
    pub fn segment_len(&self) -> u16 {
        self.segment_len
    }

    /// Whether another frame is of the same connection.
    pub fn is_of(&self, held: &[u8], (other, frame): (&Join, &[u8])) -> bool {
        let tuple = |frame: &[u8], layout: &Layout| {
            let (from, len) = match layout.is_ipv6 {
                false => (ipv4::offset::SOURCE, 8),
                true => (ipv6::offset::SOURCE, 32),
            };
            let at = layout.ip + from;
            (at..at + len, u32_at(frame, layout.transport))
        };
        let (own, layout) = (&self.layout, &other.layout);
        if (layout.is_ipv6, layout.is_udp, layout.ip) != (own.is_ipv6, own.is_udp, own.ip) {
            return false;
        }
        let ((addresses, ports), (_, ports_held)) = (tuple(frame, layout), tuple(held, own));
        ports == ports_held && frame[addresses.clone()] == held[addresses]
    }

    /// Takes a frame of the connection if it follows what is held so far: returns the bytes of it
    /// that are to be appended. Of those, headers know by [`Join::finish`].
    pub fn take(
        &mut self,
        held: &mut [u8],
        (other, frame): (&mut Join, &[u8]),
    ) -> Option<Range<usize>> {
        let payload = other.layout.payload..frame.len();
        if self.is_closed
            || payload.len() > self.segment_len.into()
            || held.len() + payload.len() > JOINED_BYTES_MAX
            || self.layout.is_udp && self.count == DATAGRAMS_MAX
            || !self.follows(held, (other, frame))
            || !other.is_plain(frame)
            || !self.is_sound && !self.is_plain(held)
        {
            self.is_closed = true;
            return None;
        }
        self.is_closed = payload.len() < self.segment_len.into() || is_last(frame, &other.layout);
        if !self.layout.is_udp {
            let flags = self.layout.transport + tcp::offset::FLAGS;
            held[flags] |= frame[flags];
        }
        self.count += 1;
        Some(payload)
    }

    /// Makes the headers of what is held those of one packet, whose checksum is begun, and returns
    /// the bytes of its payload; none, and nothing changed, if no frame was taken.
    pub fn finish(&self, held: &mut [u8]) -> Option<usize> {
        if self.count == 1 {
            return None;
        }
        let layout = &self.layout;
        let (head, payload) = held.split_at_mut(layout.payload);
        layout.set_len(head, payload.len());
        let len = layout.payload - layout.transport + payload.len();
        let sum = layout.pseudo_header(head, len).fold();
        put_u16(head, layout.transport + layout.checksum_offset(), sum);
        Some(payload.len())
    }

    /// Whether the headers are those of the next frame.
    fn follows(&self, held: &[u8], (other, frame): (&Join, &[u8])) -> bool {
        let (own, layout) = (&self.layout, &other.layout);
        if (own.transport, own.payload, own.is_udp)
            != (layout.transport, layout.payload, layout.is_udp)
        {
            return false;
        }
        let is_same = |from: usize, to: usize| held[from..to] == frame[from..to];
        let (ip, at) = (layout.ip, layout.transport);
        let network = match layout.is_ipv6 {
            false => {
                let id = |frame: &[u8]| u16_at(frame, ip + ipv4::offset::IDENTIFICATION);
                // It says nothing of a datagram that is never cut (RFC 6864 section 4.1).
                let stays_whole = layout.stays_whole(frame);
                is_same(0, ip + ipv4::offset::TOTAL_LEN)
                    && is_same(ip + ipv4::offset::FLAGS_FRAGMENT, ip + ipv4::offset::CHECKSUM)
                    && (stays_whole || id(frame) == id(held).wrapping_add(self.count))
            }
            true => {
                is_same(0, ip + ipv6::offset::PAYLOAD_LEN)
                    && is_same(ip + ipv6::offset::NEXT_HEADER, at)
            }
        };
        if own.is_udp {
            // Of the header of UDP, ports are compared, and length and checksum follow.
            return network && frame[at..at + 4] == held[at..at + 4];
        }
        let sequence = |frame: &[u8]| u32_at(frame, at + tcp::offset::SEQUENCE);
        let closing = tcp::FLAG_FIN | tcp::FLAG_PSH;
        let flags = |frame: &[u8]| frame[at + tcp::offset::FLAGS] & !closing;
        network
            && sequence(frame) == sequence(held).wrapping_add((held.len() - own.payload) as u32)
            && is_same(at + tcp::offset::ACKNOWLEDGMENT, at + tcp::offset::FLAGS)
            && flags(frame) == flags(held)
            && is_same(at + tcp::offset::WINDOW, at + tcp::offset::CHECKSUM)
            && is_same(at + tcp::offset::URGENT, layout.payload)
    }
}

/// Whether a frame is data and nothing else, without options of IP and padding.
fn is_data(frame: &[u8], layout: &Layout) -> bool {
    let header_len = if layout.is_ipv6 { ipv6::HEADER_LEN } else { ipv4::HEADER_LEN };
    let is_usual = match layout.is_udp {
        false => {
            let flags = frame[layout.transport + tcp::offset::FLAGS];
            let usual = tcp::FLAG_FIN | tcp::FLAG_PSH | tcp::FLAG_ECE;
            flags & !usual == tcp::FLAG_ACK
        }
        true => {
            let len = u16_at(frame, layout.transport + udp::offset::LENGTH);
            usize::from(len) == layout.end - layout.transport
        }
    };
    is_usual
        && layout.payload < layout.end
        && layout.end == frame.len()
        && frame.len() <= JOINED_BYTES_MAX
        && layout.transport - layout.ip == header_len
}

/// Whether the checksums are right, and what cutting makes of them again.
fn is_sound(frame: &[u8], layout: &Layout) -> bool {
    let ip = &frame[layout.ip..layout.transport];
    let segment = &frame[layout.transport..];
    let is_usual = layout.is_ipv6
        || checksum::checksum(ip) == 0 && u16_at(ip, ipv4::offset::CHECKSUM) != 0xffff;
    let never = if layout.is_udp { udp::CHECKSUM_NONE } else { 0xffff };
    is_usual
        && u16_at(segment, layout.checksum_offset()) != never
        && layout.pseudo_header(frame, segment.len()).add_bytes(segment).checksum() == 0
}

/// Whether the sender wants it handed on (PSH), or has no more.
fn is_last(frame: &[u8], layout: &Layout) -> bool {
    !layout.is_udp
        && frame[layout.transport + tcp::offset::FLAGS] & (tcp::FLAG_FIN | tcp::FLAG_PSH) != 0
}
