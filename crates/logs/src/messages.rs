//! Messages of IPFIX one behind the other, as RFC 5655 has files of them.
//!
//! Nothing between two messages says where the next one begins, so one that is damaged could take
//! all behind it along. Here a message counts only if its sets fill exactly the length that its
//! header tells; where they do not, the next place is looked for where they do, and the bytes
//! between are counted. At most a buffer of the file is in memory.

use std::io::{ErrorKind, Read};
use std::iter::from_fn;

/// The messages of a file.
pub(crate) struct Messages<R> {
    source: R,
    buffer: Vec<u8>,
    /// What of the buffer is not read yet.
    from: usize,
    to: usize,
    /// Where in the file that begins, in bytes.
    place: u64,
    is_over: bool,
    /// What was no message.
    pub damage: Damage,
}

/// Bytes that were no message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    /// How many.
    pub bytes: u64,
    /// Where in the file the first of them is.
    pub first: u64,
}

/// A message.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a>(&'a [u8]);

impl<R: Read> Messages<R> {
    /// Those of a file from a place on.
    pub fn new(source: R, place: u64) -> Messages<R> {
        let buffer = vec![0; BUFFER_LEN];
        Messages {
            source,
            buffer,
            from: 0,
            to: 0,
            place,
            is_over: false,
            damage: Damage::default(),
        }
    }

    /// Where in the file the next message is looked for, in bytes.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// The next message; none at the end.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn next(&mut self) -> std::io::Result<Option<Message<'_>>> {
        loop {
            self.fill()?;
            let rest = &self.buffer[self.from..self.to];
            if rest.is_empty() {
                return Ok(None);
            }
            if let Some(len) = Message::len_of(rest) {
                let from = self.from;
                self.advance(len);
                return Ok(Some(Message(&self.buffer[from..from + len])));
            }
            let next = rest[1..].windows(2).position(|two| two == VERSION.to_be_bytes());
            // The last byte may be the first one of the next version.
            let skipped = next.map_or_else(|| (rest.len() - 1).max(1), |next| next + 1);
            if self.damage.bytes == 0 {
                self.damage.first = self.place;
            }
            self.damage.bytes += skipped as u64;
            self.advance(skipped);
        }
    }

    fn advance(&mut self, len: usize) {
        self.from += len;
        self.place += len as u64;
    }

    /// Reads until the longest message would be there, or the file is over.
    fn fill(&mut self) -> std::io::Result<()> {
        if self.to - self.from >= MESSAGE_MAX || self.is_over {
            return Ok(());
        }
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        while self.to < self.buffer.len() {
            match self.source.read(&mut self.buffer[self.to..]) {
                Ok(0) => {
                    self.is_over = true;
                    break;
                }
                Ok(len) => self.to += len,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl<'a> Message<'a> {
    /// The length of the message at the front of bytes; none if there is none that is whole.
    fn len_of(bytes: &[u8]) -> Option<usize> {
        let len = usize::from(u16_at(bytes, 2)?);
        if u16_at(bytes, 0)? != VERSION || len < HEADER_LEN {
            return None;
        }
        let mut sets = bytes.get(HEADER_LEN..len)?;
        while !sets.is_empty() {
            let len = usize::from(u16_at(sets, 2)?);
            sets = sets.get(len..).filter(|_| len >= SET_HEADER_LEN)?;
        }
        Some(len)
    }

    /// Its observation domain.
    pub fn domain(self) -> u32 {
        self.0[12..16].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
    }

    /// Its sets: of what kind, and what stands behind the header.
    pub fn sets(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut sets = &self.0[HEADER_LEN..];
        from_fn(move || {
            let (id, len) = (u16_at(sets, 0)?, usize::from(u16_at(sets, 2)?));
            let (set, rest) = sets.split_at_checked(len)?;
            sets = rest;
            Some((id, set.get(SET_HEADER_LEN..)?))
        })
    }
}

/// A number at a place.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// The version of the protocol (RFC 7011 section 3.1).
const VERSION: u16 = 10;
/// Length of a message's header in bytes.
const HEADER_LEN: usize = 16;
/// Length of a set's header in bytes (RFC 7011 section 3.3.2).
const SET_HEADER_LEN: usize = 4;
/// The longest message in bytes.
const MESSAGE_MAX: usize = u16::MAX as usize;
/// Bytes of a file in memory.
const BUFFER_LEN: usize = 8 * (MESSAGE_MAX + 1);

#[cfg(test)]
mod tests {
    use super::*;

    /// A message with sets of nothing but zeros, behind their headers.
    fn message(domain: u8, sets: &[u16]) -> Vec<u8> {
        let mut bytes = vec![0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, domain];
        for len in sets {
            bytes.extend_from_slice(&[1, 0, 0, 0]);
            let at = bytes.len();
            bytes[at - 2..].copy_from_slice(&(len + 4).to_be_bytes());
            bytes.resize(at + usize::from(*len), 0);
        }
        let len = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&len.to_be_bytes());
        bytes
    }

    /// Gives little at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let len = self.0.len().min(buffer.len()).min(7);
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    /// The domains of the messages that are found, and what is none.
    fn found(bytes: &[u8]) -> (Vec<u32>, Damage) {
        let mut messages = Messages::new(Slow(bytes), 0);
        let mut domains = Vec::new();
        while let Some(message) = messages.next().expect("memory can be read") {
            domains.push(message.domain());
        }
        assert_eq!(messages.place(), bytes.len() as u64);
        (domains, messages.damage)
    }

    #[test]
    fn messages_are_found_behind_what_is_damaged() {
        let [first, second, third] =
            [message(1, &[20, 8]), message(2, &[40]), message(3, &[6, 0, 6])];
        let (len, all) = (first.len(), [first.clone(), second.clone(), third.clone()].concat());
        assert_eq!(found(&all), (vec![1, 2, 3], Damage::default()));
        // A byte of the second one's lengths lies, in either direction, or its version does.
        for (at, byte) in [(3, 0), (3, 255), (2, 200), (19, 0), (19, 30), (19, 255), (1, 9)] {
            let mut bytes = all.clone();
            bytes[len + at] = byte;
            let damage = Damage { bytes: second.len() as u64, first: len as u64 };
            assert_eq!(found(&bytes), (vec![1, 3], damage), "{at} {byte}");
        }
        // Cut anywhere, and begun in the middle.
        for cut in len + second.len() + 1..all.len() {
            let bytes = (cut - len - second.len()) as u64;
            let damage = Damage { bytes, first: (len + second.len()) as u64 };
            assert_eq!(found(&all[..cut]), (vec![1, 2], damage));
        }
        for cut in 1..len {
            let damage = Damage { bytes: (len - cut) as u64, first: 0 };
            assert_eq!(found(&all[cut..]), (vec![2, 3], damage));
        }
    }

    #[test]
    fn long_files_are_read_by_pieces() {
        let one = message(7, &[60_000]);
        let (times, gap) = (40, vec![3; 1_000_000]);
        let many = [one.repeat(times), gap.clone(), one.repeat(times)].concat();
        let (domains, damage) = found(&many);
        assert_eq!(domains, vec![7; 2 * times]);
        let first = (one.len() * times) as u64;
        assert_eq!(damage, Damage { bytes: gap.len() as u64, first });
    }
}
