//! Subscribers of a NAT that has nothing but what they need, and hosts of the Internet.

use super::Hosts;

/// Who has this network alone says so in as many lines.
const SMALL: &str = "\
function:
  name: cgnat
  inside: [192.168.1.0/24]
  inside-ip: 192.168.1.1
  inside-next-hop: 192.168.1.2
  outside-ip: 203.0.113.2
  outside-next-hop: 203.0.113.1
  pools: [203.0.113.8/29]
ports:
  inside: {type: af-packet, interface: a0}
  outside: {type: af-packet, interface: b0}
workers: {idle: sleep}
";

const SUBSCRIBER: &str = "192.168.1.2/24";
const SERVER: &str = "203.0.113.1/24";

#[test]
fn a_nat_has_the_subscribers_of_its_file_alone() {
    let Some(hosts) = Hosts::new(&["ping"], &[SUBSCRIBER], &[SERVER]) else { return };
    hosts.left.ip("route add default via 192.168.1.1").expect("a route");
    let _nat = hosts.start(SMALL);
    hosts.ping("203.0.113.1");
}
