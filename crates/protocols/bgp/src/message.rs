//! The kinds of messages, and the header that each has (RFC 4271 section 4.1).
//!
//! ```text
//!  | marker, 16 bytes of ones | length u16, with this header | kind u8 | body |
//! ```

use crate::bytes::put_len;

/// A message as it lies in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its kind.
    pub kind: Kind,
    /// What follows its header.
    pub body: &'a [u8],
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The first message of each side.
    Open = 1,
    /// Routes.
    Update = 2,
    /// Why the session ends.
    Notification = 3,
    /// A sign of life.
    Keepalive = 4,
    /// Asks for all routes of a family (RFC 2918).
    RouteRefresh = 5,
}

/// What holds for the length of a kind of message.
pub(crate) struct Row {
    pub kind: Kind,
    /// The shortest one in bytes, with its header.
    pub len_min: usize,
    /// The longest one, unless the session has a lower limit.
    pub len_max: usize,
}

/// The kinds of messages; RFC 8654 extends all but OPEN and KEEPALIVE.
#[rustfmt::skip] // A line each.
pub(crate) const KINDS: &[Row] = &[
    Row { kind: Kind::Open, len_min: 29, len_max: LEN_MAX },
    Row { kind: Kind::Update, len_min: 23, len_max: EXTENDED_LEN_MAX },
    Row { kind: Kind::Notification, len_min: 21, len_max: EXTENDED_LEN_MAX },
    Row { kind: Kind::Keepalive, len_min: HEADER_LEN, len_max: HEADER_LEN },
    Row { kind: Kind::RouteRefresh, len_min: 23, len_max: EXTENDED_LEN_MAX },
];

/// Appends the header of a message whose length is not known yet; returns where it begins.
pub(crate) fn begin(kind: Kind, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend([0xff; 16]);
    out.extend([0, 0, kind as u8]);
    start
}

/// Writes the length of the message that begins at a place and ends where the bytes end.
pub(crate) fn end(start: usize, out: &mut [u8]) {
    let len = out.len() - start;
    put_len(out, start + 16, len);
}

/// Appends a KEEPALIVE.
pub fn write_keepalive(out: &mut Vec<u8>) {
    let start = begin(Kind::Keepalive, out);
    end(start, out);
}

/// Bytes of a header.
pub const HEADER_LEN: usize = 19;

/// Most bytes of a message.
pub const LEN_MAX: usize = 4096;

/// Most bytes of an extended message (RFC 8654).
pub const EXTENDED_LEN_MAX: usize = 65_535;
