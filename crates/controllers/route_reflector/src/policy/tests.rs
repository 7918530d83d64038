//! Each thing that a rule asks for and changes, on its own.

use protocol_bgp::attributes::{Attributes, push};
use protocol_bgp::families::Family;
use protocol_bgp::text::{NextHop, parse};
use serde_json::{Value, json};

use super::*;
use crate::config::PolicyKeys;
use crate::known::put;

/// A route: its family, its text, its attributes by code, and the group of its peer.
struct Route<'a> {
    family: Family,
    prefix: &'a str,
    path: &'a [u32],
    communities: &'a [u32],
    group: u16,
}

const PLAIN: Route<'static> = Route {
    family: Family::Ipv4Unicast,
    prefix: "192.0.2.0/24",
    path: &[64_501, 64_502],
    communities: &[0xfbf4_0001],
    group: 0,
};

fn policy(keys: Value) -> Policy {
    let keys: PolicyKeys = serde_json::from_value(keys).expect("they are keys");
    let mut groups = Groups::default();
    assert_eq!((groups.number("transit"), groups.number("customers")), (1, 2));
    Policy::new(&keys, &mut groups)
}

fn bytes(route: &Route<'_>) -> Vec<u8> {
    let (mut block, mut ases, mut all) = (Vec::new(), Vec::new(), Vec::new());
    path::push(path::SEQUENCE, route.path.iter().copied(), &mut ases);
    push(0x40, 1, &[0], &mut block);
    push(0x40, 2, if route.path.is_empty() { &[] } else { &ases }, &mut block);
    let list: Vec<u8> = route.communities.iter().flat_map(|one| one.to_be_bytes()).collect();
    if !list.is_empty() {
        push(0xc0, 8, &list, &mut block);
    }
    push(0xc0, 16, &0x0002_fbf4_0000_0009_u64.to_be_bytes(), &mut block);
    push(0xc0, 32, &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3], &mut block);
    put(&[10, 0, 0, 1], &block, &mut all);
    all
}

fn decide(policy: &Policy, route: &Route<'_>) -> Decision {
    let bytes = bytes(route);
    let summary = Summary::of(parts(&bytes).1);
    let key = parse(route.family, route.prefix).unwrap_or_else(|_| vec![2, 1]);
    let named = policy.of_prefix(route.family, &key);
    let (family, group) = (route.family, route.group);
    policy.decide(&Subject { family, group, bytes: &bytes, summary: &summary }, named)
}

/// What is left of a route that a rule has changed: its next hop and attributes in words.
fn words(policy: &Policy, route: &Route<'_>) -> Vec<String> {
    let decision = decide(policy, route);
    let changed = decision.changed.expect("it is changed");
    assert_eq!(changed.summary, Summary::of(parts(&changed.bytes).1));
    let (next_hop, block) = parts(&changed.bytes);
    let words = Attributes::new(block).map(|one| one.to_string());
    words.chain([NextHop(next_hop).to_string()]).collect()
}

#[test]
fn each_match_is_one_by_itself() {
    let v6 = Route { family: Family::Ipv6Unicast, prefix: "2001:db8:1::/48", ..PLAIN };
    let vpn = Route { family: Family::VpnV4, prefix: "65000:1:192.0.2.0/24", ..PLAIN };
    let evpn = Route { family: Family::L2vpnEvpn, prefix: "", ..PLAIN };
    let prefix = |text: &str, more: Value| {
        let mut keys = json!({"prefix": text});
        keys.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
        json!({"prefixes": [keys]})
    };
    for (rule, route, is_so) in [
        (json!({}), &PLAIN, true),
        (json!({"families": ["ipv4-unicast"]}), &PLAIN, true),
        (json!({"families": ["ipv4-unicast"]}), &v6, false),
        (json!({"families": ["l2vpn-evpn", "ipv6-unicast"]}), &evpn, true),
        (json!({"groups": ["transit"]}), &Route { group: 1, ..PLAIN }, true),
        (json!({"groups": ["transit"]}), &Route { group: 2, ..PLAIN }, false),
        (json!({"groups": ["transit"]}), &PLAIN, false),
        (prefix("192.0.2.0/24", json!({})), &PLAIN, true),
        (prefix("192.0.2.0/24", json!({})), &vpn, true),
        (prefix("192.0.2.0/24", json!({})), &v6, false),
        (prefix("192.0.0.0/16", json!({})), &PLAIN, false),
        (prefix("192.0.0.0/16", json!({"ge": 24})), &PLAIN, true),
        (prefix("192.0.0.0/16", json!({"ge": 25})), &PLAIN, false),
        (prefix("192.0.0.0/16", json!({"le": 23})), &PLAIN, false),
        (prefix("192.0.0.0/16", json!({"ge": 17, "le": 24})), &PLAIN, true),
        (prefix("0.0.0.0/0", json!({"ge": 25, "le": 32})), &PLAIN, false),
        (prefix("2001:db8::/32", json!({"ge": 33})), &v6, true),
        (prefix("0.0.0.0/0", json!({"le": 32})), &evpn, false),
        (json!({"communities": ["64500:1"]}), &PLAIN, true),
        (json!({"communities": ["64500:2", "64500:*"]}), &PLAIN, true),
        (json!({"communities": ["64500:2", "1:2:4"]}), &PLAIN, false),
        (json!({"communities": ["1:2:3"]}), &PLAIN, true),
        (json!({"communities": ["1:2:*"]}), &PLAIN, true),
        (json!({"communities": ["target:64500:9"]}), &PLAIN, true),
        (json!({"communities": ["target:64500:*"]}), &PLAIN, true),
        (json!({"communities": ["origin:64500:9"]}), &PLAIN, false),
        (json!({"communities": ["no-export"]}), &PLAIN, false),
        (json!({"path-has": [64501]}), &PLAIN, true),
        (json!({"path-has": ["64502-64510"]}), &PLAIN, true),
        (json!({"path-has": ["64503-64510"]}), &PLAIN, false),
        (json!({"path-has": [64501]}), &Route { path: &[], ..PLAIN }, false),
        (json!({"origin-as": [64502]}), &PLAIN, true),
        (json!({"origin-as": [64501]}), &PLAIN, false),
        (json!({"path-length-min": 2}), &PLAIN, true),
        (json!({"path-length-min": 3}), &PLAIN, false),
        (json!({"path-length-max": 2}), &PLAIN, true),
        (json!({"path-length-max": 1}), &PLAIN, false),
        (json!({"path-length-max": 0}), &Route { path: &[], ..PLAIN }, true),
        (json!({"path-has": [64501], "communities": ["64500:2"]}), &PLAIN, false),
    ] {
        let mut rule = rule;
        rule["then"] = json!("accept");
        let policy = policy(json!({"name": "p", "rules": [rule]}));
        let decision = decide(&policy, route);
        let expected = if is_so { (true, Some(0)) } else { (false, None) };
        assert_eq!((decision.is_accepted, decision.rule), expected, "{rule} {}", route.prefix);
        assert_eq!(decision.changed, None, "it stays as it is");
    }
}

#[test]
fn each_set_changes_what_it_says() {
    let of = |set: Value| {
        let rule = json!({"set": set, "then": "accept"});
        words(&policy(json!({"name": "p", "rules": [rule]})), &PLAIN)
    };
    let plain = [
        "ORIGIN IGP",
        "AS_PATH 64501 64502",
        "COMMUNITIES 64500:1",
        "EXTENDED_COMMUNITIES target:64500:9",
        "LARGE_COMMUNITIES 1:2:3",
        "10.0.0.1",
    ];
    for (set, at, is) in [
        (json!({"next-hop": "192.0.2.9"}), 5, "192.0.2.9"),
        (json!({"next-hop": "2001:db8::1"}), 5, "10.0.0.1"),
        (json!({"prepend": {"as": 7}}), 1, "AS_PATH 7 64501 64502"),
        (json!({"prepend": {"as": 7, "times": 3}}), 1, "AS_PATH 7 7 7 64501 64502"),
        (json!({"add-communities": ["no-export", "64500:1"]}), 2, "COMMUNITIES 64500:1 no-export"),
        (json!({"replace-communities": ["1:1", "2:2"]}), 2, "COMMUNITIES 1:1 2:2"),
        (
            json!({"replace-communities": ["1:1"], "add-communities": ["2:2"]}),
            2,
            "COMMUNITIES 1:1 2:2",
        ),
        (
            json!({"add-communities": ["target:64500:10"]}),
            3,
            "EXTENDED_COMMUNITIES target:64500:9 target:64500:10",
        ),
        (json!({"add-communities": ["4:5:6"]}), 4, "LARGE_COMMUNITIES 1:2:3 4:5:6"),
        (
            json!({"remove-communities": ["1:2:*"], "add-communities": ["1:2:4"]}),
            4,
            "LARGE_COMMUNITIES 1:2:4",
        ),
    ] {
        let mut expected = plain.map(str::to_owned);
        expected[at] = is.to_owned();
        assert_eq!(of(set.clone()), expected, "{set}");
    }
    let removed = of(json!({"remove-communities": ["*:*", "target:64500:9", "1:*:*"]}));
    assert_eq!(removed, [plain[0], plain[1], plain[5]]);
    let both = of(json!({"local-preference": 200, "med": 5}));
    assert_eq!(both[2..4], ["MULTI_EXIT_DISC 5".to_owned(), "LOCAL_PREF 200".to_owned()]);
}

#[test]
fn rules_go_on_until_one_decides_and_see_what_others_have_left() {
    let policy = policy(json!({"name": "p", "default": "accept", "rules": [
        {"name": "tag", "origin-as": [64502], "set": {"add-communities": ["64500:7"], "med": 1}},
        {"communities": ["64500:7"], "set": {"local-preference": 300, "med": 2}},
        {"name": "far", "path-length-min": 3, "then": "reject"},
        {"prefixes": [{"prefix": "192.0.2.0/24"}], "communities": ["64500:1"], "then": "accept"},
    ]}));
    let of = |route: &Route<'_>| {
        let decision = decide(&policy, route);
        (decision.is_accepted, policy.rule(decision.rule), decision.changed.is_some())
    };
    assert_eq!(of(&PLAIN), (true, "rule 4".to_owned(), true));
    let all = words(&policy, &PLAIN);
    assert!(all.contains(&"LOCAL_PREF 300".to_owned()), "{all:?}");
    assert!(all.contains(&"MULTI_EXIT_DISC 2".to_owned()), "the last one counts: {all:?}");
    let far = Route { path: &[1, 2, 3], ..PLAIN };
    assert_eq!(of(&far), (false, "rule 3 (far)".to_owned(), false));
    let other = Route { prefix: "192.0.3.0/24", path: &[9], ..PLAIN };
    assert_eq!(of(&other), (true, "default".to_owned(), false));
}

#[test]
fn attributes_without_room_are_refused() {
    let many: Vec<u32> = (0..16_370).collect();
    let full = Route { communities: &many, ..PLAIN };
    let of = |times: u8| {
        let rule = json!({"set": {"prepend": {"as": 9, "times": times}}, "then": "accept"});
        decide(&policy(json!({"name": "p", "rules": [rule]})), &full)
    };
    assert_eq!((of(1).is_accepted, of(1).rule), (true, Some(0)));
    assert_eq!((of(32).is_accepted, of(32).rule), (false, Some(0)));
}

#[test]
fn what_is_the_same_stays_the_same_over_a_reload() {
    let config = |name: &str| -> Config {
        serde_json::from_value(json!({
            "as": 1, "identifier": "10.0.0.1",
            "policies": [{"name": "a"}, {"name": "b", "rules": [{"name": name}]}],
        }))
        .expect("a configuration")
    };
    let first = Policies::new(&config("x"), Policies::default());
    let second = Policies::new(&config("y"), first.clone());
    let of = |all: &Policies, name: &str| all.of(Some(&name.to_owned()), Kind::Client);
    let (a, b) = (of(&first, "a").expect("it"), of(&first, "b").expect("it"));
    assert!(Arc::ptr_eq(&a, &of(&second, "a").expect("it")));
    assert_ne!(of(&second, "b"), Some(b));
    assert_eq!(first.of(None, Kind::Client), None);
    assert_eq!(first.of(Some(&"accept".to_owned()), Kind::External), None);
    let nothing = first.of(None, Kind::External).expect("one of another AS needs a wish");
    assert!(nothing.takes_nothing() && nothing.is_of_nobody());
}
