//! Hosts on both sides of a router: what its access lists keep from them, and what it tells them.

use std::io::ErrorKind;
use std::net::{IpAddr, TcpStream, UdpSocket};

use super::{Hosts, PATIENCE};

/// Two hosts behind a router, which is their default route, with further keys of its function.
fn routed(programs: &[&str], keys: &str) -> Option<(Hosts, crate::kit::Child)> {
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
    assert_eq!(permitted.recv(&mut bytes).expect("it arrives"), 4);
    // What came before it would be here.
    denied.set_nonblocking(true).expect("a socket");
    let none = denied.recv(&mut bytes).expect_err("nothing that is denied arrives");
    assert_eq!(none.kind(), ErrorKind::WouldBlock);
    // Three of those that are denied could be read.
    let (_, shown, _) = hosts.lab.run(&["show", "table", "ingress-rules", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("a table");
    let denied = &shown[0];
    assert_eq!((&denied["packets"], &denied["bytes"]), (&3.into(), &(3 * 52 + 17 * 8).into()));
}

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
