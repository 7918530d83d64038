//! Policies between peers of a simulated network: what is taken and told, what RFC 8212 asks for,
//! and what a reload changes.

use controller_kit::Controller;
use controller_route_reflector::RouteReflector;
use controller_route_reflector::fuzz::model::Attributes;
use protocol_bgp::families::Family;
use serde_json::{Value, json};

use crate::site::{ASN, Peer, Site, address, from, prefix};

const V4: Family = Family::Ipv4Unicast;
const OTHER: u32 = 64_501;

/// The keys of a reflector with clients at nodes 1 and 2 and a peer of another AS at node 3.
fn keys(policies: &Value, [first, second, third]: [Value; 3]) -> Value {
    let peers = [(1, first, json!({})), (2, second, json!({})), (3, third, json!({"as": OTHER}))];
    let peer = |(node, more, own): (usize, Value, Value)| {
        let mut keys = json!({"address": address(node), "passive": true});
        for more in [more, own] {
            keys.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
        }
        keys
    };
    json!({
        "as": ASN, "identifier": "10.0.0.10", "listen": ["0.0.0.0:179"],
        "families": ["ipv4-unicast"], "policies": policies,
        "peers": peers.map(peer),
    })
}

fn site(keys: &Value) -> Site {
    let other = Peer { asn: OTHER, ..Peer::own(&[V4]) };
    Site::new(keys.clone(), &[Peer::own(&[V4]), Peer::own(&[V4]), other])
}

/// What a node tells with a path.
fn by(node: usize, path: &[u32]) -> Attributes {
    Attributes { path: path.to_vec(), ..from(node) }
}

fn both() -> Value {
    json!({"import": "accept", "export": "accept"})
}

/// - `route-reflector`, RFC 8212 section 3: a peer of another AS without policies tells nothing
///   that is used, and is told nothing, not even that something is gone
#[test]
fn a_peer_of_another_as_without_policies_is_not_heard_and_not_told() {
    let mut site = site(&keys(&json!([]), [json!({}), json!({}), json!({})]));
    site.announce(3, V4, &[prefix(1), prefix(2)], &by(3, &[OTHER]));
    site.announce(1, V4, &[prefix(3)], &from(1));
    assert_eq!(site.knows(2, V4, prefix(1)), None);
    assert!(site.knows(2, V4, prefix(3)).is_some());
    assert_eq!(site.all("routes", &[]).len(), 1);
    let row = &site.all("peers", &[("for", "10.0.0.13")])[0];
    assert_eq!(
        (&row["refused-by-policy"], &row["import"]),
        (&json!(2), &json!("none: nothing (RFC 8212)"))
    );
    let said = site.lines.iter().filter(|line| line.text.contains("RFC 8212"));
    let said: Vec<&str> = said.map(|line| line.text.as_str()).collect();
    assert_eq!(
        said,
        ["10.0.0.13 is of another AS, and without `import` and `export` nothing that it tells is \
         used, and it is told nothing (RFC 8212)"]
    );
    let told = site.all("advertised", &[("peer", "10.0.0.13"), ("for", "198.51.3.0/24")]);
    assert_eq!(told[0]["status"], "not told");
    assert!(told[0]["why"].as_str().is_some_and(|why| why.contains("RFC 8212")), "{told:?}");
    // What it takes back was never there.
    site.withdraw(3, V4, &[prefix(1)]);
    assert_eq!(site.all("peers", &[("for", "10.0.0.13")])[0]["refused-by-policy"], 1);
    site.withdraw(1, V4, &[prefix(3)]);
    assert_eq!(site.updates[&3], 1, "its End-of-RIB alone");
}

/// - `route-reflector`, RFC 8212 section 3: each direction has its own policy
#[test]
fn each_direction_needs_a_policy_of_its_own() {
    for (more, is_heard, is_told) in [
        (json!({"import": "accept"}), true, false),
        (json!({"export": "accept"}), false, true),
        (both(), true, true),
    ] {
        let mut site = site(&keys(&json!([]), [json!({}), json!({}), more.clone()]));
        site.announce(3, V4, &[prefix(1)], &by(3, &[OTHER]));
        site.announce(1, V4, &[prefix(2)], &from(1));
        assert_eq!(site.knows(2, V4, prefix(1)).is_some(), is_heard, "{more}");
        assert_eq!(site.knows(3, V4, prefix(2)).is_some(), is_told, "{more}");
        let said = site.lines.iter().filter(|line| line.text.contains("RFC 8212")).count();
        assert_eq!(said, usize::from(!is_heard || !is_told), "{more}");
    }
}

#[test]
fn what_a_peer_tells_goes_through_its_policy() {
    let policies = json!([{"name": "in", "default": "accept", "rules": [
        {"name": "bogons", "prefixes": [{"prefix": "198.51.1.0/24", "le": 32}], "then": "reject"},
        {"path-has": [7], "then": "reject"},
        {"communities": ["64500:5"], "set": {"local-preference": 200, "add-communities": ["1:1"]}},
        {"prefixes": [{"prefix": "198.51.2.0/24"}], "set": {"med": 9}},
        {"groups": ["edge"], "prefixes": [{"prefix": "198.51.4.0/24"}], "set": {"med": 4}},
    ]}]);
    let own = json!({"import": "in", "group": "edge"});
    let mut site = site(&keys(&policies, [own, json!({}), both()]));
    let all = [prefix(1), prefix(2), prefix(3), prefix(4)];
    let tagged = Attributes { communities: vec![64_500 << 16 | 5], ..by(1, &[9]) };
    site.announce(1, V4, &all, &tagged);
    let knows = |site: &Site, number| site.knows(2, V4, prefix(number)).cloned();
    assert_eq!(knows(&site, 1), None);
    for (number, med) in [(2, Some(9)), (3, None), (4, Some(4))] {
        let known = knows(&site, number).expect("it is told");
        assert_eq!((known.preference, known.med), (Some(200), med), "{number}");
        assert_eq!(known.communities, [64_500 << 16 | 5, 1 << 16 | 1]);
    }
    let row = |site: &Site| site.all("peers", &[("for", "10.0.0.11")])[0].clone();
    assert_eq!(row(&site)["refused-by-policy"], 1);
    // It tells others, and what was taken before goes where it is refused.
    site.announce(1, V4, &all[1..3], &by(1, &[7]));
    assert_eq!((knows(&site, 2), knows(&site, 3)), (None, None));
    assert_eq!(row(&site)["refused-by-policy"], 3);
    site.announce(1, V4, &all[1..2], &by(1, &[8]));
    assert_eq!(knows(&site, 2).and_then(|known| known.med), Some(9));
    assert_eq!(row(&site)["refused-by-policy"], 2);
    site.withdraw(1, V4, &all);
    assert_eq!(row(&site)["refused-by-policy"], Value::Null);
    assert_eq!(site.all("attributes", &[]).len(), 0, "nobody uses them");
}

#[test]
fn what_a_peer_is_told_goes_through_its_policy() {
    let policies = json!([{"name": "out", "rules": [
        {"groups": ["inner"], "communities": ["no-peer"], "then": "reject"},
        {"prefixes": [{"prefix": "198.51.0.0/16", "ge": 24, "le": 24}],
         "communities": ["64500:5"],
         "set": {"med": 7, "next-hop": "10.9.9.9", "prepend": {"as": ASN, "times": 2},
                 "remove-communities": ["64500:*"]}, "then": "accept"},
    ]}]);
    let third = json!({"import": "accept", "export": "out"});
    let mut site = site(&keys(&policies, [json!({"group": "inner"}), json!({}), third]));
    let tagged = Attributes { communities: vec![64_500 << 16 | 5], ..by(1, &[9]) };
    site.announce(1, V4, &[prefix(1), (25, [198, 51, 9, 0])], &tagged);
    site.announce(2, V4, &[prefix(2)], &tagged);
    site.announce(2, V4, &[prefix(3)], &from(2));
    let known = site.knows(3, V4, prefix(1)).expect("it is told").clone();
    assert_eq!((known.path, known.med), (vec![ASN, ASN, ASN, 9], Some(7)));
    assert_eq!((known.next_hop, known.communities), ([10, 9, 9, 9], Vec::new()));
    assert_eq!(site.knows(3, V4, (25, [198, 51, 9, 0])), None, "too long");
    assert_eq!(site.knows(3, V4, prefix(3)), None, "the default");
    assert!(site.knows(2, V4, prefix(1)).is_some_and(|it| it.med.is_none()), "others as it is");
    let row = &site.all("advertised", &[("peer", "10.0.0.13"), ("for", "198.51.3.0/24")])[0];
    assert_eq!(row["why"], "its policy `out` rejects it: default");
    let row = &site.all("advertised", &[("peer", "10.0.0.13"), ("for", "198.51.1.0/24")])[0];
    assert_eq!((&row["med"], &row["next-hop"]), (&json!(7), &json!("10.9.9.9")));
    // What it is told no more is taken back: only the group of the peer differs.
    let kept = 0xffff_ff04;
    let both = Attributes { communities: vec![64_500 << 16 | 5, kept], ..by(1, &[9]) };
    site.announce(1, V4, &[prefix(1)], &both);
    site.announce(2, V4, &[prefix(2)], &both);
    assert_eq!(site.knows(3, V4, prefix(1)), None);
    assert!(site.knows(3, V4, prefix(2)).is_some());
}

/// - `route-reflector`: NO_EXPORT counts before the policy of the peer, and what that adds is told
#[test]
fn no_export_counts_before_a_policy_of_what_is_told() {
    let policies = json!([
        {"name": "strip", "default": "accept",
         "rules": [{"set": {"remove-communities": ["no-export"]}}]},
        {"name": "keep", "default": "accept",
         "rules": [{"set": {"add-communities": ["no-export"]}}]},
    ]);
    for (export, community, is_told) in [("strip", 0xffff_ff01, false), ("keep", 1, true)] {
        let third = json!({"import": "accept", "export": export});
        let mut site = site(&keys(&policies, [json!({}), json!({}), third]));
        let tagged = Attributes { communities: vec![community], ..from(1) };
        site.announce(1, V4, &[prefix(1)], &tagged);
        let known = site.knows(3, V4, prefix(1));
        assert_eq!(known.map(|it| it.communities.contains(&0xffff_ff01)), is_told.then_some(true));
    }
    // What a policy of what is taken adds keeps the route in the AS.
    let first = json!({"import": "keep"});
    let mut site = site(&keys(&policies, [first, json!({}), both()]));
    site.announce(1, V4, &[prefix(1)], &from(1));
    assert_eq!(site.knows(3, V4, prefix(1)), None);
    assert!(site.knows(2, V4, prefix(1)).is_some());
}

/// - `route-reflector`, RFC 4271 section 6.7: routes that a policy refuses count for the bound
#[test]
fn routes_that_are_refused_count_for_the_bound() {
    let policies = json!([{"name": "few", "default": "accept", "rules": [
        {"prefixes": [{"prefix": "198.51.0.0/16", "ge": 24}], "communities": ["1:1"],
         "then": "reject"},
    ]}]);
    let first = json!({"import": "few", "prefixes-max": [{"routes": 3, "then": "drop"}]});
    let mut site = site(&keys(&policies, [first, json!({}), both()]));
    let refused = Attributes { communities: vec![1 << 16 | 1], ..from(1) };
    site.announce(1, V4, &[prefix(1), prefix(2)], &refused);
    site.announce(1, V4, &[prefix(1), prefix(2)], &refused);
    site.announce(1, V4, &[prefix(3), prefix(4)], &from(1));
    assert!(site.knows(2, V4, prefix(3)).is_some());
    assert_eq!(site.knows(2, V4, prefix(4)), None, "two that are refused, and one");
    site.withdraw(1, V4, &[prefix(2)]);
    site.announce(1, V4, &[prefix(4)], &from(1));
    assert!(site.knows(2, V4, prefix(4)).is_some());
    site.announce(1, V4, &[prefix(5)], &refused);
    assert_eq!(
        site.all("peers", &[("for", "10.0.0.11")])[0]["refused-by-policy"],
        1,
        "no room for it"
    );
    assert!(site.alarms.iter().all(|alarm| alarm.cause == "prefixes-max"), "{:?}", site.alarms);
}

/// - `route-reflector`, RFC 4684 section 8: a policy may refuse route targets that a peer asks for
#[test]
fn what_a_peer_asks_for_goes_through_its_policy() {
    let policies = json!([{"name": "none", "default": "accept", "rules": [
        {"families": ["route-target"], "then": "reject"},
    ]}]);
    let mut keys = keys(&policies, [json!({"import": "none"}), json!({}), both()]);
    keys["families"] = json!(["vpnv4", "route-target"]);
    let own = Peer::own(&[Family::VpnV4, Family::RouteTarget]);
    let mut site = Site::new(keys, &[own.clone(), own]);
    [1, 2].into_iter().for_each(|node| site.ask_for(node, &[2]));
    let targets = |node: &str| site.all("peers", &[("for", node)])[0]["targets"].clone();
    assert_eq!([targets("10.0.0.11"), targets("10.0.0.12")], [Value::Null, json!(1)]);
}

#[test]
fn the_table_tells_which_rule_decides() {
    let policies = json!([
        {"name": "in", "default": "accept", "rules": [
            {"name": "bogons", "prefixes": [{"prefix": "198.51.1.0/24"}], "then": "reject"},
        ]},
        {"name": "out", "rules": [
            {"path-has": [9], "set": {"med": 7, "add-communities": ["1:1"]}},
            {"name": "short", "path-length-max": 1, "then": "accept"},
        ]},
    ]);
    let [first, second] = [json!({"import": "in"}), json!({"export": "out"})];
    let mut site = site(&keys(&policies, [first, second, both()]));
    site.announce(1, V4, &[prefix(1), prefix(2)], &by(1, &[9]));
    site.announce(3, V4, &[prefix(2)], &by(3, &[OTHER, 9]));
    let of = |policy: &str, text: &str| site.all("policy", &[("policy", policy), ("for", text)]);
    let all = of("out", "198.51.2.0/24");
    let words: Vec<_> =
        all.iter().map(|row| [&row["from"], &row["verdict"], &row["rule"]]).collect();
    assert_eq!(
        words,
        [["10.0.0.11", "accepted", "rule 2 (short)"], ["10.0.0.13", "rejected", "default"],]
    );
    assert_eq!(all[0]["changes"], json!(["communities: none -> 1:1", "med: none -> 7"]));
    assert_eq!((&all[0]["before"]["med"], &all[0]["after"]["med"]), (&Value::Null, &json!(7)));
    // Of what a peer's own policy has refused the rule is known.
    for text in ["198.51.1.0/24", "198.51.1.9"] {
        let all = of("in", text);
        assert_eq!(all.len(), 1, "{all:?}");
        let row = [&all[0]["route"], &all[0]["from"], &all[0]["verdict"], &all[0]["rule"]];
        assert_eq!(row, ["198.51.1.0/24", "10.0.0.11", "rejected", "rule 1 (bogons)"]);
    }
    assert!(of("in", "198.51.2.0/24")[0]["note"].as_str().is_some_and(|it| it.contains("applied")));
    assert_eq!(site.all_by("policy", &[("policy", "out")], 1).len(), 2, "page by page");
    let refused = |filters: &[(&str, &str)]| site.refused("policy", filters).remedy;
    assert!(refused(&[]).contains("policy=NAME"));
    assert!(refused(&[("policy", "outt")]).contains("did you mean `out`"));
}

#[test]
fn peers_with_the_same_policy_are_a_group() {
    let policies = json!([{"name": "a", "default": "accept"}, {"name": "b", "default": "accept"}]);
    let with = |export: &str| json!({"export": export});
    for (exports, groups) in [(["a", "a"], 2), (["a", "b"], 3), (["accept", "accept"], 2)] {
        let [first, second] = exports.map(with);
        let site = site(&keys(&policies, [first, second, both()]));
        assert_eq!(site.all("groups", &[]).len(), groups, "{exports:?}");
    }
}

#[test]
fn a_reload_of_policies_changes_routes_and_keeps_sessions() {
    let of = |import: Value, export: Value| {
        let policies = json!([
            {"name": "in", "default": "accept", "rules": import},
            {"name": "out", "default": "accept", "rules": export},
        ]);
        keys(&policies, [json!({"import": "in"}), json!({"export": "out"}), both()])
    };
    let reject = |number: u8| json!([{"prefixes": [{"prefix": format!("198.51.{number}.0/24")}], "then": "reject"}]);
    let mut site = site(&of(reject(1), reject(2)));
    let all: Vec<_> = (1..5).map(prefix).collect();
    site.announce(1, V4, &all, &from(1));
    let known = |site: &Site| -> Vec<u32> {
        (1..5).filter(|number| site.knows(2, V4, prefix(*number)).is_some()).collect()
    };
    assert_eq!(known(&site), [3, 4]);
    let sessions = |site: &Site| -> Vec<Value> {
        site.all("peers", &[]).iter().map(|row| row["sessions"].clone()).collect()
    };
    let before = sessions(&site);
    // Others are not told any more, and those are told that were not.
    assert!(site.reload(&of(reject(1), reject(3))));
    site.pass(1);
    assert_eq!(known(&site), [2, 4]);
    // The peer is asked for its routes again, and tells them.
    assert!(site.reload(&of(reject(4), reject(3))));
    site.pass(1);
    assert_eq!(site.asked_again(1), 1, "a ROUTE-REFRESH");
    site.announce(1, V4, &all, &from(1));
    assert_eq!(known(&site), [1, 2]);
    // A peer gets another policy, and one less.
    let mut other = of(reject(4), reject(3));
    other["peers"][1]["export"] = json!("accept");
    assert!(site.reload(&other));
    site.pass(1);
    assert_eq!(known(&site), [1, 2, 3]);
    assert_eq!(sessions(&site), before, "no session was lost");
    // Who is to be told nothing any more loses the session, and with it all that it was told.
    let mut none = other.clone();
    none["peers"][2]["export"] = Value::Null;
    assert!(site.reload(&none));
    site.pass(10);
    let row = &site.all("peers", &[("for", "10.0.0.13")])[0];
    assert_eq!((&row["lost"], &row["state"]), (&json!(1), &json!("established")));
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let of = |policies: Value, first: Value| {
        let keys = keys(&policies, [first, json!({}), both()]);
        let mut config = crate::sessions::config(keys);
        RouteReflector::validate(&mut config).expect_err("it cannot be")
    };
    let rule = |rule: Value| of(json!([{"name": "p", "rules": [{}, rule]}]), json!({}));
    let prefix = |text: &str, more: Value| {
        let mut keys = json!({"prefix": text});
        keys.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
        keys
    };
    let ten = |more: Value| json!({"prefixes": [prefix("10.0.0.0/8", more)]});
    for (refused, key, remedy) in [
        (of(json!([]), json!({"import": "in"})), "import", "choose one of accept"),
        (of(json!([{"name": "inner"}]), json!({"export": "iner"})), "export", "did you mean"),
        (of(json!([{"name": "accept"}]), json!({})), "policies[0].name", "a name of its own"),
        (of(json!([{"name": "a"}, {"name": "a"}]), json!({})), "policies[1].name", "of its own"),
        (rule(ten(json!({"ge": 7}))), "policies[0].rules[1].prefixes[0].ge", "the length"),
        (rule(ten(json!({"ge": 20, "le": 19}))), "policies[0].rules[1].prefixes[0].le", "20"),
        (rule(ten(json!({"le": 33}))), "policies[0].rules[1].prefixes[0].le", "at most 32"),
        (
            rule(
                json!({"families": ["l2vpn-evpn"], "prefixes": [prefix("10.0.0.0/8", json!({}))]}),
            ),
            "policies[0].rules[1].families",
            "leave it or `prefixes` out",
        ),
        (
            rule(json!({"families": ["vpnv6"], "prefixes": [prefix("10.0.0.0/8", json!({}))]})),
            "policies[0].rules[1].families",
            "its version of ip",
        ),
        (rule(json!({"groups": ["edge"]})), "policies[0].rules[1].groups", "`group` of a peer"),
        (
            rule(json!({"path-length-min": 3, "path-length-max": 2})),
            "policies[0].rules[1].path-length-max",
            "at least as much",
        ),
        (
            rule(json!({"set": {"med": 1}, "then": "reject"})),
            "policies[0].rules[1].set",
            "let the rule accept",
        ),
        (
            rule(json!({"families": ["ipv6-unicast"], "set": {"next-hop": "10.0.0.1"}})),
            "policies[0].rules[1].set.next-hop",
            "the other version",
        ),
        (
            rule(json!({"set": {"add-communities": ["64500:*"]}})),
            "policies[0].rules[1].set.add-communities",
            "without `*`",
        ),
        (
            of(
                json!([{"name": "p", "rules": [{"set": {"prepend": {"as": ASN}}}]}]),
                json!({"import": "p"}),
            ),
            "import",
            "prepend another as",
        ),
    ] {
        assert_eq!(refused.key, key, "{refused}");
        let said = refused.remedy.to_lowercase();
        assert!(said.contains(remedy), "{key}: {}", refused.remedy);
    }
}
