//! Long segments: a frame that stands for many, which a network card would make of it.
//!
//! A kernel hands its card up to 64 KiB of a connection behind one set of headers. Such a frame is
//! carried whole where all on its way allow it, so that one look-up serves for all of its pieces.

use std::num::NonZeroU16;

/// Into what a long segment is cut: pieces of the payload of TCP or UDP, each behind the headers.
///
/// While a frame is one, its transport checksum means nothing, whatever a function writes there:
/// whoever cuts it, or tells a card to do so, computes it from the headers as they are then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Long {
    payload_len: u16,
    piece_len: NonZeroU16,
}

impl Long {
    /// A segment with this number of bytes behind its headers, in pieces of at most `piece_len`;
    /// `None` where it comes to a single piece.
    pub fn new(payload_len: usize, piece_len: u16) -> Option<Long> {
        let piece_len = NonZeroU16::new(piece_len)?;
        let payload_len = u16::try_from(payload_len).ok()?;
        (payload_len > piece_len.get()).then_some(Long { payload_len, piece_len })
    }

    /// Bytes behind the headers.
    #[inline]
    pub fn payload_len(self) -> usize {
        self.payload_len.into()
    }

    /// Most bytes of payload in a piece.
    #[inline]
    pub fn piece_len(self) -> usize {
        self.piece_len.get().into()
    }

    /// How many pieces it comes to.
    #[inline]
    pub fn pieces(self) -> usize {
        self.payload_len().div_ceil(self.piece_len())
    }

    /// Returns it as a word, which is never 0.
    pub fn to_word(self) -> u32 {
        u32::from(self.payload_len) << 16 | u32::from(self.piece_len.get())
    }

    /// Returns what [`Long::to_word`] made a word of; `None` of what it made none of, such as 0.
    pub fn from_word(word: u32) -> Option<Long> {
        Long::new((word >> 16) as usize, word as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_piece_is_nothing_long() {
        assert_eq!(Long::new(1448, 1448), None);
        assert_eq!(Long::new(1448, 0), None);
        assert_eq!(Long::new(65_536, 1448), None, "more than a packet holds");
        let long = Long::new(1449, 1448).expect("two pieces");
        assert_eq!((long.pieces(), long.payload_len(), long.piece_len()), (2, 1449, 1448));
        assert_eq!(Long::from_word(long.to_word()), Some(long));
        assert_eq!(Long::from_word(0), None);
    }
}
