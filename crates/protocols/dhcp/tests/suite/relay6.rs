//! The relay of DHCPv6 between clients and servers that are written out here (RFC 8415 section 19,
//! RFC 4649).

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use protocol_dhcp::v6::Relay;
use protocol_dhcp::v6::relay::Addresses;
use protocol_dhcp::{Access, Command, Line, Report, Why};

use crate::client6::{
    ADVERTISE, DECLINE, INFORMATION, Message6, REBIND, RELEASE, RENEW, REPLY, REQUEST, SOLICIT,
    address, association, options, prefix, read_options,
};
use crate::lines::{ANYBODY6, Lines, MAC, SERVER_DUID, config6};

const DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 9];
const LINK: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
const SERVER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9);

fn lines() -> Lines<Relay> {
    behind(vec![SERVER])
}

fn behind(servers: Vec<Ipv6Addr>) -> Lines<Relay> {
    let mut config = config6();
    config.pools.clear();
    let addresses = Addresses {
        own: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
        link: LINK,
        on_lines: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
        servers,
        enterprise: 0x1234,
    };
    Lines::new(Relay::new(config, addresses).expect("a relay"))
}

fn both(kind: u8) -> Message6 {
    let message = Message6::new(kind, 1, &DUID);
    message.with(3, &association(7, &[])).with(25, &association(8, &[]))
}

/// What a server makes of what it was asked: an address and a prefix, in the relay's wrapping.
fn answer(asked: &[u8], kind: u8, valid: u32) -> Vec<u8> {
    let all = read_options(&asked[34..]);
    let request = Message6::read(&all.iter().find(|(code, _)| *code == 9).expect("a message").1);
    let mut one = address([0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]);
    one.1[16..].copy_from_slice(&[valid.to_be_bytes(), valid.to_be_bytes()].concat());
    let mut net = prefix([0x20, 1, 0xd, 0xb8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 56);
    net.1[..8].copy_from_slice(&[valid.to_be_bytes(), valid.to_be_bytes()].concat());
    let reply = Message6 { kind, xid: request.xid, options: vec![(1, DUID.to_vec())] };
    let reply = reply.with(2, &SERVER_DUID);
    let reply = match kind {
        REPLY if valid == 0 => reply,
        _ => reply.with(3, &association(7, &[one])).with(25, &association(8, &[net])),
    };
    let interface = all.iter().find(|(code, _)| *code == 18).expect("an interface").clone();
    wrap(13, asked, &[interface, (9, reply.bytes())])
}

fn wrap(kind: u8, asked: &[u8], inner: &[(u16, Vec<u8>)]) -> Vec<u8> {
    [&[kind, asked[1]][..], &asked[2..34], &options(inner)].concat()
}

fn asked(lines: &mut Lines<Relay>) -> Vec<u8> {
    let (to, bytes) = lines.asked.pop_front().expect("a server was asked");
    assert_eq!((to, lines.asked.len()), (IpAddr::V6(SERVER), 0));
    bytes
}

#[test]
fn a_message_is_wrapped_and_its_answer_unwrapped() {
    let mut lines = lines();
    lines.command(Command::Name(Line(7), b"port 7".to_vec(), b"house".to_vec()));
    lines.hear(7, MAC, ANYBODY6, both(SOLICIT).bytes());
    let bytes = asked(&mut lines);
    assert_eq!((bytes[0], bytes[1]), (12, 0));
    assert_eq!(bytes[2..18], LINK.octets());
    let IpAddr::V6(peer) = ANYBODY6.0 else { panic!("it is") };
    assert_eq!(bytes[18..34], peer.octets());
    let interface = [&[0, 0, 0, 7][..], &MAC, b"port 7"].concat();
    let remote = [&[0, 0, 0x12, 0x34][..], b"house"].concat();
    let wanted = [(18, interface), (37, remote), (9, both(SOLICIT).bytes())];
    assert_eq!(read_options(&bytes[34..]), wanted);
    lines.answer(SERVER.into(), &answer(&bytes, ADVERTISE, 100));
    let said = lines.only();
    assert_eq!((said.to, said.port, said.line), (ANYBODY6.0, 546, Line(7)));
    assert_eq!(Message6::read(&said.bytes).kind, ADVERTISE);
}

#[test]
fn a_reply_waits_for_the_session_and_its_end_is_told() {
    let mut lines = lines();
    lines.acknowledges = false;
    lines.hear(7, MAC, ANYBODY6, both(REQUEST).with(2, &SERVER_DUID).bytes());
    let bytes = asked(&mut lines);
    lines.answer(SERVER.into(), &answer(&bytes, REPLY, 100));
    let Some(Report::Up { lease, prefixes, .. }) = lines.reports.last().cloned() else {
        panic!("{:?}", lines.reports)
    };
    assert_eq!(prefixes.len(), 2);
    assert_eq!(lines.said, []);
    lines.command(Command::Acknowledged(lease));
    let reply = Message6::read(&lines.only().bytes);
    let (one, ..) = reply.address().expect("an address");
    let (net, len, _) = reply.prefix().expect("a prefix");
    let release = Message6::new(RELEASE, 2, &DUID).with(2, &SERVER_DUID);
    let release = release
        .with(3, &association(7, &[address(one)]))
        .with(25, &association(8, &[prefix(net, len)]));
    lines.hear(7, MAC, ANYBODY6, release.bytes());
    assert!(matches!(
        lines.reports.last(),
        Some(Report::Gone { why: Why::Released, is_last: true, .. })
    ));
    let bytes = asked(&mut lines);
    lines.answer(SERVER.into(), &answer(&bytes, REPLY, 0));
    assert_eq!(Message6::read(&lines.only().bytes).kind, REPLY, "the server's answer to it");
}

#[test]
fn options_alone_pass_without_a_lease() {
    let mut lines = lines();
    lines.hear(7, MAC, ANYBODY6, Message6::new(INFORMATION, 1, &DUID).bytes());
    let bytes = asked(&mut lines);
    lines.answer(SERVER.into(), &answer(&bytes, REPLY, 0));
    assert_eq!((lines.only().mac.0, lines.machine.leases(), lines.reports.len()), (MAC, 0, 0));
}

#[test]
fn what_servers_must_not_send_is_dropped_by_name() {
    let mut lines = lines();
    lines.hear(7, MAC, ANYBODY6, both(SOLICIT).bytes());
    let bytes = asked(&mut lines);
    let good = answer(&bytes, ADVERTISE, 100);
    lines.answer(Ipv6Addr::LOCALHOST.into(), &good);
    lines.answer(SERVER.into(), &bytes);
    lines.answer(SERVER.into(), &good[..40]);
    let mut link = good.clone();
    link[17] ^= 1;
    lines.answer(SERVER.into(), &link);
    // Another transaction, and another line.
    let mut forged = good.clone();
    let at = good.windows(3).position(|three| three == [0xaa, 0xbb, 1]).expect("it is there");
    forged[at + 2] = 9;
    lines.answer(SERVER.into(), &forged);
    let mut line = good.clone();
    let at = good.windows(4).position(|four| four == [0, 0, 0, 7]).expect("it is there");
    line[at + 3] = 8;
    lines.answer(SERVER.into(), &line);
    // A request that comes back as an answer.
    let interface = read_options(&bytes[34..])[0].clone();
    lines.answer(SERVER.into(), &wrap(13, &bytes, &[interface, (9, both(SOLICIT).bytes())]));
    let counters = lines.machine.counters();
    assert_eq!((counters.stranger, counters.loops, counters.malformed), (1, 2, 1));
    assert_eq!((counters.unsolicited, counters.unsupported), (2, 1));
    assert_eq!(lines.said, []);
}

#[test]
fn hops_are_counted_and_limited() {
    let mut config = config6();
    config.trusts_access_nodes = true;
    let addresses =
        Addresses { own: LINK, link: LINK, on_lines: LINK, servers: vec![SERVER], enterprise: 0 };
    let mut lines = Lines::new(Relay::new(config, addresses).expect("a relay"));
    let wrapped = |hops: u8| {
        let head = [&[12, hops][..], &[0; 32]].concat();
        [head, options(&[(9, both(SOLICIT).bytes())])].concat()
    };
    lines.hear(7, MAC, ANYBODY6, wrapped(3));
    assert_eq!(asked(&mut lines)[1], 4);
    lines.hear(7, MAC, ANYBODY6, wrapped(7));
    assert_eq!(asked(&mut lines)[1], 8);
    lines.hear(7, MAC, ANYBODY6, wrapped(8));
    lines.hear(7, MAC, ANYBODY6, wrapped(255));
    assert_eq!((lines.asked.len(), lines.machine.counters().hops), (0, 2));
}

/// Leads a client to its address and prefix; returns what it gives up by a message.
fn bound(lines: &mut Lines<Relay>) -> impl Fn(u8) -> Message6 + use<> {
    lines.hear(7, MAC, ANYBODY6, both(REQUEST).with(2, &SERVER_DUID).bytes());
    let bytes = asked(lines);
    lines.answer(SERVER.into(), &answer(&bytes, REPLY, 100));
    let reply = Message6::read(&lines.only().bytes);
    let (one, ..) = reply.address().expect("an address");
    let (net, len, _) = reply.prefix().expect("a prefix");
    move |kind| {
        let message = Message6::new(kind, 2, &DUID).with(2, &SERVER_DUID);
        let message = message.with(3, &association(7, &[address(one)]));
        message.with(25, &association(8, &[prefix(net, len)]))
    }
}

#[test]
fn a_client_gives_up_its_own_alone() {
    let mut lines = lines();
    let given_up = bound(&mut lines);
    let stray = [address(LINK.octets())];
    let mut refused = 0;
    let mut refuse = |lines: &mut Lines<Relay>, line, mac, message: &Message6| {
        lines.hear(line, mac, ANYBODY6, message.bytes());
        refused += 1;
        assert_eq!((lines.asked.len(), lines.machine.counters().unknown), (0, refused));
        assert_eq!((lines.said.len(), lines.machine.leases()), (0, 1));
    };
    for kind in [RELEASE, DECLINE] {
        // From another line, of another host, and by another identifier.
        refuse(&mut lines, 8, MAC, &given_up(kind));
        refuse(&mut lines, 7, [2, 0, 0, 0, 0, 10], &given_up(kind));
        let mut other = given_up(kind);
        other.options[0].1[9] = 10;
        refuse(&mut lines, 7, MAC, &other);
        // Something of another one's beside its own; by another association; temporary ones.
        refuse(&mut lines, 7, MAC, &given_up(kind).with(3, &association(9, &stray)));
        let mut other = given_up(kind);
        other.options[2].1[3] = 6;
        refuse(&mut lines, 7, MAC, &other);
        let temporary = [&[0, 0, 0, 1][..], &options(&stray)].concat();
        refuse(&mut lines, 7, MAC, &given_up(kind).with(4, &temporary));
        refuse(&mut lines, 7, MAC, &Message6::new(kind, 3, &DUID).with(2, &SERVER_DUID));
    }
    lines.hear(7, MAC, ANYBODY6, given_up(DECLINE).bytes());
    asked(&mut lines);
    assert_eq!((lines.machine.leases(), lines.machine.counters().declined), (0, 2));
}

#[test]
fn what_is_declined_is_given_up_when_its_server_hears_of_it_and_what_is_released_at_once() {
    let mut lines = lines();
    let given_up = bound(&mut lines);
    lines.fail();
    lines.hear(7, MAC, ANYBODY6, given_up(DECLINE).bytes());
    let counters = lines.machine.counters();
    assert_eq!((counters.unsent, counters.declined, lines.machine.leases()), (1, 0, 1));
    lines.hear(7, MAC, ANYBODY6, given_up(RELEASE).bytes());
    assert_eq!((lines.machine.counters().unsent, lines.machine.leases()), (2, 0));
}

#[test]
fn what_no_lease_can_have_is_not_passed_on() {
    let mut lines = lines();
    lines.hear(7, MAC, ANYBODY6, both(REQUEST).with(2, &SERVER_DUID).bytes());
    let bytes = asked(&mut lines);
    let interface = read_options(&bytes[34..])[0].clone();
    let mut valid = address([0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6]);
    valid.1[16..].copy_from_slice(&[0, 0, 0, 100, 0, 0, 0, 100]);
    let temporary = [&[0, 0, 0, 1][..], &options(&[valid.clone()])].concat();
    let mut bits = prefix(LINK.octets(), 56);
    bits.1[..8].copy_from_slice(&[0, 0, 0, 100, 0, 0, 0, 100]);
    for (code, value) in
        [(4, temporary), (25, association(9, &[bits])), (25, association(9, &[valid.clone()]))]
    {
        let reply = both(REPLY).with(2, &SERVER_DUID).with(code, &value);
        lines.answer(SERVER.into(), &wrap(13, &bytes, &[interface.clone(), (9, reply.bytes())]));
    }
    let counters = lines.machine.counters();
    assert_eq!((counters.unsupported, counters.answered, lines.said.len()), (3, 0, 0));
    // Associations that have nothing pass.
    let reply = both(REPLY).with(2, &SERVER_DUID).with(4, &[0, 0, 0, 1]);
    lines.answer(SERVER.into(), &wrap(13, &bytes, &[interface, (9, reply.bytes())]));
    assert_eq!(Message6::read(&lines.only().bytes).kind, REPLY);
}

#[test]
fn a_second_reply_was_not_asked_for() {
    let mut lines = lines();
    lines.hear(7, MAC, ANYBODY6, both(REQUEST).with(2, &SERVER_DUID).bytes());
    let bytes = asked(&mut lines);
    lines.answer(SERVER.into(), &answer(&bytes, REPLY, 100));
    lines.only();
    lines.pass(Duration::from_secs(50));
    lines.answer(SERVER.into(), &answer(&bytes, REPLY, 100));
    assert_eq!((lines.said.len(), lines.machine.counters().unsolicited), (0, 1));
    lines.pass(Duration::from_secs(51));
    assert_eq!(lines.machine.leases(), 0, "it was not renewed");
    // What the client has given up meanwhile does not come back.
    let given_up = bound(&mut lines);
    lines.hear(7, MAC, ANYBODY6, given_up(RENEW).bytes());
    let bytes = asked(&mut lines);
    let mut release = given_up(RELEASE);
    release.xid[2] = 3;
    release.options.pop();
    lines.hear(7, MAC, ANYBODY6, release.bytes());
    lines.answer(SERVER.into(), &answer(&bytes, REPLY, 100));
    assert_eq!((lines.said.len(), lines.machine.counters().unsolicited), (0, 2));
}

#[test]
fn a_server_that_nobody_has_asked_is_not_silent() {
    let other = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 10);
    let mut lines = behind(vec![SERVER, other]);
    lines.hear(7, MAC, ANYBODY6, both(SOLICIT).bytes());
    let bytes = lines.asked[0].1.clone();
    lines.answer(SERVER.into(), &answer(&bytes, ADVERTISE, 100));
    // The second one has another identifier.
    let mut second = answer(&bytes, ADVERTISE, 100);
    let at = second.windows(10).position(|ten| ten == SERVER_DUID).expect("it is there");
    second[at + 9] = 77;
    lines.answer(other.into(), &second);
    for kind in [REQUEST, RENEW] {
        lines.said.clear();
        lines.asked.clear();
        lines.hear(7, MAC, ANYBODY6, both(kind).with(2, &SERVER_DUID).bytes());
        assert_eq!(lines.asked.len(), 2, "both hear it");
        let bytes = lines.asked[0].1.clone();
        lines.answer(SERVER.into(), &answer(&bytes, REPLY, 100));
        lines.pass(Duration::from_secs(20));
        assert_eq!(lines.turns(), []);
    }
    // Whoever does not know the client need not answer.
    lines.hear(7, MAC, ANYBODY6, both(REBIND).bytes());
    lines.pass(Duration::from_secs(20));
    assert_eq!(lines.turns(), []);
    lines.hear(7, MAC, ANYBODY6, both(RENEW).with(2, &SERVER_DUID).bytes());
    lines.pass(Duration::from_secs(20));
    assert_eq!(lines.turns(), [(0, false)]);
}
