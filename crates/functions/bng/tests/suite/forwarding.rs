//! Packets of both kinds of sessions and both versions of IP, each way; who may not send; errors
//! and pieces.

use std::net::IpAddr;

use model_kit::build;
use model_kit::check::Expected;
use model_kit::device::Outcome;
use serde_json::json;

use crate::gateway::*;

fn up(from: IpAddr) -> Vec<u8> {
    match from {
        IpAddr::V4(_) => packet(from, SERVER.into(), 100),
        IpAddr::V6(_) => packet(from, ipv6("2001:db8:9::7").into(), 100),
    }
}

fn down(to: IpAddr) -> Vec<u8> {
    match to {
        IpAddr::V4(_) => packet(SERVER.into(), to, 100),
        IpAddr::V6(_) => packet(ipv6("2001:db8:9::7").into(), to, 100),
    }
}

#[test]
fn every_address_of_a_session_sends_and_gets() {
    let mut device = device(&config(&json!({})));
    for address in ["10.0.0.1", "3fff::1", "3fff:1:1:5::9"] {
        let address: IpAddr = address.parse().expect("an address");
        let (sent, got) = (up(address), down(address));
        let left = device.pass(ACCESS, &from_ipoe(1, &sent), 0);
        assert_eq!(left, Outcome::Left(CORE, to_core(&hop(&sent))), "{address}");
        let left = device.pass(CORE, &from_core(&got), 0);
        assert_eq!(left, Outcome::Left(ACCESS, to_ipoe(1, &hop(&got))), "{address}");
    }
    for address in ["10.0.0.2", "3fff:2:0:2:a::9"] {
        let address: IpAddr = address.parse().expect("an address");
        let (sent, got) = (up(address), down(address));
        let protocol = if address.is_ipv4() { 0x21 } else { 0x57 };
        let left = device.pass(ACCESS, &from_pppoe(2, protocol, &sent), 0);
        assert_eq!(left, Outcome::Left(CORE, to_core(&hop(&sent))), "{address}");
        let left = device.pass(CORE, &from_core(&got), 0);
        assert_eq!(left, Outcome::Left(ACCESS, to_pppoe(2, &hop(&got))), "{address}");
    }
}

#[test]
fn padding_stays_behind() {
    let mut device = device(&config(&json!({})));
    let sent = packet(ipv4(1).into(), SERVER.into(), 28);
    let padded = [&from_ipoe(1, &sent)[..], &[0; 14]].concat();
    let left = device.pass(ACCESS, &padded, 0);
    assert_eq!(left, Outcome::Left(CORE, to_core(&hop(&sent))));
    let sent = packet(ipv4(2).into(), SERVER.into(), 28);
    let padded = [&from_pppoe(2, 0x21, &sent)[..], &[0; 14]].concat();
    let left = device.pass(ACCESS, &padded, 0);
    assert_eq!(left, Outcome::Left(CORE, to_core(&hop(&sent))));
}

#[test]
fn nobody_sends_under_anothers_address() {
    let mut device = device(&config(&json!({})));
    let mut dropped = |frame: &[u8]| match device.pass(ACCESS, frame, 0) {
        Outcome::Dropped(reason) => reason,
        other => panic!("{other:?}"),
    };
    for other in ["10.0.0.2", "3fff::2", "3fff:1:2::1", "3fff:1:1:100::1", "fe80::1"] {
        let other: IpAddr = other.parse().expect("an address");
        assert_eq!(dropped(&from_ipoe(1, &up(other))), "spoofed-source", "{other}");
    }
    let own = up(ipv4(1).into());
    let mut elsewhere = from_ipoe(1, &own);
    elsewhere[15] += 1;
    assert_eq!(dropped(&elsewhere), "unknown-session", "its line");
    let mut another = from_ipoe(1, &own);
    another[11] += 1;
    assert_eq!(dropped(&another), "unknown-session", "its station");
    let own = up(ipv4(2).into());
    let mut another = from_pppoe(2, 0x21, &own);
    another[11] += 1;
    assert_eq!(dropped(&another), "spoofed-mac");
    let mut session = from_pppoe(2, 0x21, &own);
    session[25] += 1;
    assert_eq!(dropped(&session), "unknown-pppoe-session");
    let mut without = from_ipoe(2, &own);
    without[15] = 102;
    assert_eq!(dropped(&without), "unknown-session", "a session of PPPoE without PPPoE");
}

#[test]
fn what_goes_no_further_tells_its_sender() {
    let mut device = device(&config(&json!({})));
    let mut spent = up(ipv4(1).into());
    build::set(8, 1)(&mut spent);
    let all = device.exchange(ACCESS, &from_ipoe(1, &spent), 0);
    let [Expected::Forward { port: ACCESS, frame }, Expected::Drop("ttl-expired")] = &all[..]
    else {
        panic!("{all:?}");
    };
    // The error goes into the line of its session, from the gateway's address.
    assert_eq!(frame[..18], to_ipoe(1, &spent)[..18]);
    assert_eq!((&frame[30..34], frame[38]), (&[10, 0, 0, 254][..], 11));

    let nobody = down(ipv4(9).into());
    let all = device.exchange(CORE, &from_core(&nobody), 0);
    let [Expected::Forward { port: CORE, frame }, Expected::Drop("unknown-subscriber")] = &all[..]
    else {
        panic!("{all:?}");
    };
    assert_eq!(frame[..12], to_core(&nobody)[..12]);

    let far = packet(ipv6("3fff::1").into(), ipv6("4000::1").into(), 100);
    let all = device.exchange(ACCESS, &from_ipoe(1, &far), 0);
    assert!(matches!(all[..], [Expected::Forward { .. }, Expected::Drop("no-route")]), "{all:?}");
}

#[test]
fn what_is_too_long_for_a_session_is_cut_or_its_sender_told() {
    let mut device = device(&config(&json!({})));
    let mut long = packet(SERVER.into(), ipv4(2).into(), 1500);
    build::set_word(6, 0x4000)(&mut long);
    let all = device.exchange(CORE, &from_core(&long), 0);
    let [Expected::Forward { port: CORE, frame }, Expected::Drop("too-big")] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!(frame[40..42], 1492_u16.to_be_bytes(), "what passes in PPPoE");
    build::set_word(6, 0)(&mut long);
    let all = device.exchange(CORE, &from_core(&long), 0);
    let [Expected::Forward { frame: first, .. }, Expected::Forward { frame: second, .. }] =
        &all[..]
    else {
        panic!("{all:?}");
    };
    // 30 bytes in front of each: Ethernet, two tags, PPPoE.
    assert_eq!((first.len(), second.len()), (30 + 20 + 1472, 30 + 20 + 8));
    assert_eq!(first[26..28], (1492_u16 + 2).to_be_bytes());
    assert_eq!(second[26..28], (28_u16 + 2).to_be_bytes());

    let mut device = super::gateway::device(&config(&json!({"core-mtu": 1400})));
    let mut long = packet(ipv4(1).into(), SERVER.into(), 1500);
    build::set_word(6, 0)(&mut long);
    let all = device.exchange(ACCESS, &from_ipoe(1, &long), 0);
    assert!(
        matches!(
            all[..],
            [Expected::Forward { port: CORE, .. }, Expected::Forward { port: CORE, .. }]
        ),
        "{all:?}"
    );
    let long = packet(ipv6("3fff::1").into(), ipv6("2001:db8:9::7").into(), 1500);
    let all = device.exchange(ACCESS, &from_ipoe(1, &long), 0);
    assert!(matches!(all[..], [Expected::Forward { port: ACCESS, .. }, Expected::Drop("too-big")]));
}

#[test]
fn vrfs_have_addresses_and_routes_of_their_own() {
    let mut other = ipoe(3);
    other["ipv4"] = json!(ipv4(1));
    other["na"] = json!("3fff::1");
    other["delegated"] = json!("3fff:1:1::/56");
    other["vrf"] = json!("red");
    let hop_of_red = json!({"address": "192.0.2.254", "vrf": "red", "mac": host(99).to_string()});
    let hop_of_main = json!({"address": "192.0.2.254", "mac": ROUTER.to_string()});
    let config = config(&json!({
        "vrfs": [{"name": "red", "vlan": 33}],
        "next-hops": [hop_of_main, hop_of_red],
        "routes": [
            {"prefix": "0.0.0.0/0", "next-hop": "192.0.2.254"},
            {"prefix": "0.0.0.0/0", "next-hop": "192.0.2.254", "vrf": "red"},
        ],
        "sessions": [ipoe(1), other],
    }));
    let mut device = device(&config);
    let sent = up(ipv4(1).into());
    let tag = [0x81, 0, 0, 33];
    let in_red =
        |macs: [&[u8]; 2], packet: &[u8]| [macs[0], macs[1], &tag, &[8, 0], packet].concat();
    let left = device.pass(ACCESS, &from_ipoe(1, &sent), 0);
    assert_eq!(left, Outcome::Left(CORE, to_core(&hop(&sent))));
    let left = device.pass(ACCESS, &from_ipoe(3, &sent), 0);
    let expected = in_red([&host(99).0, &OWN_CORE.0], &hop(&sent));
    assert_eq!(left, Outcome::Left(CORE, expected));
    let got = down(ipv4(1).into());
    let left = device.pass(CORE, &from_core(&got), 0);
    assert_eq!(left, Outcome::Left(ACCESS, to_ipoe(1, &hop(&got))));
    let left = device.pass(CORE, &in_red([&OWN_CORE.0, &ROUTER.0], &got), 0);
    assert_eq!(left, Outcome::Left(ACCESS, to_ipoe(3, &hop(&got))));
    let mut unknown = in_red([&OWN_CORE.0, &ROUTER.0], &got);
    unknown[15] = 34;
    assert_eq!(device.pass(CORE, &unknown, 0), Outcome::Dropped("unknown-vlan"));
}

#[test]
fn what_neither_goes_on_nor_waits_for_its_next_hop_is_no_volume() {
    let next_hops = json!([{"address": "192.0.2.254"}]);
    let routes = json!([{"prefix": "0.0.0.0/0", "next-hop": "192.0.2.254"}]);
    for (mtu, len, waiting) in [(0, 100, 8), (600, 1000, 4)] {
        let more = json!({"next-hops": next_hops, "routes": routes, "core-mtu": mtu});
        let mut device = device(&config(&more));
        let mut sent = packet(ipv4(1).into(), SERVER.into(), len);
        build::set_word(6, 0)(&mut sent);
        let all: Vec<Expected> =
            (0..10).flat_map(|_| device.exchange(ACCESS, &from_ipoe(1, &sent), 0)).collect();
        let full = all.iter().filter(|one| **one == Expected::Drop("pending-full")).count();
        assert!(full >= 2, "{full} of {all:?}");
        let bytes = waiting * len as u64;
        assert_eq!(super::changes::volumes(&mut device, 1), [waiting, bytes, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn nobody_beyond_the_link_sends_from_an_address_that_hosts_do_not_have() {
    let mut device = device(&config(&json!({})));
    let sources = ["0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.5", "255.255.255.255"];
    let sources_ipv6 = ["::", "::1", "fe80::9", "ff0e::1"];
    for source in sources.iter().chain(&sources_ipv6) {
        let source: IpAddr = source.parse().expect("an address");
        let targets: [IpAddr; 2] = match source {
            IpAddr::V4(_) => [ipv4(1).into(), [192, 0, 2, 1].into()],
            IpAddr::V6(_) => [ipv6("3fff::1").into(), ipv6("2001:db8::1").into()],
        };
        for target in targets {
            let became = device.pass(CORE, &from_core(&packet(source, target, 100)), 0);
            let is_asking = source == ipv6("fe80::9") && target == targets[1];
            let reason = if is_asking { "local" } else { "not-forwarded" };
            assert_eq!(became, Outcome::Dropped(reason), "{source} to {target}");
        }
    }
}

#[test]
fn packets_wait_for_a_next_hop_that_is_asked_for() {
    let config = config(&json!({
        "next-hops": [{"address": "192.0.2.254"}],
        "routes": [{"prefix": "0.0.0.0/0", "next-hop": "192.0.2.254"}],
    }));
    let mut device = device(&config);
    let sent = up(ipv4(1).into());
    let all = device.exchange(ACCESS, &from_ipoe(1, &sent), 0);
    let [Expected::Forward { port: CORE, frame: question }, Expected::Drop("awaiting-neighbour")] =
        &all[..]
    else {
        panic!("{all:?}");
    };
    assert_eq!(question[..14], [&[0xff; 6][..], &OWN_CORE.0, &[8, 6]].concat());
    let own = [192, 0, 2, 1];
    let answer = [
        &OWN_CORE.0[..],
        &ROUTER.0,
        &[8, 6, 0, 1, 8, 0, 6, 4, 0, 2],
        &ROUTER.0,
        &[192, 0, 2, 254],
        &OWN_CORE.0,
        &own,
    ];
    let all = device.exchange(CORE, &answer.concat(), 0);
    let [Expected::Forward { port: CORE, frame }, Expected::Drop("neighbour-heard")] = &all[..]
    else {
        panic!("{all:?}");
    };
    assert_eq!(*frame, to_core(&hop(&sent)));
    let left = device.pass(ACCESS, &from_ipoe(1, &sent), 0);
    assert_eq!(left, Outcome::Left(CORE, to_core(&hop(&sent))));
}
