//! Options as both versions have them: a code, a length, a value; and numbers in them.

/// Options of one length field after another: `N` bytes of code, `N` of length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Items<'a, const N: usize> {
    rest: &'a [u8],
}

impl<'a, const N: usize> Items<'a, N> {
    /// The options of an area.
    pub fn new(area: &'a [u8]) -> Self {
        Items { rest: area }
    }

    /// What was not read yet: empty when the area was well formed.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a, const N: usize> Iterator for Items<'a, N> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        // In version 4 a code of 0 is padding and 255 is the end.
        while N == 1 && self.rest.first() == Some(&0) {
            self.rest = &self.rest[1..];
        }
        if N == 1 && self.rest.first() == Some(&u8::MAX) {
            self.rest = &[];
            return None;
        }
        let (code, behind) = self.rest.split_first_chunk::<N>()?;
        let (len, behind) = behind.split_first_chunk::<N>()?;
        let value = behind.get(..usize::from(number(len)))?;
        self.rest = &behind[value.len()..];
        Some((number(code), value))
    }
}

/// A number of one or two bytes.
fn number<const N: usize>(bytes: &[u8; N]) -> u16 {
    bytes.iter().fold(0, |number, byte| number << 8 | u16::from(*byte))
}

/// The bytes at an offset; zeros past the end, where a check has let no caller come.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk().copied()).unwrap_or([0; N])
}
