//! Lines of a text, one at a time, each of bounded length.

use std::io::{self, BufRead, Read};

/// Reads a text line by line into one buffer.
pub(crate) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub fn new(from: R) -> Lines<R> {
        Lines { from, buffer: Vec::new(), number: 0 }
    }

    /// Returns the number of the next line, from 1, and the line without its end, or what is wrong
    /// with it; none at the end.
    ///
    /// # Errors
    /// When the file cannot be read, or a line is too long to be one.
    pub fn next(&mut self) -> io::Result<Option<(u64, Result<&str, String>)>> {
        self.buffer.clear();
        let most = LINE_BYTES_MAX as u64 + 1;
        if self.from.by_ref().take(most).read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        } else if self.buffer.len() > LINE_BYTES_MAX {
            let what = format!(
                "line {} has more than {LINE_BYTES_MAX} bytes; is this a text?",
                self.number
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
        }
        let text = match self.number {
            1 => self.buffer.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&self.buffer),
            _ => &self.buffer,
        };
        let line = std::str::from_utf8(text).map_err(|_| "is not text in UTF-8".to_owned());
        Ok(Some((self.number, line)))
    }
}

/// Longest line in bytes.
pub const LINE_BYTES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_numbered() {
        let mut lines = Lines::new(&b"\xef\xbb\xbfa\r\n\n\xff\nlast"[..]);
        let mut told = Vec::new();
        while let Some((number, line)) = lines.next().expect("reads") {
            told.push((number, line.map(str::to_owned).ok()));
        }
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(told, [(1, text("a")), (2, text("")), (3, None), (4, text("last"))]);
        let long = vec![b'a'; LINE_BYTES_MAX + 1];
        assert!(Lines::new(&long[..]).next().is_err());
    }
}
