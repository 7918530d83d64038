//! The server of DHCPv6, message by message (RFC 8415 sections 16 and 18.3).

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use protocol_dhcp::v6::Server;
use protocol_dhcp::{Access, Command, Grant, Report, Why};

use crate::client6::{
    ADVERTISE, CONFIRM, DECLINE, INFORMATION, Message6, REBIND, RELEASE, RENEW, REPLY, REQUEST,
    SOLICIT, address, association, options, prefix, read_options,
};
use crate::lines::{ANYBODY6, GRANT, Lines, MAC, SERVER_DUID, config6, identity};

const DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 9];

fn lines() -> Lines<Server> {
    Lines::new(Server::new(config6(), identity()).expect("a server"))
}

fn send(lines: &mut Lines<Server>, message: &Message6) {
    lines.hear(1, MAC, ANYBODY6, message.bytes());
}

fn only(lines: &mut Lines<Server>) -> Message6 {
    let said = lines.only();
    assert_eq!((said.to, said.port), (ANYBODY6.0, 546));
    let message = Message6::read(&said.bytes);
    assert_eq!((message.option(1), message.option(2)), (&DUID[..], &SERVER_DUID[..]));
    message
}

/// A message with one association of each kind, and what the client thinks it has.
fn both(kind: u8, known: Option<([u8; 16], [u8; 16])>) -> Message6 {
    let inner = known.map(|(one, net)| (vec![address(one)], vec![prefix(net, 56)]));
    let (one, net) = inner.unwrap_or_default();
    let message = Message6::new(kind, 1, &DUID);
    message.with(3, &association(7, &one)).with(25, &association(8, &net)).with(6, &[0, 23, 0, 103])
}

fn to_us(message: Message6) -> Message6 {
    message.with(2, &SERVER_DUID)
}

fn bound(lines: &mut Lines<Server>) -> ([u8; 16], [u8; 16]) {
    send(lines, &to_us(both(REQUEST, None)));
    let reply = only(lines);
    assert_eq!(reply.kind, REPLY);
    (reply.address().expect("an address").0, reply.prefix().expect("a prefix").0)
}

fn octets(text: &str) -> [u8; 16] {
    text.parse::<Ipv6Addr>().expect("an address").octets()
}

#[test]
fn a_client_is_led_from_solicit_to_release_by_these_bytes() {
    let mut lines = lines();
    send(&mut lines, &both(SOLICIT, None));
    let mut wanted = vec![ADVERTISE, 0xaa, 0xbb, 1, 0, 1, 0, 10];
    wanted.extend(DUID);
    wanted.extend([0, 2, 0, 10]);
    wanted.extend(SERVER_DUID);
    // IA_NA with T1 300 and T2 480, an address that is preferred for 600 and valid for 1000 s.
    wanted.extend([0, 3, 0, 40, 0, 0, 0, 7, 0, 0, 1, 44, 0, 0, 1, 224, 0, 5, 0, 24]);
    wanted.extend(octets("2001:db8:1::8"));
    wanted.extend([0, 0, 2, 88, 0, 0, 3, 232]);
    wanted.extend([0, 25, 0, 41, 0, 0, 0, 8, 0, 0, 1, 44, 0, 0, 1, 224, 0, 26, 0, 25]);
    wanted.extend([0, 0, 2, 88, 0, 0, 3, 232, 56]);
    wanted.extend(octets("2001:db8:100::"));
    wanted.extend([0, 23, 0, 16]);
    wanted.extend(octets("2001:db8::53"));
    wanted.extend([0, 103, 0, 26]);
    wanted.extend(b"https://portal.example/api");
    assert_eq!(lines.only().bytes, wanted);
    assert!(!lines.reports.iter().any(|report| matches!(report, Report::Up { .. })));
    send(&mut lines, &to_us(both(REQUEST, None)));
    wanted[0] = REPLY;
    assert_eq!(lines.only().bytes, wanted);
    let ups = lines.reports.iter().filter(|report| matches!(report, Report::Up { .. })).count();
    assert_eq!(ups, 1, "one session with both");
    let known = (octets("2001:db8:1::8"), octets("2001:db8:100::"));
    send(&mut lines, &to_us(both(RELEASE, Some(known))));
    assert_eq!(only(&mut lines).status(0), Some(0));
    let Some(Report::Gone { prefixes, why: Why::Released, is_last: true, .. }) =
        lines.reports.last()
    else {
        panic!("{:?}", lines.reports.last())
    };
    assert_eq!((prefixes.len(), lines.machine.leases(), lines.machine.pools().held()), (2, 0, 0));
}

#[test]
fn rapid_commit_takes_two_messages_and_the_owner_is_asked_all_the_same() {
    let mut lines = lines();
    (lines.grant, lines.acknowledges) = (None, false);
    send(&mut lines, &both(SOLICIT, None).with(14, &[]));
    let Some(Report::Wanted(lease, ..)) = lines.reports.last().cloned() else { panic!("asked") };
    assert_eq!(lines.said, []);
    lines.command(Command::Accept(lease, GRANT));
    assert_eq!(lines.said, []);
    lines.command(Command::Acknowledged(lease));
    let reply = only(&mut lines);
    assert_eq!(reply.kind, REPLY);
    assert!(reply.options.contains(&(14, vec![])) && reply.address().is_some());
    // A server that does not allow it advertises.
    let mut identity = identity();
    (identity.allows_rapid_commit, identity.preference) = (false, 255);
    let mut lines = Lines::new(Server::new(config6(), identity).expect("a server"));
    send(&mut lines, &both(SOLICIT, None).with(14, &[]));
    let advertise = only(&mut lines);
    assert_eq!((advertise.kind, advertise.option(7)), (ADVERTISE, &[255][..]));
}

#[test]
fn associations_live_by_themselves() {
    let mut lines = lines();
    let known = bound(&mut lines);
    lines.pass(Duration::from_secs(500));
    // The address alone is renewed, and an address that is not the client's is told to be over.
    let stray = octets("2001:db8:dead::1");
    let renewal = Message6::new(RENEW, 2, &DUID)
        .with(3, &association(7, &[address(known.0), address(stray)]));
    send(&mut lines, &to_us(renewal.clone()));
    let reply = only(&mut lines);
    assert_eq!(reply.address(), Some((known.0, 600, 1000)));
    let inner = reply.association(3);
    assert_eq!(inner[1].1, [&stray[..], &[0; 8]].concat());
    lines.pass(Duration::from_secs(501));
    let Some(Report::Gone { prefixes, why: Why::Expired, is_last: false, .. }) =
        lines.reports.last()
    else {
        panic!("{:?}", lines.reports.last())
    };
    assert_eq!(prefixes.len(), 1, "the prefix");
    // It can be had again by what renews the address; the session then has one more.
    send(&mut lines, &both(REBIND, Some(known)));
    assert!(only(&mut lines).prefix().is_some());
    let Some(Report::Up { prefixes, .. }) =
        lines.reports.iter().rfind(|report| matches!(report, Report::Up { .. }))
    else {
        panic!("it was told")
    };
    assert_eq!(prefixes.len(), 2);
    lines.pass(Duration::from_secs(1001));
    assert_eq!((lines.machine.leases(), lines.machine.pools().held()), (0, 0));
}

#[test]
fn two_hosts_of_a_line_that_call_themselves_the_same_are_two_clients() {
    let mut lines = lines();
    let known = bound(&mut lines);
    let mac = [2, 0, 0, 0, 0, 10];
    lines.hear(1, mac, ANYBODY6, to_us(both(RELEASE, Some(known))).bytes());
    assert_eq!(only(&mut lines).status(3), Some(3), "NoBinding");
    lines.hear(1, mac, ANYBODY6, to_us(both(REQUEST, Some(known))).bytes());
    let other = only(&mut lines).address().expect("another address").0;
    assert_ne!(other, known.0);
    assert_eq!(lines.machine.leases(), 2);
}

#[test]
fn who_is_not_known_has_no_binding() {
    let mut lines = lines();
    let known = (octets("2001:db8:1::8"), octets("2001:db8:100::"));
    for message in [to_us(both(RENEW, Some(known))), both(REBIND, Some(known))] {
        send(&mut lines, &message);
        let reply = only(&mut lines);
        assert_eq!((reply.status(3), reply.status(25)), (Some(3), Some(3)));
    }
    send(&mut lines, &to_us(both(RELEASE, Some(known))));
    let reply = only(&mut lines);
    assert_eq!((reply.status(0), reply.status(3)), (Some(0), Some(3)));
    assert_eq!((lines.machine.leases(), lines.reports.len()), (0, 0), "nobody was asked");
}

#[test]
fn what_is_not_there_is_told_in_its_association() {
    let mut lines = lines();
    lines.grant = Some(Grant { delegated: None, ..GRANT });
    send(&mut lines, &to_us(both(REQUEST, None)).with(4, &[0, 0, 0, 1]));
    let reply = only(&mut lines);
    assert!(reply.address().is_some());
    assert_eq!(reply.status(25), Some(6), "NoPrefixAvail");
    assert_eq!(read_options(&reply.option(4)[4..])[0].1[..2], [0, 2], "no temporary addresses");
    assert!(lines.machine.counters().exhausted >= 1);
    // More associations than a client may have.
    let mut many = Message6::new(SOLICIT, 1, &[0, 2, 9]);
    for iaid in 0..6 {
        many = many.with(3, &association(iaid, &[]));
    }
    lines.hear(2, MAC, ANYBODY6, many.bytes());
    let advertise = Message6::read(&lines.only().bytes);
    let given = advertise.options.iter().filter(|(code, value)| *code == 3 && value.len() == 40);
    assert_eq!(given.count(), 4);
}

#[test]
fn confirm_tells_whether_the_link_is_the_same() {
    let mut lines = lines();
    let known = bound(&mut lines);
    send(&mut lines, &both(CONFIRM, Some(known)));
    assert_eq!(only(&mut lines).status(0), Some(0));
    send(&mut lines, &both(CONFIRM, Some((octets("2001:db8:2::1"), known.1))));
    assert_eq!(only(&mut lines).status(0), Some(4), "NotOnLink");
    send(&mut lines, &both(CONFIRM, None));
    assert_eq!(lines.said, [], "without addresses it is dropped");
}

#[test]
fn what_was_declined_is_not_given_for_long() {
    let mut lines = lines();
    let known = bound(&mut lines);
    let decline = Message6::new(DECLINE, 3, &DUID).with(3, &association(7, &[address(known.0)]));
    send(&mut lines, &to_us(decline));
    assert_eq!(only(&mut lines).status(0), Some(0));
    assert_eq!((lines.machine.counters().declined, lines.machine.leases()), (1, 1));
    send(&mut lines, &to_us(both(RENEW, Some(known))));
    let other = only(&mut lines).address().expect("another address").0;
    assert_ne!(other, known.0);
}

#[test]
fn options_alone_need_no_lease() {
    let mut config = config6();
    config.stateless_class = Some(0);
    let mut lines = Lines::new(Server::new(config, identity()).expect("a server"));
    send(&mut lines, &Message6::new(INFORMATION, 1, &DUID).with(6, &[0, 23]));
    let reply = only(&mut lines);
    assert_eq!((reply.kind, reply.option(23)), (REPLY, &octets("2001:db8::53")[..]));
    assert_eq!(lines.machine.leases(), 0);
    send(&mut lines, &both(INFORMATION, None));
    assert_eq!((lines.said.len(), lines.machine.counters().malformed), (0, 1), "with associations");
    // Without an identifier (section 18.2.6).
    lines.hear(1, MAC, ANYBODY6, vec![INFORMATION, 0, 0, 1, 0, 6, 0, 2, 0, 23]);
    assert_eq!(Message6::read(&lines.only().bytes).option(2), SERVER_DUID);
}

#[test]
fn messages_are_for_this_server_and_by_multicast() {
    let mut lines = lines();
    send(&mut lines, &both(REQUEST, None));
    send(&mut lines, &to_us(both(SOLICIT, None)));
    assert_eq!(lines.machine.counters().malformed, 2);
    send(&mut lines, &both(REQUEST, None).with(2, &[0, 3, 0, 1, 9]));
    assert_eq!(lines.machine.counters().foreign, 1);
    let unicast: (IpAddr, IpAddr) = (ANYBODY6.0, "fe80::1".parse().expect("an address"));
    lines.hear(1, MAC, unicast, both(SOLICIT, None).bytes());
    assert_eq!((lines.said.len(), lines.machine.counters().unsupported), (0, 1));
    lines.hear(1, MAC, unicast, to_us(both(REQUEST, None)).bytes());
    assert_eq!(only(&mut lines).status(0), Some(5), "UseMulticast");
    assert_eq!((lines.machine.leases(), lines.reports.len()), (0, 0));
}

#[test]
fn the_access_node_of_a_line_may_relay() {
    let solicit = both(SOLICIT, None).bytes();
    let relayed = |inner: &[u8]| {
        let mut bytes = vec![12, 0];
        bytes.extend([0; 16]);
        bytes.extend(octets("fe80::9"));
        let remote = [&[0, 0, 0, 9][..], b"far"].concat();
        bytes.extend(options(&[(18, b"port 7".to_vec()), (37, remote), (9, inner.to_vec())]));
        bytes
    };
    let mut strict = lines();
    strict.hear(1, MAC, ANYBODY6, relayed(&solicit));
    assert_eq!((strict.said.len(), strict.machine.counters().untrusted), (0, 1));
    let mut config = config6();
    config.trusts_access_nodes = true;
    let mut lines = Lines::new(Server::new(config, identity()).expect("a server"));
    lines.hear(1, MAC, ANYBODY6, relayed(&relayed(&solicit)));
    let Some(Report::Wanted(_, _, words)) = lines.reports.first() else { panic!("asked") };
    assert_eq!((&words.circuit_id[..], words.remote_id.len()), (&b"port 7"[..], 7));
    let said = lines.only();
    assert_eq!(said.port, 547, "to a relay agent");
    let mut inner = said.bytes;
    for _ in 0..2 {
        assert_eq!((inner[0], &inner[18..34]), (13, &octets("fe80::9")[..]));
        let all = read_options(&inner[34..]);
        assert_eq!(all[0], (18, b"port 7".to_vec()));
        inner = all[1].1.clone();
    }
    assert_eq!(Message6::read(&inner).kind, ADVERTISE);
}
