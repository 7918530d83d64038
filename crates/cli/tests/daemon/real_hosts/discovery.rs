//! Hosts that configure themselves by what a router advertises (RFC 4861, RFC 4862).

use super::{Hosts, PATIENCE};
use crate::kit::until;

const ROUTER: &str = "\
function:
  name: l3-router
  ipv6: true
  resolve: true
  ping: true
  downlink-ipv6: 2001:db8:1::1/64
  uplink-ipv6: 2001:db8:2::1/64
  advertise:
    - {port: downlink, mtu: 1400}
ports:
  downlink: {type: af-packet, interface: a0}
  uplink: {type: af-packet, interface: b0}
workers: {idle: sleep}
";

/// The router's address on the link of the host, of the downlink's default Ethernet address.
const LINK_LOCAL: &str = "fe80::dcdd:ddff:fedd:0";

/// - `l3-router`, RFC 4861 section 6.2.6: a host that asks is told of the router, and takes its
///   default route and MTU
/// - `l3-router`, RFC 4862 section 5.5: it makes itself an address of the prefix
/// - `l3-router`, RFC 4291 section 2.8: the router answers by its link-local address
/// - `l3-router`, RFC 4861 section 6.2.5: a router that ends says so
#[test]
fn a_host_gets_its_address_its_way_out_and_its_mtu_of_the_router() {
    let Some(hosts) = Hosts::new(&["ping"], &[], &["2001:db8:2::2/64"]) else { return };
    hosts.right.ip("route add default via 2001:db8:2::1").expect("a route");
    let mut router = hosts.start(ROUTER);
    let told = |words: &str| hosts.left.ip(words).expect("it tells");
    until("a default route", || told("-6 route show default").contains(LINK_LOCAL).then_some(()));
    until("an address of the prefix that is the host's alone", || {
        let shown = told("-6 addr show dev eth scope global");
        (shown.contains("2001:db8:1:") && !shown.contains("tentative")).then_some(())
    });
    let read = || std::fs::read_to_string("/proc/sys/net/ipv6/conf/eth/mtu");
    let mtu = hosts.left.run(read).expect("the namespace").expect("a key of the kernel's");
    assert_eq!(mtu.trim(), "1400");
    // It reaches a host on the other side, and the router by the address of the link.
    hosts.ping("2001:db8:2::2");
    hosts.ping(&format!("{LINK_LOCAL}%eth"));
    // A router that ends says so, and its hosts turn to others.
    router.child.stop(PATIENCE).expect("it ends");
    until("no default route", || told("-6 route show default").trim().is_empty().then_some(()));
}
