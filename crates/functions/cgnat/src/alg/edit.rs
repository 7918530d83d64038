//! Replacing parts of a payload, all or none of them.

use std::fmt::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;

use super::{List, Reason, UNITS_MAX};

/// A part of a payload that is new: a message or line up to the last byte that was replaced.
///
/// It begins where the message does, so that whoever must send it again begins where it can be
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Where it begins in the old payload.
    pub at: u16,
    /// Bytes that it had.
    pub old_len: u16,
    /// Bytes that it has.
    pub new_len: u16,
}

/// What stands in the place of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// `192.0.2.1`
    Address(Ipv4Addr),
    /// `192.0.2.1:5060`
    Endpoint(SocketAddrV4),
    /// `192,0,2,1,19,196` (RFC 959 section 4.1.2)
    Commas(SocketAddrV4),
    /// `192.0.2.1|5060`, with that character between (RFC 2428 section 2)
    Between(SocketAddrV4, char),
    /// `5060`
    Number(u32),
    /// Two octets.
    Octets([u8; 2]),
}

impl Text {
    fn bytes(self) -> Bytes {
        let mut bytes = Bytes { room: [0; TEXT_LEN_MAX], len: 0 };
        // The longest text fits, so nothing can fail.
        let _ = match self {
            Text::Address(address) => write!(bytes, "{address}"),
            Text::Endpoint(endpoint) => write!(bytes, "{endpoint}"),
            Text::Commas(endpoint) => {
                let [a, b, c, d] = endpoint.ip().octets();
                let [high, low] = endpoint.port().to_be_bytes();
                write!(bytes, "{a},{b},{c},{d},{high},{low}")
            }
            Text::Between(endpoint, between) => {
                write!(bytes, "{}{between}{}", endpoint.ip(), endpoint.port())
            }
            Text::Number(number) => write!(bytes, "{number}"),
            Text::Octets(octets) => {
                bytes.room[..2].copy_from_slice(&octets);
                bytes.len = 2;
                Ok(())
            }
        };
        bytes
    }
}

/// A replacement.
#[derive(Clone, Copy, Debug)]
struct Edit {
    /// Where its message begins.
    unit: usize,
    start: usize,
    end: usize,
    text: Text,
}

/// Replacements that do not overlap, in any order within a message.
#[derive(Debug)]
pub(super) struct Edits {
    list: List<Edit, EDITS_MAX>,
    unit: usize,
}

impl Edits {
    /// None yet.
    pub fn new() -> Edits {
        Edits { list: List::new(), unit: 0 }
    }

    /// A message begins here. Tells how many replacements there were before.
    pub fn begin(&mut self, unit: usize) -> usize {
        self.unit = unit;
        self.list.len()
    }

    /// Keeps the first so many.
    pub fn undo(&mut self, len: usize) {
        self.list.truncate(len);
    }

    /// Messages with replacements.
    pub fn units(&self) -> usize {
        let next = self.list.iter().skip(1);
        let changes = self.list.iter().zip(next).filter(|(one, next)| one.unit != next.unit);
        changes.count() + usize::from(!self.list.is_empty())
    }

    /// Puts a text into the place of something.
    pub fn replace(&mut self, place: Range<usize>, text: Text) -> Result<(), Reason> {
        let edit = Edit { unit: self.unit, start: place.start, end: place.end, text };
        self.list.push(edit).ok_or(Reason::TooMany)
    }

    /// By how many bytes the payload grows behind a place.
    pub fn growth_from(&self, place: usize) -> isize {
        let behind = self.list.iter().filter(|edit| edit.start >= place);
        behind.map(|edit| edit.text.bytes().len as isize - (edit.end - edit.start) as isize).sum()
    }

    /// Writes the new payload, and tells its length and what of it is new.
    pub fn write(
        &mut self,
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<(usize, List<Edited, UNITS_MAX>), Reason> {
        self.list.sort_by_key(|edit| edit.start);
        let mut edited = List::new();
        let (mut read, mut written) = (0, 0);
        // The message in hand: where it begins in the old and in the new payload.
        let mut unit: Option<(usize, usize)> = None;
        let mut edits = self.list.iter().filter(|edit| edit.is_change(payload)).peekable();
        while let Some(edit) = edits.next() {
            let kept = payload.get(read..edit.start).ok_or(Reason::Malformed)?;
            let (old_start, new_start) =
                *unit.get_or_insert((edit.unit, written + edit.unit.saturating_sub(read)));
            written = put(out, written, kept)?;
            written = put(out, written, edit.text.bytes().as_slice())?;
            read = edit.end;
            if edits.peek().is_none_or(|next| next.unit != edit.unit) {
                unit = None;
                let short = |len: usize| u16::try_from(len).map_err(|_| Reason::NoRoom);
                let one = Edited {
                    at: short(old_start)?,
                    old_len: short(read - old_start)?,
                    new_len: short(written - new_start)?,
                };
                edited.push(one).ok_or(Reason::TooMany)?;
            }
        }
        if edited.is_empty() {
            return Ok((payload.len(), edited));
        }
        written = put(out, written, &payload[read..])?;
        Ok((written, edited))
    }
}

impl Edit {
    /// Whether it changes anything.
    fn is_change(&self, payload: &[u8]) -> bool {
        payload.get(self.start..self.end) != Some(self.text.bytes().as_slice())
    }
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) -> Result<usize, Reason> {
    let end = at + bytes.len();
    out.get_mut(at..end).ok_or(Reason::NoRoom)?.copy_from_slice(bytes);
    Ok(end)
}

/// A written text.
struct Bytes {
    room: [u8; TEXT_LEN_MAX],
    len: usize,
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        &self.room[..self.len]
    }
}

impl Write for Bytes {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.room.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// Replacements in one payload.
pub const EDITS_MAX: usize = 48;

/// `255,255,255,255,255,255` is the longest.
const TEXT_LEN_MAX: usize = 24;
