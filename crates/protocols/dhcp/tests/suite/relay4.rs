//! The relay of DHCPv4 between clients and servers that are written out here (RFC 1542, RFC 3046,
//! RFC 5107).

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use protocol_dhcp::v4::{Mode, Relay};
use protocol_dhcp::{Access, Command, Framed, Line, Place, Report, Why};
use protocol_kit::{Arrival, Input, Interface, Machine, Socket, Time};
use wire::MacAddr;

use crate::client4::{ACK, DECLINE, DISCOVER, INFORM, Message4, NAK, OFFER, RELEASE, REQUEST};
use crate::lines::{ANYBODY, Lines, MAC, config4};

const RELAY: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const SERVERS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2)];

fn lines(mode: Mode) -> Lines<Relay> {
    let mut config = config4();
    config.pools.clear();
    Lines::new(Relay::new(config, RELAY, &SERVERS, mode).expect("a relay"))
}

/// What a server makes of what it was asked.
fn answer(asked: &[u8], kind: u8, server: Ipv4Addr, yiaddr: [u8; 4]) -> Vec<u8> {
    let request = Message4::read(asked);
    let mut reply = Message4 { op: 2, yiaddr, options: vec![(53, vec![kind])], ..request.clone() };
    reply.options.push((54, server.octets().to_vec()));
    if kind != NAK {
        reply.options.push((51, 600u32.to_be_bytes().to_vec()));
    }
    reply.options.push((82, request.option(82).to_vec()));
    let mut bytes = reply.bytes();
    bytes.resize(bytes.len().max(300), 0);
    bytes
}

fn asked(lines: &mut Lines<Relay>) -> Vec<(IpAddr, Message4)> {
    lines.asked.drain(..).map(|(to, bytes)| (to, Message4::read(&bytes))).collect()
}

/// Leads a client to its address by the first server; returns the acknowledgement.
fn bound(lines: &mut Lines<Relay>) -> Message4 {
    bind(lines, (7, MAC), [10, 1, 0, 9])
}

/// The same of any client.
fn bind(lines: &mut Lines<Relay>, (line, mac): (u32, [u8; 6]), address: [u8; 4]) -> Message4 {
    lines.asked.clear();
    lines.hear(line, mac, ANYBODY, Message4::new(DISCOVER, 5, mac).bytes());
    let bytes = lines.asked[0].1.clone();
    lines.asked.clear();
    lines.answer(SERVERS[0].into(), &answer(&bytes, OFFER, SERVERS[0], address));
    let offer = Message4::read(&lines.only().bytes);
    let request = Message4::new(REQUEST, 5, mac).with(50, &offer.yiaddr).with(54, offer.option(54));
    lines.hear(line, mac, ANYBODY, request.bytes());
    let bytes = lines.asked[0].1.clone();
    lines.answer(SERVERS[0].into(), &answer(&bytes, ACK, SERVERS[0], address));
    Message4::read(&lines.only().bytes)
}

/// A message of the client that [`bound`] leads, which names the first server.
fn of_bound(kind: u8, xid: u32) -> Message4 {
    let mut message = Message4::new(kind, xid, MAC);
    match kind {
        DECLINE => message = message.with(50, &[10, 1, 0, 9]),
        _ => message.ciaddr = [10, 1, 0, 9],
    }
    message.with(54, &SERVERS[0].octets())
}

#[test]
fn a_request_goes_to_every_server_with_address_hop_and_circuit() {
    let mut lines = lines(Mode::Relay);
    lines.command(Command::Name(Line(7), b"slot 1 port 7".to_vec(), b"house 9".to_vec()));
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).with(55, &[1, 3]).bytes());
    let all = asked(&mut lines);
    assert_eq!(all.iter().map(|(to, _)| *to).collect::<Vec<_>>(), SERVERS.map(IpAddr::from));
    let (_, message) = &all[0];
    assert_eq!((message.giaddr, message.hops, message.xid), (RELAY.octets(), 1, 5));
    let agent = [&[1, 13][..], b"slot 1 port 7", &[2, 7], b"house 9"].concat();
    assert_eq!(message.options, [(53, vec![1]), (55, vec![1, 3]), (82, agent)]);
    // Without a name it is the number of the line.
    lines.hear(8, MAC, ANYBODY, Message4::new(DISCOVER, 6, MAC).bytes());
    assert_eq!(asked(&mut lines)[0].1.option(82), [1, 4, 0, 0, 0, 8]);
}

#[test]
fn an_acknowledgement_waits_for_the_session() {
    let mut lines = lines(Mode::Relay);
    lines.acknowledges = false;
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).bytes());
    let bytes = lines.asked[0].1.clone();
    lines.answer(SERVERS[0].into(), &answer(&bytes, OFFER, SERVERS[0], [10, 1, 0, 9]));
    let offer = Message4::read(&lines.only().bytes);
    assert_eq!((offer.giaddr, offer.option(82)), ([0; 4], &[] as &[u8]), "the client sees neither");
    assert_eq!(offer.option(54), SERVERS[0].octets());
    lines.asked.clear();
    let request = Message4::new(REQUEST, 5, MAC).with(50, &offer.yiaddr).with(54, offer.option(54));
    lines.hear(7, MAC, ANYBODY, request.bytes());
    let bytes = lines.asked[0].1.clone();
    for _ in 0..2 {
        lines.answer(SERVERS[0].into(), &answer(&bytes, ACK, SERVERS[0], [10, 1, 0, 9]));
    }
    assert_eq!(lines.said, []);
    let Some(Report::Up { lease, prefixes, .. }) = lines.reports.last().cloned() else {
        panic!("{:?}", lines.reports)
    };
    assert_eq!(prefixes[0].to_string(), "10.1.0.9");
    lines.command(Command::Acknowledged(lease));
    assert_eq!(Message4::read(&lines.only().bytes).kind(), ACK);
    assert_eq!(lines.machine.counters().superseded, 1, "the second one");
    // The transaction is over.
    lines.answer(SERVERS[0].into(), &answer(&bytes, ACK, SERVERS[0], [10, 1, 0, 9]));
    assert_eq!((lines.said.len(), lines.machine.counters().unsolicited), (0, 1));
    // It lives as long as the server said, and not as its class does.
    lines.pass(Duration::from_secs(599));
    assert_eq!(lines.machine.leases(), 1);
    lines.pass(Duration::from_secs(2));
    assert!(matches!(lines.reports.last(), Some(Report::Gone { why: Why::Expired, .. })));
}

#[test]
fn a_proxy_is_the_only_server_that_clients_know() {
    let mut lines = lines(Mode::Proxy);
    let ack = bound(&mut lines);
    assert_eq!(ack.option(54), RELAY.octets());
    let all = asked(&mut lines);
    assert_eq!(all.len(), 1, "the request goes to the server that was chosen");
    assert_eq!(all[0].1.option(54), SERVERS[0].octets());
    // It renews with the relay, by unicast.
    let mut renewal = Message4::new(REQUEST, 6, MAC);
    renewal.ciaddr = [10, 1, 0, 9];
    lines.hear(7, MAC, ([10, 1, 0, 9].into(), RELAY.into()), renewal.bytes());
    let all = asked(&mut lines);
    assert_eq!((all.len(), all[0].0), (1, SERVERS[0].into()));
    // When that server is gone it asks all, and another one may know it.
    lines.hear(7, MAC, ANYBODY, renewal.bytes());
    let bytes = lines.asked[1].1.clone();
    assert_eq!(lines.asked.len(), 2);
    lines.answer(SERVERS[1].into(), &answer(&bytes, ACK, SERVERS[1], [10, 1, 0, 9]));
    assert_eq!(Message4::read(&lines.only().bytes).option(54), RELAY.octets());
    lines.asked.clear();
    let mut release = Message4::new(RELEASE, 7, MAC).with(54, &RELAY.octets());
    release.ciaddr = [10, 1, 0, 9];
    lines.hear(7, MAC, ([10, 1, 0, 9].into(), RELAY.into()), release.bytes());
    let all = asked(&mut lines);
    assert_eq!((all[0].0, all[0].1.option(54)), (SERVERS[1].into(), &SERVERS[1].octets()[..]));
    assert_eq!(lines.machine.leases(), 0);
    // One offer for a client that knows one server.
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 8, MAC).bytes());
    let bytes = lines.asked[0].1.clone();
    for server in SERVERS {
        lines.answer(server.into(), &answer(&bytes, OFFER, server, [10, 1, 0, 9]));
    }
    assert_eq!(lines.said.len(), 1);
}

#[test]
fn servers_are_told_whom_to_name() {
    let mut lines = lines(Mode::Override);
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).bytes());
    let all = asked(&mut lines);
    assert_eq!(all[0].1.option(82), [1, 4, 0, 0, 0, 7, 11, 4, 10, 1, 0, 1]);
}

#[test]
fn clients_know_the_relay_by_its_address_on_lines_and_servers_choose_their_pools_by_it() {
    const ON_LINES: Ipv4Addr = Ipv4Addr::new(10, 1, 7, 1);
    let on_lines = ON_LINES.octets();
    for mode in [Mode::Proxy, Mode::Override] {
        let relay = Relay::new(config4(), RELAY, &SERVERS[..1], mode).expect("a relay");
        let mut lines = Lines::new(relay.on_lines(ON_LINES));
        lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).bytes());
        let bytes = lines.asked[0].1.clone();
        let (_, message) = asked(&mut lines).remove(0);
        assert_eq!(message.giaddr, RELAY.octets());
        let named =
            if mode == Mode::Override { [&[11, 4][..], &on_lines].concat() } else { vec![] };
        let agent = [&[1, 4, 0, 0, 0, 7][..], &named, &[5, 4], &on_lines].concat();
        assert_eq!(message.option(82), agent);
        let named = if mode == Mode::Override { ON_LINES } else { SERVERS[0] };
        lines.answer(SERVERS[0].into(), &answer(&bytes, OFFER, named, [10, 1, 7, 9]));
        let said = lines.only();
        assert_eq!(said.from, IpAddr::from(ON_LINES));
        assert_eq!(Message4::read(&said.bytes).option(54), on_lines);
        let taken = Message4::new(REQUEST, 5, MAC).with(50, &[10, 1, 7, 9]).with(54, &on_lines);
        lines.hear(7, MAC, ANYBODY, taken.bytes());
        assert_eq!(asked(&mut lines)[0].1.option(54), named.octets());
    }
}

#[test]
fn a_nak_takes_the_address_back() {
    let mut lines = lines(Mode::Relay);
    bound(&mut lines);
    lines.asked.clear();
    let reboot = Message4::new(REQUEST, 6, MAC).with(50, &[10, 1, 0, 9]);
    lines.hear(7, MAC, ANYBODY, reboot.bytes());
    let bytes = lines.asked[0].1.clone();
    lines.answer(SERVERS[0].into(), &answer(&bytes, NAK, SERVERS[0], [0; 4]));
    let said = lines.only();
    assert_eq!((Message4::read(&said.bytes).kind(), said.to), (NAK, [255u8; 4].into()));
    assert!(matches!(
        lines.reports.last(),
        Some(Report::Gone { why: Why::Withdrawn, is_last: true, .. })
    ));
}

#[test]
fn what_servers_must_not_send_is_dropped_by_name() {
    let mut lines = lines(Mode::Relay);
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).bytes());
    let bytes = lines.asked[0].1.clone();
    let offer = answer(&bytes, OFFER, SERVERS[0], [10, 1, 0, 9]);
    lines.answer([10, 9, 0, 3].into(), &offer);
    lines.answer(SERVERS[0].into(), &bytes);
    let mut other = offer.clone();
    other[27] = 2;
    lines.answer(SERVERS[0].into(), &other);
    let mut forged = offer.clone();
    forged[7] ^= 1;
    lines.answer(SERVERS[0].into(), &forged);
    lines.answer(SERVERS[0].into(), &offer[..239]);
    let counters = lines.machine.counters();
    assert_eq!((counters.stranger, counters.loops, counters.unsolicited), (1, 2, 1));
    assert_eq!((counters.malformed, lines.said.len()), (1, 0));
    // From a line: what a relay has passed on before.
    let mut relayed = Message4::new(DISCOVER, 9, MAC);
    relayed.giaddr = RELAY.octets();
    lines.hear(7, MAC, ANYBODY, relayed.bytes());
    assert_eq!(lines.machine.counters().relayed, 1);
}

#[test]
fn servers_that_give_an_address_twice_are_not_believed() {
    let mut lines = lines(Mode::Relay);
    bound(&mut lines);
    lines.asked.clear();
    let mac = [2, 0, 0, 0, 0, 10];
    let request = Message4::new(REQUEST, 6, mac).with(50, &[10, 1, 0, 9]);
    lines.hear(8, mac, ANYBODY, request.bytes());
    let bytes = lines.asked[0].1.clone();
    lines.answer(SERVERS[1].into(), &answer(&bytes, ACK, SERVERS[1], [10, 1, 0, 9]));
    assert_eq!((lines.said.len(), lines.machine.counters().taken), (0, 1));
    assert!(matches!(lines.reports.last(), Some(Report::Taken { by: Some(_), .. })));
}

#[test]
fn a_server_that_does_not_answer_is_told_once_and_so_is_its_return() {
    let mut lines = lines(Mode::Relay);
    for xid in 0..3 {
        lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, xid, MAC).bytes());
        lines.pass(Duration::from_secs(6));
    }
    assert_eq!(lines.turns(), [(0, false), (1, false)]);
    let (_, bytes) = lines.asked.pop_back().expect("asked");
    lines.answer(SERVERS[1].into(), &answer(&bytes, OFFER, SERVERS[1], [10, 1, 0, 9]));
    assert_eq!(lines.turns(), [(0, false), (1, false), (1, true)]);
}

#[test]
fn a_server_that_nobody_has_asked_is_not_silent() {
    let mut lines = lines(Mode::Relay);
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).bytes());
    let bytes = lines.asked[0].1.clone();
    for server in SERVERS {
        lines.answer(server.into(), &answer(&bytes, OFFER, server, [10, 1, 0, 9]));
    }
    // All hear whose offer is taken, and one answers.
    lines.asked.clear();
    let taken = of_bound(REQUEST, 5).with(50, &[10, 1, 0, 9]);
    lines.hear(7, MAC, ANYBODY, Message4 { ciaddr: [0; 4], ..taken }.bytes());
    assert_eq!(lines.asked.len(), 2);
    let bytes = lines.asked[0].1.clone();
    lines.answer(SERVERS[0].into(), &answer(&bytes, ACK, SERVERS[0], [10, 1, 0, 9]));
    lines.pass(Duration::from_secs(20));
    assert_eq!(lines.turns(), []);
    // Nobody answers these.
    for (kind, xid) in [(DECLINE, 6), (RELEASE, 7)] {
        lines.said.clear();
        bound(&mut lines);
        let offer = answer(&lines.asked[0].1.clone(), OFFER, SERVERS[1], [10, 1, 0, 9]);
        lines.answer(SERVERS[1].into(), &offer);
        lines.said.clear();
        lines.hear(7, MAC, ANYBODY, of_bound(kind, xid).bytes());
        lines.pass(Duration::from_secs(20));
        assert_eq!((lines.turns(), lines.machine.leases()), (vec![], 0));
    }
    // Who refuses is not silent either, be it the second one to do so.
    bound(&mut lines);
    lines.hear(7, MAC, ANYBODY, Message4::new(REQUEST, 8, MAC).with(50, &[10, 1, 0, 77]).bytes());
    let (_, bytes) = lines.asked.pop_back().expect("asked");
    for server in SERVERS {
        lines.answer(server.into(), &answer(&bytes, NAK, server, [0; 4]));
    }
    assert_eq!(lines.machine.counters().refused, 1);
    lines.pass(Duration::from_secs(20));
    assert_eq!(lines.turns(), []);
}

#[test]
fn a_socket_that_fails_is_not_the_servers_silence_and_what_it_loses_is_counted() {
    let mut lines = lines(Mode::Relay);
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).bytes());
    lines.fail();
    lines.asked.clear();
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 6, MAC).bytes());
    let counters = lines.machine.counters();
    assert_eq!((lines.asked.len(), counters.unsent, counters.dropped()), (0, 1, 1));
    lines.pass(Duration::from_secs(20));
    assert_eq!(lines.turns(), []);
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 7, MAC).bytes());
    assert_eq!((lines.asked.len(), lines.machine.counters().unsent), (2, 1));
}

#[test]
fn what_cannot_be_passed_on_changes_nothing() {
    let mut lines = lines(Mode::Relay);
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).bytes());
    let bytes = lines.asked[0].1.clone();
    lines.asked.clear();
    // With the relay's option it would be too long.
    let long = (0..14).fold(Message4::new(DISCOVER, 6, MAC), |all, _| all.with(43, &[0; 255]));
    let long = long.with(43, &[0; 250]).bytes();
    assert!((4090..=4096).contains(&long.len()), "{}", long.len());
    lines.hear(7, MAC, ANYBODY, long);
    assert_eq!((lines.asked.len(), lines.machine.counters().malformed), (0, 1));
    // And this has no way.
    lines.fail();
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 7, MAC).bytes());
    assert_eq!((lines.asked.len(), lines.machine.counters().unsent), (0, 1));
    lines.answer(SERVERS[0].into(), &answer(&bytes, OFFER, SERVERS[0], [10, 1, 0, 9]));
    assert_eq!(Message4::read(&lines.only().bytes).xid, 5, "what was asked before is answered");
}

#[test]
fn a_declined_address_is_given_up_when_its_server_hears_of_it_and_a_released_one_at_once() {
    let mut lines = lines(Mode::Relay);
    bound(&mut lines);
    lines.fail();
    lines.hear(7, MAC, ANYBODY, of_bound(DECLINE, 8).bytes());
    let counters = lines.machine.counters();
    assert_eq!((counters.unsent, counters.declined, lines.machine.leases()), (1, 0, 1));
    lines.hear(7, MAC, ANYBODY, of_bound(RELEASE, 9).bytes());
    assert_eq!((lines.machine.counters().unsent, lines.machine.leases()), (2, 0));
    assert!(matches!(lines.reports.last(), Some(Report::Gone { why: Why::Released, .. })));
}

#[test]
fn a_client_gives_up_its_own_alone() {
    let mut lines = lines(Mode::Relay);
    let other = [2, 0, 0, 0, 0, 10];
    bound(&mut lines);
    bind(&mut lines, (8, other), [10, 1, 0, 10]);
    lines.asked.clear();
    // From another line, by another host, and by one that has an address itself.
    let mut count = 0;
    for (line, mac) in [(8, MAC), (9, MAC), (7, other), (8, other)] {
        for kind in [RELEASE, DECLINE] {
            let message = Message4 { chaddr: mac, ..of_bound(kind, 9) };
            lines.hear(line, mac, ANYBODY, message.bytes());
            // Whose identifier it says that it has does not matter.
            let id = [&[1][..], &MAC].concat();
            lines.hear(line, mac, ANYBODY, message.with(61, &id).bytes());
            count += 2;
        }
    }
    let counters = lines.machine.counters();
    assert_eq!((counters.unknown, counters.declined), (count, 0));
    assert_eq!((lines.asked.len(), lines.machine.leases()), (0, 2));
    lines.hear(7, MAC, ANYBODY, of_bound(DECLINE, 9).bytes());
    assert_eq!((lines.asked.len(), lines.machine.leases()), (1, 1));
    assert_eq!(lines.machine.counters().declined, 1);
}

#[test]
fn an_answer_is_not_another_lines() {
    let mut lines = lines(Mode::Relay);
    let discover = Message4::new(DISCOVER, 5, MAC).bytes();
    lines.hear(7, MAC, ANYBODY, discover.clone());
    let bytes = lines.asked[0].1.clone();
    // The same host on another line, or who says so, with the same transaction.
    lines.asked.clear();
    lines.hear(8, MAC, ANYBODY, discover);
    assert_eq!((lines.asked.len(), lines.machine.counters().superseded), (0, 1));
    lines.answer(SERVERS[0].into(), &answer(&bytes, OFFER, SERVERS[0], [10, 1, 0, 9]));
    assert_eq!(lines.only().line, Line(7));
    // With one of its own it has its turn.
    lines.hear(8, MAC, ANYBODY, Message4::new(DISCOVER, 6, MAC).bytes());
    let bytes = lines.asked[0].1.clone();
    lines.answer(SERVERS[0].into(), &answer(&bytes, OFFER, SERVERS[0], [10, 1, 0, 10]));
    assert_eq!(lines.only().line, Line(8));
}

#[test]
fn answers_come_from_the_port_of_servers_and_not_from_lines() {
    let mut lines = lines(Mode::Relay);
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).bytes());
    let offer = answer(&lines.asked[0].1.clone(), OFFER, SERVERS[0], [10, 1, 0, 9]);
    lines.answer_from((SERVERS[0], 68).into(), &offer);
    lines.answer_from((SERVERS[0], 1067).into(), &offer);
    assert_eq!((lines.said.len(), lines.machine.counters().stranger), (0, 2));
    let mac = MacAddr(MAC);
    let places = vec![Place { interface: Interface(3), line: Line(7), mac }];
    let mut framed = Framed::new(lines.machine, places);
    while framed.poll(Time::ZERO).is_some() {}
    for (interface, answered, dropped) in [(3, 0, 1), (4, 1, 1)] {
        let arrival = Arrival::Datagram {
            socket: Socket(0),
            interface: Interface(interface),
            from: (SERVERS[0], 67).into(),
            to: RELAY.into(),
            ttl: 64,
            bytes: &offer,
        };
        framed.input(Time::ZERO, Input::Arrival(arrival));
        assert_eq!((framed.machine().counters().answered, framed.dropped()), (answered, dropped));
    }
}

#[test]
fn what_is_for_one_server_goes_to_that_one() {
    let to = |lines: &mut Lines<Relay>, ends: (IpAddr, IpAddr), message: &Message4| {
        lines.asked.clear();
        lines.hear(7, MAC, ends, message.bytes());
        lines.asked.iter().map(|(to, _)| *to).collect::<Vec<_>>()
    };
    let own: IpAddr = [10, 1, 0, 9].into();
    let [first, second] = SERVERS.map(IpAddr::from);
    let mut renewal = Message4::new(REQUEST, 6, MAC);
    renewal.ciaddr = [10, 1, 0, 9];
    let mut lines = lines(Mode::Relay);
    bound(&mut lines);
    // By its destination, by what has given the address, by what is named; else to all.
    assert_eq!(to(&mut lines, (own, second), &renewal), [second]);
    assert_eq!(to(&mut lines, (own, [192, 0, 2, 1].into()), &renewal), [first]);
    assert_eq!(to(&mut lines, ANYBODY, &renewal), [first, second], "rebinding");
    let inform = Message4 { options: vec![(53, vec![INFORM])], ..renewal.clone() };
    assert_eq!(to(&mut lines, (own, second), &inform), [second]);
    assert_eq!(to(&mut lines, ANYBODY, &inform), [first, second]);
    // A server calls itself by another address than the relay knows.
    let bytes = lines.asked[1].1.clone();
    let name = Ipv4Addr::new(192, 0, 2, 7);
    lines.answer(second, &answer(&bytes, ACK, name, [0; 4]));
    lines.said.clear();
    let mut release = of_bound(RELEASE, 9);
    release.options[1].1 = name.octets().to_vec();
    assert_eq!(to(&mut lines, (own, name.into()), &release), [second]);
    bound(&mut lines);
    assert_eq!(to(&mut lines, ANYBODY, &of_bound(DECLINE, 9)), [first]);
}

#[test]
fn nothing_that_comes_meanwhile_costs_an_acknowledgement_that_waits() {
    let mut lines = lines(Mode::Relay);
    lines.acknowledges = false;
    let request = Message4::new(REQUEST, 5, MAC).with(50, &[10, 1, 0, 9]);
    lines.hear(7, MAC, ANYBODY, request.bytes());
    let bytes = lines.asked[0].1.clone();
    lines.answer(SERVERS[0].into(), &answer(&bytes, ACK, SERVERS[0], [10, 1, 0, 9]));
    let Some(Report::Up { lease, .. }) = lines.reports.last().cloned() else {
        panic!("{:?}", lines.reports)
    };
    lines.asked.clear();
    for kind in [DISCOVER, REQUEST, INFORM, RELEASE, DECLINE] {
        lines.hear(7, MAC, ANYBODY, of_bound(kind, 6).bytes());
    }
    assert_eq!((lines.asked.len(), lines.machine.counters().superseded), (0, 5));
    lines.command(Command::Acknowledged(lease));
    let ack = Message4::read(&lines.only().bytes);
    assert_eq!((ack.kind(), ack.xid), (ACK, 5));
}

#[test]
fn a_lease_that_was_restored_is_released_at_its_server_or_at_all() {
    for mode in [Mode::Relay, Mode::Override, Mode::Proxy] {
        let mut before = lines(mode);
        bound(&mut before);
        let Some(Report::Up { lease, .. }) =
            before.reports.iter().find(|report| matches!(report, Report::Up { .. })).cloned()
        else {
            panic!("{:?}", before.reports)
        };
        let record = before.machine.record(lease).expect("a record");
        let mut after = lines(mode);
        after.machine.restore(after.now, &record).expect("restored");
        let mut release = of_bound(RELEASE, 9);
        if mode != Mode::Relay {
            release.options[1].1 = RELAY.octets().to_vec();
        }
        after.hear(7, MAC, ([10, 1, 0, 9].into(), RELAY.into()), release.bytes());
        let all = asked(&mut after);
        let to = if mode == Mode::Relay { &SERVERS[..1] } else { &SERVERS[..] };
        let to: Vec<_> = to.iter().copied().map(IpAddr::from).collect();
        assert_eq!(all.iter().map(|(to, _)| *to).collect::<Vec<_>>(), to);
        // Each of them sees itself named where the relay stands in for it.
        for (server, (_, message)) in SERVERS.iter().zip(&all).filter(|_| mode == Mode::Proxy) {
            assert_eq!(message.option(54), server.octets());
        }
        assert_eq!(after.machine.leases(), 0);
    }
}
