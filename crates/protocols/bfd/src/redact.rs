//! What a trace of messages must not show: the password of a control packet, and the digests by
//! which keys could be guessed (RFC 5880 section 4).

use protocol_kit::{Content, Trace};

use crate::packet::HEADER_LEN;

/// What a trace may hold.
pub const TRACE: Trace = Trace { protocol: "bfd", content: Content::Redacted(redact) };

/// Overwrites the password or digest of a control packet, whether it is well-formed or not. An
/// Echo packet has none.
pub fn redact(packet: &mut [u8]) {
    let Some((header, section)) = packet.split_first_chunk_mut::<HEADER_LEN>() else { return };
    if header[0] >> 5 != VERSION || header[1] & AUTHENTICATION == 0 {
        return;
    }
    let begin = match section.first() {
        Some(1) => PASSWORD_AT,
        _ => DIGEST_AT,
    };
    section.iter_mut().skip(begin).for_each(|byte| *byte = 0);
}

const VERSION: u8 = 1;

/// The A bit.
const AUTHENTICATION: u8 = 0x04;

/// What stands before a password in its section: type, length, key.
const PASSWORD_AT: usize = 3;

/// What stands before a digest: the same, a reserved byte and the sequence number.
const DIGEST_AT: usize = 8;
