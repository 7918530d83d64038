//! A mobile gateway between a base station of the kernel's, whose users a test plays behind a UDP
//! socket, and a host of the Internet.

use std::net::{Ipv4Addr, UdpSocket};

use model_kit::build::{datagram, mend, packet};

use super::{Hosts, PATIENCE};
use crate::kit::{Child, again, until};
use crate::neighbours::socket;

/// GTP-U's port (TS 29.281 section 4.4.2.3).
const GTPU: u16 = 2152;
/// A G-PDU, a packet of the user (TS 29.281 section 6.1).
const G_PDU: u8 = 255;
/// IP protocol number of UDP.
const UDP: u8 = 17;

const GATEWAY: Ipv4Addr = Ipv4Addr::new(200, 0, 0, 1);
const STATION: Ipv4Addr = Ipv4Addr::new(200, 0, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);

/// The user of a number, whose bearer has the same one.
fn user(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 45, 0, number)
}

/// Two hosts with the gateway between them; `keys` are further ones of its function.
struct Around {
    hosts: Hosts,
    _gateway: Child,
    /// The base station's end of the tunnels.
    tunnels: UdpSocket,
}

impl Around {
    fn new(programs: &[&str], keys: &str) -> Option<Around> {
        let hosts = Hosts::new(programs, &["200.0.0.2/24"], &["192.0.2.9/24"])?;
        hosts.right.ip("route add 200.0.0.1 dev eth").expect("a route");
        hosts.right.ip("route add 10.45.0.0/16 via 200.0.0.1").expect("a route");
        Some(Around::between(hosts, "", "", keys))
    }

    /// With so many users of a gateway between these hosts.
    fn between(hosts: Hosts, workers: &str, core: &str, keys: &str) -> Around {
        let user =
            |number| format!("{{ipv4: {}, teid: {number}, base-station: 200.0.0.2}}", user(number));
        let users: Vec<String> = (1..=8).map(user).collect();
        let gateway = hosts.start(&format!(
            "function:
  name: mobile-gateway
{core}{keys}  gw-ip: 200.0.0.1
  gw-mac: \"02:00:00:00:00:01\"
  rate-limit: 100 Mbit/s
  base-stations: [{{address: 200.0.0.2}}]
  next-hops: [{{address: 192.0.2.9}}]
  routes: [{{prefix: 0.0.0.0/0, next-hop: 192.0.2.9}}]
  users: [{}]
ports:
  access: {{type: af-packet, interface: a0}}
  core: {{type: af-packet, interface: b0}}
workers: {{idle: sleep{workers}}}
",
            users.join(", ")
        ));
        let tunnels = socket(&hosts.left, (STATION, GTPU));
        Around { hosts, _gateway: gateway, tunnels }
    }

    /// Sends a packet of a user through its tunnel.
    fn send(&self, teid: u8, packet: &[u8]) {
        let len = (packet.len() as u16).to_be_bytes();
        let message = [&[0x30, G_PDU], &len[..], &[0, 0, 0, teid], packet].concat();
        self.tunnels.send_to(&message, (GATEWAY, GTPU)).expect("it can be sent");
    }

    /// The next message of the gateway.
    fn hear(&self) -> Vec<u8> {
        let mut bytes = [0; 4000];
        let (len, from) = again(|| self.tunnels.recv_from(&mut bytes)).expect("a message");
        assert_eq!(from, (GATEWAY, GTPU).into());
        bytes[..len].to_vec()
    }
}

/// A packet of UDP from a user to the server.
fn to_server(from: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    packet(from, SERVER, UDP, &datagram((40_000, 9), payload))
}

fn service(hosts: &Hosts) -> UdpSocket {
    let socket = socket(&hosts.right, (SERVER, 9));
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    socket
}

/// - `mobile-gateway`, RFC 791 section 3.2: tunnel packets that a base station cut are reassembled
#[test]
fn a_full_packet_comes_through_a_link_that_is_no_longer() {
    let Some(around) = Around::new(&[], "") else { return };
    // The kernel cuts the tunnel packet, which is 36 bytes longer than the link takes.
    let service = service(&around.hosts);
    let payload: Vec<u8> = (0..1472u16).map(|at| at as u8).collect();
    for teid in 1..=4 {
        around.send(teid, &to_server(user(teid), &payload));
        let mut bytes = [0; 2000];
        let (len, source) = again(|| service.recv_from(&mut bytes)).expect("a datagram");
        assert_eq!((&bytes[..len], source), (&payload[..], (user(teid), 40_000).into()));
    }
}

/// - `mobile-gateway`, RFC 791 section 3.2: the same on two workers, whichever has the user
#[test]
fn fragments_find_the_worker_of_their_user() {
    let Some(hosts) = Hosts::new(&[], &["200.0.0.2/24"], &["192.0.2.9/24"]) else { return };
    let cores = machine::cpu::available_cores();
    let [first, .., last] = cores.as_slice() else {
        println!("skipped: two workers need two cores");
        return;
    };
    hosts.right.ip("route add 200.0.0.1 dev eth").expect("a route");
    let workers = format!(", cores: [{first}, {last}]");
    let around = Around::between(hosts, &workers, "  core: 2\n  secret: 7\n", "");
    let service = service(&around.hosts);
    // Of any datagram the worker follows from its identification, of which each has another.
    for round in 0..4u8 {
        for teid in 1..=8 {
            let payload = [round; 1472];
            around.send(teid, &to_server(user(teid), &payload));
            let mut bytes = [0; 2000];
            let (len, source) = again(|| service.recv_from(&mut bytes)).expect("a datagram");
            assert_eq!((&bytes[..len], source), (&payload[..], (user(teid), 40_000).into()));
        }
    }
}

/// - `mobile-gateway`, RFC 1191 section 4: a sender is told what passes in the tunnel
/// - `mobile-gateway`, RFC 1812 section 5.2.7.1: host unreachable for an address of no user
/// - `mobile-gateway`, RFC 1812 section 5.3.1: time exceeded for a packet that may not go on
/// - `mobile-gateway`, RFC 791 section 2.3: a packet that may be cut is cut before its tunnel
#[test]
fn senders_hear_of_what_is_too_long_and_of_addresses_without_a_user() {
    let Some(around) = Around::new(&["ping"], "") else { return };
    let Around { hosts, tunnels, .. } = &around;
    // It ends with an error, and says on its output what it was told.
    let ping = |arguments: &str| {
        let command = format!("ping -c 1 -W 5 {arguments} || true");
        hosts.right.command("sh", &["-c", &command], None).expect("a shell")
    };
    let said = ping("-s 1450 -M do 10.45.0.1");
    assert!(said.contains("mtu = 1464"), "{said}");
    let said = ping("10.45.200.1");
    assert!(said.contains("Destination Host Unreachable"), "{said}");
    let said = ping("-t 1 10.45.0.1");
    assert!(said.contains("Time to live exceeded"), "{said}");
    // What may be cut comes in pieces, each in a tunnel packet that no link cuts again.
    ping("-W 1 -s 1460 -M dont 10.45.0.2");
    let mut bytes = [0; 4000];
    let mut heard = 0;
    while heard < 8 + 1460 {
        let len = again(|| tunnels.recv(&mut bytes)).expect("a piece");
        assert!(len <= 1472, "it fits the link: {len}");
        heard += len - 8 - 20;
    }
}

/// - `mobile-gateway`, RFC 1122 section 3.2.2.6: pings are answered, also those in fragments
/// - `mobile-gateway`, TS 29.281 section 7.3.1: an error indication for an unknown bearer
/// - `mobile-gateway`, TS 29.281 section 7.2.3: a notification of extension headers
/// - `mobile-gateway`, RFC 1812 section 5.3.1: a user is told of a time to live that ends
#[test]
fn a_base_station_is_told_of_what_the_gateway_does_not_know() {
    let Some(around) = Around::new(&["ping"], "") else { return };
    // Until the gateway knows the station, the kernel of which asks for it.
    around.hosts.ping("200.0.0.1");
    // In fragments, and so is the answer.
    let long = ["-c", "1", "-W", "5", "-s", "1900", "200.0.0.1"];
    around.hosts.left.command("ping", &long, None).expect("an answer");
    around.send(99, &to_server(user(1), b"whose?"));
    let told = around.hear();
    assert_eq!(told[..2], [0x32, 26], "an error indication");
    assert_eq!(told[12..17], [16, 0, 0, 0, 99], "of this bearer");
    assert_eq!(told[17..], [133, 0, 4, 200, 0, 0, 1], "of the gateway");
    let content = to_server(user(1), b"with what must be understood");
    let len = ((content.len() + 8) as u16).to_be_bytes();
    let header = [0x34, G_PDU, len[0], len[1], 0, 0, 0, 1, 0, 0, 0, 0x82, 1, 0, 0, 0];
    let message = [&header[..], &content].concat();
    around.tunnels.send_to(&message, (GATEWAY, GTPU)).expect("it can be sent");
    let told = around.hear();
    assert_eq!(told[..2], [0x32, 31], "a notification");
    assert_eq!(told[12..], [141, 2, 0x85, 0xc0]);
    // A user hears of a time to live that ends here.
    let mut spent = to_server(user(1), b"no further");
    spent[8] = 1;
    mend(&mut spent);
    around.send(1, &spent);
    let told = around.hear();
    assert_eq!((told[1], told[7], told[17], told[28]), (G_PDU, 1, 1, 11), "{told:02x?}");
}

/// - `mobile-gateway`, RFC 4861 section 7.2.4: hosts on both sides find its IPv6 address
/// - `mobile-gateway`, RFC 4443 section 4.2: pings to that are answered
/// - `mobile-gateway`, RFC 4862 section 5.4: who begins with that address hears that it is taken
#[test]
fn hosts_on_both_sides_reach_the_ipv6_address_of_the_gateway() {
    let left = ["200.0.0.2/24", "2001:db8:a::2/64"];
    let right = ["192.0.2.9/24", "2001:db8:b::9/64"];
    let Some(hosts) = Hosts::new(&["ping"], &left, &right) else { return };
    hosts.right.ip("route add 2001:db8:a::1 dev eth").expect("a route");
    let around = Around::between(hosts, "", "", "  gw-ipv6: 2001:db8:a::1\n");
    let Around { hosts, .. } = &around;
    for (host, len) in [(&hosts.left, "56"), (&hosts.right, "1400")] {
        let command = ["-c", "1", "-W", "5", "-s", len, "2001:db8:a::1"];
        host.command("ping", &command, None).expect("an answer");
        let known = host.ip("neigh show 2001:db8:a::1").expect("it tells");
        assert!(known.contains("02:00:00:00:00:01 router"), "{known}");
    }
    // With detection of duplicates.
    hosts.left.ip("addr add 2001:db8:a::1/64 dev eth").expect("an address");
    until("the host to hear that its address is taken", || {
        let shown = hosts.left.ip("addr show dev eth").expect("it tells");
        shown.contains("dadfailed").then_some(())
    });
}

/// - `mobile-gateway`: users reach each other, and an operator finds a user by an address
#[test]
fn users_reach_each_other_and_are_found_by_their_addresses() {
    let keys = "  user-networks: [10.45.0.0/16]\n";
    let Some(around) = Around::new(&[], keys) else { return };
    let between = packet(user(1), user(2), UDP, &datagram((40_000, 9), b"for another user"));
    around.send(1, &between);
    let heard = around.hear();
    assert_eq!((heard[1], heard[7]), (G_PDU, 2), "down the other tunnel");
    assert!(heard.ends_with(b"for another user"));
    let lab = &around.hosts.lab;
    let (_, shown, _) = lab.run(&["show", "table", "users", "--for", "10.45.0.2", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let text = shown.to_string();
    for part in [
        "\"ipv4\":\"10.45.0.2\"",
        "\"teid\":2",
        "\"base-station\":\"200.0.0.2\"",
        "\"downlink-packets\":1",
        "\"state\":\"reachable\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("10.45.0.1"), "it alone: {text}");
}

/// - `mobile-gateway`, RFC 5227 section 2.4: another station with the gateway's address is told
#[test]
fn another_station_with_the_address_of_the_gateway_is_told() {
    let Some(around) = Around::new(&["ping"], "") else { return };
    let Around { hosts, .. } = &around;
    hosts.left.ip("addr add 200.0.0.1/24 dev eth").expect("an address");
    // It asks for somebody in the name of the address.
    let command = "ping -c 1 -W 1 -I 200.0.0.1 200.0.0.77 || true";
    hosts.left.command("sh", &["-c", command], None).expect("a shell");
    until("the conflict to be shown", || {
        let (_, shown, _) = hosts.lab.run(&["show", "neighbours", "--json"]);
        shown.contains("duplicate").then_some(())
    });
}
