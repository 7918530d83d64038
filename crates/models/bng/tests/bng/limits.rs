//! Keys that cannot be used are refused by their names.

use function_kit::Invalid;
use model_bng::BroadbandGateway;
use model_kit::erased::{Kind, Unit};

fn refused(section: &str, traffic: &str) -> Option<Invalid> {
    let [section, traffic] =
        [section, traffic].map(|text| serde_saphyr::from_str(text).expect("a section"));
    Unit::<BroadbandGateway>::new().read(section, traffic).err()
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    for (section, traffic, key) in [
        ("{subscribers: 0}", "{}", "subscribers"),
        ("{policers: 4}", "{}", "policers"),
        ("{fluct-session: -1}", "{}", "fluct-session"),
        ("{vlans: one, tags: [two]}", "{}", "vlans"),
        ("{vlans: none, subscribers: 70000}", "{}", "vlans"),
        ("{session-rate: 0.5}", "{}", "session-rate"),
        ("{node-rate: 0.5}", "{}", "node-rate"),
        ("{lists-generated: 2}", "{}", "lists-generated"),
        ("{stack: ipv4}", "{ipv6-share: 0.5}", "ipv6-share"),
        ("{stack: ipv6}", "{ipv6-share: 0.5}", "ipv6-share"),
        ("{}", "{three-class-share: 1.5}", "three-class-share"),
        ("{}", "{subscribers: 1001}", "subscribers"),
        ("{queue-bytes: 2047}", "{}", "queue-bytes"),
        ("{}", "{pkt-size: 63}", "pkt-size"),
        ("{}", "{pkt-size: 9019}", "pkt-size"),
        ("{kind: pppoe}", "{pkt-size: 1511}", "pkt-size"),
        ("{}", "{subscriber-draw: {zipf: 0.0}}", "subscriber-draw.zipf"),
        ("{core: 2}", "{}", "core"),
    ] {
        let invalid = refused(section, traffic).expect("it cannot be");
        assert_eq!(&*invalid.key, key, "{section} {traffic}: {}", invalid.what);
    }
}

#[test]
fn what_can_be_is_taken() {
    for (section, traffic) in [
        ("{}", "{}"),
        ("{kind: pppoe}", "{pkt-size: 1510}"),
        ("{kind: mixed, mru: 9000}", "{pkt-size: 9018}"),
        ("{vlans: none, subscribers: 60000}", "{}"),
        ("{stack: ipv6}", "{ipv6-share: 1}"),
        (
            "{rules-generated: 100, lists-generated: 1000, subscribers: 2000}",
            "{pkt-size: nokia-bng}",
        ),
        ("{policers: 0, queues: 0, session-queues: 0}", "{}"),
    ] {
        let refused = refused(section, traffic).map(|invalid| invalid.to_string());
        assert_eq!(refused, None, "{section} {traffic}");
    }
}

#[test]
fn clients_bring_up_what_they_can() {
    let section = |more: &str| format!("{{set-up: protocol, {more}}}");
    assert_eq!(refused(&section(""), "{}").map(|invalid| invalid.to_string()), None);
    for (more, key) in [
        ("kind: pppoe, stack: ipv6", "stack"),
        ("kind: mixed, stack: ipv6", "stack"),
        ("fluct-session: 1", "fluct-session"),
        ("fluct-profile: 1", "fluct-profile"),
        ("rules-generated: 2, lists-generated: 2", "lists-generated"),
    ] {
        let invalid = refused(&section(more), "{}").expect("it cannot be");
        assert_eq!(&*invalid.key, key, "{more}: {}", invalid.what);
    }
}
