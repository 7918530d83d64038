//! The frames of the stream.
//!
//! ```text
//!  | version 1 | kind 1: netlink | length u16, big-endian, with this header | netlink messages |
//! ```

/// Why a stream is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A frame of another version, or one that carries something else than netlink.
    #[error("a frame is not of version 1 with netlink in it")]
    Header,
    /// A frame that is shorter than its header.
    #[error("a frame is shorter than its header")]
    Length,
    /// A frame whose messages do not fill it.
    #[error("a frame has no whole netlink messages in it")]
    Messages,
}

/// The stream's bytes that are no whole frame yet, fewer than 64 KiB.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    partial: Vec<u8>,
}

impl Framing {
    /// Hands each frame that these bytes complete to `take`, without its header.
    ///
    /// # Errors
    /// The first header that is none, or what `take` says; the stream is of no use any more.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        while !self.partial.is_empty() {
            // First the header, then what it says is missing.
            let wanted = frame_len(&self.partial)?.unwrap_or(HEADER_LEN);
            let missing = wanted - self.partial.len();
            let (more, rest) = bytes.split_at(missing.min(bytes.len()));
            self.partial.extend_from_slice(more);
            bytes = rest;
            match frame_len(&self.partial)? {
                Some(len) if len == self.partial.len() => {
                    take(&self.partial[HEADER_LEN..])?;
                    self.partial.clear();
                }
                _ if bytes.is_empty() => return Ok(()),
                _ => {}
            }
        }
        while let Some(len) = frame_len(bytes)? {
            let Some((frame, rest)) = bytes.split_at_checked(len) else { break };
            take(&frame[HEADER_LEN..])?;
            bytes = rest;
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }
}

/// The length of the frame that begins here; `None` if its header is not whole.
fn frame_len(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some([version, kind, high, low]) = bytes.first_chunk() else { return Ok(None) };
    if (*version, *kind) != (VERSION, KIND_NETLINK) {
        return Err(Malformed::Header);
    }
    match usize::from(u16::from_be_bytes([*high, *low])) {
        len if len < HEADER_LEN => Err(Malformed::Length),
        len => Ok(Some(len)),
    }
}

/// Bytes of a frame's header.
pub(crate) const HEADER_LEN: usize = 4;

const VERSION: u8 = 1;

const KIND_NETLINK: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames of a stream that comes in pieces of a length.
    fn frames(stream: &[u8], piece: usize) -> Result<Vec<Vec<u8>>, Malformed> {
        let (mut framing, mut all) = (Framing::default(), Vec::new());
        for bytes in stream.chunks(piece) {
            framing.feed(bytes, |frame| {
                all.push(frame.to_vec());
                Ok(())
            })?;
        }
        Ok(all)
    }

    #[test]
    fn frames_are_found_whatever_the_pieces() {
        let stream = [1, 1, 0, 6, 7, 8, 1, 1, 0, 4, 1, 1, 0, 7, 1, 1, 0, 1, 1];
        let all = [vec![7, 8], vec![], vec![1, 1, 0]];
        for piece in 1..stream.len() {
            assert_eq!(frames(&stream, piece).as_deref(), Ok(&all[..]), "pieces of {piece}");
        }
    }

    #[test]
    fn what_is_no_frame_ends_the_stream() {
        for piece in 1..9 {
            assert_eq!(frames(&[1, 1, 0, 4, 2, 1, 0, 4], piece), Err(Malformed::Header));
            assert_eq!(frames(&[1, 1, 0, 4, 1, 2, 0, 4], piece), Err(Malformed::Header));
            assert_eq!(frames(&[1, 1, 0, 4, 1, 1, 0, 3], piece), Err(Malformed::Length));
        }
    }
}
