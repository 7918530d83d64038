//! What attributes give a session.

use protocol_radius::attributes::{Key, kind};
use protocol_radius::mapping::{Grant, Limiter, PoolKind, Way};
use protocol_radius::{Dictionary, List, Mapping};
use std::time::Duration;

/// What rows make of one attribute with a text.
fn of(rows: &[(&str, &str)], text: &str) -> (Vec<Grant>, usize, usize) {
    let dictionary = Dictionary::standard();
    let mapping = Mapping::read(&dictionary, rows).expect("rows");
    let mut list = List::new();
    let key = dictionary.key(rows[0].0).expect("it is there");
    list.put_key(key, dictionary.format(key.vendor), text.as_bytes()).expect("it fits");
    let mapped = mapping.map(&dictionary, list.attributes());
    (mapped.grants, mapped.unfit.len(), mapped.unused)
}

fn rate(of: Limiter, way: Way, class: Option<u32>, bits_per_second: u64) -> Grant {
    Grant::Rate { of, way, class, bits_per_second }
}

#[test]
fn the_standard_table_gives_what_servers_say() {
    let dictionary = Dictionary::standard();
    let mapping = Mapping::standard(&dictionary).expect("a table");
    let mut list = List::new();
    let mut put = |name: &str, value: &[u8]| {
        let key = dictionary.key(name).expect("it is there");
        list.put_key(key, dictionary.format(key.vendor), value).expect("it fits");
    };
    put("Framed-IP-Address", &[192, 0, 2, 7]);
    put("Delegated-IPv6-Prefix", &[0, 48, 0x20, 1, 0x0d, 0xb8, 0, 7]);
    put("Framed-IPv6-Pool", b"links");
    put("Session-Timeout", &3600u32.to_be_bytes());
    put("Filter-Id", b"basic");
    put("NAS-Filter-Rule", b"deny in ip from any to 10.0.0.0/8\0permit in ip fr");
    put("NAS-Filter-Rule", b"om any to any");
    put("Cisco-AVPair", b"ip:addr-pool=gold");
    put("Cisco-AVPair", b"shell:priv-lvl=15");
    put("Alc-SLA-Prof-Str", b"triple-play");
    put("Alc-Subscriber-QoS-Override", b"i:p:2:pir=5000,cir=1000");
    put("WISPr-Bandwidth-Max-Down", &100_000_000u32.to_be_bytes());
    put("Mikrotik-Rate-Limit", b"10M/50M 20M/100M");
    put("Class", b"bill");
    let mapped = mapping.map(&dictionary, list.attributes());
    let text = |text: &str| text.to_owned();
    assert_eq!(
        mapped.grants,
        [
            Grant::Address([192, 0, 2, 7].into()),
            Grant::DelegatedPrefix("2001:db8:7::".parse().expect("an address"), 48),
            Grant::Pool(PoolKind::Prefix, text("links")),
            Grant::SessionTimeout(Duration::from_secs(3600)),
            Grant::List(Way::Up, text("basic")),
            Grant::Pool(PoolKind::Ipv4, text("gold")),
            Grant::Profile(Way::Both, text("triple-play")),
            rate(Limiter::Policer, Way::Up, Some(2), 5_000_000),
            rate(Limiter::Session, Way::Down, None, 100_000_000),
            rate(Limiter::Session, Way::Up, None, 10_000_000),
            rate(Limiter::Session, Way::Down, None, 50_000_000),
            Grant::FilterRule(text("deny in ip from any to 10.0.0.0/8")),
            Grant::FilterRule(text("permit in ip from any to any")),
        ]
    );
    assert_eq!((mapped.unfit, mapped.unused), (Vec::new(), 2), "a shell's and Class");
}

#[test]
fn patterns_take_what_fits_them() {
    let name = "Cisco-AVPair";
    let row = |pattern| [(name, pattern)];
    let list = |way, text: &str| Grant::List(way, text.to_owned());
    assert_eq!(of(&row("acl={list}"), "acl=a b"), (vec![list(Way::Both, "a b")], 0, 0));
    assert_eq!(of(&row("acl={list}"), "acl="), (vec![], 0, 1), "nothing is taken");
    assert_eq!(of(&row("acl={list}"), "acx=a"), (vec![], 0, 1));
    assert_eq!(of(&row("{list-up};{list-down}"), "a;b").0.len(), 2);
    assert_eq!(of(&row("{list-up};{list-down}"), "a"), (vec![], 0, 1));
    assert_eq!(of(&row("up={rate-up}"), "up=5 "), (vec![], 0, 1), "something is behind it");
    assert_eq!(
        of(&row("{*}up={rate-up:kbit}{*}"), "x,up=5,y").0,
        [rate(Limiter::Session, Way::Up, None, 5_000)]
    );
    assert_eq!(
        of(&row("{burst-down:kbyte}"), "64").0,
        [Grant::Burst { of: Limiter::Session, way: Way::Down, class: None, bytes: 64_000 }]
    );
    assert_eq!(
        of(&row("{idle-timeout:min}"), "2").0,
        [Grant::IdleTimeout(Duration::from_secs(120))]
    );
    // Two rows of an attribute.
    let both = [(name, "a={vrf}"), (name, "{mirror}")];
    assert_eq!(of(&both, "a=b").0, [Grant::Vrf("b".into()), Grant::Mirror("a=b".into())]);
    // They fit, but say nothing that can be given.
    for (pattern, text) in [
        ("{address}", "here"),
        ("{address}", "224.0.0.1"),
        ("{prefix}", "2001:db8::/129"),
        ("{rate-up}", "99999999999999999999"),
        ("{rate-up:mbit}", "9999999999999999G"),
        ("{mtu}", "4294967296"),
    ] {
        assert_eq!(of(&row(pattern), text), (vec![], 1, 0), "{pattern} {text}");
    }
}

#[test]
fn a_value_of_a_wrong_length_is_told() {
    let dictionary = Dictionary::standard();
    let mapping = Mapping::standard(&dictionary).expect("a table");
    let mut list = List::new();
    list.put(kind::FRAMED_IP_ADDRESS, &[1, 2, 3]).expect("it fits");
    let mapped = mapping.map(&dictionary, list.attributes());
    assert!(mapped.grants.is_empty());
    assert_eq!(mapped.unfit.len(), 1);
    assert_eq!(mapped.unfit[0].key, Key::standard(kind::FRAMED_IP_ADDRESS));
    assert_eq!(mapped.unfit[0].target, "address");
}

#[test]
fn rows_that_are_none_are_refused_by_their_number() {
    let dictionary = Dictionary::standard();
    for (name, pattern, why) in [
        ("Nobody-Knows", "{vrf}", "no attribute is called"),
        ("Class", "text", "has a target in braces"),
        ("Class", "{class}", "has a target in braces"),
        ("Class", "{vfr}", "none of the targets"),
        ("Class", "{vrf", "not closed"),
        ("Class", "{vrf}{list}", "no text"),
        ("Class", "{rate-up:furlong}", "none of the units"),
        ("Class", "{vrf:kbit}", "has no unit"),
        ("Class", "{vrf:}", "has no unit"),
        ("Class", "{mtu:kbyte}", "has no unit"),
        (
            "Class",
            "{session-timeout:kbit}",
            "`kbit` is none of the units of `session-timeout`: min",
        ),
        ("Class", "{rate-up:min}", "none of the units of `rate-up`: bit, kbit"),
        ("Class", "{burst-up:min}", "none of the units of `burst-up`: byte, kbyte"),
        ("Tunnel-Password", "{vrf}", "is encrypted"),
        ("User-Password", "{vrf}", "is encrypted"),
    ] {
        let read = Mapping::read(&dictionary, &[("Class", "{vrf}"), (name, pattern)]);
        let error = read.expect_err("it is none").to_string();
        assert!(error.starts_with("row 2") && error.contains(why), "{error}");
    }
}

#[test]
fn each_target_has_its_own_units() {
    let one = |pattern: &str, text: &str| of(&[("Cisco-AVPair", pattern)], text);
    let rate = |bits_per_second| rate(Limiter::Session, Way::Up, None, bits_per_second);
    let burst = |bytes| Grant::Burst { of: Limiter::Session, way: Way::Up, class: None, bytes };
    for (pattern, text, expected) in [
        ("{rate-up}", "3", rate(3)),
        ("{rate-up:bit}", "3", rate(3)),
        ("{rate-up:kbit}", "3", rate(3_000)),
        ("{rate-up:mbit}", "3", rate(3_000_000)),
        ("{rate-up:gbit}", "3", rate(3_000_000_000)),
        ("{rate-up:byte}", "3", rate(24)),
        ("{rate-up:kbyte}", "3", rate(24_000)),
        ("{rate-up:mbyte}", "3", rate(24_000_000)),
        ("{rate-up:kbyte}", "3k", rate(24_000_000)),
        ("{burst-up}", "3", burst(3)),
        ("{burst-up:byte}", "3", burst(3)),
        ("{burst-up:kbyte}", "3", burst(3_000)),
        ("{burst-up:mbyte}", "3", burst(3_000_000)),
        ("{burst-up:kbit}", "8", burst(1_000)),
        ("{burst-up:mbit}", "8", burst(1_000_000)),
        ("{session-timeout}", "3", Grant::SessionTimeout(Duration::from_secs(3))),
        ("{session-timeout:min}", "3", Grant::SessionTimeout(Duration::from_secs(180))),
    ] {
        assert_eq!(one(pattern, text), (vec![expected], 0, 0), "{pattern} {text}");
    }
    // Letters are units of rates and bursts alone.
    for pattern in ["{session-timeout}", "{idle-timeout:min}", "{mtu}"] {
        assert_eq!(one(pattern, "5m"), (vec![], 0, 1), "{pattern}");
    }
}

#[test]
fn a_unit_may_stand_behind_a_number() {
    let one = |pattern: &str, text: &str| of(&[("Cisco-AVPair", pattern)], text);
    let rate = |bits_per_second| rate(Limiter::Session, Way::Up, None, bits_per_second);
    for (pattern, text, expected) in [
        ("{rate-up}kbps", "10kbps", Some(10_000)),
        ("{rate-up}Mbps", "10Mbps", Some(10_000_000)),
        ("{rate-up:kbit}kbps", "10kbps", Some(10_000)),
        ("{rate-up:bit}max", "10max", Some(10)),
        ("{rate-up}bps", "10Mbps", Some(10_000_000)),
        ("{rate-up}bps", "10bps", Some(10)),
        ("{rate-up}{*}", "10kbps", Some(10_000)),
        ("{rate-up}kbps", "10Mbps", None),
        ("{rate-up}kbps", "10", None),
        ("{rate-up}kbps", "kbps", None),
    ] {
        let expected = match expected {
            Some(bits_per_second) => (vec![rate(bits_per_second)], 0, 0),
            None => (vec![], 0, 1),
        };
        assert_eq!(one(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn a_class_that_is_no_number_is_not_all_classes() {
    let row = [("Cisco-AVPair", "q:{class}:pir={queue-rate-down:kbit},burst={queue-burst-down}")];
    let (grants, unfit, _) = of(&row, "q:4294967295:pir=5,burst=6");
    assert_eq!((grants.len(), unfit), (2, 0));
    assert_eq!(grants[0], rate(Limiter::Queue, Way::Down, Some(u32::MAX), 5_000));
    assert_eq!(of(&row, "q:4294967296:pir=5,burst=6"), (vec![], 2, 0));
}

#[test]
fn an_address_that_asks_for_a_choice_is_none_and_no_fault() {
    let dictionary = Dictionary::standard();
    let mapping = Mapping::standard(&dictionary).expect("a table");
    for (last, without_grant) in [(253, 0), (254, 1), (255, 1)] {
        let mut list = List::new();
        list.put(kind::FRAMED_IP_ADDRESS, &[255, 255, 255, last]).expect("it fits");
        let mapped = mapping.map(&dictionary, list.attributes());
        assert_eq!(mapped.grants.len(), 1 - without_grant, "{last}");
        assert_eq!((mapped.unfit, mapped.unused), (Vec::new(), 0));
        assert_eq!(mapped.without_grant, without_grant);
    }
}
