//! Packets and frames, with the kernel of another namespace as the far end.

use std::net::IpAddr;
use std::time::Duration;

use host::Host;
use nix::net::if_::if_nametoindex;
use protocol_kit::{Departure, Interface, Opening, Socket, Takes};

use crate::frr::until;
use simulation::{Probe, Seen};

use crate::probe::{FAR, OWN, linked, may_link, turn, turn_for, turn_until};

const SOCKET: Socket = Socket(7);

fn eth0() -> Interface {
    Interface(if_nametoindex("eth0").expect("it is there"))
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn open(host: &mut Host<Probe>, opening: Opening) {
    host.command(Departure::Open { socket: SOCKET, opening });
    assert_eq!(turn(host), [], "{:?}", host.take_failures());
}

/// An echo request, for whose checksum the kernel cares in IPv6 alone.
fn echo_request(is_v6: bool) -> Vec<u8> {
    let mut bytes = vec![if is_v6 { 128 } else { 8 }, 0, 0, 0, 0x12, 0x34, 0, 1];
    let sum = if is_v6 { 0 } else { !(0x0800 + 0x1234 + 1) as u16 };
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

#[test]
fn packets_are_answered_by_the_kernel() {
    if !may_link() {
        return;
    }
    let (own, _far) = linked();
    own.run(|| {
        for is_v6 in [false, true] {
            let [from, to] = [OWN, FAR].map(|ends| address(ends[usize::from(is_v6)]));
            for (local, interface) in [
                (from, None),
                (if is_v6 { address("::") } else { address("0.0.0.0") }, Some(eth0())),
            ] {
                let mut host = Host::new(Probe::default()).expect("a host");
                let protocol = if is_v6 { 58 } else { 1 };
                open(&mut host, Opening::Packets { protocol, local, interface });
                let bytes = echo_request(is_v6);
                let ttl = 3;
                host.command(Departure::Packet { socket: SOCKET, interface, from, to, ttl, bytes });
                let reply = if is_v6 { 129 } else { 0 };
                turn_until(&mut host, "an echo reply", |seen| match seen {
                    Seen::Packet { from: source, to: destination, ttl: 64, bytes, .. } => {
                        let is_reply = bytes[0] == reply && bytes[4..] == [0x12, 0x34, 0, 1];
                        ((*source, *destination) == (to, from) && is_reply).then_some(())
                    }
                    _ => None,
                });
            }
        }
    })
    .expect("the namespace");
}

#[test]
fn packets_keep_their_time_to_live_and_their_interface() {
    if !may_link() {
        return;
    }
    let (own, far) = linked();
    for (own_address, far_address) in OWN.into_iter().zip(FAR) {
        let [from, to] = [own_address, far_address].map(address);
        let bind = |local: IpAddr| Opening::Packets { protocol: 253, local, interface: None };
        let mut there = far
            .run(|| {
                let mut there = Host::new(Probe::default()).expect("a host");
                open(&mut there, bind(to));
                there
            })
            .expect("the namespace");
        own.run(|| {
            let mut here = Host::new(Probe::default()).expect("a host");
            open(&mut here, bind(from));
            let bytes = b"payload".to_vec();
            let (socket, interface) = (SOCKET, Some(eth0()));
            here.command(Departure::Packet { socket, interface, from, to, ttl: 9, bytes });
            assert_eq!(turn(&mut here), []);
            assert_eq!((here.counters().sent, here.counters().unsent), (1, 0));
        })
        .expect("the namespace");
        let seen = turn_until(&mut there, "the packet", |seen| Some(seen.clone()));
        let interface = far.run(eth0).expect("the namespace");
        let (socket, bytes) = (SOCKET, b"payload".to_vec());
        assert_eq!(seen, Seen::Packet { socket, interface, from, to, ttl: 9, bytes });
    }
}

const GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x0e];
const OTHER_GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x02];
const LLDP: u16 = 0x88cc;

/// A frame of a kind to an address, whose header of IP is that of a protocol.
fn frame(to: [u8; 6], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = [&to[..], &[2, 0, 0, 0, 0, 9], &ether_type.to_be_bytes(), payload].concat();
    frame.resize(60, 0);
    frame
}

/// The beginning of a header of IPv4 with a protocol.
fn ipv4(protocol: u8) -> [u8; 10] {
    [0x45, 0, 0, 46, 0, 0, 0, 0, 255, protocol]
}

#[test]
fn frames_pass_the_filter_or_do_not() {
    if !may_link() {
        return;
    }
    let (own, far) = linked();
    let any = |ether_type| Takes { ether_type, protocol: None };
    let vrrp = Takes { ether_type: 0x0800, protocol: Some(112) };
    let takes = vec![any(LLDP), vrrp, Takes { ether_type: 0x86dd, protocol: Some(112) }];
    let mut here = own
        .run(|| {
            let mut here = Host::new(Probe::default()).expect("a host");
            let groups = vec![OTHER_GROUP, GROUP];
            open(&mut here, Opening::Frames { interface: eth0(), takes, groups });
            // The interface listens to the group.
            let listens = own.ip("maddress show dev eth0").expect("it shows");
            assert!(listens.contains("01:80:c2:00:00:0e"), "{listens}");
            // What it sends is not handed over to itself.
            here.command(Departure::Frame { socket: SOCKET, bytes: frame(GROUP, LLDP, b"own") });
            assert_eq!(turn(&mut here), []);
            assert_eq!(here.counters().sent, 1);
            here
        })
        .expect("the namespace");
    let unicast = [0x02, 0, 0, 0, 0, 0x55];
    let tagged = [&GROUP[..], &[2, 0, 0, 0, 0, 9, 0x81, 0, 0, 5], &LLDP.to_be_bytes(), b"tagged"];
    let mut ipv6 = [0; 8];
    (ipv6[0], ipv6[6]) = (0x60, 112);
    let sent = [
        (frame(GROUP, LLDP, b"group"), true),
        (frame(OTHER_GROUP, LLDP, b"the first group"), true),
        (frame(unicast, LLDP, b"unicast"), true),
        (frame([0xff; 6], LLDP, b"broadcast"), true),
        (frame([1, 0, 0x5e, 0, 0, 18], LLDP, b"a group that nobody wants"), false),
        (frame([1, 0x80, 0xc2, 0, 0, 0], LLDP, b"another one"), false),
        (frame(GROUP, 0x88b5, b"another kind"), false),
        (frame(GROUP, 0x0800, &ipv4(112)), true),
        (frame(GROUP, 0x0800, &ipv4(89)), false),
        (frame(GROUP, 0x86dd, &ipv6), true),
        (tagged.concat(), false),
        (frame(GROUP, LLDP, b"the last one"), true),
    ];
    far.run(|| {
        let mut there = Host::new(Probe::default()).expect("a host");
        open(&mut there, Opening::Frames { interface: eth0(), takes: vec![], groups: vec![] });
        for (bytes, _) in &sent {
            there.command(Departure::Frame { socket: SOCKET, bytes: bytes.clone() });
        }
        assert_eq!(turn(&mut there), []);
        assert_eq!(there.counters().sent, sent.len() as u64);
    })
    .expect("the namespace");
    let interface = own.run(eth0).expect("the namespace");
    let taken = sent.iter().filter(|(_, is_taken)| *is_taken);
    let wanted: Vec<Seen> = taken
        .map(|(bytes, _)| Seen::Frame { socket: SOCKET, interface, bytes: bytes.clone() })
        .collect();
    let mut seen = Vec::new();
    until("the last frame", || {
        seen.extend(turn_for(&mut here, Duration::from_millis(20)));
        (seen.last() == wanted.last()).then_some(())
    });
    assert_eq!(seen, wanted);
}

#[test]
fn what_cannot_be_opened_says_why() {
    if !may_link() {
        return;
    }
    let (own, _far) = linked();
    own.run(|| {
        let mut host = Host::new(Probe::default()).expect("a host");
        let nowhere = Interface(77);
        let (takes, groups) = (vec![], vec![]);
        let local = address("192.0.2.77");
        let openings = [
            (Opening::Frames { interface: nowhere, takes, groups }, "frames of interface 77"),
            (Opening::Packets { protocol: 112, local, interface: None }, "192.0.2.77"),
            (Opening::Datagrams { local: (local, 1).into(), interface: None }, "192.0.2.77:1"),
        ];
        for (opening, named) in openings {
            host.command(Departure::Open { socket: SOCKET, opening });
            assert_eq!(turn(&mut host), [Seen::Failed { socket: SOCKET }]);
            let failures = host.take_failures();
            assert!(failures.len() == 1 && failures[0].to_string().contains(named), "{failures:?}");
        }
    })
    .expect("the namespace");
}
