//! Text of a fixed length in control messages, padded with zeroes.

use std::fmt;

/// A text of at most `N - 1` bytes with a terminating zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<const N: usize>([u8; N]);

impl<const N: usize> Text<N> {
    /// Creates a text from as many bytes as fit before the terminating zero.
    pub fn new(text: &str) -> Text<N> {
        let mut bytes = [0; N];
        let len = text.len().min(N - 1);
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Text(bytes)
    }

    /// Creates a text from bytes of a peer, which may be any.
    pub fn from_bytes(bytes: [u8; N]) -> Text<N> {
        Text(bytes)
    }

    /// Returns all bytes, with the padding.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bytes up to the first zero, or all bytes without one.
    pub fn content(&self) -> &[u8] {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(N);
        &self.0[..end]
    }

    /// Compares two secrets in a time that does not depend on the position of a difference.
    pub fn same_secret(&self, other: &Text<N>) -> bool {
        let (one, two) = (Text::<N>::padded(self.content()), Text::<N>::padded(other.content()));
        one.iter().zip(&two).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }

    fn padded(content: &[u8]) -> [u8; N] {
        let mut bytes = [0; N];
        bytes[..content.len()].copy_from_slice(content);
        bytes
    }
}

/// Prints only printable characters, because a peer's text may contain anything.
impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &byte in self.content() {
            let printable = byte == b' ' || byte.is_ascii_graphic();
            fmt::Write::write_char(f, if printable { char::from(byte) } else { '?' })?;
        }
        Ok(())
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_padded_and_printed_safely() {
        assert_eq!(Text::<4>::new("abcdef").to_string(), "abc");
        assert_eq!(Text::from_bytes(*b"a\n\x1b\xff").to_string(), "a???");
        assert_eq!(Text::from_bytes(*b"ab\0d").content(), b"ab");
    }

    #[test]
    fn secrets_are_compared_up_to_their_end() {
        assert!(Text::from_bytes(*b"ab\0x").same_secret(&Text::from_bytes(*b"ab\0y")));
        assert!(!Text::<4>::new("ab").same_secret(&Text::new("abc")));
        assert!(!Text::<4>::new("").same_secret(&Text::new("a")));
    }
}
