//! What operators ask for: tables page by page, why a path is the best one, and why a peer is not
//! told of it.

use std::collections::BTreeMap;

use controller_kit::erased::Running;
use controller_kit::{Asked, Level};
use controller_route_reflector::fuzz::model::Attributes;
use controller_route_reflector::fuzz::wire::TARGETS;
use protocol_bgp::attributes::push;
use protocol_bgp::builder::Builder;
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::speaker::Command;
use protocol_bgp::text::parse;
use protocol_kit::Random;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::site::{Peer, Site, address, from, prefix};

const FAMILY: Family = Family::Ipv4Unicast;

/// A site of clients, of which one is none and one is of another AS.
fn site() -> Site {
    let named = json!([
        {"address": address(1)}, {"address": address(2)}, {"address": address(3), "client": false},
        {"address": address(4), "as": 65_001}, {"address": address(5)},
    ]);
    let keys = json!({"listen": ["0.0.0.0:179"], "peers": named});
    let own = Peer::own(&[FAMILY]);
    let other = Peer { asn: 65_001, ..own.clone() };
    // Nobody is at the last address.
    Site::new(keys, &[own.clone(), own.clone(), own, other])
}

/// Keys of the entries, a line each.
fn lines(entries: &[Value], keys: &[&str]) -> Vec<String> {
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let line = |entry: &Value| keys.iter().map(|key| word(&entry[key])).collect::<Vec<_>>();
    entries.iter().map(|entry| line(entry).join(" ")).collect()
}

#[test]
fn each_path_says_why_it_is_the_best_one_or_not() {
    let mut site = site();
    let with = |node: usize, preference: u32, path: &[u32], med: u32| Attributes {
        preference: Some(preference),
        path: path.to_vec(),
        med: Some(med),
        ..from(node)
    };
    site.announce(1, FAMILY, &[prefix(1), prefix(2)], &with(1, 100, &[1, 2], 5));
    site.announce(2, FAMILY, &[prefix(1), prefix(2)], &with(2, 90, &[1], 0));
    site.announce(3, FAMILY, &[prefix(1)], &with(3, 100, &[1, 3], 7));
    site.announce(1, FAMILY, &[prefix(3)], &from(1));
    site.announce(2, FAMILY, &[prefix(3)], &from(2));
    site.announce(3, FAMILY, &[prefix(4)], &from(3));
    let keys = ["route", "status", "from", "why"];
    let mut told = lines(&site.all("routes", &[]), &keys);
    told.sort();
    let expected = [
        "198.51.1.0/24 best 10.0.0.11 best: the lowest MED",
        "198.51.1.0/24 other 10.0.0.12 LOCAL_PREF 90 is below 100",
        "198.51.1.0/24 other 10.0.0.13 MED 7 is above 5 of the same AS 1",
        "198.51.2.0/24 best 10.0.0.11 best: the highest LOCAL_PREF",
        "198.51.2.0/24 other 10.0.0.12 LOCAL_PREF 90 is below 100",
        "198.51.3.0/24 best 10.0.0.11 best: the lowest router identifier",
        "198.51.3.0/24 other 10.0.0.12 router identifier 0.0.0.2 is above 0.0.0.1",
        "198.51.4.0/24 best 10.0.0.13 best: the only path",
    ];
    assert_eq!(told, expected);
    let of_peer = site.all("routes", &[("peer", "10.0.0.12")]);
    assert_eq!(of_peer.len(), 3, "those of one peer");
    let one = &site.all("routes", &[("for", "198.51.1.0/24")])[0];
    let told = ["family", "as-path", "origin", "med", "local-pref", "next-hop"];
    assert_eq!(lines(std::slice::from_ref(one), &told), ["ipv4-unicast 1 2 IGP 5 100 10.0.0.11"]);
    assert_eq!(site.sizes()[..2], [Some(5), Some(8)]);
}

#[test]
fn routes_are_found_by_address_prefix_and_word() {
    let families = [FAMILY, Family::VpnV4, Family::L2vpnEvpn];
    let keys = json!({
        "listen": ["0.0.0.0:179"], "families": ["ipv4-unicast", "vpnv4", "l2vpn-evpn"],
        "peers": [{"address": address(1)}, {"address": address(2)}],
    });
    let mut site = Site::new(keys, &[Peer::own(&families), Peer::own(&families)]);
    let block = [0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 5, 4, 0, 0, 0, 100];
    let writing = |family: Family| protocol_bgp::builder::Writing {
        families: [family].into_iter().collect(),
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        len_max: 4096,
    };
    let mut say = |family: Family, next_hop: &[u8], keys: &[Vec<u8>], rest: &[u8]| {
        let mut out = Vec::new();
        let writing = writing(family);
        let mut builder = Builder::announce(&mut out, &writing, (family, next_hop), &block);
        keys.iter().for_each(|key| builder.push(0, key, rest).expect("room"));
        builder.finish();
        site.say(1, &out);
    };
    let plain = ["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32"];
    let plain = plain.map(|text| parse(FAMILY, text).expect("a prefix"));
    say(FAMILY, &[10, 0, 0, 11], &plain, &[]);
    let vpn = ["65000:1:10.1.0.0/16", "65000:2:10.1.0.0/16", "65000:2:10.1.2.0/24"];
    let vpn = vpn.map(|text| parse(Family::VpnV4, text).expect("a prefix"));
    say(Family::VpnV4, &[0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 11], &vpn, &[0, 1, 1]);
    let mac = |last: u8| {
        let head = [2, 0, 0, 0xfd, 0xe8, 0, 0, 0, 1, 0, 0, 0, 0, 48];
        [&head[..], &[0, 0, 0x5e, 0, 0x53, last, 0]].concat()
    };
    let rest = [&[0; 10][..], &[0, 1, 1]].concat();
    say(Family::L2vpnEvpn, &[10, 0, 0, 11], &[mac(1), mac(2)], &rest);
    let found = |filters: &[(&str, &str)]| {
        let mut all = lines(&site.all("routes", filters), &["route"]);
        all.sort();
        all
    };
    assert_eq!(found(&[("for", "10.1.2.3")]), ["10.1.2.3/32"]);
    assert_eq!(found(&[("for", "10.1.2.4")]), ["10.1.2.0/24"]);
    assert_eq!(found(&[("for", "192.0.2.1")]), ["0.0.0.0/0"]);
    let both = ["10.1.0.0/16", "65000:1:10.1.0.0/16", "65000:2:10.1.0.0/16"];
    assert_eq!(found(&[("for", "10.1.0.0/16")]), both, "of every VPN, too");
    assert_eq!(found(&[("for", "10.1.0.0/16"), ("family", "ipv4-unicast")]), both[..1]);
    let longest = [("for", "10.1.2.0/25"), ("match", "longest")];
    assert_eq!(found(&longest), ["10.1.2.0/24"]);
    let longer = [("for", "10.1.0.0/16"), ("match", "longer"), ("family", "ipv4-unicast")];
    assert_eq!(found(&longer), ["10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32"]);
    let of_vpn = [("for", "10.1.0.0/16"), ("match", "longer"), ("family", "vpnv4")];
    assert_eq!(found(&of_vpn).len(), 3);
    assert_eq!(found(&[("for", "65000:2:10.1.2.9")]), ["65000:2:10.1.2.0/24"]);
    assert_eq!(found(&[("for", "65000:1:10.1.2.9")]), ["65000:1:10.1.0.0/16"]);
    let mac = "mac 65000:1 tag 0 00:00:5e:00:53:02";
    assert_eq!(found(&[("for", "00:00:5e:00:53:02")]), [mac]);
    assert_eq!(found(&[("for", mac)]), [mac]);
    assert!(found(&[("for", "10.1.2.0/26")]).is_empty(), "there is none");
    // The label and what is told to the other client.
    let told = site.all("advertised", &[("peer", "10.0.0.12"), ("for", "65000:1:10.1.2.9")]);
    let keys = ["family", "status", "carries", "originator", "clusters"];
    let expected = ["vpnv4 told label 16 0.0.0.1 [\"192.0.2.1\"]"];
    assert_eq!(lines(&told, &keys), expected);
    let refused = site.refused("routes", &[("for", "10.1.2.3"), ("family", "vpnv4")]);
    assert!(refused.remedy.contains("65000:1:10.0.0.1"), "{refused:?}");
    let refused = site.refused("routes", &[("for", "10.1.2/24"), ("family", "ipv4-unicast")]);
    assert_eq!(refused.what, "`10.1.2/24` is no route of ipv4-unicast");
    assert_eq!(refused.remedy, "write one as 10.0.0.0/8");
}

/// - `route-reflector`: a table that changes between two pages tells what stays once, and a page is
///   bounded
#[test]
fn pages_go_on_where_they_were_while_the_table_changes() {
    let mut site = site();
    let all: Vec<_> = (0..600).map(prefix).collect();
    site.announce(1, FAMILY, &all, &from(1));
    site.announce(2, FAMILY, &all[..300], &from(2));
    let mut random = Random::new(5);
    for table in ["routes", "advertised"] {
        let filters: &[(&str, &str)] =
            if table == "routes" { &[] } else { &[("peer", "10.0.0.13")] };
        let mut told: BTreeMap<String, usize> = BTreeMap::new();
        let mut from_place = Some(0);
        let (mut pages, mut gone) = (0, Vec::new());
        while let Some(place) = from_place {
            let page = site.page(table, filters, (place, 50)).expect("a page");
            assert!(page.entries.len() <= 51, "a route has two paths");
            for entry in page.entries.iter().filter(|one| one["from"] == "10.0.0.11") {
                let route = entry["route"].as_str().expect("a route").to_owned();
                *told.entry(route).or_default() += 1;
            }
            // Routes of the other client change all the time, and some of the first one's go.
            let number = random.below(600) as u32;
            site.announce(2, FAMILY, &[prefix(1000 + number)], &from(2));
            if number >= 300 {
                site.withdraw(1, FAMILY, &[prefix(number)]);
                gone.push(number);
            }
            from_place = page.next;
            pages += 1;
        }
        assert!(pages >= 12, "{pages}");
        for number in (0..600).filter(|number| !gone.contains(number)) {
            let (_, [a, b, c, _]) = prefix(number);
            let count = told.get(&format!("{a}.{b}.{c}.0/24")).copied();
            assert_eq!(count, Some(1), "{table}: {number}");
        }
        let back: Vec<_> = gone.into_iter().map(prefix).collect();
        site.announce(1, FAMILY, &back, &from(1));
    }
}

/// - `route-reflector`: a page looks at a bounded part of the table, also where nothing is found
#[test]
fn a_page_of_a_large_table_costs_a_page() {
    let mut site = site();
    let all: Vec<_> = (0..50_000_u32)
        .map(|number| (24, [10 + (number >> 16) as u8, (number >> 8) as u8, number as u8, 0]))
        .collect();
    site.announce(1, FAMILY, &all, &from(1));
    assert_eq!(site.sizes()[1], Some(50_000));
    let page = site.page("routes", &[], (0, 10)).expect("a page");
    assert_eq!((page.entries.len(), page.next), (10, Some(10)));
    let nobody_s = [("peer", "10.0.0.15")];
    let page = site.page("routes", &nobody_s, (0, 1000)).expect("a page");
    let next = page.next.expect("there is more to look at");
    assert!(page.entries.is_empty() && next <= 1 << 15, "{next}");
    assert!(site.all("routes", &nobody_s).is_empty());
    let within = [("for", "10.0.0.0/16"), ("match", "longer"), ("family", "ipv4-unicast")];
    assert_eq!(site.all("routes", &within).len(), 256);
    assert_eq!(site.all("advertised", &[("peer", "10.0.0.12")]).len(), 50_000);
    assert_eq!(site.all("advertised", &[("peer", "10.0.0.11")]).len(), 0, "its own");
    let page = site.page("routes", &[], (0, usize::MAX)).expect("a page");
    assert_eq!(page.entries.len(), 1000);
}

#[test]
fn a_peer_that_is_not_told_hears_why() {
    let mut site = site();
    let some = |communities: &[u32]| Attributes { communities: communities.to_vec(), ..from(1) };
    site.announce(1, FAMILY, &[prefix(1)], &from(1));
    site.announce(1, FAMILY, &[prefix(2)], &some(&[0xffff_ff02]));
    site.announce(1, FAMILY, &[prefix(3)], &some(&[0xffff_ff01]));
    site.announce(3, FAMILY, &[prefix(4)], &from(3));
    let ask = |peer: &str, number: u32| {
        let (_, [a, b, c, _]) = prefix(number);
        let route = format!("{a}.{b}.{c}.0/24");
        let told = site.all("advertised", &[("peer", peer), ("for", &route)]);
        lines(&told, &["status", "why"]).concat()
    };
    assert_eq!(ask("10.0.0.12", 1), "told -");
    assert_eq!(ask("10.0.0.11", 1), "not told the best path is the peer's own");
    let why = "not told the best path has the community no-advertise";
    assert_eq!(ask("10.0.0.12", 2), why);
    assert_eq!(ask("10.0.0.12", 3), "told -");
    let why = "not told the best path has a community that keeps it in the AS";
    assert_eq!(ask("10.0.0.14", 3), why);
    assert_eq!(ask("10.0.0.12", 4), "told -", "of a non-client, to a client");
    assert_eq!(ask("10.0.0.12", 9), "", "there is no such route");
    // As it is told to another AS.
    let told = site.all("advertised", &[("peer", "10.0.0.14"), ("for", "198.51.1.0/24")]);
    assert_eq!(lines(&told, &["as-path", "local-pref"]), ["64500 -"]);
    // The list has what is told alone.
    let listed = lines(&site.all("advertised", &[("peer", "10.0.0.14")]), &["route"]);
    assert_eq!(listed, ["198.51.1.0/24", "198.51.4.0/24"]);
    let refused = site.refused("advertised", &[]);
    assert_eq!(refused.remedy, "add `peer=ADDRESS`, one of `show table peers`");
    let refused = site.refused("advertised", &[("peer", "10.0.0.15")]);
    assert!(refused.what.starts_with("there is no session with 10.0.0.15: "), "{refused:?}");
    let refused = site.refused("advertised", &[("peer", "10.0.0.12"), ("family", "vpnv4")]);
    assert_eq!(refused.what, "vpnv4 was not agreed on with 10.0.0.12");
}

/// - `route-reflector`, RFC 4684 section 6: who asks for which targets, and who is not told for
///   that reason
#[test]
fn route_targets_say_who_asks_for_them() {
    let families = [Family::VpnV4, Family::RouteTarget];
    let keys = json!({
        "listen": ["0.0.0.0:179"], "families": ["vpnv4", "route-target"],
        "peers": [{"address": address(1)}, {"address": address(2)}, {"address": address(3)}],
    });
    let mut site =
        Site::new(keys, &[Peer::own(&families[..1]), Peer::own(&families), Peer::own(&families)]);
    let with = |targets: &[u64]| Attributes { targets: targets.to_vec(), ..from(1) };
    site.announce(1, Family::VpnV4, &[prefix(1)], &with(&TARGETS[..1]));
    site.announce(1, Family::VpnV4, &[prefix(2)], &with(&TARGETS[1..3]));
    let awaited = site.refused("advertised", &[("peer", "10.0.0.12"), ("family", "vpnv4")]);
    assert_eq!(awaited.what, "10.0.0.12 has not told yet which route targets it asks for");
    let peers = lines(&site.all("peers", &[("for", "10.0.0.12")]), &["told"]);
    assert_eq!(peers, ["awaits-targets"]);
    // The first of the targets, and the third.
    site.ask_for(2, &[2]);
    site.ask_for(3, &[2, 6]);
    let keys = ["attributes", "asked-by", "targets"];
    let mut told = lines(&site.all("targets", &[]), &keys);
    told.sort();
    let expected = ["1 1 [\"target:64500:1\",\"target:10.0.0.1:1\"]", "1 2 [\"target:64500:0\"]"];
    assert_eq!(told, expected);
    let of_one = site.all("targets", &[("for", "10.0.0.1:1")]);
    assert_eq!(lines(&of_one, &keys), expected[..1]);
    let of_peer = site.all("targets", &[("peer", "10.0.0.12")]);
    assert_eq!(lines(&of_peer, &keys), expected[1..]);
    let told =
        lines(&site.all("advertised", &[("peer", "10.0.0.12"), ("family", "vpnv4")]), &["route"]);
    assert_eq!(told, ["0:0:198.51.1.0/24"]);
    let why = site.all("advertised", &[("peer", "10.0.0.12"), ("for", "0:0:198.51.2.0/24")]);
    assert_eq!(lines(&why, &["why"]), ["the peer does not ask for its route targets"]);
    // What they ask for are routes, too.
    let asked = site.all("routes", &[("family", "route-target"), ("peer", "10.0.0.13")]);
    let mut asked = lines(&asked, &["route"]);
    asked.sort();
    assert_eq!(asked, ["64500:target:10.0.0.1:1", "64500:target:64500:0"]);
    assert!(site.refused("targets", &[("for", "x")]).remedy.starts_with("write one as"));
}

#[test]
fn peers_groups_and_attributes_are_shown() {
    let mut site = site();
    site.announce(1, FAMILY, &[prefix(1), prefix(2)], &from(1));
    site.announce(2, FAMILY, &[prefix(1)], &from(2));
    site.pass(100);
    let keys = ["peer", "as", "kind", "state", "for", "told", "updates", "sessions", "lag-bytes"];
    let peers = lines(&site.all("peers", &[]), &keys);
    assert!(peers[0].starts_with("10.0.0.11 64500 client established 00:01:5"), "{peers:?}");
    assert!(peers[0].ends_with(" all 1 1 0"), "{peers:?}");
    assert!(peers[2].starts_with("10.0.0.13 64500 internal established "), "{peers:?}");
    assert!(peers[3].starts_with("10.0.0.14 65001 external established "), "{peers:?}");
    let down = site.all("peers", &[("state", "down")]);
    assert_eq!(
        lines(&down, &["peer", "told", "failing"]),
        ["10.0.0.15 - no connection with the peer comes about"]
    );
    assert_eq!(site.all("peers", &[("state", "established")]).len(), 4);
    let keys = ["family", "kind", "peers", "all", "behind", "table", "waits", "lag-bytes-max"];
    let mut groups = lines(&site.all("groups", &[]), &keys);
    groups.sort();
    let family = "ipv4-unicast";
    assert_eq!(
        groups,
        [
            format!("{family} client 2 2 0 0 0 0"),
            format!("{family} external 1 1 0 0 0 0"),
            format!("{family} internal 1 1 0 0 0 0"),
        ]
    );
    let own = site.all("groups", &[("peer", "10.0.0.12")]);
    assert_eq!(own[0]["some-peers"], json!(["10.0.0.11", "10.0.0.12"]));
    let mut attributes = lines(&site.all("attributes", &[]), &["paths", "next-hop"]);
    attributes.sort();
    assert_eq!(attributes, ["1 10.0.0.12", "2 10.0.0.11"]);
    assert_eq!(site.sizes(), [Some(5), Some(3), None, Some(3), Some(0), Some(2)]);

    // One that reads nothing lags, and is shown as one that does.
    site.command(2, Command::Read(0, false));
    let all: Vec<_> = (0..20_000).map(prefix).collect();
    for med in 0..40 {
        site.announce(1, FAMILY, &all, &Attributes { med: Some(med), ..from(1) });
    }
    let slow = &site.all("peers", &[("for", "10.0.0.12")])[0];
    assert_eq!(slow["told"], "behind", "{slow}");
    let lag = slow["lag-bytes"].as_u64().expect("a number");
    assert!(lag > 10_000, "{lag}");
    let group = &site.all("groups", &[("peer", "10.0.0.12")])[0];
    assert_eq!((&group["behind"], &group["lag-bytes-max"]), (&json!(1), &json!(lag)));
    let samples = |name: &str| {
        let metric = site.metrics().into_iter().find(|one| one.name == name);
        metric.expect("there is one").samples
    };
    assert_eq!(samples("lag_bytes_max")[0].1, lag as f64);
    site.command(2, Command::Read(0, true));
    site.pass(60);
    let slow = &site.all("peers", &[("for", "10.0.0.12")])[0];
    assert_eq!((&slow["told"], &slow["lag-bytes"]), (&json!("all"), &json!(0)), "{slow}");
}

#[test]
fn unknown_names_and_typing_mistakes_name_the_nearest_word() {
    let site = site();
    let remedy = |table: &str, filters: &[(&str, &str)]| site.refused(table, filters).remedy;
    assert_eq!(remedy("rotues", &[]), "did you mean `routes`?");
    assert!(remedy("x", &[]).contains("peers, routes, advertised, groups, targets, attributes"));
    assert_eq!(remedy("routes", &[("famly", "vpnv4")]), "did you mean `family`?");
    assert_eq!(remedy("routes", &[("family", "vpn4")]), "did you mean `vpnv4`?");
    assert_eq!(remedy("routes", &[("match", "longst")]), "did you mean `longest`?");
    assert_eq!(remedy("routes", &[("peer", "10.0.0.111")]), "did you mean `10.0.0.11`?");
    assert_eq!(remedy("peers", &[("state", "establised")]), "did you mean `established`?");
    assert!(remedy("peers", &[("for", "a host")]).contains("show table peers"));
    assert!(remedy("routes", &[("for", "10.0.0.0/33")]).contains("10.0.0.0/8"));
    assert!(remedy("routes", &[("match", "longer")]).contains("--for"));
    assert!(remedy("attributes", &[("for", "10.0.0.1")]).contains("show table routes"));
}

/// Filters and cursors of any kind: nothing panics, and no page is larger than it may be.
#[test]
fn hostile_filters_are_refused_or_find_little() {
    let mut site = site();
    let all: Vec<_> = (0..300).map(prefix).collect();
    site.announce(1, FAMILY, &all, &from(1));
    let mut random = Random::new(9);
    let words = [
        "",
        " ",
        "/",
        "0/0",
        "0.0.0.0/0",
        "::/0",
        "::/129",
        "1:2:3::/0",
        "10.0.0.11",
        "10.0.0.99",
        "ipv4-unicast",
        "vpnv4",
        "longer",
        "longest",
        "exact",
        "down",
        "\u{0}\u{1b}[2J",
        "\n",
        "65000:1:10.0.0.0/8",
        ":::",
        "target:1:1",
        "999999999999999999999",
        "ipv4-unicast ",
    ];
    let long = "9".repeat(60_000);
    let tables = ["peers", "routes", "advertised", "groups", "targets", "attributes", "", "\n"];
    let keys = ["for", "peer", "family", "match", "state", "x"];
    for _ in 0..4000 {
        let mut any = |words: &[&'static str]| words[random.below(words.len() as u64) as usize];
        let table = any(&tables);
        let (first, second) = (any(&keys), any(&keys));
        let (one, other) = (any(&words), any(&words));
        let other = if random.below(20) == 0 { long.as_str() } else { other };
        let from = match random.below(4) {
            0 => 0,
            1 => random.bits(),
            2 => u64::MAX,
            _ => random.below(1000),
        };
        let limit = [0, 1, 7, usize::MAX][random.below(4) as usize];
        let all = [(first, one), (second, other)];
        let filters = &all[..random.below(3) as usize];
        match site.page(table, filters, (from, limit)) {
            Ok(page) => {
                assert!(page.entries.len() <= limit.clamp(1, 1000), "{table} {filters:?}");
                assert!(page.next.is_none_or(|next| next > from), "{table} {filters:?} {from}");
            }
            Err(why) => {
                assert!(why.what.len() + why.remedy.len() < 2000, "{why:?}");
                assert!(!why.what.contains(['\n', '\u{1b}', '\u{0}']), "{why:?}");
            }
        }
    }
}

/// - `route-reflector`, RFC 9003 section 2: a session's beginning and end are lines of the log with
///   the reason in words, and with what the peer's operator says
#[test]
fn each_sessions_end_is_a_line_with_its_reason() {
    let mut site = site();
    let texts = |site: &mut Site| -> Vec<(Level, String)> {
        std::mem::take(&mut site.lines).into_iter().map(|line| (line.level, line.text)).collect()
    };
    let begun = texts(&mut site);
    let stands = "the session with 10.0.0.11 (client) stands: ipv4-unicast".to_owned();
    assert!(begun.contains(&(Level::Info, stands)), "{begun:?}");
    let none = "no session with 10.0.0.15 (client): no connection with the peer comes about";
    let none = (Level::Warning, none.to_owned());
    assert_eq!(begun.iter().filter(|line| **line == none).count(), 1, "{begun:?}");
    site.command(1, Command::Stop(0, "maintenance until 4\n".to_owned()));
    let ended = texts(&mut site);
    let (level, text) = &ended[0];
    assert_eq!(*level, Level::Info);
    let begins = "the session with 10.0.0.11 (client) has ended after 00:00:1";
    assert!(text.starts_with(begins), "{text}");
    let says = ": the peer says: Cease, Administrative Shutdown: maintenance until 4\\n";
    assert!(text.ends_with(says), "{text}");
    let row = &site.all("peers", &[("for", "10.0.0.11")])[0];
    assert!(row["last"].as_str().is_some_and(|last| says == format!(": {last}")), "{row}");
    // It is not there for another one.
    let none = "no session with 10.0.0.11 (client): the peer has closed the connection";
    assert!(ended[1..].iter().all(|(_, text)| text == none), "{ended:?}");
    // One that says what nobody understands.
    site.command(2, Command::Send(0, vec![0; 19]));
    let ended = texts(&mut site);
    let why = ": the peer was told: Message Header Error, Connection Not Synchronized";
    let is_it = |(level, text): &(Level, String)| *level == Level::Warning && text.ends_with(why);
    assert_eq!(ended.iter().filter(|line| is_it(line)).count(), 1, "{ended:?}");
    // What cannot come about is told once, and not each time.
    site.pass(600);
    let later = texts(&mut site);
    assert!(later.iter().all(|(_, text)| !text.contains("10.0.0.15")), "{later:?}");
}

/// - `route-reflector`, RFC 7606 section 6: an UPDATE with an error is a line with the routes and
///   the whole message, and counted by what became of it
#[test]
fn malformed_updates_are_logged_with_their_routes() {
    let mut site = site();
    site.announce(1, FAMILY, &[prefix(1)], &from(1));
    site.lines.clear();
    // An ORIGIN that there is not.
    let attributes = [0x40, 1, 1, 9, 0x40, 2, 0, 0x40, 3, 4, 10, 0, 0, 11, 0x40, 5, 4, 0, 0, 0, 1];
    let body = [&[0, 0, 0, 21][..], &attributes, &[24, 198, 51, 1]].concat();
    let message = |body: &[u8]| {
        [&[0xff; 16][..], &(19 + body.len() as u16).to_be_bytes(), &[2], body].concat()
    };
    site.say(1, &message(&body));
    let text = &site.lines[0].text;
    assert!(text.starts_with("UPDATE of 10.0.0.11: ORIGIN: treat-as-withdraw: "), "{text}");
    assert!(
        text.contains("; routes: ipv4-unicast 198.51.1.0/24; body: 0x00000015400101"),
        "{text}"
    );
    assert!(site.all("routes", &[]).is_empty(), "it counts as withdrawn");
    for _ in 0..100 {
        site.say(1, &message(&body).repeat(20));
    }
    assert!(site.lines.len() < 250, "{}", site.lines.len());
    assert!(site.lines.iter().any(|line| line.text.contains("lines of malformed UPDATEs")));
    let peer = &site.all("peers", &[("for", "10.0.0.11")])[0];
    assert_eq!(peer["malformed"], 2001);
    let errors = site.metrics().into_iter().find(|one| one.name == "errors_total");
    let errors = errors.expect("there is one").samples;
    let of = |action: &str| {
        let is_it = |(labels, _): &&(Vec<(&str, String)>, f64)| labels[0].1 == action;
        errors.iter().find(is_it).map(|(_, count)| *count)
    };
    assert_eq!((of("treat-as-withdraw"), of("session-reset")), (Some(2001.0), Some(0.0)));
}

/// - `route-reflector`: metrics are bounded: by peer there are those of the file alone
#[test]
fn metrics_are_bounded_by_the_file() {
    let keys = json!({
        "listen": ["0.0.0.0:179"], "peers": [{"address": address(1)}],
        "dynamic": [{"network": "10.0.0.0/24"}],
    });
    let own = Peer::own(&[FAMILY]);
    let mut site = Site::new(keys, &[own.clone(), own.clone(), own]);
    site.announce(1, FAMILY, &[prefix(1)], &from(1));
    let all: BTreeMap<_, _> = site.metrics().into_iter().map(|one| (one.name, one)).collect();
    let total: usize = all.values().map(|one| one.samples.len()).sum();
    assert!(total < 120, "{total} values");
    let up = &all["peer_up"].samples;
    assert_eq!(up[..], [(vec![("peer", "10.0.0.11".to_owned())], 1.0)]);
    let told = vec![("peer", "10.0.0.11".to_owned()), ("family", "ipv4-unicast".to_owned())];
    assert_eq!(all["peer_routes"].samples, [(told, 1.0)]);
    let peers = site.all("peers", &[]);
    assert_eq!(peers[0]["routes"], json!({"ipv4-unicast": 1}));
    assert_eq!(peers[1]["routes"], Value::Null);
    let established = all["peers"]
        .samples
        .iter()
        .filter(|(labels, _)| labels.contains(&("state", "established".to_owned())));
    assert_eq!(established.map(|(_, count)| count).sum::<f64>(), 3.0);
    assert_eq!(all["routes"].samples, [(vec![("family", "ipv4-unicast".to_owned())], 1.0)]);
    assert_eq!(all["updates_received_total"].samples, [(vec![], 1.0)]);
    for metric in all.values() {
        assert_eq!(metric.is_counter, metric.name.ends_with("_total"), "{}", metric.name);
        assert!(metric.help.ends_with('.'), "{}", metric.help);
    }
}

/// - `route-reflector`: a route that is longer than a message of the peer with what it gets on the
///   way is not told, and says so
#[test]
fn a_route_without_room_is_not_told() {
    for (communities, status) in [(1013, "not told"), (1000, "told")] {
        let mut bench = Bench::new(&json!({}));
        let teller = bench.client(10, Vec::new());
        bench.client(11, Vec::new());
        let mut attributes = Vec::new();
        push(0x40, 1, &[0], &mut attributes);
        push(0x40, 2, &[], &mut attributes);
        push(0x40, 3, &[10, 0, 0, 1], &mut attributes);
        push(0xc0, 8, &vec![7; 4 * communities], &mut attributes);
        let len = (attributes.len() as u16).to_be_bytes();
        let body = [&[0, 0][..], &len, &attributes, &[8, 10]].concat();
        let len = (19 + body.len() as u16).to_be_bytes();
        bench.say(teller, &[&[0xff; 16][..], &len, &[2], &body].concat());
        let keys = [("peer", "192.0.2.11"), ("for", "10.0.0.0/8")];
        let filters = keys.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let asked = Asked { table: "advertised", from: 0, limit: 9, filters: &filters };
        let page = Running::table_page(&bench.reflector, &asked, bench.now).expect("a page");
        assert_eq!(page.entries[0]["status"], status, "{page:?}");
        let why = page.entries[0]["why"].as_str();
        assert_eq!(why.is_some_and(|why| why.contains("longer than a message")), status != "told");
    }
}
