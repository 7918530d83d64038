//! A message as it grows: bytes behind the room for the headers, in a buffer that is allocated
//! once.

use std::fmt;

/// A message that is being written.
pub(super) struct Message {
    buffer: Box<[u8]>,
    /// Where the message begins, behind the headers.
    start: usize,
    /// Where the next byte goes.
    end: usize,
    /// Up to where it may go.
    limit: usize,
}

impl Message {
    /// An empty one for frames of up to `frame_max` bytes, headers included.
    pub fn new(headers_len: usize, frame_max: usize) -> Message {
        let buffer = vec![0; frame_max.max(headers_len)].into();
        Message { buffer, start: headers_len, end: headers_len, limit: frame_max }
    }

    /// Forgets what stands there, and takes frames of so many bytes at most from now on.
    pub fn clear(&mut self, frame_max: usize) {
        self.end = self.start;
        self.limit = frame_max.min(self.buffer.len());
    }

    /// Whether nothing stands there.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.end == self.start
    }

    /// Length of the message in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// How many more bytes it takes.
    #[inline]
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.end)
    }

    /// The next so many bytes, to be written; none where they do not fit.
    #[inline]
    pub fn grow(&mut self, len: usize) -> Option<&mut [u8]> {
        if len > self.room() {
            return None;
        }
        let at = self.end;
        self.end += len;
        Some(&mut self.buffer[at..self.end])
    }

    /// Adds bytes; tells whether they fit.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> bool {
        self.grow(bytes.len()).map(|room| room.copy_from_slice(bytes)).is_some()
    }

    /// What was written so far.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.end]
    }

    /// The frame: room for the headers, then the message.
    pub fn frame_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.end]
    }
}

/// For addresses of IPv6, whose text is not worth a writer of its own.
impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.put(text.as_bytes()) { Ok(()) } else { Err(fmt::Error) }
    }
}
