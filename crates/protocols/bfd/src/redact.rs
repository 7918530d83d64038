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
        Some(2..=5) => DIGEST_AT,
        _ => PASSWORD_AT,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(section: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x55; HEADER_LEN];
        packet[..2].copy_from_slice(&[VERSION << 5, 0xc0 | AUTHENTICATION]);
        [&packet, section].concat()
    }

    #[test]
    fn passwords_and_digests_go_and_the_rest_stays() {
        let password = [1, 9, 7, b's', b'e', b'c', b'r', b'e', b't'];
        let mut digest = vec![4, 28, 7, 0, 0, 0, 0, 9];
        digest.extend([0xaa; 20]);
        // A type that is not known may hold anything.
        let unknown = [9, 9, 7, b's', b'e', b'c', b'r', b'e', b't'];
        for (section, kept) in [(&password[..], 3), (&digest, 8), (&unknown, 3)] {
            let before = packet(section);
            let mut after = before.clone();
            redact(&mut after);
            let kept = HEADER_LEN + kept;
            assert_eq!(after[..kept], before[..kept]);
            assert!(after[kept..].iter().all(|byte| *byte == 0), "{after:x?}");
        }
        // Without the A bit, and too short.
        for mut bytes in [[0x20; 40].to_vec(), vec![0x20, 0xc4, 1]] {
            let before = bytes.clone();
            redact(&mut bytes);
            assert_eq!(bytes, before);
        }
    }
}
