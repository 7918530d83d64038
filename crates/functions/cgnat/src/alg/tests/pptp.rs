//! PPTP: both ends of a call through the gateway, and messages that are none.

use proptest::prelude::*;

use super::*;
use crate::types::gre;

fn session(from: Side) -> Translation {
    translation(from, Protocol::Tcp, 40_000, 50_000, 1723)
}

/// A control message (RFC 2637 section 2) of a length, with two identifiers and a result.
fn message(kind: u16, len: usize, first: u16, second: u16, result: u8) -> Vec<u8> {
    let mut message = vec![0xaa; len];
    message[..2].copy_from_slice(&(len as u16).to_be_bytes());
    message[2..8].copy_from_slice(&[0, 1, 0x1a, 0x2b, 0x3c, 0x4d]);
    message[8..10].copy_from_slice(&kind.to_be_bytes());
    message[10..12].fill(0);
    message[12..14].copy_from_slice(&first.to_be_bytes());
    if len > 16 {
        message[14..16].copy_from_slice(&second.to_be_bytes());
        message[16] = result;
    }
    message
}

fn rewritten(payload: &[u8], from: Side, model: &mut Model) -> (Vec<u8>, Rewritten) {
    run(Gateway::Pptp, payload, &session(from), model)
}

/// The exchange of RFC 2637 section 3.1.5: the subscriber calls.
#[test]
fn a_call_keeps_its_identifiers_on_both_sides() {
    let mut model = Model { add: 100, ..Model::default() };
    let (left, done) = rewritten(&message(7, 168, 5, 9, 9), Side::Inside, &mut model);
    assert_eq!(left, message(7, 168, 205, 9, 9), "only its own");
    assert!(done.expectations.is_empty(), "the far end's is not known yet");
    let (left, done) = rewritten(&message(8, 32, 77, 205, 1), Side::Outside, &mut model);
    assert_eq!(left, message(8, 32, 77, 5, 1));
    let expected = Expectation {
        protocol: Protocol::Gre,
        inside: SocketAddrV4::new(INSIDE, 5),
        outside: SocketAddrV4::new(OUTSIDE, 205),
        ports: 1,
        remote: Some(REMOTE),
        remote_port: Some(77),
    };
    assert_eq!(done.expectations.iter().collect::<Vec<_>>(), [expected]);
    let (left, done) = rewritten(&message(8, 32, 77, 205, 2), Side::Outside, &mut model);
    assert_eq!(left, message(8, 32, 77, 5, 2));
    assert!(done.expectations.is_empty(), "the call was refused");
    for (kind, len, from, told, leaves) in [
        (15, 24, Side::Inside, 77, 77),
        (12, 16, Side::Inside, 5, 205),
        (13, 148, Side::Outside, 77, 77),
        (14, 40, Side::Outside, 205, 5),
        (11, 28, Side::Outside, 205, 5),
        (5, 16, Side::Inside, 5, 5),
    ] {
        let (left, done) = rewritten(&message(kind, len, told, 3, 3), from, &mut model);
        assert_eq!(left, message(kind, len, leaves, 3, 3), "message {kind}");
        assert_eq!(done.reason, None);
    }
}

/// Section 2.9: the far end calls a subscriber's server.
#[test]
fn a_call_to_the_inside_is_expected_with_its_answer() {
    let mut model = Model { add: 100, ..Model::default() };
    let call = message(9, 220, 33, 0, 0);
    let (left, done) = rewritten(&call, Side::Outside, &mut model);
    assert_eq!((left, done.reason), (call, None));
    let (left, done) = rewritten(&message(10, 24, 6, 33, 1), Side::Inside, &mut model);
    assert_eq!(left, message(10, 24, 206, 33, 1));
    let expected: Vec<_> = done
        .expectations
        .iter()
        .map(|one| (one.inside.port(), one.outside.port(), one.remote_port))
        .collect();
    assert_eq!(expected, [(6, 206, Some(33))]);
}

#[test]
fn what_is_no_message_passes_with_its_reason() {
    let good = message(12, 16, 5, 0, 0);
    let mut foreign = good.clone();
    foreign[4] = 0;
    let mut management = good.clone();
    management[3] = 2;
    for (payload, reason) in [
        (vec![], None),
        (good[..7].to_vec(), Some(Reason::Split)),
        (good[..15].to_vec(), Some(Reason::Split)),
        (foreign, Some(Reason::NoMessage)),
        (management, Some(Reason::NoMessage)),
        (message(12, 16, 9, 0, 0), Some(Reason::NoMapping)),
        ([0, 11, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, 12, 0].to_vec(), Some(Reason::Malformed)),
        ([0, 12, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, 12, 0, 0].to_vec(), Some(Reason::Malformed)),
    ] {
        let mut model = Model { add: 1, full: Some(9), ..Model::default() };
        let (left, done) = rewritten(&payload, Side::Inside, &mut model);
        assert_eq!((left, done.reason), (payload, reason));
    }
    let unknown = message(14, 40, 205, 0, 0);
    let (left, done) = rewritten(&unknown, Side::Outside, &mut Model::default());
    assert_eq!((left, done.reason), (unknown, Some(Reason::NoMapping)), "a call of nobody");
}

/// RFC 2637 section 4.1.
#[test]
fn the_header_of_enhanced_gre_tells_the_call() {
    let mut packet =
        vec![0x30, 0x81, 0x88, 0x0b, 0, 2, 0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0xff, 3];
    assert_eq!(gre::call(&packet), Some(0x1234));
    gre::set_call(&mut packet, 0xbeef);
    assert_eq!(gre::call(&packet), Some(0xbeef));
    assert_eq!(
        (&packet[..6], &packet[8..12]),
        (&[0x30, 0x81, 0x88, 0x0b, 0, 2][..], &[0, 0, 0, 1][..])
    );
    for (place, byte) in [(0, 0xb0), (0, 0x10), (1, 0x80), (2, 0x08), (3, 0)] {
        let mut other = packet.clone();
        other[place] = byte;
        assert_eq!(gre::call(&other), None, "octet {place}");
        let before = other.clone();
        gre::set_call(&mut other, 1);
        assert_eq!(other, before);
    }
    for len in 0..8 {
        assert_eq!(gre::call(&packet[..len]), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Several messages of a segment, each written twice: lengths stay, and only the inside's
    /// numbers change.
    #[test]
    fn messages_in_sequence_leave_as_they_shall(
        calls in proptest::collection::vec((1_u16..16, any::<u16>(), any::<u16>(), 0_u8..3), 0..8),
        add in any::<u16>(),
        cut in 0_usize..40,
    ) {
        let mut model = Model { add, ..Model::default() };
        let (mut sent, mut expected) = (Vec::new(), Vec::new());
        for &(kind, first, second, result) in &calls {
            let own = matches!(kind, 7 | 8 | 9 | 10 | 12 | 13);
            let new = if own { model.of(first) } else { first };
            sent.extend(message(kind, 32, first, second, result));
            expected.extend(message(kind, 32, new, second, result));
        }
        // A message that is cut stays as it is.
        let tail = message(12, 40, 7, 7, 7);
        sent.extend(&tail[..cut]);
        expected.extend(&tail[..cut]);
        let (left, done) = rewritten(&sent, Side::Inside, &mut model);
        prop_assert_eq!(left, expected);
        prop_assert_eq!(done.reason, (cut > 0).then_some(Reason::Split));
        prop_assert!(done.edited.iter().all(|one| one.old_len == one.new_len));
    }
}
