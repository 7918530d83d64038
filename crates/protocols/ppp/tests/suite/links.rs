//! LCP by hand: its options, what comes again, and what is not known.

use std::time::Duration;

use protocol_ppp::packet::{Packet, code, pap, protocol};
use protocol_ppp::{Answer, Command, Config, Method, Phase, Reason, Report, Unusable};

use crate::support::{MAGIC, One, answered, client, code_of, data_of, given, lcp, open, requires};

#[test]
fn the_first_request_has_mru_authentication_and_magic_number() {
    let mut one = One::open(requires(&[Method::ChapMd5]));
    let request = one.take_one();
    assert_eq!(request[..8], [0xc0, 0x21, 1, 1, 0, 19, 1, 4]);
    assert_eq!(request[8..15], [0x05, 0xd4, 3, 5, 0xc2, 0x23, 5]);
    assert_eq!((&request[15..17], request.len()), (&[5, 6][..], 21));
    let magic = one.ppp.view(0).expect("it is there").link.magic;
    assert_eq!(request[17..], magic.to_be_bytes());
    let mut pap = One::open(requires(&[Method::Pap]));
    assert_eq!(pap.take_one()[10..14], [3, 4, 0xc0, 0x23]);
    // A client asks for nothing of that.
    assert_eq!(One::open(client(&[Method::Pap], b"x")).take_one().len(), 16);
}

#[test]
fn options_that_pppoe_must_not_have_are_rejected_as_they_are() {
    let mut one = One::open(open());
    one.sent.clear();
    // ACCM, PFC, ACFC, FCS alternatives, quality, callback, MRRU, endpoint, beside a good one.
    let bad = [
        &[2, 6, 0, 0, 0, 0, 7, 2, 8, 2, 9, 3, 1][..],
        &[4, 8, 0xc0, 0x25, 0, 0, 0, 9, 13, 3, 6, 17, 4, 5, 0xdc, 19, 3, 0],
    ]
    .concat();
    one.hear(&lcp(code::CONFIGURE_REQUEST, 9, &[&bad[..], &MAGIC].concat()));
    assert_eq!(one.take_one(), lcp(code::CONFIGURE_REJECT, 9, &bad));
    // Authentication of somebody who has no name.
    one.hear(&lcp(code::CONFIGURE_REQUEST, 10, &[3, 4, 0xc0, 0x23]));
    assert_eq!(one.take_one(), lcp(code::CONFIGURE_REJECT, 10, &[3, 4, 0xc0, 0x23]));
    // One that has a name says by what.
    let mut client = One::open(client(&[Method::ChapMd5], b"x"));
    client.sent.clear();
    for value in [&[0xc0, 0x23][..], &[0xc2, 0x23, 0x81], &[0xc2, 0x27]] {
        let option = [&[3, 2 + value.len() as u8][..], value].concat();
        client.hear(&lcp(code::CONFIGURE_REQUEST, 1, &option));
        let wanted = lcp(code::CONFIGURE_NAK, 1, &[3, 5, 0xc2, 0x23, 5]);
        assert_eq!(client.take_one(), wanted);
    }
}

#[test]
fn an_mru_is_within_what_the_link_carries() {
    let answer = |mru_max: u16, asked: &[u8]| {
        let mut one = One::open_with(open(), mru_max);
        one.sent.clear();
        one.hear(&lcp(
            code::CONFIGURE_REQUEST,
            1,
            &[&[1, 2 + asked.len() as u8][..], asked].concat(),
        ));
        let payload = one.take_one();
        (code_of(&payload).1, data_of(&payload).1[2..].to_vec())
    };
    let mru = |mru: u16| mru.to_be_bytes().to_vec();
    assert_eq!(answer(1492, &mru(1492)), (code::CONFIGURE_ACK, mru(1492)));
    assert_eq!(answer(1492, &mru(1500)), (code::CONFIGURE_NAK, mru(1492)));
    assert_eq!(answer(1500, &mru(1500)), (code::CONFIGURE_ACK, mru(1500)), "RFC 4638");
    assert_eq!(answer(1492, &mru(575)), (code::CONFIGURE_NAK, mru(576)));
    assert_eq!(answer(1492, &[1]), (code::CONFIGURE_NAK, mru(1492)), "of a wrong length");
    // What is not said counts as 1,500, of which no more passes than the link carries.
    let one = One::linked(open());
    assert_eq!(one.ppp.view(0).map(|view| view.link.mtu), Some(1492));
    // The peer's wish for less is met, one for more is not.
    let mut one = One::open(open());
    let request = one.take_one();
    let id = data_of(&request).0;
    one.hear(&lcp(code::CONFIGURE_NAK, id, &[1, 4, 0x05, 0x78]));
    let request = one.take_one();
    assert_eq!(data_of(&request).1[..4], [1, 4, 0x05, 0x78]);
    one.hear(&lcp(code::CONFIGURE_NAK, data_of(&request).0, &[1, 4, 0x23, 0x28]));
    let request = one.take_one();
    assert_eq!(data_of(&request).1[..4], [1, 4, 0x05, 0x78]);
    one.hear(&lcp(code::CONFIGURE_REJECT, data_of(&request).0, &[1, 4, 0x05, 0x78]));
    assert_eq!(data_of(&one.take_one()).1[0], 5, "without");
}

#[test]
fn a_peer_that_naks_authentication_is_asked_by_the_next_method_or_let_go() {
    let mut one = One::open(requires(&[Method::ChapMd5, Method::Pap]));
    let request = one.take_one();
    // MS-CHAP v2 is not known here.
    one.hear(&lcp(code::CONFIGURE_NAK, data_of(&request).0, &[3, 5, 0xc2, 0x23, 0x81]));
    let request = one.take_one();
    assert_eq!(data_of(&request).1[4..8], [3, 4, 0xc0, 0x23]);
    one.hear(&lcp(code::CONFIGURE_NAK, data_of(&request).0, &[3, 5, 0xc2, 0x23, 0x81]));
    assert_eq!(code_of(&one.take_one()).1, code::TERMINATE_REQUEST);
    one.hear(&lcp(code::TERMINATE_ACK, 0, &[]));
    assert_eq!(one.ended(), Some(Reason::Unproven));
    let mut one = One::open(requires(&[Method::ChapMd5]));
    let request = one.take_one();
    one.hear(&lcp(code::CONFIGURE_REJECT, data_of(&request).0, &[3, 5, 0xc2, 0x23, 5]));
    one.hear(&lcp(code::TERMINATE_ACK, 0, &[]));
    assert_eq!(one.ended(), Some(Reason::Unproven), "it is asked for");
}

#[test]
fn a_nak_may_offer_several_methods() {
    let [pap, chap, other] =
        [&[3, 4, 0xc0, 0x23][..], &[3, 5, 0xc2, 0x23, 5], &[3, 5, 0xc2, 0x23, 0x81]];
    let both = [Method::ChapMd5, Method::Pap];
    // What is required, what a Nak offers, and what is asked for then.
    type Case<'a> = (&'a [Method], &'a [&'a [u8]], &'a [u8]);
    let all: [Case<'_>; 5] = [
        (&both, &[pap, other], pap),
        (&both, &[other, pap, other], pap),
        (&both, &[pap, chap], pap),
        (&[Method::Pap, Method::ChapMd5], &[chap, other, other], chap),
        (&both[..1], &[chap, pap], chap),
    ];
    for (methods, offered, expected) in all {
        let mut one = One::open(requires(methods));
        let id = data_of(&one.take_one()).0;
        one.hear(&lcp(code::CONFIGURE_NAK, id, &offered.concat()));
        let request = one.take_one();
        assert_eq!(code_of(&request).1, code::CONFIGURE_REQUEST, "{offered:02x?}");
        assert_eq!(data_of(&request).1[4..4 + expected.len()], *expected, "{offered:02x?}");
    }
    // A request has one of them.
    let mut one = One::open(client(&both, b"x"));
    one.sent.clear();
    one.hear(&lcp(code::CONFIGURE_REQUEST, 1, &[chap, pap].concat()));
    assert_eq!(one.take_one(), lcp(code::CONFIGURE_REJECT, 1, pap));
}

#[test]
fn nothing_is_longer_than_what_the_peer_receives() {
    let mut one = One::open(open());
    let request = one.take_one();
    one.hear(&answered(&request, code::CONFIGURE_ACK));
    one.hear(&lcp(code::CONFIGURE_REQUEST, 1, &[1, 4, 0x02, 0x40]));
    one.sent.clear();
    one.answer(Answer::Accept(given()));
    one.sent.clear();
    let many = |option: &[u8]| option.repeat(1400 / option.len());
    let of = |number, code, data: &[u8]| Packet { code, id: 7, data }.emit(number);
    let payloads = [
        lcp(code::ECHO_REQUEST, 1, &[1; 1400]),
        lcp(200, 1, &[1; 1400]),
        of(0x80fd, 1, &[1; 1400]),
        of(protocol::IPCP, 200, &[1; 1400]),
        of(protocol::IPCP, code::CONFIGURE_REQUEST, &many(&[3, 2])),
        of(protocol::IPCP, code::CONFIGURE_REQUEST, &many(&[99, 7, 1, 2, 3, 4, 5])),
        lcp(code::CONFIGURE_REQUEST, 2, &many(&[1, 2])),
        lcp(code::CONFIGURE_REQUEST, 3, &many(&[99, 7, 1, 2, 3, 4, 5])),
    ];
    for payload in payloads {
        one.hear(&payload);
        assert!(!one.sent.is_empty(), "{:02x?} is not answered", &payload[..8]);
        for sent in one.sent.drain(..) {
            // The Protocol field does not count (RFC 1661 section 2).
            assert!(sent.len() <= 2 + 576, "{} bytes for {:02x?}", sent.len(), &payload[..8]);
        }
    }
}

#[test]
fn each_request_of_pap_has_an_identifier_of_its_own() {
    let asked = || {
        let mut one = One::open(client(&[Method::Pap], b"secret"));
        let request = one.take_one();
        one.hear(&answered(&request, code::CONFIGURE_ACK));
        one.hear(&lcp(code::CONFIGURE_REQUEST, 1, &[3, 4, 0xc0, 0x23]));
        one.sent.remove(0);
        one
    };
    let mut one = asked();
    one.pass(Duration::from_secs(29));
    let (ids, said): (Vec<u8>, Vec<_>) = one.sent.iter().map(|payload| data_of(payload)).unzip();
    assert_eq!(ids.len(), 10);
    assert!(said.iter().all(|said| *said == b"\x02me\x06secret"));
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(*id, ids[0].wrapping_add(at as u8));
    }
    // An answer to any of them counts: the first one may have taken long.
    for at in [0, 2] {
        let mut one = asked();
        one.pass(Duration::from_secs(7));
        let first = data_of(&one.sent[0]).0;
        assert_eq!(one.sent.len(), 3);
        let answer = |id| Packet { code: pap::ACK, id, data: &[0] }.emit(protocol::PAP);
        one.hear(&answer(first.wrapping_add(3)));
        one.hear(&answer(first.wrapping_sub(1)));
        assert_eq!(one.ppp.counters().stale, 2);
        one.hear(&answer(first.wrapping_add(at)));
        assert_eq!(one.ppp.view(0).map(|view| view.phase), Some(Phase::Network), "{at}");
    }
}

#[test]
fn answers_that_do_not_fit_change_nothing() {
    let mut one = One::open(open());
    let request = one.take_one();
    let (id, own) = data_of(&request);
    one.hear(&lcp(code::CONFIGURE_ACK, id.wrapping_add(1), own));
    one.hear(&lcp(code::CONFIGURE_ACK, id, &own[4..]));
    one.hear(&lcp(code::CONFIGURE_REJECT, id, &[3, 4, 0xc0, 0x23]));
    one.hear(&lcp(code::CONFIGURE_REJECT, id, &[]));
    one.hear(&lcp(code::CONFIGURE_NAK, id, &[1, 1]));
    let counters = one.ppp.counters();
    assert_eq!((counters.stale, counters.mismatched, counters.malformed), (1, 3, 1));
    assert_eq!((one.sent.len(), one.said.len()), (0, 0));
    one.hear(&lcp(code::CONFIGURE_ACK, id, own));
    one.hear(&lcp(code::CONFIGURE_ACK, id, own));
    assert_eq!((one.ppp.counters().stale, one.sent.len()), (2, 0), "one Ack is enough");
}

#[test]
fn a_request_that_comes_again_is_acknowledged_and_nothing_begins_anew() {
    let mut one = One::linked(open());
    let request = lcp(code::CONFIGURE_REQUEST, 1, &MAGIC);
    for _ in 0..3 {
        one.hear(&request);
        assert_eq!(one.take_one(), answered(&request, code::CONFIGURE_ACK));
    }
    assert_eq!(one.ppp.view(0).map(|view| view.phase), Some(Phase::Authenticate));
    // Another one begins anew, and the question is void.
    let (question, _) = one.asked();
    let other = lcp(code::CONFIGURE_REQUEST, 2, &MAGIC);
    one.hear(&other);
    let [request, ack] = &one.sent[..] else { panic!("{:02x?}", one.sent) };
    assert_eq!(code_of(request).1, code::CONFIGURE_REQUEST);
    assert_eq!(*ack, answered(&other, code::CONFIGURE_ACK));
    assert_eq!(one.said.last(), Some(&Report::Down { session: 0, reason: Reason::Renegotiated }));
    let answer = Answer::Accept(given());
    one.tell(Command::Answer { session: 0, question, answer });
    let why = Unusable::Question;
    assert_eq!(one.said.last(), Some(&Report::Refused { session: 0, why }));
}

#[test]
fn what_is_not_known_is_rejected() {
    let mut one = One::linked(open());
    let unknown = lcp(200, 77, &[1, 2, 3]);
    one.hear(&unknown);
    let rejected = one.take_one();
    assert_eq!(code_of(&rejected), (protocol::LCP, code::CODE_REJECT));
    assert_eq!(data_of(&rejected).1, &unknown[2..]);
    let compression = Packet { code: 1, id: 1, data: &[26, 4, 1, 1] }.emit(0x80fd);
    one.hear(&compression);
    let rejected = one.take_one();
    assert_eq!(code_of(&rejected), (protocol::LCP, code::PROTOCOL_REJECT));
    assert_eq!(data_of(&rejected).1, compression);
    // Long ones are cut.
    one.hear(&lcp(200, 78, &[7; 1400]));
    assert!(one.take_one().len() < 576);
    for code in [code::DISCARD_REQUEST, code::IDENTIFICATION, code::TIME_REMAINING] {
        one.hear(&lcp(code, 1, &[1, 2, 3, 4, 0, 0, 0, 9]));
    }
    // Data are nobody's here.
    one.hear(&[0, 0x21, 0x45, 0]);
    one.hear(&[0, 0x57, 0x60, 0]);
    let counters = one.ppp.counters();
    assert_eq!((counters.codes, counters.protocols, counters.ignored), (2, 1, 3));
    assert_eq!((counters.early, one.sent.len()), (2, 0));
    // Before LCP is open nothing but LCP is heard.
    let mut one = One::open(open());
    one.sent.clear();
    one.hear(&compression);
    one.hear(&lcp(code::ECHO_REQUEST, 1, &[0; 4]));
    one.hear(&lcp(code::PROTOCOL_REJECT, 1, &[0x80, 0x21]));
    assert_eq!((one.ppp.counters().early, one.sent.len()), (3, 0));
}

#[test]
fn rejections_of_what_is_needed_end_a_session() {
    for (payload, reason) in [
        (lcp(code::CODE_REJECT, 1, &[code::CONFIGURE_REQUEST, 1, 0, 4]), Reason::Rejected),
        (lcp(code::PROTOCOL_REJECT, 1, &[0xc0, 0x21, 1, 1, 0, 4]), Reason::Rejected),
    ] {
        let mut one = One::linked(open());
        one.hear(&payload);
        one.pass(Duration::from_secs(7));
        assert_eq!(one.ended(), Some(reason));
    }
    let mut one = One::linked(requires(&[Method::ChapMd5]));
    one.sent.clear();
    one.hear(&lcp(code::PROTOCOL_REJECT, 1, &[0xc2, 0x23, 1, 1, 0, 4]));
    one.pass(Duration::from_secs(7));
    assert_eq!(one.ended(), Some(Reason::Unproven));
    // One can live without echoes.
    let mut one = One::linked(open());
    one.hear(&lcp(code::CODE_REJECT, 1, &[code::ECHO_REQUEST, 1, 0, 8, 0, 0, 0, 0]));
    assert_eq!(one.ppp.view(0).map(|view| view.phase), Some(Phase::Authenticate));
    one.hear(&lcp(code::CODE_REJECT, 1, &[9, 1]));
    assert_eq!(one.ppp.counters().malformed, 1);
}

#[test]
fn configurations_that_cannot_be_used_are_refused() {
    let why = |config: Config, mru| match One::open_with(config, mru).said.pop() {
        Some(Report::Refused { why, .. }) => Some(why),
        _ => None,
    };
    assert_eq!(why(open(), 1492), None);
    assert_eq!(why(open(), 575), Some(Unusable::Mru));
    assert_eq!(why(Config { mru_min: 1493, ..open() }, 1500), Some(Unusable::Mru));
    assert_eq!(why(Config { name: vec![b'a'; 254], ..open() }, 1492), Some(Unusable::Name));
    assert_eq!(why(client(&[], b"x"), 1492), Some(Unusable::Name));
    assert_eq!(why(client(&[Method::Pap], &[7; 254]), 1492), Some(Unusable::Name));
    assert_eq!(why(Config { restart: Duration::ZERO, ..open() }, 1492), Some(Unusable::Time));
    let both = Config { requires: vec![Method::Pap], ..client(&[Method::Pap], b"x") };
    assert_eq!(why(both, 1492), Some(Unusable::Network));
    let mut one = One::open(open());
    for command in [Command::Close { session: 1 }, Command::Down { session: 7 }] {
        one.tell(command);
        assert!(matches!(one.said.pop(), Some(Report::Refused { why: Unusable::Session, .. })));
    }
    one.tell(Command::Open { session: 0, config: Config::new().into(), mru: 1492 });
    assert!(matches!(one.said.pop(), Some(Report::Refused { why: Unusable::Session, .. })));
}
