//! How sessions end: by either side, by silence, in a loop, and where both sides never agree.

use std::time::Duration;

use protocol_kit::Machine;
use protocol_ppp::packet::{Packet, chap, code, pap, protocol};
use protocol_ppp::{
    Answer, Command, Config, Credentials, Keepalive, Method, Network, Phase, Reason, Report,
};

use crate::support::{MAGIC, One, answered, client, code_of, data_of, given, lcp, open, requires};

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// The largest number of packets that any of these ends takes.
const SENT_MAX: usize = 64;

#[test]
fn silence_ends_it_after_ten_requests() {
    let mut one = One::open(open());
    one.pass(Duration::from_millis(29_990));
    assert_eq!((one.sent.len(), one.ended()), (10, None));
    assert!(one.sent.iter().all(|payload| *payload == one.sent[0]), "with the same identifier");
    one.pass(Duration::from_millis(50));
    assert_eq!((one.sent.len(), one.ended()), (10, Some(Reason::Unanswered)));
    assert_eq!((one.ppp.view(0), one.ppp.deadline()), (None, None));
}

#[test]
fn the_owner_ends_it_and_the_peer_is_told_twice() {
    let mut one = One::linked(open());
    one.tell(Command::Close { session: 0 });
    assert_eq!(one.said.last(), Some(&Report::Down { session: 0, reason: Reason::Closed }));
    one.pass(seconds(10));
    let codes: Vec<_> = one.sent.iter().map(|payload| code_of(payload).1).collect();
    assert_eq!(codes, [code::TERMINATE_REQUEST; 2]);
    assert_eq!(one.ended(), Some(Reason::Closed));
    // A peer that answers ends it at once.
    let mut one = One::linked(open());
    one.tell(Command::Lost { session: 0 });
    let request = one.take_one();
    one.hear(&answered(&request, code::TERMINATE_ACK));
    assert_eq!(one.ended(), Some(Reason::Silent));
    // A link that is gone carries nothing.
    let mut one = One::linked(open());
    one.tell(Command::Down { session: 0 });
    assert_eq!((one.ended(), one.sent.len()), (Some(Reason::LinkDown), 0));
}

#[test]
fn the_peer_ends_it_and_is_answered_until_it_hears() {
    let mut one = One::linked(open());
    for id in [5, 6] {
        one.hear(&lcp(code::TERMINATE_REQUEST, id, b"bye"));
        assert_eq!(one.take_one(), lcp(code::TERMINATE_ACK, id, &[]));
    }
    let down = Report::Down { session: 0, reason: Reason::Terminated };
    assert_eq!(one.said.last(), Some(&down));
    assert_eq!(one.ppp.view(0).map(|view| view.phase), Some(Phase::Terminate));
    one.pass(seconds(4));
    assert_eq!((one.ended(), one.sent.len()), (Some(Reason::Terminated), 0));
}

#[test]
fn a_loop_is_found_while_it_is_negotiated_and_later() {
    let methods = [Method::ChapMd5, Method::Pap];
    let both = Config { identity: client(&methods, b"x").identity, ..requires(&methods) };
    // Where the peer has to prove who it is the own request asks for that, too.
    for config in [open(), requires(&methods[..1]), requires(&methods), both] {
        let mut one = One::open(config);
        let (mut sent, mut codes) = (0, vec![]);
        while one.ended().is_none() && sent < SENT_MAX {
            if one.sent.is_empty() {
                one.pass(seconds(1));
            }
            for payload in std::mem::take(&mut one.sent) {
                sent += 1;
                codes.push(code_of(&payload).1);
                one.hear(&payload);
            }
        }
        assert_eq!(one.ended(), Some(Reason::Looped), "after {codes:?}");
        assert_eq!(codes[..4], [1, 3, 1, 3], "each own number is answered by a Nak: {codes:?}");
        assert!(one.ppp.counters().asked == 0);
    }
    // Nobody has suggested a number of 0.
    let mut one = One::open(open());
    for _ in 0..5 {
        let id = data_of(&one.take_one()).0;
        one.hear(&lcp(code::CONFIGURE_NAK, id, &[5, 6, 0, 0, 0, 0]));
    }
    assert_eq!((one.ended(), code_of(&one.take_one()).1), (None, code::CONFIGURE_REQUEST));
    // A link that is looped while the session is up shows by the own Echo-Request.
    let mut one = One::linked(open());
    one.pass(seconds(31));
    let echo = one.take_one();
    assert_eq!(code_of(&echo).1, code::ECHO_REQUEST);
    one.hear(&echo);
    one.pass(seconds(7));
    assert_eq!(one.ended(), Some(Reason::Looped));
    assert_eq!(one.ppp.counters().looped, 1);
}

#[test]
fn endless_naks_end() {
    let mut one = One::open(open());
    let mut sent = 0;
    while one.ended().is_none() && sent < 2 * SENT_MAX {
        sent += 1;
        match one.sent.pop() {
            Some(payload) if code_of(&payload).1 == code::CONFIGURE_REQUEST => {
                let id = data_of(&payload).0;
                one.sent.clear();
                one.hear(&lcp(code::CONFIGURE_NAK, id, &[1, 4, 0x10, 0]));
            }
            Some(payload) => one.hear(&answered(&payload, code::TERMINATE_ACK)),
            None => one.pass(seconds(1)),
        }
    }
    assert_eq!(one.ended(), Some(Reason::Diverged), "after {sent} packets");
    assert!(sent < SENT_MAX);
}

#[test]
fn endless_requests_are_rejected_and_end() {
    let mut one = One::open(open());
    one.sent.clear();
    let mut codes = Vec::new();
    for id in 0..SENT_MAX as u8 {
        one.hear(&lcp(code::CONFIGURE_REQUEST, id, &[1, 4, 0, 1]));
        codes.extend(one.sent.drain(..).map(|payload| code_of(&payload).1));
    }
    assert_eq!(
        codes[..6],
        [[code::CONFIGURE_NAK; 5].as_slice(), &[code::CONFIGURE_REJECT]].concat()
    );
    assert_eq!(codes.len(), 31, "then it is told that this ends, and nothing more: {codes:?}");
    one.pass(seconds(7));
    assert_eq!(one.ended(), Some(Reason::Diverged));
}

#[test]
fn a_peer_that_begins_anew_again_and_again_is_let_go() {
    let mut one = One::linked(open());
    for round in 0..SENT_MAX {
        if one.ppp.view(0).is_none_or(|view| view.phase == Phase::Terminate) {
            assert_eq!(round, 17);
            break;
        }
        one.hear(&lcp(code::CONFIGURE_REQUEST, 2 + round as u8, &MAGIC));
        let requests: Vec<_> = one.sent.drain(..).collect();
        one.hear(&answered(&requests[0], code::CONFIGURE_ACK));
    }
    one.pass(seconds(7));
    assert_eq!(one.ended(), Some(Reason::Restless));
}

#[test]
fn a_network_protocol_that_ends_again_and_again_is_bounded() {
    let mut one = One::linked(Config { keepalive: None, ..open() });
    one.answer(Answer::Accept(given()));
    let ipcp = |code, id, data: &[u8]| Packet { code, id, data }.emit(protocol::IPCP);
    let ipv6cp = |code, id, data: &[u8]| Packet { code, id, data }.emit(protocol::IPV6CP);
    let v6 = one.sent.remove(1);
    one.hear(&answered(&v6, code::CONFIGURE_ACK));
    one.hear(&ipv6cp(code::CONFIGURE_REQUEST, 1, &[1, 10, 0, 0, 0, 0, 0, 0, 0, 9]));
    one.sent.retain(|payload| code_of(payload) == (protocol::IPCP, code::CONFIGURE_REQUEST));
    let mut rounds = 0;
    while one.ppp.view(0).is_some_and(|view| view.phase == Phase::Network) {
        rounds += 1;
        assert!(rounds < SENT_MAX, "it never ends");
        one.hear(&ipcp(code::CONFIGURE_REQUEST, 1, &[3, 6, 10, 0, 0, 2]));
        let request = one.sent.iter().rfind(|payload| code_of(payload).1 == 1).cloned();
        one.hear(&answered(&request.expect("a request"), code::CONFIGURE_ACK));
        assert!(one.ppp.view(0).is_some_and(|view| view.is_v4_up), "round {rounds}");
        one.sent.clear();
        one.hear(&ipcp(code::TERMINATE_REQUEST, 2, &[]));
        one.hear(&ipcp(code::TERMINATE_ACK, 2, &[]));
    }
    assert_eq!(rounds, 17);
    one.pass(seconds(7));
    assert_eq!(one.ended(), Some(Reason::Restless));
}

#[test]
fn a_peer_that_accepts_and_never_asks_is_not_asked_for_ever() {
    let mut one = One::linked(Config { keepalive: None, ..open() });
    one.answer(Answer::Accept(given()));
    let v6 = one.sent.remove(1);
    one.hear(&answered(&v6, code::CONFIGURE_ACK));
    let identifier = [1, 10, 0, 0, 0, 0, 0, 0, 0, 9];
    one.hear(&Packet { code: 1, id: 1, data: &identifier }.emit(protocol::IPV6CP));
    let mut requests = 0;
    for _ in 0..600 {
        for payload in std::mem::take(&mut one.sent) {
            if code_of(&payload) == (protocol::IPCP, code::CONFIGURE_REQUEST) {
                requests += 1;
                one.hear(&answered(&payload, code::CONFIGURE_ACK));
            }
        }
        one.pass(seconds(1));
    }
    assert!(requests <= 31, "{requests} requests");
    assert!(one.ppp.view(0).is_some_and(|view| view.is_v6_up), "the other one stays");
}

#[test]
fn echoes_are_answered_and_their_lack_ends_it() {
    let keepalive = Some(Keepalive { interval: seconds(10), failures: 2 });
    let config = Config { keepalive, setup_time: seconds(600), ..open() };
    // Timers are exact to a millisecond.
    let interval = Duration::from_millis(10_002);
    let mut one = One::linked(config.clone());
    let own = one.ppp.view(0).expect("it is there").link.magic.to_be_bytes();
    one.hear(&lcp(code::ECHO_REQUEST, 9, &[1, 2, 3, 4, b'h', b'i']));
    assert_eq!(one.take_one(), lcp(code::ECHO_REPLY, 9, &[&own[..], b"hi"].concat()));
    one.hear(&lcp(code::ECHO_REQUEST, 9, &[1, 2, 3]));
    assert_eq!(one.ppp.counters().malformed, 1);
    for _ in 0..20 {
        one.pass(interval);
        let echo = one.take_one();
        assert_eq!((code_of(&echo).1, data_of(&echo).1), (code::ECHO_REQUEST, &own[..]));
        one.hear(&lcp(code::ECHO_REPLY, data_of(&echo).0, &[1, 2, 3, 4]));
    }
    // A reply that copies the number of the request proves nothing.
    one.pass(interval);
    let echo = one.take_one();
    one.hear(&answered(&echo, code::ECHO_REPLY));
    one.pass(interval);
    assert_eq!(code_of(&one.take_one()).1, code::ECHO_REQUEST);
    one.pass(interval);
    assert_eq!(code_of(&one.take_one()).1, code::TERMINATE_REQUEST);
    assert!(matches!(one.said.last(), Some(Report::Down { reason: Reason::Silent, .. })));
    // Without keepalives nothing is sent.
    let mut one = One::linked(Config { keepalive: None, ..config });
    one.pass(seconds(500));
    assert_eq!(one.sent.len(), 0);
}

#[test]
fn who_says_nothing_in_time_is_let_go() {
    let brief = |methods: &[Method]| Config { keepalive: None, ..requires(methods) };
    let mut chap = One::linked(brief(&[Method::ChapMd5]));
    chap.pass(seconds(40));
    let challenges: Vec<_> =
        chap.sent.iter().filter(|payload| code_of(payload).0 == protocol::CHAP).collect();
    assert_eq!(challenges.len(), 10);
    assert!(challenges.iter().all(|payload| *payload == challenges[0]));
    assert_eq!(chap.ended(), Some(Reason::Unauthenticated));
    let mut pap = One::linked(brief(&[Method::Pap]));
    pap.pass(seconds(59));
    assert_eq!(pap.ended(), None);
    pap.pass(seconds(8));
    assert_eq!(pap.ended(), Some(Reason::Unauthenticated));
    // The owner does not answer.
    let mut one = One::linked(Config { keepalive: None, ..open() });
    assert_eq!(one.asked().1, Credentials::None);
    one.pass(seconds(67));
    assert_eq!(one.ended(), Some(Reason::Unjudged));
    // Whoever is given nothing has nothing to do here.
    let mut one = One::linked(open());
    one.answer(Answer::Accept(Network::default()));
    one.pass(seconds(7));
    assert_eq!(one.ended(), Some(Reason::NoNetwork));
}

#[test]
fn who_is_refused_hears_it_and_is_let_go() {
    let pap_of =
        |id: u8| Packet { code: pap::REQUEST, id, data: b"\x02me\x03bad" }.emit(protocol::PAP);
    let mut one = One::linked(requires(&[Method::Pap]));
    one.hear(&pap_of(3));
    assert_eq!(one.sent.len(), 0, "it waits");
    // A request again while the owner thinks: the last one is answered.
    one.hear(&pap_of(4));
    assert_eq!(one.ppp.counters().asked, 1);
    one.answer(Answer::Reject { message: b"no".to_vec() });
    let [nak, terminate] = &one.sent[..] else { panic!("{:02x?}", one.sent) };
    assert_eq!(*nak, Packet { code: pap::NAK, id: 4, data: b"\x02no" }.emit(protocol::PAP));
    assert_eq!(code_of(terminate), (protocol::LCP, code::TERMINATE_REQUEST));
    one.pass(seconds(7));
    assert_eq!(one.ended(), Some(Reason::Refused));

    let mut one = One::linked(requires(&[Method::ChapMd5]));
    let challenge = one.take_one();
    let (id, data) = data_of(&challenge);
    assert_eq!((data[0], &data[17..], data.len()), (16, &b"ac"[..], 19));
    let response = [&[16][..], &[9; 16], b"me"].concat();
    let respond = |id| Packet { code: chap::RESPONSE, id, data: &response }.emit(protocol::CHAP);
    one.hear(&respond(id.wrapping_add(1)));
    assert_eq!(one.ppp.counters().stale, 1);
    let short = Packet { code: chap::RESPONSE, id, data: &[4, 1, 2, 3, 4, 5] };
    one.hear(&short.emit(protocol::CHAP));
    assert_eq!(one.ppp.counters().malformed, 1);
    one.hear(&respond(id));
    let (_, credentials) = one.asked();
    let known = data[1..17].try_into().expect("16 bytes");
    let (name, response) = (b"me".to_vec(), [9; 16]);
    assert_eq!(credentials, Credentials::Chap { name, id, challenge: known, response });
    one.answer(Answer::Reject { message: b"no".to_vec() });
    let failure = Packet { code: chap::FAILURE, id, data: b"no" }.emit(protocol::CHAP);
    assert_eq!(one.sent[0], failure);
}
