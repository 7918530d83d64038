//! Bytes that are taken from the front.

/// What is left of some bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octets<'a>(pub &'a [u8]);

impl<'a> Octets<'a> {
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// Takes as many bytes as the two before them say.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let len = self.u16()?;
        self.take(len.into())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
