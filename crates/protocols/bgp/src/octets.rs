//! Bytes of a route: as they lie in a message, or made of several pieces.

use std::fmt;

/// Bytes that lie in a message, or a few that do not lie there in one piece.
#[derive(Clone)]
pub enum Octets<'a> {
    /// They lie in the message.
    Wire(&'a [u8]),
    /// Made of several: bytes, of which the first ones count.
    Made([u8; MADE_LEN_MAX], u8),
}

/// Why a field of NLRI cannot be read (RFC 7606 section 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A route goes on beyond the field.
    #[error("a route is longer than what is left of the field")]
    Cut,
    /// More bits than an address has, or fewer than a label and a Route Distinguisher.
    #[error("a route has a number of bits that its family does not have")]
    Bits,
    /// A length that the type of a route does not have.
    #[error("a route has a length that its type does not have")]
    Length,
}

impl Octets<'_> {
    /// Makes one of several pieces, which have at most [`MADE_LEN_MAX`] bytes in all.
    pub(crate) fn of(pieces: &[&[u8]]) -> Octets<'static> {
        let (mut bytes, mut len) = ([0; MADE_LEN_MAX], 0);
        for piece in pieces {
            bytes[len..len + piece.len()].copy_from_slice(piece);
            len += piece.len();
        }
        Octets::Made(bytes, len as u8)
    }

    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Octets::Wire(bytes) => bytes,
            Octets::Made(bytes, len) => &bytes[..usize::from(*len)],
        }
    }

    /// Clears the bits of the last byte that lie behind a number of bits, of a prefix that was
    /// made.
    pub(crate) fn clear_behind(&mut self, bits: u8) {
        if let Octets::Made(bytes, len) = self
            && !bits.is_multiple_of(8)
        {
            bytes[usize::from(*len) - 1] &= mask(bits);
        }
    }
}

impl PartialEq for Octets<'_> {
    fn eq(&self, other: &Octets<'_>) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Octets<'_> {}

impl fmt::Debug for Octets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// A prefix on the wire with the bits behind its length cleared.
pub(crate) fn cleared(wire: &[u8], bits: u8) -> Octets<'_> {
    let last = wire.last().copied().unwrap_or(0);
    if bits.is_multiple_of(8) || last & !mask(bits) == 0 {
        return Octets::Wire(wire);
    }
    let mut made = Octets::of(&[wire]);
    made.clear_behind(bits);
    made
}

/// The bits of the last byte that a prefix has.
fn mask(bits: u8) -> u8 {
    0xff_u8.checked_shl(8 - u32::from(bits % 8)).unwrap_or(0xff)
}

/// Bytes of a number of bits.
pub(crate) fn bytes_of(bits: u8) -> usize {
    usize::from(bits).div_ceil(8)
}

/// Most bytes of a key or rest that does not lie in the message: those of an EVPN MAC address with
/// an IPv6 address.
pub const MADE_LEN_MAX: usize = 40;
