//! The examples of RFC 2865 section 7, and what authenticates a packet.

use protocol_kit::Secret;
use protocol_radius::attributes::{Attributes, kind};
use protocol_radius::seal::{
    Forged, Unforeseen, Unwritable, access_request, answer, chap_response, check_answer,
    check_request, dynamic_request, hide, reveal,
};
use protocol_radius::{Code, Credentials, List, Packet};

use crate::support::secret;

/// Bytes of hexadecimal digits.
fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Section 7.1: somebody logs in with a password.
const REQUEST: &str = "01 00 00 38 0f 40 3f 94 73 97 80 57 bd 83 d5 cb 98 f4 22 7a 01 06 6e 65 \
    6d 6f 02 12 0d be 70 8d 93 d4 13 ce 31 96 e4 3f 78 2a 0a ee 04 06 c0 a8 01 10 05 06 00 00 00 03";
const ACCEPT: &str = "02 00 00 26 86 fe 22 0e 76 24 ba 2a 10 05 f6 bf 9b 55 e0 b2 06 06 00 00 00 \
    01 0f 06 00 00 00 00 0e 06 c0 a8 01 03";

/// Section 7.2: by CHAP.
const CHAP_REQUEST: &str = "01 01 00 47 2a ee 86 f0 8d 0d 55 96 9c a5 97 8e 0d 33 67 a2 01 08 66 \
    6c 6f 70 73 79 03 13 16 e9 75 57 c3 16 18 58 95 f2 93 ff 63 44 07 72 75 04 06 c0 a8 01 10 05 \
    06 00 00 00 14 06 06 00 00 00 02 07 06 00 00 00 01";
const CHAP_ACCEPT: &str = "02 01 00 38 15 ef bc 7d ab 26 cf a3 dc 34 d9 c0 3c 86 01 a4 06 06 00 \
    00 00 02 07 06 00 00 00 01 08 06 ff ff ff fe 0a 06 00 00 00 02 0d 06 00 00 00 01 0c 06 00 00 \
    05 dc";

/// Section 7.3: by a challenge, whose answer is wrong.
const ASKED: [&str; 4] = [
    "01 02 00 39 f3 a4 7a 1f 6a 6d 76 71 0b 94 7a b9 30 41 a0 39 01 07 6d 6f 70 73 79 02 12 33 65 \
     75 73 77 82 89 b5 70 88 5e 15 08 48 25 c5 04 06 c0 a8 01 10 05 06 00 00 00 07",
    "0b 02 00 4e 36 f3 c8 76 4a e8 c7 11 57 40 3c 0c 71 ff 9c 45 12 30 43 68 61 6c 6c 65 6e 67 65 \
     20 33 32 37 36 39 34 33 30 2e 20 20 45 6e 74 65 72 20 72 65 73 70 6f 6e 73 65 20 61 74 20 70 \
     72 6f 6d 70 74 2e 18 0a 33 32 37 36 39 34 33 30",
    "01 03 00 43 b1 22 55 6d 42 8a 13 d0 d6 25 38 07 c4 57 ec f0 01 07 6d 6f 70 73 79 02 12 69 2c \
     1f 20 5f c0 81 b9 19 b9 51 95 f5 61 a5 81 04 06 c0 a8 01 10 05 06 00 00 00 07 18 0a 33 32 37 \
     36 39 34 33 30",
    "03 03 00 14 a4 2f 4f ca 45 91 6c 4e 09 c8 34 0f 9e 74 6a a0",
];

#[test]
fn passwords_of_the_standard_are_hidden_and_revealed() {
    for (request, password) in
        [(REQUEST, "arctangent"), (ASKED[0], "challenge"), (ASKED[2], "99101462")]
    {
        let bytes = hex(request);
        let packet = Packet::parse(&bytes).expect("a packet");
        let hidden = packet.attributes.first(kind::USER_PASSWORD).expect("it is there");
        let authenticator = packet.authenticator;
        assert_eq!(hide(password.as_bytes(), &secret(), authenticator).as_deref(), Ok(hidden));
        let revealed = reveal(hidden, &secret(), authenticator);
        assert_eq!(revealed.as_deref(), Some(password.as_bytes()));
    }
    let authenticator = [7; 16];
    for len in [1, 15, 16, 17, 128] {
        let password = vec![b'p'; len];
        let hidden = hide(&password, &secret(), &authenticator).expect("it fits");
        assert_eq!(hidden.len(), len.next_multiple_of(16));
        assert_eq!(reveal(&hidden, &secret(), &authenticator), Some(password));
    }
    for len in [0, 129] {
        assert_eq!(hide(&vec![0; len], &secret(), &authenticator), Err(Unwritable::Credentials));
    }
    assert_eq!(reveal(&[0; 15], &secret(), &authenticator), None);
    assert_eq!(reveal(&[], &secret(), &authenticator), None);
}

#[test]
fn the_response_of_chap_is_that_of_the_standard() {
    let bytes = hex(CHAP_REQUEST);
    let packet = Packet::parse(&bytes).expect("a packet");
    // The challenge is the authenticator there (section 5.40).
    let response = chap_response(0x16, b"arctangent", packet.authenticator);
    let told = packet.attributes.first(kind::CHAP_PASSWORD).expect("it is there");
    assert_eq!((told[0], &told[1..]), (0x16, &response[..]));
}

#[test]
fn answers_of_the_standard_are_checked_and_written() {
    for (request, told) in
        [(REQUEST, ACCEPT), (CHAP_REQUEST, CHAP_ACCEPT), (ASKED[0], ASKED[1]), (ASKED[2], ASKED[3])]
    {
        let (request, told) = (hex(request), hex(told));
        let request = Packet::parse(&request).expect("a packet");
        let packet = Packet::parse(&told).expect("a packet");
        let check = |needs| check_answer(&packet, request.authenticator, &secret(), needs);
        assert_eq!(check(false), Ok(()));
        assert_eq!(check(true), Err(Forged::Unsigned), "CVE-2024-3596");
        let other = Secret(b"other".to_vec());
        let checked = check_answer(&packet, request.authenticator, &other, false);
        assert_eq!(checked, Err(Forged::Authenticator));
        for at in 0..told.len() {
            let mut changed = told.clone();
            changed[at] ^= 1;
            if let Ok(packet) = Packet::parse(&changed) {
                let checked = check_answer(&packet, request.authenticator, &secret(), false);
                assert_eq!(checked, Err(Forged::Authenticator), "byte {at}");
            }
        }
    }
}

#[test]
fn what_is_signed_is_signed_first_and_whole() {
    let mut list = List::new();
    list.put(kind::USER_NAME, b"nemo").expect("it fits");
    let credentials = Credentials::Password(Secret(b"arctangent".to_vec()));
    let (code, authenticator) = ((Code::AccessRequest, 3), [5; 16]);
    let request = access_request(code, &authenticator, &secret(), list.attributes(), &credentials);
    let request = request.expect("it fits");
    assert_eq!(request[20..22], [kind::MESSAGE_AUTHENTICATOR, 18]);
    let request = Packet::parse(&request).expect("a packet");
    assert_eq!(request.authenticator, &authenticator);
    let told = answer(Code::AccessAccept, &request, &secret(), list.attributes());
    let told = told.expect("it fits");
    assert_eq!(told[20..22], [kind::MESSAGE_AUTHENTICATOR, 18]);
    let packet = Packet::parse(&told).expect("a packet");
    assert_eq!(check_answer(&packet, &authenticator, &secret(), true), Ok(()));
    // An attacker who can make collisions of MD5 fits the authenticator, and not the signature.
    let bare = Packet { attributes: Attributes::NONE, ..packet };
    let unsigned = answer(Code::AccountingResponse, &accounting(), &secret(), bare.attributes);
    let unsigned = unsigned.expect("it fits");
    assert_eq!(unsigned.len(), 20, "an answer to accounting needs none");
    for code in [Code::CoaRequest, Code::DisconnectRequest] {
        let request = dynamic_request((code, 9), &secret(), list.attributes()).expect("it fits");
        let packet = Packet::parse(&request).expect("a packet");
        assert_eq!(check_request(&packet, &secret(), true), Ok(()));
        let mut changed = request.clone();
        *changed.last_mut().expect("bytes") ^= 1;
        let packet = Packet::parse(&changed).expect("a packet");
        assert_eq!(check_request(&packet, &secret(), true), Err(Forged::Authenticator));
    }
}

/// An Accounting-Request without attributes.
fn accounting() -> Packet<'static> {
    const BYTES: [u8; 20] = [4, 1, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    Packet::parse(&BYTES).expect("a packet")
}

#[test]
fn the_largest_request_fits_and_a_larger_one_is_none() {
    let mut list = List::new();
    while list.put(kind::USER_NAME, &[b'a'; 100]).is_ok() {}
    while list.put(kind::USER_NAME, b"a").is_ok() {}
    let (response, challenge) = ([0; 16], vec![1; 253]);
    let largest = Credentials::Chap { identifier: 1, response, challenge };
    let write = |credentials: &Credentials| {
        let code = (Code::AccessRequest, 1);
        access_request(code, &[0; 16], &secret(), list.attributes(), credentials)
    };
    let bytes = write(&largest).expect("it fits");
    assert!((4090..=4096).contains(&bytes.len()), "{}", bytes.len());
    assert!(Packet::parse(&bytes).is_ok());
    for len in [0, 254] {
        let challenge = vec![1; len];
        let wrong = Credentials::Chap { identifier: 1, response, challenge };
        assert_eq!(write(&wrong), Err(Unwritable::Credentials));
    }
    let received = List::from(Attributes::parse(&[1; 0]).expect("none"));
    assert!(received.is_empty());
}

#[test]
fn authenticators_are_never_the_same() {
    let (mut one, mut other) = (Unforeseen::new([1; 32]), Unforeseen::new([2; 32]));
    let drawn: std::collections::BTreeSet<_> =
        (0..1_000).flat_map(|_| [one.draw(), other.draw()]).collect();
    assert_eq!(drawn.len(), 2_000);
    assert_ne!(one.seed(), other.seed());
}
