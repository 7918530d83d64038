//! What a trace of payloads must not show: passwords of PAP, and responses of CHAP, by which a weak
//! secret can be guessed.

use crate::packet::{chap, pap, protocol};

/// Overwrites the secrets of a payload (the Protocol field and what follows), however damaged it
/// is.
pub fn redact(payload: &mut [u8]) {
    let Some([high, low, code, _, _, _, len]) = payload.first_chunk::<SECRET_AT>().copied() else {
        return;
    };
    let secret = &mut payload[SECRET_AT..];
    match (u16::from_be_bytes([high, low]), code) {
        // Behind the name, or all of it if that has no end.
        (protocol::PAP, pap::REQUEST) => {
            let name = usize::from(len);
            let begin = if name < secret.len() { name } else { 0 };
            secret[begin..].fill(0);
        }
        (protocol::CHAP, chap::RESPONSE) => {
            let end = usize::from(len).min(secret.len());
            secret[..end].fill(0);
        }
        _ => {}
    }
}

/// Where the first counted field of PAP or CHAP has its first byte.
const SECRET_AT: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;

    #[test]
    fn passwords_and_responses_are_gone_and_names_stay() {
        let data = b"\x02me\x06secret";
        let mut pap = Packet { code: 1, id: 1, data }.emit(protocol::PAP);
        redact(&mut pap);
        assert_eq!(pap[6..], *b"\x02me\0\0\0\0\0\0\0");
        let mut cut = Packet { code: 1, id: 1, data: b"\x20secret" }.emit(protocol::PAP);
        redact(&mut cut);
        assert_eq!(cut[7..], [0; 6], "without an end of the name all of it");
        let mut chap = Packet { code: 2, id: 1, data: b"\x04abcdme" }.emit(protocol::CHAP);
        redact(&mut chap);
        assert_eq!(chap[6..], *b"\x04\0\0\0\0me");
        let mut other = Packet { code: 1, id: 1, data: b"\x04abcdme" }.emit(protocol::CHAP);
        let before = other.clone();
        redact(&mut other);
        assert_eq!(other, before, "a challenge is no secret");
        (0..10).for_each(|len| redact(&mut vec![0xc0; len]));
    }
}
