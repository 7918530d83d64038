//! The relay of DHCPv6 between clients and servers that are written out here (RFC 8415 section 19,
//! RFC 4649).

use std::net::{IpAddr, Ipv6Addr};

use protocol_dhcp::v6::Relay;
use protocol_dhcp::v6::relay::Addresses;
use protocol_dhcp::{Access, Command, Line, Report, Why};

use crate::client6::{
    ADVERTISE, INFORMATION, Message6, RELEASE, REPLY, REQUEST, SOLICIT, address, association,
    options, prefix, read_options,
};
use crate::lines::{ANYBODY6, Lines, MAC, SERVER_DUID, config6};

const DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 9];
const LINK: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
const SERVER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9);

fn lines() -> Lines<Relay> {
    let mut config = config6();
    config.pools.clear();
    let addresses = Addresses {
        own: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
        link: LINK,
        on_lines: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
        servers: vec![SERVER],
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
