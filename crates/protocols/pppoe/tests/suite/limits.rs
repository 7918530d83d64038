//! Limits: of a MAC address, a VLAN, a circuit and in all, each with its counter.

use protocol_pppoe::packet::{Packet, code};
use protocol_pppoe::tags::{LineIds, kind};
use protocol_pppoe::{Command, Config, Limits, Line, Origin, Reason, Report};
use wire::ethernet::MacAddr;

use crate::support::{One, any, host, packet, tag, with};

const WIDE: Limits = Limits { total: 1000, by_mac: 1000, by_vlan: 1000, by_circuit: 1000 };

fn limited(limits: Limits) -> One {
    One::new(Config { limits, replaces: false, ..Config::new(b"ac") })
}

/// Asks with a Host-Uniq of its own; whether there is a session.
#[track_caller]
fn is_let_in(one: &mut One, origin: Origin, uniq: u8) -> bool {
    let list = with(&any(), kind::HOST_UNIQ, &[uniq]);
    let answer = one.ask(origin, &list).expect("an answer");
    let is_in = Packet::parse(&answer).expect("a packet").session_id != 0;
    assert_eq!(tag(&answer, kind::AC_SYSTEM_ERROR).is_some(), !is_in);
    is_in
}

#[test]
fn each_limit_refuses_and_counts() {
    let mut one = limited(Limits { by_mac: 2, ..WIDE });
    let ins: Vec<bool> =
        (0..3).map(|uniq| is_let_in(&mut one, host(uniq.into(), 1), uniq)).collect();
    assert_eq!(ins, [true, true, false], "on whatever line");
    assert!(is_let_in(&mut one, host(9, 2), 9));
    assert_eq!(one.counters().limit_mac, 1);

    let mut one = limited(Limits { by_vlan: 2, ..WIDE });
    let ins: Vec<bool> = (0..3).map(|number| is_let_in(&mut one, host(1, number), 1)).collect();
    assert_eq!(ins, [true, true, false]);
    let mut other = host(1, 9);
    other.line.outer = 101;
    assert!(is_let_in(&mut one, other, 1));
    other.line = host(1, 9).line;
    other.line.port = 2;
    assert!(is_let_in(&mut one, other, 2));
    assert_eq!(one.counters().limit_vlan, 1);

    let mut one = limited(Limits { by_circuit: 1, ..WIDE });
    assert!(is_let_in(&mut one, host(1, 1), 1) && !is_let_in(&mut one, host(1, 2), 1));
    assert!(is_let_in(&mut one, host(2, 3), 1), "without a tag the line is the circuit");
    assert_eq!(one.counters().limit_circuit, 1);

    let mut one = limited(Limits { total: 3, ..WIDE });
    let ins = (0..5).filter(|number| is_let_in(&mut one, host((*number).into(), *number), 1));
    assert_eq!(ins.collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((one.counters().limit_total, one.ac.sessions()), (2, 3));
    // Who goes makes room.
    one.tell(Command::Close { session: 1, why: vec![] });
    assert!(is_let_in(&mut one, host(7, 7), 1));
}

#[test]
fn a_circuit_is_what_a_trusted_access_node_says() {
    let limits = Limits { by_circuit: 1, ..WIDE };
    let usual = Config { limits, replaces: false, ..Config::new(b"ac") };
    let mut one = One::new(Config { trusts_access_nodes: true, ..usual.clone() });
    let is_in = |one: &mut One, origin, circuit| {
        let answer = one.ask(origin, &at_circuit(circuit)).expect("an answer");
        Packet::parse(&answer).expect("a packet").session_id != 0
    };
    assert!(is_in(&mut one, host(1, 1), b"a") && is_in(&mut one, host(1, 2), b"b"));
    assert!(!is_in(&mut one, host(2, 3), b"a"), "the same one with another inner VLAN");
    assert_eq!(one.counters().limit_circuit, 1);
    // The node behind another port or outer VLAN may have a circuit of this name, too.
    for (number, port, outer) in [(4, 2, 100), (5, 1, 101)] {
        let line = Line { port, outer, inner: 1 };
        assert!(is_in(&mut one, Origin { line, ..host(1, number) }, b"a"), "{line:?}");
    }
    // Where hosts could write the tag themselves it is ignored.
    let mut one = One::new(usual);
    assert!(is_in(&mut one, host(1, 1), b"a"));
    let Some(Report::Opened { opened, .. }) = one.said.pop() else { panic!("no session") };
    assert_eq!((opened.circuit, opened.remote), (None, None));
    assert!(!is_in(&mut one, host(1, 2), b"b"), "the line is the circuit");
    assert!(is_in(&mut one, host(2, 3), b"a"), "no host uses up another one's limit");
}

/// What an access node adds for a circuit.
fn at_circuit(circuit: &[u8]) -> Vec<u8> {
    let mut list = any();
    LineIds { circuit: Some(circuit), remote: None }.put(&mut list);
    list
}

#[test]
fn nobody_gives_way_to_what_does_not_begin() {
    let limits = Limits { by_mac: 2, by_circuit: 1, ..WIDE };
    let usual = Config { limits, trusts_access_nodes: true, ..Config::new(b"ac") };
    let mut one = One::new(usual.clone());
    let ask = |one: &mut One, number, circuit, more: &[u8]| {
        one.now = one.now.after(std::time::Duration::from_secs(1));
        let list = [&at_circuit(circuit), more].concat();
        let answer = one.ask(host(1, number), &list)?;
        Some(Packet::parse(&answer).expect("a packet").session_id)
    };
    assert!(ask(&mut one, 1, b"a", &[]) > Some(0) && ask(&mut one, 2, b"b", &[]) > Some(0));
    // Another host's session fills the circuit: the end of the own one makes no room there.
    assert_eq!(ask(&mut one, 1, b"b", &[]), Some(0));
    assert_eq!((one.ac.sessions(), one.closed(), one.counters().limit_circuit), (2, vec![], 1));
    // The one that makes room is not the eldest of all.
    assert!(ask(&mut one, 1, b"c", &[]) > Some(0) && ask(&mut one, 1, b"c", &[]) > Some(0));
    assert_eq!(one.closed(), [(2, Reason::Replaced)]);
    // What cannot be confirmed does not begin: a frame has no room for the answer.
    let mut one = One::new(Config { name: vec![b'a'; 64], ..usual });
    assert!(ask(&mut one, 1, b"a", &[]) > Some(0));
    one.now = one.now.after(std::time::Duration::from_secs(1));
    let offer = one.hear(host(1, 1), &packet(code::PADI, &any())).expect("an offer");
    let cookie = tag(&offer, kind::AC_COOKIE).expect("a cookie");
    let list = with(&at_circuit(b"a"), kind::AC_COOKIE, &cookie);
    let list = with(&list, kind::HOST_UNIQ, &[7; 1420]);
    assert_eq!(one.hear(host(1, 1), &packet(code::PADR, &list)), None);
    assert_eq!((one.ac.sessions(), one.closed(), one.counters().oversize), (1, vec![], 1));
}

#[test]
fn no_two_sessions_of_a_line_have_one_identifier() {
    let mut one = limited(WIDE);
    let station = |number: u16| MacAddr([2, 1, 0, 0, (number >> 8) as u8, number as u8]);
    let origin = |number| Origin { from: station(number), ..host(1, 1) };
    let ids = (0..1000).map(|number| one.open(origin(number)).1.session_id);
    assert_eq!(ids.collect::<std::collections::BTreeSet<_>>().len(), 1000);
}

#[test]
fn a_number_is_below_the_limit_that_holds() {
    let mut one = limited(WIDE);
    let config = |total| Config { limits: Limits { total, ..WIDE }, ..Config::new(b"ac") };
    (0..20).for_each(|number| assert!(is_let_in(&mut one, host(1, number), number)));
    (0..20).for_each(|session| one.tell(Command::Close { session, why: vec![] }));
    one.tell(Command::Configure(config(5)));
    let numbers = (0..5).map(|number| one.open(host(2, number)).0);
    assert_eq!(numbers.collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn who_comes_back_replaces_itself() {
    let mut one = One::new(Config::new(b"ac"));
    let (first, old) = one.open(host(1, 1));
    one.now = one.now.after(std::time::Duration::from_secs(2));
    let (_, new) = one.open(host(1, 1));
    assert_eq!(one.closed(), [(first, Reason::Replaced)]);
    let padt = one.sent.iter().filter_map(|(_, _, packet)| Packet::parse(packet).ok());
    let padt: Vec<u16> =
        padt.filter(|packet| packet.code == code::PADT).map(|packet| packet.session_id).collect();
    assert_eq!(padt, [old.session_id]);
    assert_ne!(new.session_id, old.session_id);
    assert_eq!((one.ac.sessions(), one.counters().replaced), (1, 1));
    // On another line it is another host, which may not end what it cannot see.
    assert!(!is_let_in(&mut one, host(2, 1), 1));
    assert_eq!((one.ac.sessions(), one.counters().limit_mac), (1, 1));
}

#[test]
fn nobody_new_comes_in_where_nobody_is_wanted() {
    let mut one = One::new(Config::new(b"ac"));
    let offer = one.hear(host(1, 1), &packet(code::PADI, &any())).expect("an offer");
    let cookie = tag(&offer, kind::AC_COOKIE).expect("a cookie");
    let (session, _) = one.open(host(2, 2));
    one.tell(Command::Welcome(false));
    assert_eq!(one.hear(host(1, 1), &packet(code::PADI, &any())), None);
    let request = packet(code::PADR, &with(&any(), kind::AC_COOKIE, &cookie));
    let answer = one.hear(host(1, 1), &request).expect("an error");
    assert!(tag(&answer, kind::AC_SYSTEM_ERROR).is_some());
    assert_eq!((one.counters().unwelcome, one.ac.sessions()), (2, 1));
    assert!(one.ac.view(session).is_some());
    one.tell(Command::Welcome(true));
    assert!(is_let_in(&mut one, host(1, 1), 1));
}

#[test]
fn identifiers_are_unique_for_a_host_and_its_line() {
    let limits = Limits { total: 70_000, by_mac: 70_000, by_vlan: 70_000, by_circuit: 70_000 };
    let mut one = limited(limits);
    let mut ids = std::collections::BTreeSet::new();
    for number in 0..2000_u32 {
        let list = with(&any(), kind::HOST_UNIQ, &number.to_be_bytes());
        one.ask(host(1, 1), &list);
        let Some(Report::Opened { opened, session }) = one.said.pop() else { panic!("none") };
        assert_eq!(session, number);
        assert!(ids.insert(opened.session_id) && !matches!(opened.session_id, 0 | 0xffff));
        one.sent.clear();
    }
    // They are drawn, not counted.
    assert!(ids.range(..1000).count() < 200 && ids.range(60_000..).count() > 50);
    (0..2000).for_each(|session| one.tell(Command::Close { session, why: vec![] }));
    assert!(one.ac.is_empty());
    assert_eq!(one.ac.view(0), None);
}

#[test]
fn a_flood_of_addresses_leaves_nothing_and_takes_nothing() {
    let mut one = limited(Limits { by_vlan: 100, ..WIDE });
    for number in 0..100_000_u32 {
        let [a, b, c, d] = number.to_be_bytes();
        let origin = Origin { from: MacAddr([2, 9, a, b, c, d]), is_to_group: true, ..host(1, 0) };
        assert!(one.hear(origin, &packet(code::PADI, &any())).is_some());
        one.sent.clear();
    }
    assert!(one.ac.is_empty());
    assert!(is_let_in(&mut one, host(1, 1), 1));
}
