//! The off-line look-up of the subscriber that has an outside port.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Ended, run, temporary_folder, write};

/// Two deterministic rules, a one-to-one and a port forwarding rule beside a pool.
const RULES: &str = "\
function:
  name: cgnat
  inside: [10.0.0.0/8]
  pools: [198.19.0.0/24]
  static: [{inside: 10.9.0.0/30, outside: 203.0.113.64/30}]
  port-forwarding:
    - outside: 203.0.113.80
      hosts:
        - inside: 10.8.0.5
          dynamic-ports: {first-port: 2000, last-port: 2999}
          forwards:
            - {protocol: tcp, first-port: 80, inside-port: 8080}
            - {first-port: 5000, last-port: 5003, inside-port: 7000}
        - {inside: 10.8.0.6, forwards: [{protocol: udp, first-port: 80}]}
  deterministic:
    - {inside: 10.0.0.0/20, outside: 198.18.0.0/26, dynamic-factor: 4}
    - {inside: 10.1.0.0/24, outside: 198.18.1.0/26, assignment: staggered, ports-per-subscriber: 1000}
";

fn folder() -> TempDir {
    let folder = temporary_folder();
    write(folder.path(), "nat.yaml", RULES);
    folder
}

fn nat(folder: &Path, arguments: &str) -> Ended {
    let arguments: Vec<&str> = ["nat"].into_iter().chain(arguments.split(' ')).collect();
    run(folder, &arguments)
}

fn json_of(folder: &Path, arguments: &str) -> Value {
    nat(folder, &format!("{arguments} --json")).expect(0).json()
}

#[test]
fn both_ways_are_told_to_a_person() {
    let folder = folder();
    // 4,096 subscribers on 64 addresses: 64 each, and four more shares: 64,512 / 68 ports each.
    let rule = "  rule 1 of `deterministic`: 10.0.0.0/20 to 198.18.0.0/26\n";
    let forward = nat(folder.path(), "forward nat.yaml 10.0.0.71").expect(0).stdout;
    let expected = format!(
        "10.0.0.71 has 198.18.0.7, ports 1972 to 2919 (948)\n  in addition: ports 61696 to 65535 (3840), \
         shared with others; only the log shows who had each\n{rule}"
    );
    assert_eq!(forward, expected);
    let reverse = nat(folder.path(), "reverse nat.yaml 198.18.0.7 2000").expect(0).stdout;
    assert_eq!(reverse, format!("10.0.0.71 has 198.18.0.7, ports 1972 to 2919 (948)\n{rule}"));
    let shared = nat(folder.path(), "reverse nat.yaml 198.18.0.7 65000").expect(0).stdout;
    assert!(shared.contains("is shared by the rule's subscribers"), "{shared}");
    let nobody = nat(folder.path(), "reverse nat.yaml 198.18.0.7 80").expect(0).stdout;
    assert!(nobody.starts_with("198.18.0.7 port 80 has no subscriber"), "{nobody}");
    let own = nat(folder.path(), "reverse nat.yaml 203.0.113.66 80").expect(0).stdout;
    assert!(own.starts_with("10.9.0.2 has 203.0.113.66, ports 0 to 65535"), "{own}");
}

#[test]
fn the_answers_are_json_too_and_one_another_s_reverse() {
    let folder = folder();
    for inside in ["10.0.0.0", "10.0.15.255", "10.1.0.0", "10.1.0.200"] {
        let there = json_of(folder.path(), &format!("forward nat.yaml {inside}"));
        let ports = &there["ports"];
        for port in [&ports["first"], &ports["last"]] {
            let asked = format!("reverse nat.yaml {} {port}", there["outside"].as_str().unwrap());
            let back = json_of(folder.path(), &asked);
            assert_eq!(back["inside"], inside, "{there} {back}");
            assert_eq!((&back["ports"], &back["rule"]), (ports, &there["rule"]));
            assert_eq!(back["port"], *port);
        }
    }
    let spread = json_of(folder.path(), "forward nat.yaml 10.1.0.65");
    assert_eq!(
        spread,
        json!({
            "owner": "subscriber", "realm": 0, "inside": "10.1.0.65", "outside": "198.18.1.1",
            "ports": {"first": 1025, "last": 5021, "step": 4, "count": 1000},
            "rule": {
                "key": "deterministic", "number": 2,
                "inside": "10.1.0.0/24", "outside": "198.18.1.0/26",
            },
        })
    );
    let between = json_of(folder.path(), "reverse nat.yaml 198.18.1.1 1026");
    assert_eq!(between["inside"], "10.1.0.129");
}

#[test]
fn ports_that_hosts_share_an_address_by_are_told() {
    let folder = folder();
    let told = |asked: &str| nat(folder.path(), asked).expect(0).stdout;
    let rule = "  rule 1 of `port-forwarding`: 10.8.0.5 to 203.0.113.80\n";
    let host = "10.8.0.5 has 203.0.113.80, ports 2000 to 2999 (1000)\n\
                \x20 TCP port 80 forwarded to inside port 8080\n\
                \x20 TCP and UDP ports 5000 to 5003 (4) forwarded to inside ports from 7000\n";
    assert_eq!(told("forward nat.yaml 10.8.0.5"), format!("{host}{rule}"));
    let other = "10.8.0.6 has 203.0.113.80\n  UDP port 80 forwarded to inside port 80\n";
    let other_rule = "  rule 1 of `port-forwarding`: 10.8.0.6 to 203.0.113.80\n";
    assert_eq!(told("forward nat.yaml 10.8.0.6"), format!("{other}{other_rule}"));
    let reverse = "reverse nat.yaml 203.0.113.80";
    assert_eq!(
        told(&format!("{reverse} 5002")),
        format!("{host}  port 5002 maps to inside port 7002\n{rule}")
    );
    assert_eq!(told(&format!("{reverse} 2999")), format!("{host}{rule}"));
    let both = nat(folder.path(), &format!("{reverse} 80")).expect(2).stderr;
    let said = "port 80 of 203.0.113.80 belongs to 10.8.0.5 for TCP and to 10.8.0.6 for UDP";
    assert!(both.contains(said) && both.contains("--protocol"), "{both}");
    for (protocol, inside, port) in [("tcp", "10.8.0.5", 8080), ("udp", "10.8.0.6", 80)] {
        let answer = json_of(folder.path(), &format!("{reverse} 80 --protocol {protocol}"));
        let found = (&answer["inside"], &answer["inside_port"], &answer["protocol"]);
        assert_eq!(found, (&json!(inside), &json!(port), &json!(protocol)));
    }
    for asked in ["81", "80 --protocol icmp"] {
        let nobody = told(&format!("{reverse} {asked}"));
        assert!(nobody.contains("has no subscriber"), "{nobody}");
    }
    let drawn = json_of(folder.path(), &format!("{reverse} 2000 --protocol icmp"));
    assert_eq!((&drawn["inside"], drawn.get("inside_port")), (&json!("10.8.0.5"), None));
}

#[test]
fn what_the_rules_do_not_tell_is_said_with_what_to_do() {
    let folder = folder();
    let pool = nat(folder.path(), "reverse nat.yaml 198.19.0.3 4711").expect(2).stderr;
    assert!(pool.contains("in the pool 198.19.0.0/24") && pool.contains("NAT's log"), "{pool}");
    let foreign = nat(folder.path(), "reverse nat.yaml 192.0.2.1 4711").expect(2).stderr;
    assert!(foreign.contains("198.18.1.0/26, 203.0.113.64/30, 203.0.113.80/32"), "{foreign}");
    let inside = nat(folder.path(), "forward nat.yaml 10.2.0.1").expect(2).stderr;
    assert!(inside.contains("10.1.0.0/24, 10.9.0.0/30, 10.8.0.5/32, 10.8.0.6/32"), "{inside}");
    let realm = nat(folder.path(), "forward nat.yaml 10.0.0.1 --realm 3").expect(2).stderr;
    assert!(realm.contains("of realm 3") && realm.contains("--realm"), "{realm}");
    write(folder.path(), "pool.yaml", "function: cgnat\n");
    let none = nat(folder.path(), "reverse pool.yaml 198.18.0.7 4711").expect(2).stderr;
    assert!(none.contains("add `deterministic` rules"), "{none}");
    write(folder.path(), "switch.yaml", "function: l2-switch\n");
    let other = nat(folder.path(), "reverse switch.yaml 198.18.0.7 4711").expect(2).stderr;
    assert!(other.contains("`l2-switch` is not a NAT"), "{other}");
    nat(folder.path(), "reverse nat.yaml 198.18.0.7 65536").expect(2);
    nat(folder.path(), "reverse nat.yaml 198.18.0 1").expect(2);
}

#[test]
fn the_nat_of_a_cell_a_chain_and_a_daemon_is_found() {
    let folder = folder();
    let sweep = "\
function: {name: cgnat, sessions: [2000, 3000], deterministic: [{inside: 10.0.0.0/24, outside: 198.18.9.0/30}]}
";
    write(folder.path(), "sweep.yaml", sweep);
    let first = nat(folder.path(), "forward sweep.yaml 10.0.0.1").expect(0);
    assert!(first.stderr.contains("of 2 cells the first is read"), "{}", first.stderr);
    nat(folder.path(), "forward sweep.yaml 10.0.0.1 --cell sessions=3000").expect(0);
    let rules = "{name: nat44, deterministic: [{inside: 10.0.0.0/24, outside: 198.18.9.0/30}]}";
    let chain = format!("function: {{name: chain, chain: [{{name: l2-switch}}, {rules}]}}\n");
    write(folder.path(), "chain.yaml", &chain);
    let daemon = format!(
        "function: {rules}\nports: {{inside: {{type: tap, interface: a}}, outside: {{type: tap, interface: b}}}}\n"
    );
    write(folder.path(), "daemon.yaml", &daemon);
    for asked in ["chain.yaml 10.0.0.1", "daemon.yaml 10.0.0.1 --run"] {
        let answer = json_of(folder.path(), &format!("forward {asked}"));
        assert_eq!(answer["outside"], "198.18.9.1", "{asked}");
    }
}
