//! Bytes that are read one field after the other, and lengths that are written when they are known.

/// What is left to read. Whatever is taken and is not there yields `None`, and nothing is read
/// then.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Takes a number of bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes a fixed number of bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// Takes a number of one byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    /// Takes a number of two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// Takes a number of four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Takes a byte that says how many bytes follow, and those.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let len = ahead.u8()?;
        let taken = ahead.take(usize::from(len))?;
        *self = ahead;
        Some(taken)
    }

    /// Takes two bytes that say how many bytes follow, and those.
    pub fn counted_u16(&mut self) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let len = ahead.u16()?;
        let taken = ahead.take(usize::from(len))?;
        *self = ahead;
        Some(taken)
    }

    /// Returns true if nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reads a number of four bytes that are there.
pub(crate) fn u32_of(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Writes a length into the two bytes at a place that were left for it. Whoever calls it has seen
/// to it that the length fits.
pub(crate) fn put_len(out: &mut [u8], at: usize, len: usize) {
    debug_assert!(len <= usize::from(u16::MAX));
    out[at..at + 2].copy_from_slice(&(len as u16).to_be_bytes());
}
