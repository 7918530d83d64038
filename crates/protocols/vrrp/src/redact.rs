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
