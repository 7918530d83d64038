//! Links of different MTUs: the router goes by those of its interfaces, and senders learn of it.

use super::Hosts;

const ROUTER: &str = "\
function:
  name: l3-router
  resolve: true
  icmp-errors-per-s: 100
  downlink-ip: 10.0.0.1/24
  uplink-ip: 10.1.0.1/24
ports:
  downlink: {type: af-packet, interface: a0}
  uplink: {type: af-packet, interface: b0}
workers: {idle: sleep}
";

/// - `l3-router`, RFC 1191 section 4: a sender is told the MTU of the narrow link
/// - `l3-router`, RFC 791 section 2.3: a packet that may be cut is cut, and arrives
#[test]
fn a_sender_is_told_of_the_narrow_link_and_what_may_be_cut_is_cut() {
    let Some(hosts) = Hosts::new(&["ping"], &["10.0.0.2/24"], &["10.1.0.2/24"]) else { return };
    hosts.lab.namespace.ip("link set b0 mtu 1280").expect("an MTU");
    hosts.right.ip("link set eth mtu 1280").expect("an MTU");
    hosts.left.ip("route add default via 10.0.0.1").expect("a route");
    hosts.right.ip("route add default via 10.1.0.1").expect("a route");
    let _router = hosts.start(ROUTER);
    // It ends with an error, and says on its output what it was told.
    let narrow = "ping -c 1 -W 5 -s 1400 -M do 10.1.0.2 || true";
    let said = hosts.left.command("sh", &["-c", narrow], None).expect("a shell");
    assert!(said.contains("mtu = 1280"), "{said}");
    let arguments = ["-c", "1", "-W", "5", "-s", "1400", "-M", "dont", "10.1.0.2"];
    hosts.left.command("ping", &arguments, None).expect("an answer to fragments");
}
