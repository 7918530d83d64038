//! The template format: a number in front of a payload.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                            Number                             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::{Law, Malformed, bytes};

/// The length of the header in bytes.
pub const HEADER_LEN: usize = 4;

/// A packet that was checked.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that the header is whole.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    #[inline]
    pub fn parse(packet: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = packet.split_first_chunk().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// What follows the header.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as values.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields { number: bytes::u32_at(self.header, 0) }
    }
}

/// A header as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The number.
    pub number: u32,
}

impl Fields {
    /// Writes the whole header.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        bytes::put_u32(header, 0, self.number);
    }
}

/// The law of this module.
pub const LAW: Law = Law { name: "template", holds: law, examples: &[&[0, 0, 0, 1]] };

/// What is accepted is written back the same.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    view.fields().emit(&mut written);
    assert_eq!([&written[..], view.payload()].concat(), data);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_packet_is_refused() {
        assert_eq!(View::parse(&[0; 3]).unwrap_err(), Malformed::Truncated);
        assert_eq!(View::parse(&[0, 0, 1, 0]).unwrap().fields(), Fields { number: 256 });
    }
}
