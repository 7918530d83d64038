//! The relay of DHCPv4 between clients and servers that are written out here (RFC 1542, RFC 3046,
//! RFC 5107).

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use protocol_dhcp::v4::{Mode, Relay};
use protocol_dhcp::{Access, Command, Line, Report, Why};

use crate::client4::{ACK, DISCOVER, Message4, NAK, OFFER, RELEASE, REQUEST};
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
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).bytes());
    let bytes = lines.asked[0].1.clone();
    lines.asked.clear();
    lines.answer(SERVERS[0].into(), &answer(&bytes, OFFER, SERVERS[0], [10, 1, 0, 9]));
    let offer = Message4::read(&lines.only().bytes);
    let request = Message4::new(REQUEST, 5, MAC).with(50, &offer.yiaddr).with(54, offer.option(54));
    lines.hear(7, MAC, ANYBODY, request.bytes());
    let bytes = lines.asked[0].1.clone();
    lines.answer(SERVERS[0].into(), &answer(&bytes, ACK, SERVERS[0], [10, 1, 0, 9]));
    Message4::read(&lines.only().bytes)
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
    let told = |lines: &Lines<Relay>| -> Vec<(u16, bool)> {
        let all = lines.reports.iter().filter_map(|report| match report {
            Report::Server(place, answers) => Some((*place, *answers)),
            _ => None,
        });
        all.collect()
    };
    assert_eq!(told(&lines), [(0, false), (1, false)]);
    let (_, bytes) = lines.asked.pop_back().expect("asked");
    lines.answer(SERVERS[1].into(), &answer(&bytes, OFFER, SERVERS[1], [10, 1, 0, 9]));
    assert_eq!(told(&lines), [(0, false), (1, false), (1, true)]);
}
