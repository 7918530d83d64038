//! Sessions and what they refer to come, change and go; what is impossible changes nothing.

use engine::{Function, Refusal};
use function_bng::config::Name;
use function_bng::control::Update;
use function_bng::{BroadbandGateway, Pipeline};
use function_kit::{NetworkFunction, Shard, Sought};
use machine::clock::Clock;
use model_kit::device::{Device, Outcome};
use serde_json::{Value, json};

use crate::gateway::*;

/// What the table of sessions tells of one: packets and bytes up of IPv4, up of IPv6, then down.
pub fn volumes(device: &mut Device<Pipeline>, number: u64) -> [u64; 8] {
    let page = BroadbandGateway::table_page(device.function_mut(), 0, number, 1, 0);
    let row = &page.entries[0];
    let all = ["up-ipv4", "up-ipv6", "down-ipv4", "down-ipv6"];
    let words = all.iter().flat_map(|way| [format!("{way}-packets"), format!("{way}-bytes")]);
    let mut numbers = words.map(|key| row[&key].as_u64().expect("a number"));
    std::array::from_fn(|_| numbers.next().expect("eight of them"))
}

fn pipeline(more: &Value) -> Pipeline {
    let config = config(more);
    Pipeline::new(&config, Shard::WHOLE, Clock::with_rate(1e9), 0).expect("a small gateway")
}

fn update(text: Value) -> Update {
    serde_json::from_value(text).expect("an update")
}

#[test]
fn a_session_that_cannot_be_is_refused_by_name() {
    let mut one = pipeline(&json!({"line-sessions": 1}));
    let mut apply = |text: &Value| one.apply(update(json!({"add-session": text})), 0);
    let changed = |key: &str, value: Value| {
        let mut session = ipoe(3);
        session[key] = value;
        session
    };
    let cases = [
        (changed("number", json!(17)), Refusal::Invalid),
        (changed("number", json!(1)), Refusal::Exists),
        (changed("ipv4", json!("10.0.0.1")), Refusal::Exists),
        (changed("ipv4", json!("10.0.0.254")), Refusal::Invalid),
        (changed("ipv4", json!("224.0.0.1")), Refusal::Invalid),
        (changed("na", json!("3fff::1")), Refusal::Exists),
        (changed("delegated", json!("3fff:1:1::/56")), Refusal::Exists),
        (changed("delegated", json!("3fff:1:1::1/56")), Refusal::Invalid),
        (changed("profile", json!("none")), Refusal::Invalid),
        (changed("list", json!("none")), Refusal::Invalid),
        (changed("node", json!("none")), Refusal::Invalid),
        (changed("vrf", json!("none")), Refusal::Invalid),
        (changed("mac", json!("01:00:00:00:00:01")), Refusal::Invalid),
        (changed("line", json!({"outer": 5})), Refusal::Invalid),
        (changed("line", json!({"inner": 101})), Refusal::Exceeds("line-sessions")),
    ];
    for (session, refusal) in cases {
        assert_eq!(apply(&session), Err(refusal), "{session}");
    }
    assert_eq!(apply(&ipoe(3)), Ok(()));
    let change = |session: Value| update(json!({"change-session": session}));
    assert_eq!(one.apply(change(ipoe(9)), 0), Err(Refusal::NotFound));
    let mut taken = ipoe(3);
    taken["ipv4"] = json!("10.0.0.2");
    assert_eq!(one.apply(change(taken), 0), Err(Refusal::Exists));
    for update in [
        Update::RemoveSession { number: 9 },
        Update::SetProfile { number: 9, profile: Name::new("plain") },
        Update::RemoveProfile { name: Name::new("none") },
        Update::RemoveList { name: Name::new("none") },
        Update::RemoveNode { name: Name::new("none") },
    ] {
        assert_eq!(one.apply(update, 0), Err(Refusal::NotFound));
    }
    let profile = Update::RemoveProfile { name: Name::new("plain") };
    assert_eq!(one.apply(profile, 0), Err(Refusal::Invalid), "sessions have it");
}

#[test]
fn a_session_that_moves_keeps_its_volumes_and_loses_its_old_line() {
    let mut device = device(&config(&json!({})));
    let sent = packet(ipv4(1).into(), SERVER.into(), 100);
    device.pass(ACCESS, &from_ipoe(1, &sent), 0);
    let mut moved = ipoe(1);
    moved["line"] = json!({"inner": 103});
    assert!(device.update(update(json!({"change-session": moved})), 0));
    let became = device.pass(ACCESS, &from_ipoe(1, &sent), 0);
    assert_eq!(became, Outcome::Dropped("unknown-session"));
    let mut elsewhere = from_ipoe(1, &sent);
    elsewhere[15] = 103;
    assert_eq!(device.pass(ACCESS, &elsewhere, 0), Outcome::Left(CORE, to_core(&hop(&sent))));
    assert_eq!(volumes(&mut device, 1), [2, 200, 0, 0, 0, 0, 0, 0]);
    assert!(device.update(Update::RemoveSession { number: 1 }, 0));
    assert_eq!(device.pass(ACCESS, &elsewhere, 0), Outcome::Dropped("unknown-session"));
    assert!(device.update(update(json!({"add-session": ipoe(1)})), 0));
    assert_eq!(volumes(&mut device, 1), [0; 8], "it is another one");
}

#[test]
fn another_profile_takes_effect_between_two_packets() {
    let slow = json!({"name": "slow", "policers": [{"class": "be", "rate": 1000, "burst": 100}]});
    let mut device = device(&config(&json!({"profiles": [{"name": "plain"}, slow]})));
    let frame = from_ipoe(1, &packet(ipv4(1).into(), SERVER.into(), 100));
    let mut passed = |profile: &str| {
        let profile = Name::new(if profile == "slow" { "slow" } else { "plain" });
        assert!(device.update(Update::SetProfile { number: 1, profile }, 0));
        let became = (0..5).map(|_| device.pass(ACCESS, &frame, 0));
        became.filter(|one| matches!(one, Outcome::Left(..))).count()
    };
    assert_eq!((passed("plain"), passed("slow"), passed("plain")), (5, 1, 5));
}

#[test]
fn what_is_found_by_an_address_tells_its_session_and_why_it_waits() {
    let profile = json!([{
        "name": "plain",
        "queues": [{"class": "be", "rate": 8000, "burst": 0}],
    }]);
    let mut device = device(&config(&json!({"profiles": profile})));
    for _ in 0..3 {
        let got = packet(SERVER.into(), ipv4(1).into(), 500);
        device.exchange(CORE, &from_core(&got), 0);
    }
    for text in ["10.0.0.1", "3fff::1", "3fff:1:1:7::1"] {
        let sought: Sought = text.parse().expect("an address");
        let page = BroadbandGateway::table_found(device.function_mut(), 0, sought, 0, 10, 0);
        let entries = page.expect("sessions have addresses").entries;
        assert_eq!(entries[0]["number"], 1, "{text}");
        let waiting = &entries[0]["waiting"][0];
        assert_eq!((&waiting["frames"], &waiting["why"]), (&json!(2), &json!("own rate")));
    }
}

#[test]
fn an_address_is_found_in_each_vrf() {
    let mut other = ipoe(3);
    other["ipv4"] = json!(ipv4(1));
    other["vrf"] = json!("red");
    let hop = |vrf: Value| json!({"address": "192.0.2.254", "vrf": vrf, "mac": ROUTER.to_string()});
    let route = |prefix: &str| json!({"prefix": prefix, "next-hop": "192.0.2.254", "vrf": "red"});
    let mut device = device(&config(&json!({
        "vrfs": [{"name": "red", "vlan": 33}, {"name": "blue", "vlan": 34}],
        "next-hops": [hop(Value::Null), hop(json!("red"))],
        "routes": [{"prefix": "0.0.0.0/0", "next-hop": "192.0.2.254"}, route("198.51.100.0/24")],
        "sessions": [ipoe(1), other],
    })));
    let mut found = |table: usize, text: &str, key: &str| {
        let sought: Sought = text.parse().expect("an address");
        let page = BroadbandGateway::table_found(device.function_mut(), table, sought, 0, 10, 0);
        let entries = page.expect("it can be looked for").entries;
        entries.iter().map(|row| row[key].clone()).collect::<Vec<_>>()
    };
    assert_eq!(found(0, "10.0.0.1", "number"), [1, 3]);
    assert_eq!(found(4, "192.0.2.254", "vrf"), [Value::Null, json!("red")]);
    assert_eq!(found(5, "198.51.100.7", "vrf"), [Value::Null, json!("red")]);
    assert_eq!(found(5, "203.0.113.7", "next-hop"), ["192.0.2.254"]);
}

#[test]
fn what_comes_in_place_of_what_goes_needs_no_room_beside_it() {
    let of = |name: &str, last: u8| {
        let hop = format!("192.0.2.{last}");
        let mut session = ipoe(1);
        (session["profile"], session["node"]) = (json!(name), json!(name));
        config(&json!({
            "profile-capacity": 1, "list-capacity": 1, "node-capacity": 1, "next-hop-capacity": 1,
            "lists": [{"name": name, "rules": [{"action": "permit", "dscp": last}]}],
            "nodes": [{"name": name}],
            "profiles": [{"name": name, "list": name}],
            "next-hops": [{"address": hop, "mac": ROUTER.to_string()}],
            "routes": [{"prefix": "0.0.0.0/0", "next-hop": hop}],
            "sessions": [session],
        }))
    };
    let (running, wanted) = (of("one", 1), of("other", 2));
    let mut one = Pipeline::new(&running, Shard::WHOLE, Clock::with_rate(1e9), 0).expect("small");
    let changes = BroadbandGateway::difference(&running, &wanted).expect("only what is listed");
    for update in changes.iter().cloned().chain(BroadbandGateway::undoing(&running, &changes)) {
        one.apply(update.clone(), 0).unwrap_or_else(|why| panic!("{update:?}: {why}"));
    }
    assert_eq!(BroadbandGateway::memory(&running, Shard::WHOLE, &one, 0), []);
}

#[test]
fn the_names_of_lists_are_limited() {
    let lists = |count: u32| {
        let all = (0..count).map(|number| json!({"name": format!("l{number}"), "rules": []}));
        json!({"list-capacity": 1, "lists": all.collect::<Vec<_>>()})
    };
    let mut one = pipeline(&lists(16));
    let list = json!({"add-list": {"name": "another", "rules": []}});
    assert_eq!(one.apply(update(list), 0), Err(Refusal::Exceeds("list-capacity")));
    let mut config: function_bng::Config = serde_json::from_value(lists(17)).expect("one");
    let error = BroadbandGateway::validate(&mut config).expect_err("one name too many");
    assert_eq!(error.key, "lists");
}

#[test]
fn a_difference_leads_from_the_one_to_the_other_and_back() {
    let rules = json!([{"action": "permit"}]);
    let running = config(&json!({
        "lists": [{"name": "one", "rules": rules}, {"name": "two", "rules": []}],
        "nodes": [{"name": "street"}],
        "profiles": [{"name": "plain", "list": "one"}, {"name": "gone"}],
        "sessions": [ipoe(1), pppoe(2), ipoe(4)],
    }));
    let mut third = ipoe(3);
    third["node"] = json!("road");
    let mut second = pppoe(2);
    second["profile"] = json!("better");
    second["list"] = json!("two");
    let wanted = config(&json!({
        "lists": [{"name": "one", "rules": []}, {"name": "two", "rules": []}],
        "nodes": [{"name": "road", "up-rate": 5000}],
        "profiles": [{"name": "plain", "list": "one"}, {"name": "better", "up-rate": 1000}],
        "next-hops": [
            {"address": "192.0.2.253", "mac": ROUTER.to_string()},
            {"address": "2001:db8::254", "mac": host(7).to_string()},
        ],
        "routes": [
            {"prefix": "0.0.0.0/0", "next-hop": "192.0.2.253"},
            {"prefix": "2000::/3", "next-hop": "2001:db8::254"},
        ],
        "sessions": [ipoe(1), second, third],
    }));
    let mut one = Pipeline::new(&running, Shard::WHOLE, Clock::with_rate(1e9), 0).expect("small");
    let memory = |one: &Pipeline, config| BroadbandGateway::memory(config, Shard::WHOLE, one, 0);
    assert_eq!(memory(&one, &running), []);
    let changes = BroadbandGateway::difference(&running, &wanted).expect("only what is listed");
    for update in &changes {
        one.apply(update.clone(), 0).unwrap_or_else(|why| panic!("{update:?}: {why}"));
    }
    assert_eq!(memory(&one, &wanted), []);
    for update in BroadbandGateway::undoing(&running, &changes) {
        one.apply(update.clone(), 0).unwrap_or_else(|why| panic!("{update:?}: {why}"));
    }
    assert_eq!(memory(&one, &running), []);
    let other = config(&json!({"mss-clamp": 1400}));
    let error = BroadbandGateway::difference(&running, &other).expect_err("no list");
    assert_eq!(error.key, "mss-clamp");
}

#[test]
fn what_came_by_control_is_remembered_and_restored() {
    let config = config(&json!({}));
    let new = || Pipeline::new(&config, Shard::WHOLE, Clock::with_rate(1e9), 0).expect("small");
    let mut one = new();
    let changes = [
        json!({"add-node": {"name": "street", "down-rate": 100_000}}),
        json!({"add-list": {"name": "one", "rules": [{"action": "deny", "source": "subscriber"}]}}),
        json!({"add-profile": {"name": "other", "list": "one"}}),
        json!({"add-session": {"number": 3, "mac": "02:00:00:00:01:03", "profile": "other",
               "node": "street", "user": "somebody", "slaac": "3fff:9::/64"}}),
        json!({"set-profile": {"number": 2, "profile": "other"}}),
        json!({"remove-session": {"number": 1}}),
    ];
    for text in changes {
        one.apply(update(text.clone()), 0).unwrap_or_else(|why| panic!("{text}: {why}"));
    }
    let remembered = BroadbandGateway::memory(&config, Shard::WHOLE, &one, 0);
    let mut other = new();
    for update in &remembered {
        other.apply(update.clone(), 0).unwrap_or_else(|why| panic!("{update:?}: {why}"));
    }
    assert_eq!(BroadbandGateway::memory(&config, Shard::WHOLE, &other, 0), remembered);
    assert_eq!(remembered.len(), 6, "{remembered:?}");
}

#[test]
fn a_session_takes_no_more_memory_than_the_readme_says() {
    let three = json!({"session-queues": 3, "session-policers": 3});
    let more = |capacity: u32| {
        let mut more = three.clone();
        more["session-capacity"] = json!(capacity);
        more
    };
    let bytes = |capacity| pipeline(&more(capacity)).state_bytes();
    let each = (bytes(50_000) - bytes(16)) / 50_000;
    assert!(each <= 360 + 3 * 64 + 3 * 120 + 216, "{each} bytes");
    let bare = json!({"session-capacity": 50_000, "session-queues": 0, "session-policers": 0});
    let none = json!({"session-capacity": 16, "session-queues": 0, "session-policers": 0});
    let each = (pipeline(&bare).state_bytes() - pipeline(&none).state_bytes()) / 50_000;
    assert!(each <= 360, "{each} bytes");
}
