//! A broadband gateway whose subscribers FreeRADIUS lets in: what it says, a host gets, its packets
//! pass, what they were is recorded, and `radclient` ends the session.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use netns::Namespace;

use crate::kit::{Lab, until};
use crate::neighbours::host;
use crate::radius_server::{FreeRadius, SECRET, is_there};

const GATEWAY: &str = "function:
  name: bng
  access-addresses: [100.64.0.1]
  core-addresses: [203.0.113.2]
  profiles: [{name: default}, {name: gold, down-rate: 1 Gbit/s}]
  next-hops: [{address: 203.0.113.1}]
  routes: [{prefix: 0.0.0.0/0, next-hop: 203.0.113.1}]
controller:
  name: bng
  nas-identifier: first-bng
  pools: [{name: homes, kind: ipv4, prefix: 100.64.0.0/16}]
  ipoe: {authentication: radius}
  pppoe: {authentication: radius}
  radius:
    servers: [{address: 10.9.0.2, local: 10.9.0.1, secret: testing123}]
    dynamic: ['10.9.0.1:3799']
ports:
  access: {type: af-packet, interface: access}
  core: {type: af-packet, interface: core}
workers: {idle: sleep}
";

/// One station is known, and what it gets.
const USERS: &str = "02:cc:00:00:00:01 Cleartext-Password := \"02:cc:00:00:00:01\"\n\
    \tFramed-IP-Address = 100.64.7.7,\n\
    \tAlc-SLA-Prof-Str = \"gold\"\n";

/// What a client of DHCP does with its lease.
pub const LEASE: &str = "#!/bin/sh
[ \"$1\" = bound ] || exit 0
ip addr replace \"$ip/$mask\" dev \"$interface\"
ip route replace default via \"$router\"
";

/// Lets a host ask for a lease as this station; whether it got one.
fn gets_a_lease(host: &Namespace, mac: &str, script: &str, more: &[&str]) -> bool {
    host.ip(&format!("link set eth address {mac}")).expect("an address");
    let words = [&["udhcpc", "-i", "eth", "-n", "-q", "-s", script], more].concat();
    host.command("busybox", &words, None).is_ok()
}

/// The value of an attribute in the last record of a kind.
fn recorded(server: &FreeRadius, status: &str, attribute: &str) -> Option<String> {
    let all = server.recorded();
    let is_it = |record: &&str| record.contains(&format!("Acct-Status-Type = {status}"));
    let record = all.split("\n\n").filter(is_it).last()?;
    let value = record.split(&format!("\t{attribute} = ")).nth(1)?;
    Some(value.lines().next()?.to_owned())
}

#[test]
fn freeradius_lets_a_subscriber_in_counts_it_and_ends_it() {
    let programs = ["busybox", "ping", "ss"];
    if !is_there() || !programs.iter().all(|one| netns::is_installed(one)) {
        println!("skipped: needs busybox, ping and ss, too");
        return;
    }
    let Some(lab) = Lab::bare() else { return };
    let cpe = host(&lab, "access", &[], &[]);
    let internet = host(&lab, "core", &["203.0.113.1/24"], &["100.64.0.0/16 via 203.0.113.2"]);
    let far = host(&lab, "aaa", &["10.9.0.2/24"], &[]);
    lab.namespace.ip("link set lo up").expect("an interface");
    lab.namespace.ip("addr add 10.9.0.1/24 dev aaa").expect("an address");
    far.ip("link set lo up").expect("an interface");
    let server = FreeRadius::start(&far, USERS);
    let _daemon = lab.start(&lab.write("bng.yaml", GATEWAY));
    let script = lab.write("lease", LEASE);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its file");
    let script = script.display().to_string();

    // Who is not known is not let in, and nothing is recorded of him.
    assert!(!gets_a_lease(&cpe, "02:cc:00:00:00:02", &script, &["-t", "2", "-T", "1"]));
    assert_eq!(recorded(&server, "Start", "User-Name"), None);
    assert!(gets_a_lease(&cpe, "02:cc:00:00:00:01", &script, &[]));
    let addresses = cpe.ip("-4 addr show dev eth").expect("it tells");
    assert!(addresses.contains("100.64.7.7/"), "{addresses}");
    // The first packet passes, both ways.
    for (from, to) in [(&cpe, "203.0.113.1"), (&internet, "100.64.7.7")] {
        from.command("ping", &["-n", "-c", "1", "-W", "5", to], None).expect("an answer");
    }
    let begun = until("a Start", || recorded(&server, "Start", "Framed-IP-Address"));
    assert_eq!(begun, "100.64.7.7");
    let shown = || lab.run(&["show", "table", "subscribers", "--json"]).1;
    let told = shown();
    for expected in ["\"02:cc:00:00:00:01\"", "\"100.64.7.7\"", "\"gold\""] {
        assert!(told.contains(expected), "{expected} in {told}");
    }

    // A host that looks for PPPoE finds the gateway on the same line.
    if netns::is_installed("/usr/sbin/pppoe-discovery") {
        let words = ["-I", "eth"];
        let found = cpe.command("/usr/sbin/pppoe-discovery", &words, None).expect("an offer");
        assert!(found.contains("first-bng"), "{found}");
    }

    let script = format!("radclient -x -t 2 -r 5 10.9.0.1:3799 disconnect {SECRET} 2>&1; true");
    let ask = || {
        let key = "Framed-IP-Address = 100.64.7.7";
        far.command("sh", &["-c", &script], Some(key)).expect("it runs")
    };
    let said = ask();
    assert!(said.contains("Disconnect-ACK"), "{said}");
    let packets = until("a Stop", || recorded(&server, "Stop", "Acct-Input-Packets"));
    // Two pings passed, whoever had asked; a host says a little more by itself.
    assert!(packets.parse::<u64>().expect("a number") >= 2, "{packets}");
    let cause = recorded(&server, "Stop", "Acct-Terminate-Cause").expect("a cause");
    assert_eq!(cause, "Admin-Reset", "{}", server.recorded());
    assert_eq!(recorded(&server, "Stop", "Framed-IP-Address").as_deref(), Some("100.64.7.7"));
    until("the end of the session", || (!shown().contains("100.64.7.7")).then_some(()));
    let said = ask();
    assert!(said.contains("Session-Context-Not-Found"), "{said}");
    // Its packets pass no more.
    let words = ["-n", "-c", "1", "-W", "1", "203.0.113.1"];
    cpe.command("ping", &words, None).expect_err("an end");
}
