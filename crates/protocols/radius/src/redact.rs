//! What a trace may hold of a packet: everything but passwords and what may hide some.

use std::ops::RangeInclusive;

use crate::attributes::kind;
use crate::packet::HEADER_LEN;

/// Overwrites the values of attributes that are or may be secrets: passwords, hidden or answered,
/// what EAP and its like say, whatever vendors write behind their number, and extended attributes,
/// which may be those of vendors or hold others. From where an attribute has no right length on,
/// everything goes.
pub fn redact(message: &mut [u8]) {
    let mut at = HEADER_LEN;
    if message.len() < HEADER_LEN {
        at = 0;
    }
    while let Some(&[kind, len]) = message.get(at..at + 2).filter(|_| at > 0) {
        let (begin, end) = (at, at + usize::from(len));
        if len < 2 || end > message.len() {
            break;
        }
        let kept = match kind {
            kind::VENDOR_SPECIFIC => 6,
            kind if SECRET.contains(&kind) || EXTENDED.contains(&kind) => 2,
            _ => usize::from(len),
        };
        message[(begin + kept).min(end)..end].fill(0);
        at = end;
    }
    message[at..].fill(0);
}

/// Attributes whose values are or may be secrets.
const SECRET: [u8; 9] = [
    kind::USER_PASSWORD,
    kind::CHAP_PASSWORD,
    kind::TUNNEL_PASSWORD,
    70, // ARAP-Password
    74, // ARAP-Security-Data
    kind::EAP_MESSAGE,
    84,  // ARAP-Challenge-Response
    103, // Digest-Response
    121, // Digest-HA1
];

/// Extended attributes (RFC 6929).
const EXTENDED: RangeInclusive<u8> = 241..=246;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let header = [&[1, 1, 0, 0][..], &[9; 16]].concat();
        let attributes = [
            &[1, 6, b'n', b'a', b'm', b'e'][..],
            &[2, 8, b's', b'e', b'c', b'r', b'e', b't'],
            &[26, 12, 0, 0, 0, 9, 1, 6, b's', b'e', b'c', b'r'],
            &[8, 6, 192, 0, 2, 1],
        ];
        let before = [&header[..], &attributes.concat()].concat();
        let mut after = before.clone();
        redact(&mut after);
        assert!(!after.windows(3).any(|three| three == b"sec"), "{after:?}");
        assert_eq!(after[..28], before[..28]);
        assert_eq!(after[34..40], before[34..40], "the vendor's number");
        assert_eq!(after[before.len() - 6..], before[before.len() - 6..]);
        // Cut off, or with a length that lies: more is hidden rather than less.
        for (at, value) in [(21, 0), (21, 1), (27, 200), (35, 1)] {
            let mut bytes = before.clone();
            bytes[at] = value;
            redact(&mut bytes);
            assert!(!bytes.windows(3).any(|three| three == b"sec"), "{bytes:?}");
        }
        let mut short = b"secret".to_vec();
        redact(&mut short);
        assert_eq!(short, [0; 6]);
        redact(&mut []);
    }

    #[test]
    fn values_of_each_type_that_may_be_a_secret_go() {
        let secret = [2, 3, 26, 69, 70, 74, 79, 84, 103, 121, 241, 242, 243, 244, 245, 246];
        for kind in 1..=u8::MAX {
            let mut message = [&[1, 1, 0, 28][..], &[9; 16], &[kind, 8], b"secret"].concat();
            redact(&mut message);
            let is_hidden = !message.windows(3).any(|three| three == b"ret");
            assert_eq!(is_hidden, secret.contains(&kind), "type {kind}");
            assert_eq!(message[20..22], [kind, 8]);
        }
    }
}
