//! Rows of files as routes, rules and differences.

use std::fs;
use std::path::Path;

use function_kit::NetworkFunction;
use serde_json::{Value, json};

use super::super::config::GROUPS;
use super::super::{L3Router, Pipeline, Said};
use super::*;

/// A router with two next hops, and further keys.
fn router(folder: &Path, keys: &Value) -> Result<Config, Invalid> {
    let mut all = json!({
        "ipv6": true,
        "resolve": true,
        "vrfs": 3,
        "next-hops": [
            {"name": "isp-a", "port": "uplink", "ip": "10.1.0.9"},
            {"port": "downlink", "mac": "02:00:00:00:00:07", "ip": "192.0.2.7"},
        ],
        "next-hop-groups": [{"members": [{"next-hop": 0}, {"next-hop": 1}]}],
    });
    let further = keys.as_object().expect("a mapping").clone();
    all.as_object_mut().expect("a mapping").extend(further);
    let text = all.to_string().replace("$", &folder.display().to_string());
    let mut config: Config = serde_json::from_str(&text).expect("keys");
    L3Router::validate(&mut config)?;
    Ok(config)
}

fn told(config: &Config) -> Vec<String> {
    let route = |(network, to): (Network, u32)| {
        format!("{} {} {to}", network.vrf, String::from(network.prefix()))
    };
    config.all_routes().map(route).collect()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_row_of_a_rule_has_every_key_of_one() {
    let schema = schemars::schema_for!(AclRule);
    let keys = schema.get("properties").and_then(Value::as_object).expect("keys");
    let mut of_rules: Vec<&str> = keys.keys().map(String::as_str).collect();
    let mut of_rows = RULES.keys.to_vec();
    of_rules.sort_unstable();
    of_rows.sort_unstable();
    assert_eq!(of_rules, of_rows);
}

#[test]
fn routes_stand_in_files_of_several_forms() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("writes");
    write(
        "a.txt",
        "# first\n198.51.100.0/24 1\n198.51.0.0/16 group=0 vrf=2\n2001:db8::/32 isp-a\n",
    );
    write("b.csv", "prefix,next-hop,vrf\n192.88.99.0/24,10.1.0.9,\n192.88.99.0/24,10.1.0.8,0\n");
    let error = router(folder.path(), &json!({"route-files": "$"})).expect_err("there twice");
    assert!(error.what.contains("b.csv:3: 192.88.99.0/24 is there twice; keep one"), "{error}");
    write("b.csv", "prefix,next-hop,vrf\n192.88.99.0/24,10.1.0.9,\n192.88.99.0/24,192.0.2.7,3\n");
    write(
        "c",
        "default via 10.1.0.1 dev uplink proto static\n\
         10.1.0.0/16 dev uplink proto kernel scope link src 10.1.0.1\n\
         203.0.113.0/24 proto static\n\
         \tnexthop via 10.1.0.8 dev uplink weight 2\n\
         \tnexthop via 10.1.0.9 dev uplink weight 1\n\
         203.0.113.0/24 via 10.1.0.9 dev uplink metric 100\n\
         blackhole 203.0.113.128/25\n",
    );
    let keys = json!({"route-files": ["$/a.txt", "$/b.csv", "$/c"]});
    let error = router(folder.path(), &keys).expect_err("the router's own address");
    assert!(error.what.contains("the router has no next hop 10.1.0.1"), "{error}");
    let text = fs::read_to_string(folder.path().join("c")).expect("reads");
    write("c", &text.replace("via 10.1.0.1 ", "via 10.1.0.8 "));
    let config = router(folder.path(), &keys).expect("a router");
    assert_eq!(
        told(&config),
        [
            "0 0.0.0.0/0 2".to_owned(),
            "0 192.88.99.0/24 0".to_owned(),
            "0 198.51.100.0/24 1".to_owned(),
            format!("0 203.0.113.0/24 {}", GROUPS + 1),
            format!("0 203.0.113.128/25 {}", GROUPS + 2),
            "0 2001:db8::/32 0".to_owned(),
            format!("2 198.51.0.0/16 {}", GROUPS),
            "3 192.88.99.0/24 1".to_owned(),
        ]
    );
    assert_eq!(config.next_hops.len(), 3);
    assert_eq!(config.next_hop_groups.iter().map(|one| one.members.len()).sum::<usize>(), 4);
    let remarks = &config.from_files.remarks;
    assert!(remarks.len() == 2 && remarks[0].contains("further routes to the same"), "{remarks:?}");
    let clock = machine::clock::Clock::with_rate(1e9);
    let router = Pipeline::new(&config, clock, 0).expect("a small router");
    assert_eq!(router.state().listed_routes().count(), 8);
    // What is kept of the configuration means the same again.
    let keys = serde_json::to_value(&config).expect("keys");
    let mut again: Config = serde_json::from_value(keys).expect("keys");
    L3Router::validate(&mut again).expect("a router");
    assert_eq!(again, config);
}

#[test]
fn a_table_of_bgp_gives_each_prefix_a_next_hop_that_there_is() {
    let folder = folder();
    let entry = |last: u8| {
        let mut bytes = vec![0, 0, 0, 0, 0, 0, 0, 7, 0x40, 3, 4];
        bytes.extend(if last == 9 { [10, 1, 0, 9] } else { [198, 18, 0, last] });
        bytes
    };
    let record = |prefix: &[u8], entries: &[u8]| {
        let mut body = vec![0, 0, 0, 0];
        body.extend(prefix);
        body.extend([0, entries.len() as u8]);
        entries.iter().for_each(|last| body.extend(entry(*last)));
        let mut bytes = vec![0, 0, 0, 1, 0, 13, 0, 2, 0, 0, 0, body.len() as u8];
        bytes.extend(body);
        bytes
    };
    let table = [record(&[8, 20], &[1, 9, 2]), record(&[8, 21], &[1])].concat();
    fs::write(folder.path().join("rib"), table).expect("writes");
    let error = router(folder.path(), &json!({"route-files": "$/rib"})).expect_err("no next hop");
    let what = "rib:2: the router has none of the next hops of 21.0.0.0/8: 198.18.0.1; list one";
    assert!(error.what.contains(what), "{error}");
    let keys = json!({"route-files": {"path": "$/rib", "next-hop": 1, "vrf": 1}});
    let config = router(folder.path(), &keys).expect("a router");
    assert_eq!(told(&config), ["1 20.0.0.0/8 0", "1 21.0.0.0/8 1"]);
}

#[test]
fn rows_that_cannot_be_are_told_by_file_and_line() {
    let folder = folder();
    let file = folder.path().join("routes");
    let error = |line: &str| {
        fs::write(&file, format!("# a comment\n{line}\n")).expect("writes");
        let error = router(folder.path(), &json!({"route-files": "$/routes"})).expect_err(line);
        assert_eq!(error.key, "route-files");
        error.what.split_once("routes:2: ").expect("file and line").1.to_owned()
    };
    for (line, what) in [
        ("10.0.0.0/33 0", "`10.0.0.0/33` is not written like 192.0.2.0/24"),
        ("198.51.100.1/24 0", "198.51.100.1/24 has bits set behind its length; Clear them"),
        ("198.51.100.0/24", "leads nowhere; write the next hop behind the prefix"),
        (
            "198.51.100.0/24 2",
            "there is no next hop `2`; Name one of isp-a, or say a number up to 1",
        ),
        ("198.51.100.0/24 isp", "there is no next hop `isp`"),
        ("198.51.100.0/24 10.9.0.1", "the router has no next hop 10.9.0.1; list it"),
        ("198.51.100.0/24 group=1", "there is no group `1`"),
        ("198.51.100.0/24 0 group=0", "leads to a next hop and to a group"),
        ("198.51.100.0/24 0 vrf=4", "198.51.100.0/24 is of VRF 4, which there is not"),
        ("10.0.0.0/16 0", "10.0.0.0/16 is on a link; remove it"),
        ("198.51.100.0/24 via 10.1.0.9 red", "`red` is no word of a route here"),
    ] {
        let told = error(line);
        assert!(told.starts_with(what), "{line}: {told}");
    }
}

#[test]
fn rules_stand_in_files_behind_those_of_the_configuration() {
    let folder = folder();
    let file = folder.path().join("rules");
    let rules = "deny source=198.51.100.0/24 protocol=17 destination-ports=1-1023\n\
                 deny protocol=6 tcp-flags=syn,!ack destination-ports=[25,26] port=uplink\n\
                 permit\n";
    fs::write(&file, rules).expect("writes");
    let keys =
        json!({"ingress-acl": [{"action": "deny", "dscp": 7}], "ingress-acl-files": "$/rules"});
    let config = router(folder.path(), &keys).expect("a router");
    let all = config.all_rules(List::Ingress);
    let ports = |at: usize| all[at].1.destination_ports.map(|ports| (ports.first, ports.last));
    assert_eq!((all.len(), all[3].0, ports(1)), (4, 40, Some((1, 1023))));
    assert_eq!(ports(2), Some((25, 26)));
    for (line, what) in [
        ("refuse", "action: `refuse` is none of permit, deny"),
        ("deny vrf=1", "`vrf` is no key of a row; keys are action, source"),
        ("deny port=none", "names a port that there is not; Name one"),
        ("deny destination-ports=9-1", "has ports whose first is above the last"),
        ("deny destination-ports=a", "destination-ports: "),
        ("deny policer=1", "names a policer that nobody asks"),
    ] {
        fs::write(&file, line).expect("writes");
        let error = router(folder.path(), &keys).expect_err(line);
        assert!(error.what.contains(&format!("rules:1: {what}")), "{line}: {error}");
    }
}

#[test]
fn a_file_that_was_changed_is_a_difference() {
    let folder = folder();
    let file = folder.path().join("routes");
    let of = |lines: &[String]| {
        fs::write(&file, lines.join("\n")).expect("writes");
        router(folder.path(), &json!({"route-files": "$/routes"})).expect("a router")
    };
    let line = |number: u32| format!("20.{}.{}.0/24 0", number >> 8, number & 255);
    let mut lines: Vec<String> = (0..3000).map(line).collect();
    let running = of(&lines);
    lines[7] = "20.0.7.0/24 1".to_owned();
    lines.pop();
    lines.push("30.0.0.0/8 group=0".to_owned());
    let wanted = of(&lines);
    let changes = L3Router::difference(&running, &wanted).expect("tables alone");
    let words = |update: &Said| serde_json::to_string(update).expect("text");
    assert_eq!(
        changes.iter().map(words).collect::<Vec<_>>(),
        [
            r#"{"set-route":{"prefix":"20.0.7.0/24","next-hop":1}}"#,
            r#"{"set-route":{"prefix":"30.0.0.0/8","next-hop":1000000}}"#,
            r#"{"remove-route":{"prefix":"20.11.183.0/24"}}"#,
        ]
    );
}
