//! Netlink's messages and attributes, as Linux has them (`netlink(7)`, `rtnetlink(7)`).
//!
//! ```text
//!  message    | length u32 | type u16 | flags u16 | sequence u32 | port u32 | body, attributes |
//!  attribute  | length u16 | type u16 | value |
//! ```
//! Lengths count their headers, and whatever follows begins at a multiple of 4 bytes. Numbers are
//! in the order of the host that wrote them, which has to be a little-endian one.

/// A message, read no further than its header.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What it is about.
    pub kind: u16,
    /// Flags, by what it is about.
    pub flags: u16,
    /// The number of the question to which it answers; 0 for what nobody asked.
    pub sequence: u32,
    /// What follows its header.
    pub body: &'a [u8],
}

/// Splits the first message off. The padding behind the last one may be missing.
pub fn split_message<'a>(bytes: &mut &'a [u8]) -> Option<Message<'a>> {
    let len = u32_at(bytes, 0)? as usize;
    let (kind, flags) = (u16_at(bytes, 4)?, u16_at(bytes, 6)?);
    let sequence = u32_at(bytes, 8)?;
    let body = bytes.get(MESSAGE_LEN..len)?;
    *bytes = bytes.get(aligned(len)..).unwrap_or(&[]);
    Some(Message { kind, flags, sequence, body })
}

/// Writes a message without attributes.
pub(crate) fn message(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MESSAGE_LEN + body.len());
    bytes.extend(((MESSAGE_LEN + body.len()) as u32).to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(body);
    bytes
}

/// Writes an attribute behind others.
pub(crate) fn attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend(((ATTRIBUTE_LEN + value.len()) as u16).to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(value);
    bytes.resize(aligned(bytes.len()), 0);
}

/// Returns what the kernel says of a question: zero, or the number of an error, negated; `None` if
/// this is no such answer.
pub fn acknowledged(mut bytes: &[u8]) -> Option<i32> {
    let message = split_message(&mut bytes).filter(|message| message.kind == ERROR)?;
    u32_at(message.body, 0).map(|code| code as i32)
}

/// Splits the first attribute off: its type without the flags of nesting and byte order, and its
/// value. The padding behind the last one may be missing.
pub(crate) fn split_attribute<'a>(bytes: &mut &'a [u8]) -> Option<(u16, &'a [u8])> {
    let len = usize::from(u16_at(bytes, 0)?);
    let kind = u16_at(bytes, 2)? & KIND_MASK;
    let value = bytes.get(ATTRIBUTE_LEN..len)?;
    *bytes = bytes.get(aligned(len)..).unwrap_or(&[]);
    Some((kind, value))
}

/// The number at a place of the bytes; `None` behind their end.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

/// As [`u16_at`], of four bytes.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The number that is the whole value of an attribute.
pub(crate) fn u32_of(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_le_bytes)
}

/// Where what follows this many bytes begins.
pub(crate) fn aligned(len: usize) -> usize {
    len.next_multiple_of(4)
}

/// The kind of an answer to one question.
pub(crate) const ERROR: u16 = 2;

/// Bytes of a message's header.
const MESSAGE_LEN: usize = 16;

/// Bytes of an attribute's header.
const ATTRIBUTE_LEN: usize = 4;

/// The bits of an attribute's type that are no flags.
const KIND_MASK: u16 = 0x3fff;
