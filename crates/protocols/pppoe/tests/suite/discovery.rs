//! Discovery by hand: offers, sessions, and their end.

use std::time::Duration;

use protocol_pppoe::packet::{Packet, code};
use protocol_pppoe::tags::{LineIds, Tags, kind};
use protocol_pppoe::{Command, Config, Origin, Reason, Report, Unusable};

use crate::support::{One, any, host, packet, tag, with};

#[test]
fn an_offer_has_name_services_cookie_and_what_is_echoed() {
    let services = vec![b"data".to_vec(), b"voice".to_vec()];
    let mut one = One::new(Config { services, ..Config::new(b"ac") });
    let list = with(&with(&any(), kind::HOST_UNIQ, &[1, 2, 3]), kind::RELAY_SESSION_ID, &[9; 12]);
    let all = Origin { is_to_group: true, ..host(1, 1) };
    let offer = one.hear(all, &packet(code::PADI, &list)).expect("an offer");
    let parsed = Packet::parse(&offer).expect("a packet");
    assert_eq!((parsed.code, parsed.session_id), (code::PADO, 0));
    let found: Vec<_> = Tags::parse(parsed.payload).expect("tags").iter().collect();
    let kinds: Vec<u16> = found.iter().map(|tag| tag.kind).collect();
    assert_eq!(kinds, [0x0102, 0x0101, 0x0101, 0x0101, 0x0104, 0x0103, 0x0110]);
    let values: Vec<&[u8]> = found.iter().map(|tag| tag.value).collect();
    assert_eq!(values[..4], [&b"ac"[..], b"", b"data", b"voice"]);
    assert_eq!(values[5..], [&[1, 2, 3][..], &[9; 12]]);
    assert!(one.ac.is_empty(), "nothing is kept of whoever asks");
    // A service that there is, and one that there is not.
    let named = with(&[], kind::SERVICE_NAME, b"voice");
    let offer = one.hear(all, &packet(code::PADI, &named)).expect("an offer");
    assert_eq!(tag(&offer, kind::SERVICE_NAME), Some(b"voice".to_vec()));
    let other = with(&[], kind::SERVICE_NAME, b"video");
    assert_eq!(one.hear(all, &packet(code::PADI, &other)), None);
    assert_eq!((one.counters().offered, one.counters().other_service), (2, 1));
}

#[test]
fn a_host_gets_a_session_and_ends_it() {
    let mut one = One::new(Config { trusts_access_nodes: true, ..Config::new(b"ac") });
    let ids = LineIds { circuit: Some(b"olt 1/2/3:4"), remote: Some(b"flat 5") };
    let mut list = with(&any(), kind::HOST_UNIQ, &[1, 2, 3]);
    ids.put(&mut list);
    let answer = one.ask(host(1, 1), &list).expect("an answer");
    let parsed = Packet::parse(&answer).expect("a packet");
    assert_eq!(parsed.code, code::PADS);
    assert_eq!(tag(&answer, kind::HOST_UNIQ), Some(vec![1, 2, 3]));
    assert_eq!(tag(&answer, kind::SERVICE_NAME), Some(vec![]));
    assert_eq!(tag(&answer, kind::PPP_MAX_PAYLOAD), None);
    let Some(Report::Opened { session, opened }) = one.said.pop() else { panic!("no session") };
    assert_eq!((opened.session_id, opened.max_payload), (parsed.session_id, 1492));
    assert_eq!(opened.circuit.as_deref(), ids.circuit);
    assert_eq!(opened.remote.as_deref(), ids.remote);
    assert_eq!((opened.line, opened.host), (host(1, 1).line, host(1, 1).from));
    assert_eq!(one.ac.view(session).map(|view| view.session_id), Some(parsed.session_id));
    let padt = Packet { code: code::PADT, session_id: parsed.session_id, payload: &[] }.emit();
    assert_eq!(one.hear(host(1, 1), &padt), None);
    assert_eq!(one.closed(), [(session, Reason::Terminated)]);
    assert!(one.ac.is_empty());
    one.hear(host(1, 1), &padt);
    assert_eq!((one.counters().terminated, one.counters().no_session), (1, 1));
}

#[test]
fn only_the_host_itself_ends_its_session() {
    let mut one = One::new(Config::new(b"ac"));
    let (session, opened) = one.open(host(1, 1));
    let padt = Packet { code: code::PADT, session_id: opened.session_id, payload: &[] }.emit();
    // Another address of the line, and the same address of another line.
    one.hear(host(1, 2), &padt);
    one.hear(host(2, 1), &padt);
    assert_eq!((one.counters().stranger, one.counters().no_session), (1, 1));
    one.hear(Origin { is_to_group: true, ..host(1, 1) }, &padt);
    assert_eq!(one.counters().destination, 1);
    assert!(one.ac.view(session).is_some() && one.closed().is_empty());
    // The owner may, and tells why.
    one.tell(Command::Close { session, why: b"unpaid".to_vec() });
    let (_, to, packet) = one.sent.pop().expect("a PADT");
    let parsed = Packet::parse(&packet).expect("a packet");
    assert_eq!(
        (parsed.code, parsed.session_id, to),
        (code::PADT, opened.session_id, host(1, 1).from)
    );
    assert_eq!(tag(&packet, kind::GENERIC_ERROR), Some(b"unpaid".to_vec()));
    assert_eq!(one.closed(), [(session, Reason::Closed)]);
    one.tell(Command::Close { session, why: vec![] });
    assert_eq!(one.said.last(), Some(&Report::Refused { why: Unusable::Session }));
}

#[test]
fn a_request_that_comes_again_has_the_same_session() {
    let mut one = One::new(Config::new(b"ac"));
    let list = with(&any(), kind::HOST_UNIQ, &[1]);
    let offer = one.hear(host(1, 1), &packet(code::PADI, &list)).expect("an offer");
    let cookie = tag(&offer, kind::AC_COOKIE).expect("a cookie");
    let request = packet(code::PADR, &with(&list, kind::AC_COOKIE, &cookie));
    let first = one.hear(host(1, 1), &request).expect("a session");
    one.now = one.now.after(Duration::from_secs(5));
    assert_eq!(one.hear(host(1, 1), &request), Some(first));
    assert_eq!((one.ac.sessions(), one.counters().repeated, one.counters().opened), (1, 1, 1));
    // Without its time it is worth nothing.
    one.now = one.now.after(Duration::from_secs(26));
    assert_eq!(one.hear(host(1, 1), &request), None);
    assert_eq!(one.counters().old_cookie, 1);
}

#[test]
fn a_request_that_comes_late_ends_no_session() {
    for step in [Duration::from_millis(1), Duration::from_secs(2)] {
        for by_mac in [1, 2] {
            hear_late(step, by_mac, true);
            hear_late(step, by_mac, false);
        }
    }
}

/// A host has as many sessions as it may have, and the network repeats the request of one that has
/// ended before.
#[track_caller]
fn hear_late(step: Duration, by_mac: u32, replaces: bool) {
    let mut config = Config { replaces, ..Config::new(b"ac") };
    config.limits.by_mac = by_mac;
    let mut one = One::new(config);
    let ask = |one: &mut One| {
        one.now = one.now.after(step);
        let offer = one.hear(host(1, 1), &packet(code::PADI, &any())).expect("an offer");
        let cookie = tag(&offer, kind::AC_COOKIE).expect("a cookie");
        one.now = one.now.after(step);
        let request = packet(code::PADR, &with(&any(), kind::AC_COOKIE, &cookie));
        let answer = one.hear(host(1, 1), &request).expect("an answer");
        assert_ne!(Packet::parse(&answer).expect("a packet").session_id, 0);
        request
    };
    let old: Vec<_> = (0..by_mac).map(|_| ask(&mut one)).collect();
    one.tell(Command::Close { session: by_mac - 1, why: vec![] });
    ask(&mut one);
    let views = |one: &One| (0..by_mac).map(|number| one.ac.view(number)).collect();
    let (before, marks): (Vec<_>, _) = (views(&one), one.said.len());
    assert!(before.iter().all(Option::is_some));
    let answer = one.hear(host(1, 1), &old[old.len() - 1]);
    assert_eq!(views(&one), before, "{step:?} {by_mac} {replaces}");
    assert_eq!(one.said.len(), marks);
    // It is refused where none gives way.
    assert_eq!((answer.is_none(), one.counters().late), (replaces, replaces.into()));
}

#[test]
fn cookies_are_of_a_host_and_its_line() {
    let mut one = One::new(Config::new(b"ac"));
    let offer = one.hear(host(1, 1), &packet(code::PADI, &any())).expect("an offer");
    let cookie = tag(&offer, kind::AC_COOKIE).expect("a cookie");
    let request = packet(code::PADR, &with(&any(), kind::AC_COOKIE, &cookie));
    assert_eq!(one.hear(host(1, 2), &request), None);
    assert_eq!(one.hear(host(2, 1), &request), None);
    assert_eq!(one.hear(host(1, 1), &packet(code::PADR, &any())), None);
    let made_up = with(&any(), kind::AC_COOKIE, &[7; 24]);
    assert_eq!(one.hear(host(1, 1), &packet(code::PADR, &made_up)), None);
    let counters = one.counters();
    assert_eq!((counters.false_cookie, counters.no_cookie), (3, 1));
    assert!(one.ac.is_empty());
}

#[test]
fn a_service_that_there_is_not_is_an_error() {
    let mut one = One::new(Config { services: vec![b"data".to_vec()], ..Config::new(b"ac") });
    let offer = one.hear(host(1, 1), &packet(code::PADI, &any())).expect("an offer");
    let cookie = tag(&offer, kind::AC_COOKIE).expect("a cookie");
    let other = with(&with(&[], kind::SERVICE_NAME, b"video"), kind::HOST_UNIQ, &[8]);
    let request = packet(code::PADR, &with(&other, kind::AC_COOKIE, &cookie));
    let answer = one.hear(host(1, 1), &request).expect("an error");
    let parsed = Packet::parse(&answer).expect("a packet");
    assert_eq!((parsed.code, parsed.session_id), (code::PADS, 0));
    assert!(tag(&answer, kind::SERVICE_NAME_ERROR).is_some());
    assert_eq!(tag(&answer, kind::HOST_UNIQ), Some(vec![8]));
    assert_eq!((one.counters().refused_service, one.ac.sessions()), (1, 0));
}

#[test]
fn a_greater_payload_is_agreed_on_where_both_have_it() {
    let asked = |max: u16, value: &[u8]| {
        let mut one = One::new(Config { max_payload: max, ..Config::new(b"ac") });
        let list = with(&any(), kind::PPP_MAX_PAYLOAD, value);
        let answer = one.ask(host(1, 1), &list).expect("an answer");
        let Some(Report::Opened { opened, .. }) = one.said.pop() else { panic!("no session") };
        let offer = one.hear(host(1, 2), &packet(code::PADI, &list)).expect("an offer");
        let echoed = tag(&answer, kind::PPP_MAX_PAYLOAD);
        assert_eq!(echoed, tag(&offer, kind::PPP_MAX_PAYLOAD));
        (opened.max_payload, echoed)
    };
    assert_eq!(asked(1500, &[0x05, 0xdc]), (1500, Some(vec![0x05, 0xdc])));
    assert_eq!(asked(1500, &[0x23, 0x28]), (1500, Some(vec![0x23, 0x28])), "as it was asked");
    assert_eq!(asked(1492, &[0x05, 0xdc]), (1492, None));
    assert_eq!(asked(1500, &[0x05, 0xd4]), (1492, None));
    assert_eq!(asked(1500, &[0x01, 0x00]), (1492, None), "less is not for PPPoE to say");
    assert_eq!(asked(1500, &[5]), (1492, None));
}

#[test]
fn configurations_that_cannot_be_used_are_refused() {
    let why = |config: Config| protocol_pppoe::AccessConcentrator::new(config, [0; 32]).err();
    let good = Config::new(b"ac");
    assert_eq!(why(good.clone()), None);
    assert_eq!(why(Config::new(b"")), Some(Unusable::Name));
    assert_eq!(why(Config::new(&[7; 65])), Some(Unusable::Name));
    let services = vec![b"a".to_vec(); 17];
    assert_eq!(why(Config { services, ..good.clone() }), Some(Unusable::Name));
    assert_eq!(why(Config { max_payload: 1491, ..good.clone() }), Some(Unusable::Payload));
    assert_eq!(why(Config { max_payload: 9193, ..good.clone() }), Some(Unusable::Payload));
    let cookie_time = Duration::from_millis(900);
    assert_eq!(why(Config { cookie_time, ..good.clone() }), Some(Unusable::Cookie));
    let mut none = good.clone();
    none.limits.by_circuit = 0;
    assert_eq!(why(none.clone()), Some(Unusable::Limit));
    let mut one = One::new(good.clone());
    one.tell(Command::Configure(none));
    assert_eq!(one.said.pop(), Some(Report::Refused { why: Unusable::Limit }));
    one.tell(Command::Configure(Config { name: b"other".to_vec(), ..good }));
    let offer = one.hear(host(1, 1), &packet(code::PADI, &any())).expect("an offer");
    assert_eq!(tag(&offer, kind::AC_NAME), Some(b"other".to_vec()));
}
