//! What a trace of payloads must not show: passwords of PAP, and responses of CHAP, by which a weak
//! secret can be guessed; also where a Reject carries them back.
//!
//! It knows no more than the bytes of one payload: what a peer puts elsewhere, such as a password
//! as its name, it does not find.

use crate::packet::{HEADER_LEN, chap, code, counted, pap, protocol};

/// Overwrites the secrets of a payload (the Protocol field and what follows), however damaged it
/// is.
pub fn redact(payload: &mut [u8]) {
    let Some((number, mut rest)) = payload.split_first_chunk_mut::<2>() else { return };
    let mut number = u16::from_be_bytes(*number);
    // A Reject may carry another one: each turn leaves a header behind.
    loop {
        let Some((header, data)) = rest.split_first_chunk_mut::<HEADER_LEN>() else { return };
        match (number, header[0]) {
            (protocol::PAP, pap::REQUEST) => return redact_login(data),
            (protocol::CHAP, chap::RESPONSE) => return redact_response(data),
            (protocol::LCP, code::PROTOCOL_REJECT) => {
                let Some((other, behind)) = data.split_first_chunk_mut::<2>() else { return };
                (number, rest) = (u16::from_be_bytes(*other), behind);
            }
            // A packet of the same protocol.
            (_, code::CODE_REJECT) => rest = data,
            _ => return,
        }
    }
}

/// Overwrites a password with its length and what follows; all of it if it is not where it should
/// be.
fn redact_login(data: &mut [u8]) {
    let password = counted(data).and_then(|(name, rest)| counted(rest).map(|_| 1 + name.len()));
    data.iter_mut().skip(password.unwrap_or(0)).for_each(|byte| *byte = 0);
}

/// Overwrites a response; all of it if it is not where it should be.
fn redact_response(data: &mut [u8]) {
    let end = counted(data).filter(|(value, _)| !value.is_empty());
    let end = end.map_or(data.len(), |(value, _)| 1 + value.len());
    data[..end].iter_mut().skip(1).for_each(|byte| *byte = 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;

    fn redacted(number: u16, code: u8, data: &[u8]) -> Vec<u8> {
        let mut payload = Packet { code, id: 1, data }.emit(number);
        redact(&mut payload);
        payload[6..].to_vec()
    }

    #[test]
    fn passwords_and_responses_are_gone_and_names_stay() {
        assert_eq!(redacted(protocol::PAP, 1, b"\x02me\x06secret"), *b"\x02me\0\0\0\0\0\0\0");
        for damaged in [&b"\x20secret"[..], b"\x02me\x07secret", b"\x03me\x06secret", b"\x06secret"]
        {
            let shown = redacted(protocol::PAP, 1, damaged);
            assert!(shown.iter().all(|byte| *byte == 0), "all of {damaged:?}: {shown:?}");
        }
        assert_eq!(redacted(protocol::CHAP, 2, b"\x04abcdme"), *b"\x04\0\0\0\0me");
        for damaged in [&b"\x20abcd"[..], b"\0abcd"] {
            let shown = redacted(protocol::CHAP, 2, damaged);
            assert_eq!(shown[1..], [0; 4], "{damaged:?}");
        }
        assert_eq!(redacted(protocol::CHAP, 1, b"\x04abcdme"), *b"\x04abcdme", "no secret");
        assert_eq!(redacted(protocol::PAP, 2, b"\x07welcome"), *b"\x07welcome", "no secret");
        (0..10).for_each(|len| redact(&mut vec![0xc0; len]));
    }

    #[test]
    fn what_a_reject_carries_back_is_gone() {
        let login = Packet { code: 1, id: 1, data: b"\x02me\x06secret" }.emit(protocol::PAP);
        let response = Packet { code: 2, id: 1, data: b"\x04abcdme" }.emit(protocol::CHAP);
        for (payload, left) in [(login, &b"me\0\0\0\0\0\0\0"[..]), (response, b"\0\0\0\0me")] {
            let once = Packet { code: code::PROTOCOL_REJECT, id: 9, data: &payload };
            let once = once.emit(protocol::LCP);
            let twice = Packet { code: code::CODE_REJECT, id: 10, data: &once[2..] };
            for mut rejected in [once.clone(), twice.emit(protocol::LCP)] {
                let before = rejected.clone();
                redact(&mut rejected);
                let at = rejected.len() - left.len();
                assert_eq!((&rejected[..at], &rejected[at..]), (&before[..at], left));
            }
        }
        // A Reject is cut, and may be within the name or the password.
        let login = [&[1, 1, 0, 60, 2][..], b"me", &[40], b"secret"].concat();
        let data = [&[0xc0, 0x23][..], &login].concat();
        let shown = redacted(protocol::LCP, code::PROTOCOL_REJECT, &data);
        assert!(shown[6..].iter().all(|byte| *byte == 0), "{shown:?}");
    }
}
