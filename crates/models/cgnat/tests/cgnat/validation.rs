//! What is refused, and by which key.

use function_kit::Invalid;
use model_cgnat::Cgnat;
use model_kit::erased::{Kind, Unit};
use serde_json::{Map, Value};

/// Reads both sections.
fn read(function: &str, traffic: &str) -> Result<(), Invalid> {
    let keys = |text| serde_saphyr::from_str::<Map<String, Value>>(text).expect("a section");
    Unit::<Cgnat>::new().read(keys(function), keys(traffic)).map(drop)
}

/// What is refused in two sections, by its key, without those below it; nothing where they are
/// accepted.
fn refused_of(function: &str, traffic: &str) -> Option<String> {
    let key = read(function, traffic).err()?.key;
    key.split(['.', '[']).next().map(str::to_owned)
}

/// The same of a function section.
fn refused(text: &str) -> Option<String> {
    refused_of(text, "{sessions: 1}")
}

/// The same of a traffic section.
fn refused_traffic(text: &str) -> Option<String> {
    refused_of("{}", text)
}

#[test]
fn networks_inside_and_outside_do_not_collide() {
    for (key, text) in [
        ("pools", "{inside: [10.0.0.0/8], pools: [10.9.0.0/24]}"),
        ("pools", "{inside: [198.18.0.0/24], pools: [198.18.0.0/16]}"),
        ("pools", "{pools: [198.18.0.0/24, 198.18.0.128/25]}"),
        ("static", "{static: [{inside: 10.0.0.0/30, outside: 198.18.0.4/30}]}"),
        ("static", "{static: [{inside: 10.0.0.0/30, outside: 203.0.113.64/29}]}"),
        ("deterministic", "{deterministic: [{inside: 10.0.0.0/24, outside: 198.18.0.0/30}]}"),
        ("pools", "{pools: []}"),
        ("inside", "{inside: []}"),
    ] {
        assert_eq!(refused(text).as_deref(), Some(key), "{text}");
    }
}

#[test]
fn interfaces_are_told_apart_and_have_next_hops() {
    let one = "port: lan2, side: inside, ip: 100.127.0.1";
    let red = "{name: red, vlan: 1, inside: [10.0.0.0/8]}";
    for text in [
        format!("interfaces: [{{{one}}}, {{{one}}}]"),
        format!("interfaces: [{{{one}, vlan: 4095}}]"),
        format!("interfaces: [{{{one}, networks: [10.0.0.0/8]}}]"),
        format!("interfaces: [{{{one}, next-hop: 100.127.0.2, networks-ipv6: ['2000::/3']}}]"),
        format!("interfaces: [{{{one}, next-hop: 100.127.0.1}}]"),
        format!("interfaces: [{{{one}, next-hop: 224.0.0.1}}]"),
        format!("interfaces: [{{{one}, next-hop: 198.18.0.1}}]"),
        "interfaces: [{port: inside, side: inside, ip: 100.127.0.1}]".to_owned(),
        "interfaces: [{port: outside, side: inside, ip: 100.127.0.1}]".to_owned(),
        format!(
            "vrfs: [{red}], interfaces: [{{port: inside, vlan: 1, side: outside, ip: 9.9.9.9}}]"
        ),
        format!(
            "siit: {{prefix: '64:ff9b::/96', embedded: [45.20.0.0/24]}}, interfaces: [{{{one}}}]"
        ),
        format!(
            "interfaces: [{{{one}, next-hop: 100.127.0.2, networks: [10.0.0.0/8]}}, \
             {{port: lan3, side: inside, ip: 100.127.0.9, next-hop: 100.127.0.8, \
             networks: [10.1.2.3/8]}}]"
        ),
        format!("interfaces: [{}]", many(32, |number| format!("vlan: {number}"))),
        format!("interfaces: [{}]", many(15, |number| format!("port: lan{number}"))),
    ] {
        assert_eq!(refused(&format!("{{{text}}}")).as_deref(), Some("interfaces"), "{text}");
    }
    for text in [
        format!("interfaces: [{{{one}, vlan: 7}}, {{{one}}}]"),
        format!(
            "interfaces: [{{{one}, next-hop: 100.127.0.2, networks: [10.1.2.3/8]}}, \
             {{port: wan2, side: outside, ip: 203.0.112.1, next-hop: 203.0.112.2, \
             networks: [10.1.2.3/8]}}]"
        ),
        format!("interfaces: [{}]", many(31, |number| format!("vlan: {number}"))),
        format!("interfaces: [{}]", many(14, |number| format!("port: lan{number}"))),
    ] {
        assert_eq!(refused(&format!("{{{text}}}")), None, "{text}");
    }
}

/// So many interfaces outside that differ in this.
fn many(count: usize, key: impl Fn(usize) -> String) -> String {
    let one = |number| {
        let key = key(number);
        let port = if key.starts_with("port") { "" } else { "port: wan2, " };
        format!("{{{port}{key}, side: outside, ip: 203.0.112.1}}")
    };
    (1..=count).map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn vrfs_have_names_vlans_and_networks_of_their_own() {
    let red = "{name: red, vlan: 1, inside: [10.0.0.0/8]";
    for (key, more) in [
        ("vrfs", "}, {name: blue, vlan: 1, inside: [10.0.0.0/8]}"),
        ("vrfs", "}, {name: red, vlan: 2, inside: [10.0.0.0/8]}"),
        ("vrfs", "}, {name: blue, vlan: 0, inside: [10.0.0.0/8]}"),
        ("vrfs", "}, {name: blue, vlan: 4095, inside: [10.0.0.0/8]}"),
        ("vrfs", "}, {name: '', vlan: 2, inside: [10.0.0.0/8]}"),
        ("vrfs", "}, {name: blue, vlan: 2, inside: []}"),
        ("vrfs", "}, {name: blue, vlan: 2, inside: [198.18.0.0/28]}"),
        ("vrfs", ", pools: [198.18.0.0/28]}"),
        ("vrfs", ", pools: [10.9.0.0/28]}"),
        ("vrfs", ", pools: [203.0.113.0/28, 203.0.113.8/29]}"),
        ("vrfs", ", pools: [203.0.113.0/28]}, {name: blue, vlan: 2, inside: [203.0.113.0/30]}"),
    ] {
        let text = format!("{{vrfs: [{red}{more}]}}");
        assert_eq!(refused(&text).as_deref(), Some(key), "{text}");
    }
    let rule = "deterministic: [{realm: 2, inside: 10.0.0.0/24, outside: 203.0.113.128/30}]";
    let text = format!("{{vrfs: [{red}}}], {rule}}}");
    assert_eq!(refused(&text).as_deref(), Some("deterministic"), "{text}");
    for more in ["}", ", pools: [203.0.113.0/28]}, {name: blue, vlan: 2, inside: [10.0.0.0/8]}"] {
        let text = format!("{{vrfs: [{red}{more}]}}");
        assert_eq!(refused(&text), None, "{text}");
    }
    let alone = format!("{{pools: [], vrfs: [{red}, pools: [203.0.113.0/28]}}]}}");
    assert_eq!(refused(&alone), None, "{alone}");
}

#[test]
fn clients_are_of_a_vrf_that_is_there() {
    let function = "{vrfs: [{name: red, vlan: 7, inside: [10.0.0.0/16]}]}";
    for (key, text) in [
        (Some("vlan"), "{vlan: 8}"),
        (Some("vlan"), "{vlan: 4095}"),
        (Some("family"), "{vlan: 7, family: ipv6}"),
        (Some("first-client"), "{vlan: 7, first-client: 10.1.0.1}"),
        (None, "{vlan: 7}"),
        (None, "{first-client: 10.1.0.1}"),
    ] {
        assert_eq!(refused_of(function, text).as_deref(), key, "{text}");
    }
}

#[test]
fn each_port_of_a_shared_address_is_one_host_s() {
    let refused_rules = |rules: &str, more: &str| {
        let text = format!("{{port-forwarding: [{rules}]{more}}}");
        read(&text, "{sessions: 1}").err().map(|invalid| (invalid.key, invalid.what))
    };
    let one = |hosts: &str| format!("{{outside: 203.0.113.80, hosts: [{hosts}]}}");
    let web = "{inside: 10.0.0.5, forwards: [{protocol: tcp, first-port: 80}]}";
    for (what, hosts) in [
        ("must have from 1 to 1024 entries, not 0", String::new()),
        ("11.0.0.5 is in no network", "{inside: 11.0.0.5, forwards: [{first-port: 80}]}".into()),
        ("10.0.0.5 has no port", "{inside: 10.0.0.5}".into()),
        (
            "must be from 1 to 65535, not 0",
            "{inside: 10.0.0.5, forwards: [{first-port: 0}]}".into(),
        ),
        (
            "no ports from 9 to 8, inside 9",
            "{inside: 10.0.0.5, forwards: [{first-port: 9, last-port: 8}]}".into(),
        ),
        (
            "no ports from 8 to 9, inside 65535",
            "{inside: 10.0.0.5, forwards: [{first-port: 8, last-port: 9, inside-port: 65535}]}"
                .into(),
        ),
        (
            "no 'dynamic-ports' from 1000 to 2000",
            "{inside: 10.0.0.5, dynamic-ports: {first-port: 1000, last-port: 2000}}".into(),
        ),
        (
            "no 'dynamic-ports' from 2000 to 1999",
            "{inside: 10.0.0.5, dynamic-ports: {first-port: 2000, last-port: 1999}}".into(),
        ),
        (
            "TCP port 80 of 203.0.113.80 is given to 10.0.0.5 and to 10.0.0.6",
            format!("{web}, {{inside: 10.0.0.6, forwards: [{{first-port: 79, last-port: 81}}]}}"),
        ),
        (
            "UDP port 2000 of 203.0.113.80 is given to 10.0.0.5 twice",
            "{inside: 10.0.0.5, forwards: [{protocol: udp, first-port: 1990, last-port: 2000}], \
             dynamic-ports: {first-port: 2000, last-port: 2000}}"
                .into(),
        ),
        (
            "TCP port 2500 of 203.0.113.80 is given to 10.0.0.5 and to 10.0.0.6",
            "{inside: 10.0.0.6, dynamic-ports: {first-port: 2500, last-port: 3000}}, \
             {inside: 10.0.0.5, dynamic-ports: {first-port: 2000, last-port: 2500}}"
                .into(),
        ),
        (
            "UDP port 53 of 10.0.0.5 has two outside ports",
            "{inside: 10.0.0.5, forwards: [{first-port: 53}, \
             {protocol: udp, first-port: 5353, inside-port: 53}]}"
                .into(),
        ),
        (
            "10.0.0.5 stands twice",
            format!("{web}, {{inside: 10.0.0.5, forwards: [{{first-port: 81}}]}}"),
        ),
    ] {
        let refused = refused_rules(&one(&hosts), "");
        let text = refused.map(|(key, what)| {
            assert!(key.starts_with("port-forwarding"), "{key}: {what}");
            what
        });
        assert!(text.as_ref().is_some_and(|text| text.contains(what)), "{what}: {text:?}");
    }
    let web = one(web);
    let again = "{outside: 203.0.113.81, hosts: [{inside: 10.0.0.5, forwards: [{first-port: 1}]}]}";
    for (key, rules, more) in [
        ("port-forwarding", format!("{web}, {web}"), ""),
        ("port-forwarding", format!("{web}, {again}"), ""),
        ("port-forwarding", web.clone(), ", pools: [203.0.113.0/24]"),
        (
            "port-forwarding",
            web.clone(),
            ", static: [{inside: 10.0.0.4/30, outside: 203.0.113.4/30}]",
        ),
        (
            "port-forwarding",
            web.clone(),
            ", deterministic: [{inside: 10.0.0.0/28, outside: 203.0.113.4/30}]",
        ),
        (
            "deterministic",
            web.clone(),
            ", deterministic: [{inside: 10.1.0.0/28, outside: 203.0.113.80/30}]",
        ),
    ] {
        let refused = refused_rules(&rules, more);
        assert_eq!(refused.as_ref().map(|(key, _)| &**key), Some(key), "{rules}{more}");
    }
    let host = "{inside: 10.0.0.6, dynamic-ports: {first-port: 1024, last-port: 65535}, forwards: \
                [{protocol: udp, first-port: 80}, {protocol: tcp, first-port: 81, inside-port: 80}]}";
    let both =
        format!("{}, {host}", "{inside: 10.0.0.5, forwards: [{protocol: tcp, first-port: 80}]}");
    assert_eq!(refused_rules(&one(&both), ", pools: []"), None);
    assert_eq!(refused_rules(&one(&both), ", core: 2"), None);
}

#[test]
fn destinations_that_are_not_translated_are_outside() {
    for (key, text) in [
        (Some("bypass"), "{bypass: [10.9.0.0/16]}"),
        (Some("bypass"), "{bypass: [203.0.112.0/24, 198.18.0.128/25]}"),
        (Some("bypass"), "{bypass: [224.0.0.0/4]}"),
        (Some("bypass"), "{bypass: [0.0.0.0/0]}"),
        (
            Some("bypass"),
            "{bypass: [203.0.112.0/24], vrfs: [{name: red, vlan: 1, inside: [10.0.0.0/8]}]}",
        ),
        (
            Some("bypass"),
            "{bypass: [203.0.112.0/24], siit: {mappings: [{ipv4: 198.51.100.0/26, \
             ipv6: '2001:db8:aa::/64'}], prefix: '2001:db8:6400::/56'}}",
        ),
        (None, "{bypass: [203.0.112.0/24, 198.51.100.7/32]}"),
    ] {
        assert_eq!(refused(text).as_deref(), key, "{text}");
    }
    for (key, text) in [
        (Some("first-server"), "{sessions: 1, first-server: 192.0.1.255, server: 2}"),
        (None, "{sessions: 1, first-server: 192.0.1.254, server: 2}"),
        (None, "{sessions: 1, first-server: 192.0.3.0, server: 2}"),
    ] {
        let refused = refused_of("{bypass: [192.0.2.0/24]}", text);
        assert_eq!(refused.as_deref(), key, "{text}");
    }
}

#[test]
fn pools_are_of_any_size_and_rules_stand_beside_them() {
    for text in [
        "{pools: [198.18.0.0/32]}",
        "{pools: [198.18.0.0/29, 203.0.113.7/32, 198.18.64.0/20]}",
        "{deterministic: [{inside: 10.0.0.0/24, outside: 203.0.113.128/30}]}",
        "{pools: [], deterministic: [{inside: 10.0.0.0/24, outside: 203.0.113.128/30}]}",
        "{static: [{inside: 10.0.0.0/30, outside: 203.0.113.64/30}]}",
        "{core: 2, static: [{inside: 10.0.0.0/30, outside: 203.0.113.64/30}], alg: {pptp: true}}",
    ] {
        assert_eq!(refused(text), None, "{text}");
    }
}

#[test]
fn numbers_out_of_their_range_are_refused_by_their_key() {
    for (key, text) in [
        ("port-block", "{port-block: {size: 100}}"),
        ("port-block", "{port-block: {per-subscriber: 9}}"),
        ("first-port", "{first-port: 0}"),
        ("mss-clamp", "{mss-clamp: 100}"),
        ("timeouts", "{timeouts: {udp-s: 0.1}}"),
        ("quarantine-s", "{quarantine-s: -1}"),
        ("inside-mtu", "{inside-mtu: 575}"),
        ("replication", "{replication: {port: 0}}"),
        ("replication", "{core: 2, replication: {port: 65535}}"),
        ("sessions", "{sessions: 0}"),
        ("pools", "{pools: [198.18.0.0/15]}"),
    ] {
        assert_eq!(refused(text).as_deref(), Some(key), "{text}");
    }
}

#[test]
fn traffic_has_as_many_sessions_as_it_says() {
    assert_eq!(refused_traffic("{sessions: 10, client: 10}"), None);
    for (key, text) in [
        ("sessions", "{sessions: 3, client: 2, client-ports: 1, server: 1, server-ports: 1}"),
        ("client-ports", "{client-ports: 10, first-client-port: 65530}"),
        ("first-client", "{client: 4, first-client: 10.255.255.253}"),
        ("tcp-share", "{tcp-share: 0.7, icmp-share: 0.4}"),
        (
            "icmp-share",
            "{icmp-share: 0.1, client: 10, server: 1, client-ports: 1000, server-ports: 100}",
        ),
        ("pkt-size", "{pkt-size: 63}"),
        ("random-seed", "{random-seed: 0}"),
    ] {
        assert_eq!(refused_traffic(text).as_deref(), Some(key), "{text}");
    }
}
