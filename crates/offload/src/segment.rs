//! Cutting: one frame with its header becomes the frames that a wire takes.

use wire::bytes::{put_u16, put_u32, u16_at, u32_at};
use wire::{checksum, ipv4, tcp};

use crate::header::{Gso, Header};
use crate::layout::Layout;

/// Most frames that come of one: 64 KiB in the smallest segments that are usual.
pub const SEGMENTS_MAX: usize = 2048;

/// Why a frame cannot be made ready for a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is to be cut, and is no segment of the kind that the header says.
    NoSegment,
    /// It would come to more than [`SEGMENTS_MAX`] frames, or the size is zero.
    TooMany,
    /// The checksum would stand outside of the frame.
    Checksum,
}

/// The frames that one comes to.
#[derive(Debug)]
pub struct Segments<'a> {
    /// The headers of the next frame; empty where a frame is given as it is.
    head: [u8; HEAD_LEN_MAX],
    /// None where a frame is given as it is.
    cut: Option<Layout>,
    rest: &'a [u8],
    segment_len: usize,
    /// Control bits that the last frame has beside the others'.
    flags_last: u8,
    is_first: bool,
    is_done: bool,
}

/// Makes a frame ready for a wire: completes its checksum, or cuts it.
///
/// # Errors
/// Why it cannot be: then it is to be dropped.
pub fn segments<'a>(frame: &'a mut [u8], header: &Header) -> Result<Segments<'a>, Unfit> {
    let mut made = Segments {
        head: [0; HEAD_LEN_MAX],
        cut: None,
        rest: &[],
        segment_len: 0,
        flags_last: 0,
        is_first: true,
        is_done: false,
    };
    if header.gso == Gso::None {
        if header.flags & Header::NEEDS_CHECKSUM != 0 {
            complete(frame, header).ok_or(Unfit::Checksum)?;
        }
        made.rest = frame;
        return Ok(made);
    }
    let layout = Layout::of(frame).ok_or(Unfit::NoSegment)?;
    let gso = if layout.is_ipv6 { Gso::TcpIpv6 } else { Gso::TcpIpv4 };
    if header.gso != gso || layout.payload > HEAD_LEN_MAX {
        return Err(Unfit::NoSegment);
    }
    let (payload, segment_len) =
        (&frame[layout.payload..layout.end], usize::from(header.segment_len));
    if segment_len == 0 || payload.len().div_ceil(segment_len) > SEGMENTS_MAX {
        return Err(Unfit::TooMany);
    }
    made.head[..layout.payload].copy_from_slice(&frame[..layout.payload]);
    let flags = &mut made.head[layout.tcp + tcp::offset::FLAGS];
    made.flags_last = *flags & (tcp::FLAG_FIN | tcp::FLAG_PSH);
    *flags &= !made.flags_last;
    (made.rest, made.segment_len, made.cut) = (payload, segment_len, Some(layout));
    Ok(made)
}

impl Segments<'_> {
    /// The next frame, in two parts that follow each other.
    pub fn next_frame(&mut self) -> Option<[&[u8]; 2]> {
        if self.is_done {
            return None;
        }
        let Some(layout) = self.cut else {
            self.is_done = true;
            return Some([&[], self.rest]);
        };
        let (payload, rest) = self.rest.split_at(self.rest.len().min(self.segment_len));
        (self.rest, self.is_done) = (rest, rest.is_empty());
        let head = &mut self.head[..layout.payload];
        if !std::mem::take(&mut self.is_first) {
            advance(head, &layout, self.segment_len);
        }
        if self.is_done {
            head[layout.tcp + tcp::offset::FLAGS] |= self.flags_last;
        }
        layout.set_len(head, payload.len());
        let place = layout.tcp + tcp::offset::CHECKSUM;
        put_u16(head, place, 0);
        let sum = layout.pseudo_header(head, layout.payload - layout.tcp + payload.len());
        let sum = sum.add_bytes(&head[layout.tcp..]).add_bytes(payload).checksum();
        put_u16(head, place, sum);
        Some([head, payload])
    }
}

/// Makes the headers of a frame those of the next one, which has no CWR (RFC 3168 section 6.1.2).
fn advance(head: &mut [u8], layout: &Layout, segment_len: usize) {
    let sequence = layout.tcp + tcp::offset::SEQUENCE;
    put_u32(head, sequence, u32_at(head, sequence).wrapping_add(segment_len as u32));
    head[layout.tcp + tcp::offset::FLAGS] &= !tcp::FLAG_CWR;
    if !layout.is_ipv6 {
        let id = layout.ip + ipv4::offset::IDENTIFICATION;
        put_u16(head, id, u16_at(head, id).wrapping_add(1));
    }
}

/// Completes a checksum that has the sum of the pseudo-header; none where it is outside.
fn complete(frame: &mut [u8], header: &Header) -> Option<()> {
    let covered = frame.get_mut(usize::from(header.checksum_start)..)?;
    let place = usize::from(header.checksum_offset);
    covered.get(place..place + 2)?;
    // Zero would say that UDP has none; both are the same number.
    let sum = match checksum::checksum(covered) {
        0 => 0xffff,
        sum => sum,
    };
    put_u16(covered, place, sum);
    Some(())
}

/// Longest headers of a segment that is cut: tags, extension headers of IPv6 and options included.
const HEAD_LEN_MAX: usize = 192;
