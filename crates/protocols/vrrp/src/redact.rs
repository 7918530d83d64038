//! What a trace of messages must not show: the password of a router that speaks VRRP version 2
//! (RFC 2338 section 5.3.10). Version 3 has no secret.

use wire::bytes::array_at;
use wire::{ethernet, ipv4};

use crate::packet::PROTOCOL_NUMBER;

/// Overwrites the authentication data of an advertisement of version 2, in a frame or alone.
pub fn redact(message: &mut [u8]) {
    let begin = begin_of_payload(message).unwrap_or(0);
    let Some(advertisement) = message.get_mut(begin..) else { return };
    let Some([version, _, _, count, authentication, ..]) = advertisement.first_chunk::<5>() else {
        return;
    };
    if version >> 4 == 2 && *authentication != 0 {
        let begin = HEADER_LEN + usize::from(*count) * ADDRESS_LEN;
        let begin = if begin < advertisement.len() { begin } else { HEADER_LEN };
        advertisement.iter_mut().skip(begin).for_each(|byte| *byte = 0);
    }
}

/// Where the payload of a frame begins, however damaged its header is; `None` if these bytes are
/// no frame of IPv4 with VRRP.
fn begin_of_payload(frame: &[u8]) -> Option<usize> {
    let packet = frame.get(ethernet::HEADER_LEN..)?;
    let version = *packet.get(ipv4::offset::VERSION_IHL)?;
    let is_vrrp = array_at::<2>(frame, ethernet::offset::TYPE) == TYPE_IPV4
        && version >> 4 == ipv4::VERSION
        && *packet.get(ipv4::offset::PROTOCOL)? == PROTOCOL_NUMBER;
    is_vrrp.then_some(ethernet::HEADER_LEN + usize::from(version & 15) * 4)
}

const TYPE_IPV4: [u8; 2] = ethernet::TYPE_IPV4.to_be_bytes();

/// What stands before the addresses.
const HEADER_LEN: usize = 8;

const ADDRESS_LEN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// An advertisement of version 2 with a password.
    fn advertisement() -> Vec<u8> {
        [&[0x21, 7, 100, 1, 1, 1, 0, 0, 10, 0, 0, 1][..], b"secret!!"].concat()
    }

    /// The same in a frame, with padding.
    fn frame() -> Vec<u8> {
        let mut frame = [0; ethernet::HEADER_LEN + ipv4::HEADER_LEN];
        frame[ethernet::offset::TYPE..][..2].copy_from_slice(&TYPE_IPV4);
        frame[ethernet::HEADER_LEN] = ipv4::VERSION_IHL;
        frame[ethernet::HEADER_LEN + ipv4::offset::PROTOCOL] = PROTOCOL_NUMBER;
        [&frame[..], &advertisement(), &[0; 6]].concat()
    }

    #[test]
    fn a_password_goes_and_the_rest_stays() {
        for before in [advertisement(), frame()] {
            let mut after = before.clone();
            redact(&mut after);
            let begin = before.windows(8).position(|bytes| bytes == b"secret!!").expect("there");
            assert_eq!(after[..begin], before[..begin]);
            assert!(after[begin..].iter().all(|byte| *byte == 0), "{after:x?}");
        }
        // Version 3, and one without a password.
        for (at, value) in [(0, 0x31), (4, 0)] {
            let mut before = advertisement();
            before[at] = value;
            let mut after = before.clone();
            redact(&mut after);
            assert_eq!(after, before);
        }
        // Cut off, or lying of its addresses: more is hidden rather than less.
        for (len, count) in [(11, 1), (20, 200), (3, 1), (0, 0)] {
            let mut bytes = advertisement();
            bytes[3] = count;
            bytes.truncate(len);
            redact(&mut bytes);
            assert!(!bytes.windows(3).any(|three| three == b"sec"), "{bytes:x?}");
        }
    }
}
