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

/// The frames that one comes to: the place of the next one in the frame that is cut.
#[derive(Clone, Debug)]
pub struct Segments {
    /// The headers of the next frame; empty where a frame is given as it is.
    head: [u8; HEAD_LEN_MAX],
    /// None where a frame is given as it is.
    cut: Option<Layout>,
    /// Where the next frame's payload begins, and where the last one's ends.
    at: usize,
    end: usize,
    segment_len: usize,
    /// Control bits of TCP that the last frame has beside the others'.
    flags_last: u8,
    is_first: bool,
    is_done: bool,
}

/// Makes a frame ready for a wire: completes its checksum, or finds where it is to be cut.
///
/// # Errors
/// Why it cannot be: then it is to be dropped.
pub fn segments(frame: &mut [u8], header: &Header) -> Result<Segments, Unfit> {
    if header.gso == Gso::None {
        if header.flags & Header::NEEDS_CHECKSUM != 0 {
            complete(frame, header).ok_or(Unfit::Checksum)?;
        }
        return Ok(Segments { at: 0, end: frame.len(), ..Segments::of_nothing() });
    }
    let layout = of_kind(frame, header)?;
    Segments::cut(frame, layout, header.segment_len.into())
}

/// The bytes of payload of a long segment that may be carried whole: it is of the kind that the
/// header says and all there is of the frame, and no router may fragment it, so that nobody on the
/// way has to do more with it than with one of its frames.
pub fn whole(frame: &[u8], header: &Header) -> Option<usize> {
    let layout = of_kind(frame, header).ok()?;
    let payload_len = layout.end - layout.payload;
    let count = payload_len.div_ceil(usize::from(header.segment_len).max(1));
    let is_usual = layout.payload <= HEAD_LEN_MAX && count <= SEGMENTS_MAX;
    (is_usual && layout.end == frame.len() && layout.stays_whole(frame)).then_some(payload_len)
}

/// The header of a long segment that somebody else is to cut, into pieces of at most this many
/// bytes of payload; its checksum is begun from the headers as they are now.
///
/// # Errors
/// When it is none.
pub fn begun(frame: &mut [u8], segment_len: u16) -> Result<Header, Unfit> {
    let layout = Layout::of(frame).ok_or(Unfit::NoSegment)?;
    let checksum_offset = layout.checksum_offset();
    let len = layout.end - layout.transport;
    let sum = layout.pseudo_header(frame, len).fold();
    put_u16(frame, layout.transport + checksum_offset, sum);
    Ok(Header {
        flags: Header::NEEDS_CHECKSUM,
        gso: layout.gso(),
        header_len: layout.payload as u16,
        segment_len,
        checksum_start: layout.transport as u16,
        checksum_offset: checksum_offset as u16,
    })
}

/// Completes the checksum of a frame of which nothing says whether its sender left that to a card.
/// One that is begun is the sum of the pseudo-header and nothing else; a whole one is that by
/// chance in one of 65,536 frames, and stays as it is. Returns whether the frame was changed.
pub fn complete_begun(frame: &mut [u8]) -> bool {
    let Some(layout) = Layout::of(frame) else { return false };
    let place = layout.transport + layout.checksum_offset();
    let found = u16_at(frame, place);
    if found != layout.pseudo_header(frame, layout.end - layout.transport).fold() {
        return false;
    }
    let (head, behind) = frame.split_at_mut(layout.payload);
    layout.set_checksum(head, &behind[..layout.end - layout.payload]);
    u16_at(head, place) != found
}

fn of_kind(frame: &[u8], header: &Header) -> Result<Layout, Unfit> {
    let layout = Layout::of(frame).ok_or(Unfit::NoSegment)?;
    if header.gso == layout.gso() { Ok(layout) } else { Err(Unfit::NoSegment) }
}

impl Segments {
    /// Of a long segment whose headers may have changed since it came: into pieces of at most this
    /// many bytes of payload.
    ///
    /// # Errors
    /// When it is none.
    pub fn of(frame: &[u8], segment_len: usize) -> Result<Segments, Unfit> {
        Segments::cut(frame, Layout::of(frame).ok_or(Unfit::NoSegment)?, segment_len)
    }

    fn cut(frame: &[u8], layout: Layout, segment_len: usize) -> Result<Segments, Unfit> {
        if layout.payload > HEAD_LEN_MAX {
            return Err(Unfit::NoSegment);
        }
        let payload_len = layout.end - layout.payload;
        if segment_len == 0 || payload_len.div_ceil(segment_len) > SEGMENTS_MAX {
            return Err(Unfit::TooMany);
        }
        let mut made = Segments {
            cut: Some(layout),
            at: layout.payload,
            end: layout.end,
            segment_len,
            ..Segments::of_nothing()
        };
        made.head[..layout.payload].copy_from_slice(&frame[..layout.payload]);
        if !layout.is_udp {
            let flags = &mut made.head[layout.transport + tcp::offset::FLAGS];
            made.flags_last = *flags & (tcp::FLAG_FIN | tcp::FLAG_PSH);
            *flags &= !made.flags_last;
        }
        Ok(made)
    }

    fn of_nothing() -> Segments {
        Segments {
            head: [0; HEAD_LEN_MAX],
            cut: None,
            at: 0,
            end: 0,
            segment_len: 0,
            flags_last: 0,
            is_first: true,
            is_done: false,
        }
    }

    /// Whether no frame is left.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The next frame, in two parts that follow each other, out of the frame that is cut.
    pub fn next_frame<'a>(&'a mut self, frame: &'a [u8]) -> Option<[&'a [u8]; 2]> {
        if self.is_done {
            return None;
        }
        let Some(layout) = self.cut else {
            self.is_done = true;
            return Some([&[], frame.get(self.at..self.end)?]);
        };
        let end = self.end.min(self.at + self.segment_len);
        let payload = frame.get(self.at..end)?;
        (self.at, self.is_done) = (end, end == self.end);
        let head = &mut self.head[..layout.payload];
        if !std::mem::take(&mut self.is_first) {
            advance(head, &layout, self.segment_len);
        }
        if self.is_done && !layout.is_udp {
            head[layout.transport + tcp::offset::FLAGS] |= self.flags_last;
        }
        layout.set_len(head, payload.len());
        layout.set_checksum(head, payload);
        Some([head, payload])
    }
}

/// Makes the headers of a frame those of the next one, which has no CWR (RFC 3168 section 6.1.2)
/// and another identification (RFC 6864 section 4.2).
fn advance(head: &mut [u8], layout: &Layout, segment_len: usize) {
    if !layout.is_udp {
        let sequence = layout.transport + tcp::offset::SEQUENCE;
        put_u32(head, sequence, u32_at(head, sequence).wrapping_add(segment_len as u32));
        head[layout.transport + tcp::offset::FLAGS] &= !tcp::FLAG_CWR;
    }
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
