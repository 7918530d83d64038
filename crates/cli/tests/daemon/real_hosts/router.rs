//! Hosts on both sides of a router: what its access lists keep from them, and what it tells them.

use std::io::ErrorKind;
use std::net::{IpAddr, TcpStream, UdpSocket};

use super::{Hosts, PATIENCE};
use crate::kit::{again, until};

/// Two hosts behind a router, which is their default route, with further keys of its function.
pub fn routed(programs: &[&str], keys: &str) -> Option<(Hosts, crate::kit::Child)> {
    let (left, right) = (["10.0.1.2/24", "2001:db8:1::2/64"], ["10.0.2.2/24", "2001:db8:2::2/64"]);
    let hosts = Hosts::new(programs, &left, &right)?;
    for (host, net) in [(&hosts.left, 1), (&hosts.right, 2)] {
        host.ip(&format!("route add default via 10.0.{net}.1")).expect("a route");
        host.ip(&format!("route add default via 2001:db8:{net}::1")).expect("a route");
    }
    let router = hosts.start(&format!(
        "function:\n  name: l3-router\n  ipv6: true\n  resolve: true\n  \
         downlink-ip: 10.0.1.1/24\n  uplink-ip: 10.0.2.1/24\n  \
         downlink-ipv6: 2001:db8:1::1/64\n  uplink-ipv6: 2001:db8:2::1/64\n{keys}\
         ports:\n  downlink: {{type: af-packet, interface: a0}}\n  \
         uplink: {{type: af-packet, interface: b0}}\nworkers: {{idle: sleep}}\n"
    ));
    Some((hosts, router))
}

/// Sends a datagram to a port of the right host behind so many headers of destination options.
const SEND: &str = "\
import socket, struct, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
to = socket.inet_pton(socket.AF_INET6, '2001:db8:2::2')
own = socket.inet_pton(socket.AF_INET6, '2001:db8:1::2')
data = struct.pack('>HHHH', 40000, port, 12, 0) + b'seen'
total = sum(struct.unpack('>26H', own + to + struct.pack('>II', 12, 17) + data + b''))
while total >> 16: total = (total & 0xffff) + (total >> 16)
data = data[:6] + struct.pack('>H', ~total & 0xffff) + data[8:]
nexts = [60] * count + [17]
chain = b''.join(bytes([next, 0, 1, 4, 0, 0, 0, 0]) for next in nexts[1:])
head = struct.pack('>IHBB', 6 << 28, len(chain + data), nexts[0], 64) + own + to
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
s.sendto(head + chain + data, ('2001:db8:2::2', 0))
";

/// - `l3-router`, RFC 7112 section 5: what an access list cannot read to its end does not pass
#[test]
fn a_rule_on_ports_holds_behind_any_number_of_extension_headers() {
    let rules = "  extension-headers-max: 9\n  ingress-acl:\n    \
                 - {action: deny, protocol: 17, destination-ports: {first: 80, last: 80}}\n    \
                 - {action: permit}\n";
    let Some((hosts, _router)) = routed(&["python3"], rules) else { return };
    let bound = |port: u16| {
        let open = || UdpSocket::bind(("2001:db8:2::2", port)).expect("a free port");
        let socket = hosts.right.run(open).expect("the namespace");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        socket
    };
    let [denied, permitted] = [80, 81].map(bound);
    let send = |port: &str, count: &str| {
        hosts.left.command("python3", &["-c", SEND, port, count], None).expect("it is sent");
    };
    for count in ["0", "8", "9", "10", "30"] {
        send("80", count);
    }
    // Many more headers than most read arrive where the list can read them.
    let mut bytes = [0; 10];
    send("81", "9");
    assert_eq!(again(|| permitted.recv(&mut bytes)).expect("it arrives"), 4);
    // What came before it would be here.
    denied.set_nonblocking(true).expect("a socket");
    let none = again(|| denied.recv(&mut bytes)).expect_err("nothing that is denied arrives");
    assert_eq!(none.kind(), ErrorKind::WouldBlock);
    // Three of those that are denied could be read.
    let (_, shown, _) = hosts.lab.run(&["show", "table", "ingress-rules", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("a table");
    let denied = &shown[0];
    assert_eq!((&denied["packets"], &denied["bytes"]), (&3.into(), &(3 * 52 + 17 * 8).into()));
}

/// - `l3-router`, RFC 1122 section 3.2.2.1: port unreachable for UDP where nobody listens
/// - `l3-router`, RFC 4443 section 3.1: the same for IPv6
/// - `l3-router`, RFC 9293 section 3.10.7.1: a reset for TCP where nobody listens
#[test]
fn a_router_refuses_what_nobody_listens_for_at_its_own_addresses() {
    let Some((hosts, _router)) = routed(&[], "  icmp-errors-per-s: 100\n") else { return };
    for address in ["10.0.1.1", "10.0.2.1", "2001:db8:1::1", "2001:db8:2::1"] {
        let to = (address.parse::<IpAddr>().expect("an address"), 33_434);
        let connected = hosts.left.run(|| TcpStream::connect_timeout(&to.into(), PATIENCE));
        let refused = connected.expect("the namespace").expect_err("nobody listens");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused, "{address} by TCP");
        let asked = hosts.left.run(|| {
            let unspecified = if to.0.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(unspecified).expect("a free port");
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
            socket.connect(to).expect("a route");
            socket.send(b"who").expect("it leaves");
            socket.recv(&mut [0; 10])
        });
        let refused = asked.expect("the namespace").expect_err("nobody listens");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused, "{address} by UDP");
    }
}

/// - `l3-router`: what rules decide is counted over all workers, and sampled in the log
#[test]
fn what_rules_decide_is_counted_over_all_workers_and_told_in_the_log() {
    let rules = "  core: 2\n  rule-log-per-s: 3\n  ingress-acl:\n    \
                 - {action: deny, protocol: 17, destination-ports: {first: 80, last: 80}, \
                 log-one-in: 1}\n    - {action: permit}\n";
    let Some((hosts, router)) = routed(&[], rules) else { return };
    const COUNT: u64 = 40;
    let send = || {
        for port in 0..COUNT as u16 {
            let socket = UdpSocket::bind(("10.0.1.2", 5000 + port)).expect("a free port");
            socket.send_to(b"seen", ("10.0.2.2", 80)).expect("it leaves");
        }
    };
    hosts.left.run(send).expect("the namespace");
    let packets = |of: &[&str]| {
        let words = [&["show", "table", "ingress-rules", "--json"], of].concat();
        let (_, shown, _) = hosts.lab.run(&words);
        let shown: serde_json::Value = serde_json::from_str(&shown).expect("a table");
        shown[0]["packets"].as_u64().unwrap_or_default()
    };
    until("all of them to be counted", || (packets(&[]) == COUNT).then_some(()));
    let [first, second] = ["0", "1"].map(|worker| packets(&["--worker", worker]));
    assert!(first > 0 && second > 0 && first + second == COUNT, "{first} and {second}");
    // No more than the rate and its burst are told, of both workers together.
    let told = || {
        let logged = router.logged();
        let is_one = |line: &&String| line.contains("ingress rule 10 denies UDP 10.0.1.2:5");
        logged.iter().filter(is_one).cloned().collect::<Vec<_>>()
    };
    let lines = until("lines of the log", || Some(told()).filter(|lines| !lines.is_empty()));
    assert!(lines[0].contains("> 10.0.2.2:80, 32 bytes, by downlink (1 of 1)"), "{lines:?}");
    assert!(lines.len() <= 5, "{lines:?}");
}

/// - `l3-router`, RFC 1191 section 3: senders are told of an MTU that has changed while the
///   router runs
#[test]
fn a_router_follows_the_mtu_of_its_link() {
    let Some((hosts, router)) = routed(&["ping"], "  icmp-errors-per-s: 100\n") else { return };
    let ask = "ping -c 1 -W 5 -s 1400 -M do 10.0.2.2 || true";
    let said = || hosts.left.command("sh", &["-c", ask], None).expect("a shell");
    until("an answer", || said().contains("1 received").then_some(()));
    hosts.lab.namespace.ip("link set b0 mtu 1300").expect("an MTU");
    let wait_for = |mtu: &str| {
        let is_told = |line: &String| {
            line.contains("the MTU of a link has changed") && line.contains(&format!("mtu={mtu} "))
        };
        until("a line of the log", || router.logged().iter().any(is_told).then_some(()));
    };
    wait_for("1300");
    until("a sender to be told", || said().contains("mtu = 1300").then_some(()));
    hosts.lab.namespace.ip("link set b0 mtu 1500").expect("an MTU");
    wait_for("1500");
    hosts.left.ip("route flush cache").expect("it is there");
    until("an answer as before", || said().contains("1 received").then_some(()));
}
