//! Messages in a stream of bytes that comes in pieces of any size.

use crate::message::{HEADER_LEN, KINDS, Kind, Message};
use crate::notification::{BAD_KIND, BAD_LENGTH, NOT_SYNCHRONISED, Notification};

/// The bytes of a stream that are no whole message yet: fewer than the longest message has. A
/// message that lies whole in a piece is not copied.
#[derive(Debug, Default)]
pub struct Framing {
    partial: Vec<u8>,
    /// Whether the message in there was handed out.
    is_done: bool,
}

impl Framing {
    /// Takes the next message of what is left of a piece; `None` when the piece has no more whole
    /// ones, and nothing is left of it then. Most bytes of a message are those of this session,
    /// which may change with each message.
    ///
    /// # Errors
    /// With what the peer is to be told; the stream is of no use any more (RFC 4271 section 6.1).
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
        len_max: usize,
    ) -> Result<Option<Message<'a>>, Notification> {
        if std::mem::take(&mut self.is_done) {
            self.partial.clear();
        }
        if self.partial.is_empty() {
            if let Some((kind, len)) = header(bytes, len_max)?
                && let Some((message, rest)) = bytes.split_at_checked(len)
            {
                *bytes = rest;
                return Ok(Some(Message { kind, body: &message[HEADER_LEN..] }));
            }
            self.partial.extend_from_slice(bytes);
            *bytes = &[];
            return Ok(None);
        }
        // First the header, then what it says is missing.
        self.fill(bytes, HEADER_LEN);
        let Some((kind, len)) = header(&self.partial, len_max)? else { return Ok(None) };
        self.fill(bytes, len);
        if self.partial.len() < len {
            return Ok(None);
        }
        self.is_done = true;
        Ok(Some(Message { kind, body: &self.partial[HEADER_LEN..] }))
    }

    /// Moves bytes until there are this many, or no more.
    fn fill(&mut self, bytes: &mut &[u8], len: usize) {
        let missing = len.saturating_sub(self.partial.len());
        let (more, rest) = bytes.split_at(missing.min(bytes.len()));
        self.partial.extend_from_slice(more);
        *bytes = rest;
    }
}

/// The kind and length of the message that begins here; `None` if its header is not whole.
fn header(bytes: &[u8], len_max: usize) -> Result<Option<(Kind, usize)>, Notification> {
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else { return Ok(None) };
    let [marker @ .., high, low, kind] = header;
    if *marker != [0xff; 16] {
        return Err(Notification::new(NOT_SYNCHRONISED));
    }
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    let bad_length = || Notification::with(BAD_LENGTH, &[*high, *low]);
    if !(HEADER_LEN..=len_max).contains(&len) {
        return Err(bad_length());
    }
    let Some(row) = KINDS.iter().find(|row| row.kind as u8 == *kind) else {
        return Err(Notification::with(BAD_KIND, &[*kind]));
    };
    if !(row.len_min..=row.len_max).contains(&len) {
        return Err(bad_length());
    }
    Ok(Some((row.kind, len)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{EXTENDED_LEN_MAX, LEN_MAX, begin, end, write_keepalive};

    fn message(kind: Kind, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let start = begin(kind, &mut out);
        out.extend(body);
        end(start, &mut out);
        out
    }

    /// The messages of a stream that comes in pieces of a length, up to the first error.
    fn messages(
        stream: &[u8],
        piece: usize,
        len_max: usize,
    ) -> (Vec<(Kind, Vec<u8>)>, Option<Notification>) {
        let (mut framing, mut all) = (Framing::default(), Vec::new());
        for mut bytes in stream.chunks(piece) {
            loop {
                match framing.next(&mut bytes, len_max) {
                    Ok(Some(message)) => all.push((message.kind, message.body.to_vec())),
                    Ok(None) => break,
                    Err(why) => return (all, Some(why)),
                }
            }
            assert!(bytes.is_empty() && framing.partial.len() < len_max);
        }
        (all, None)
    }

    #[test]
    fn messages_are_found_whatever_the_pieces() {
        let mut stream = Vec::new();
        write_keepalive(&mut stream);
        stream.extend(message(Kind::Update, &[1, 2, 3, 4, 5]));
        stream.extend(message(Kind::Open, &[7; 10]));
        write_keepalive(&mut stream);
        let (whole, why) = messages(&stream, stream.len(), LEN_MAX);
        assert_eq!((whole.len(), why), (4, None));
        assert_eq!(whole[1], (Kind::Update, vec![1, 2, 3, 4, 5]));
        for piece in 1..stream.len() {
            assert_eq!(messages(&stream, piece, LEN_MAX), (whole.clone(), None), "{piece}");
        }
    }

    #[test]
    fn a_whole_message_is_not_copied() {
        let stream = message(Kind::Update, &[0; 100]);
        let mut framing = Framing::default();
        let mut bytes = &stream[..];
        let found = framing.next(&mut bytes, LEN_MAX).unwrap().unwrap();
        assert_eq!(found.body.as_ptr(), stream[HEADER_LEN..].as_ptr());
    }

    #[test]
    fn headers_that_are_none_are_answered() {
        let header = |len: u16, kind: u8| {
            let [high, low] = len.to_be_bytes();
            [&[0xff; 16][..], &[high, low, kind]].concat()
        };
        let mut unmarked = header(19, 4);
        unmarked[15] = 0xfe;
        let bad = |len: u16| Notification::with(BAD_LENGTH, &len.to_be_bytes());
        for (stream, len_max, expected) in [
            (unmarked, LEN_MAX, Notification::new(NOT_SYNCHRONISED)),
            (header(18, 4), LEN_MAX, bad(18)),
            (header(0, 2), LEN_MAX, bad(0)),
            (header(20, 4), LEN_MAX, bad(20)),
            (header(22, 2), LEN_MAX, bad(22)),
            (header(20, 3), LEN_MAX, bad(20)),
            (header(28, 1), LEN_MAX, bad(28)),
            (header(22, 5), LEN_MAX, bad(22)),
            (header(4097, 2), LEN_MAX, bad(4097)),
            (header(4097, 1), EXTENDED_LEN_MAX, bad(4097)),
            (header(19, 0), LEN_MAX, Notification::with(BAD_KIND, &[0])),
            (header(19, 6), LEN_MAX, Notification::with(BAD_KIND, &[6])),
        ] {
            for piece in [1, 7, 19] {
                assert_eq!(messages(&stream, piece, len_max), (vec![], Some(expected.clone())));
            }
        }
    }

    #[test]
    fn extended_messages_are_taken_where_they_are_agreed_on() {
        let body = vec![3; EXTENDED_LEN_MAX - HEADER_LEN];
        let stream = [message(Kind::Update, &body), message(Kind::Update, &[0; 4])].concat();
        for piece in [1000, 4096, stream.len()] {
            let (found, why) = messages(&stream, piece, EXTENDED_LEN_MAX);
            assert_eq!((found.len(), why), (2, None));
            assert_eq!(found[0].1, body);
        }
    }
}
