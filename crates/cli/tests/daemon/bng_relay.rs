//! A broadband gateway between `udhcpc` and Kea: a host gets its lease from Kea, by the gateway's
//! relay, its packets pass for as long as it renews it, and not after it has released it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use crate::bng_radius::LEASE;
use crate::kea::{self, Kea};
use crate::kit::{Lab, until, until_or};
use crate::neighbours::host;

/// It has no pool of its own.
const GATEWAY: &str = "function:
  name: bng
  access-addresses: [100.64.0.1]
  core-addresses: [203.0.113.2]
  profiles: [{name: default}]
  next-hops: [{address: 203.0.113.1}]
  routes: [{prefix: 0.0.0.0/0, next-hop: 203.0.113.1}]
controller:
  name: bng
  relay: {ipv4: {servers: [10.9.0.2], local: 10.9.0.1}}
ports:
  access: {type: af-packet, interface: access}
  core: {type: af-packet, interface: core}
workers: {idle: sleep}
";

/// The link that the relay names chooses it: the relay's own address is in no subnet.
const SUBNET: &str = r#"{"subnet": "100.64.0.0/16",
  "pools": [{"pool": "100.64.7.7 - 100.64.7.7"}],
  "option-data": [{"name": "routers", "data": "100.64.0.1"}]}"#;

const ADDRESS: &str = "100.64.7.7";

#[test]
fn a_host_of_udhcpc_has_its_lease_from_kea_by_the_gateway() {
    let programs = ["busybox", "ping", "ss"];
    if !kea::is_there() || !programs.iter().all(|one| netns::is_installed(one)) {
        println!("skipped: needs busybox, ping and ss, too");
        return;
    }
    let Some(lab) = Lab::bare() else { return };
    let cpe = host(&lab, "access", &[], &[]);
    let internet = host(&lab, "core", &["203.0.113.1/24"], &["100.64.0.0/16 via 203.0.113.2"]);
    let far = host(&lab, "dhcp", &["10.9.0.2/24"], &[]);
    lab.namespace.ip("link set lo up").expect("an interface");
    lab.namespace.ip("addr add 10.9.0.1/24 dev dhcp").expect("an address");
    let server = Kea::start(&far, "10.9.0.2", SUBNET);
    let _daemon = lab.start(&lab.write("bng.yaml", GATEWAY));
    let script = lab.write("lease", LEASE);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its file");

    // It releases its lease when it is told to end.
    let mut command = Command::new("busybox");
    command.args(["udhcpc", "-i", "eth", "-f", "-R", "-s"]).arg(&script);
    let mut client = cpe.spawn(command).expect("it starts");
    let shown = || lab.run(&["show", "table", "subscribers", "--json"]).1;
    until_or(
        "an address",
        || cpe.ip("-4 addr show dev eth").expect("it tells").contains(ADDRESS).then_some(()),
        || format!("{}\n{:?}", shown(), lab.run(&["show", "all", "--json"])),
    );
    // The client's script has done its last.
    let routes = || cpe.ip("-4 route show dev eth").expect("it tells");
    until("a route", || routes().contains("default").then_some(()));
    // The first packet passes, both ways.
    for (from, to) in [(&cpe, "203.0.113.1"), (&internet, ADDRESS)] {
        from.command("ping", &["-n", "-c", "1", "-W", "5", to], None).expect("an answer");
    }
    let told = shown();
    assert!(told.contains(ADDRESS) && told.contains("\"up\""), "{told}");
    // Kea has heard of the line, and of the link.
    let lease = server.leases(ADDRESS).remove(0);
    assert!(lease.contains("0x0103302E30"), "option 82 of line 0.0: {lease}");
    // It is renewed by the gateway.
    until("renewals", || (server.leases(ADDRESS).len() >= 3).then_some(()));
    cpe.command("ping", &["-n", "-c", "1", "-W", "5", "203.0.113.1"], None).expect("an answer");

    client.stop(Duration::from_secs(5));
    until_or("the end of the session", || (!shown().contains(ADDRESS)).then_some(()), shown);
    // A lease that is gone is written with a lifetime of 0.
    let last = || server.leases(ADDRESS).pop().unwrap_or_default();
    let is_gone = || (last().split(',').nth(3) == Some("0")).then_some(());
    until_or("the end of the lease", is_gone, last);
    let words = ["-n", "-c", "1", "-W", "1", "203.0.113.1"];
    cpe.command("ping", &words, None).expect_err("an end");
}
