//! Functions that resolve their neighbours, between hosts of Linux with its default settings: each
//! host is a namespace whose kernel asks and answers by ARP and Neighbor Discovery.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use model_kit::build::{datagram, packet, packet_ipv6};
use netns::Namespace;
use serde_json::Value;

use crate::kit::{Lab, until};
use crate::nat_network::{PATIENCE, tally};

/// GTP-U's port (TS 29.281 section 4.4.2.3).
const GTPU: u16 = 2152;
/// UDP port of the hosts.
const PORT: u16 = 7000;
/// IP protocol number of UDP.
const UDP: u8 = 17;

/// Makes a host at the end of a link of the lab: with these addresses, and these routes.
pub fn host(lab: &Lab, near: &str, addresses: &[&str], routes: &[&str]) -> Namespace {
    let host = Namespace::new().expect("it may be made");
    lab.namespace.veth(near, &host, "eth").expect("a link");
    for address in addresses {
        host.ip(&format!("addr add {address} dev eth")).expect("an address");
    }
    host.wait_until_up("eth", PATIENCE).expect("up");
    for route in routes {
        host.ip(&format!("route add {route}")).expect("a route");
    }
    until("an IPv6 address to be known as unique", || {
        let tentative = host.ip("-6 addr show dev eth tentative").expect("it tells");
        tentative.trim().is_empty().then_some(())
    });
    host
}

/// A socket at an address. A program that another test starts has a copy of each socket until it
/// is that program, so the same address may be in use for a while after its socket is closed.
pub fn socket(host: &Namespace, address: impl Into<SocketAddr>) -> UdpSocket {
    let address = address.into();
    let bind = || match host.run(|| UdpSocket::bind(address)).expect("the namespace") {
        Err(error) if error.kind() == ErrorKind::AddrInUse => None,
        bound => Some(bound.expect("its address is there")),
    };
    let socket = until("the address to be free", bind);
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    socket
}

fn hear(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut bytes = [0; 2000];
    loop {
        match socket.recv_from(&mut bytes) {
            Ok((len, from)) => return (bytes[..len].to_vec(), from),
            // A process that was stopped for a moment waits anew.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("a datagram arrives: {error}"),
        }
    }
}

#[test]
fn a_router_of_three_ports_finds_hosts_of_linux() {
    let Some(lab) = Lab::bare() else { return };
    let mut text =
        "function:\n  name: l3-router\n  ipv6: true\n  resolve: true\n  ports:\n".to_owned();
    let mut interfaces = "ports:\n".to_owned();
    let mut hosts = Vec::new();
    for net in 1..=3 {
        let near = format!("lan{net}");
        let (ip, ipv6) = (format!("10.0.{net}.2/24"), format!("2001:db8:{net}::2/64"));
        let routes =
            [format!("default via 10.0.{net}.1"), format!("default via 2001:db8:{net}::1")];
        let routes = routes.each_ref().map(String::as_str);
        hosts.push(host(&lab, &near, &[&ip, &ipv6], &routes));
        text += &format!(
            "    - {{name: {near}, mac: 02:00:00:00:00:0{net}, ip: 10.0.{net}.1/24, \
             ipv6: 2001:db8:{net}::1/64}}\n"
        );
        interfaces += &format!("  {near}: {{type: af-packet, interface: {near}}}\n");
    }
    text += &format!("{interfaces}workers: {{idle: sleep}}\n");
    let _router = lab.start(&lab.write("router.yaml", &text));

    let v4 = |net: usize| IpAddr::from([10, 0, net as u8, 2]);
    let v6 = |net: usize| IpAddr::from([0x2001, 0xdb8, net as u16, 0, 0, 0, 0, 2]);
    for address in [v4, v6] {
        let open = |net: usize| socket(&hosts[net - 1], (address(net), PORT));
        let sockets: Vec<UdpSocket> = (1..=3).map(open).collect();
        for (from, to) in [(1, 2), (2, 3), (3, 1), (1, 3)] {
            let said = format!("from {from} to {to}");
            let destination = (address(to), PORT);
            sockets[from - 1].send_to(said.as_bytes(), destination).expect("it can be sent");
            let (heard, source) = hear(&sockets[to - 1]);
            assert_eq!((heard, source), (said.into_bytes(), (address(from), PORT).into()));
            sockets[to - 1].send_to(b"heard", source).expect("it can be sent");
            assert_eq!(hear(&sockets[from - 1]), (b"heard".to_vec(), destination.into()));
        }
    }

    let (_, shown, _) = lab.run(&["show", "all", "--json"]);
    let shown = serde_json::from_str(&shown).expect("JSON");
    assert!(tally(&shown, "awaiting-neighbour") > 0, "first packets wait: {shown}");
    for reason in ["unresolved", "pending-full", "nd-ignored", "unhandled"] {
        assert_eq!(tally(&shown, reason), 0, "{reason}: {shown}");
    }
}

#[test]
fn a_mobile_gateway_finds_a_base_station_and_next_hops_of_linux() {
    let Some(lab) = Lab::bare() else { return };
    let station = host(&lab, "s1", &["200.0.0.2/24"], &[]);
    let server = host(
        &lab,
        "core",
        &["192.0.2.9/24", "2001:db8:9::9/64"],
        &[
            "200.0.0.1 dev eth",
            "10.45.0.0/16 via 200.0.0.1",
            "2001:db8:45::/48 via fe80::ff:fe00:1 dev eth",
        ],
    );
    let text = "function:
  name: mobile-gateway
  ipv6: true
  gw-ip: 200.0.0.1
  gw-mac: \"02:00:00:00:00:01\"
  rate-limit: 10 Mbit/s
  base-stations: [{address: 200.0.0.2}]
  next-hops: [{address: 192.0.2.9}, {address: 2001:db8:9::9}]
  routes: [{prefix: 0.0.0.0/0, next-hop: 192.0.2.9}, {prefix: ::/0, next-hop: 2001:db8:9::9}]
  users: [{ipv4: 10.45.0.1, ipv6: 2001:db8:45::/64, teid: 77, base-station: 200.0.0.2}]
ports:
  access: {type: af-packet, interface: s1}
  core: {type: af-packet, interface: core}
workers: {idle: sleep}
";
    let _gateway = lab.start(&lab.write("gateway.yaml", text));

    let tunnels = socket(&station, (Ipv4Addr::new(200, 0, 0, 2), GTPU));
    let user = Ipv4Addr::new(10, 45, 0, 1);
    let user_ipv6 = Ipv6Addr::new(0x2001, 0xdb8, 0x45, 0, 0, 0, 0, 1);
    let (v4, v6) = (Ipv4Addr::new(192, 0, 2, 9), Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 9));
    for (uplink, server_address) in [
        (packet(user, v4, UDP, &datagram((40_000, 9), b"uplink")), IpAddr::V4(v4)),
        (packet_ipv6(user_ipv6, v6, 48 + 6), IpAddr::V6(v6)),
    ] {
        let service = socket(&server, (server_address, 9));
        tunnels.send_to(&g_pdu(77, &uplink), "200.0.0.1:2152").expect("it can be sent");
        let (heard, source) = hear(&service);
        assert_eq!(heard, uplink[uplink.len() - 6..], "what the user said");
        assert_eq!(source.port(), 40_000);
        // The gateway's question told its address; without it the host has to ask.
        server.ip("neigh flush dev eth").expect("a table of neighbours");
        service.send_to(b"downlink", source).expect("it can be sent");
        let (tunnelled, gateway) = hear(&tunnels);
        assert_eq!(gateway, "200.0.0.1:2152".parse().expect("an address"));
        assert_eq!(tunnelled[1..2], [255], "a G-PDU");
        assert_eq!(tunnelled[4..8], [0, 0, 0, 77], "the user's bearer");
        assert!(tunnelled.ends_with(b"downlink"), "{tunnelled:02x?}");
    }

    let (_, shown, _) = lab.run(&["show", "all", "--json"]);
    let shown = serde_json::from_str(&shown).expect("JSON");
    assert!(tally(&shown, "awaiting-neighbour") >= 3, "each first packet waits: {shown}");
    for answered in ["arp-answered", "nd-answered"] {
        assert!(tally(&shown, answered) > 0, "hosts ask for the gateway: {answered}: {shown}");
    }
    for reason in ["unresolved", "pending-full", "unhandled"] {
        assert_eq!(tally(&shown, reason), 0, "{reason}: {shown}");
    }
}

#[test]
fn each_of_two_workers_of_a_mobile_gateway_finds_its_neighbours_of_linux() {
    let Some(lab) = Lab::bare() else { return };
    let cores = machine::cpu::available_cores();
    let [first, .., last] = cores.as_slice() else {
        println!("skipped: two workers need two cores");
        return;
    };
    let station = host(&lab, "s1", &["200.0.0.2/24"], &[]);
    let servers = [Ipv4Addr::new(192, 0, 2, 9), Ipv4Addr::new(198, 51, 100, 9)];
    let server = host(
        &lab,
        "core",
        &["192.0.2.9/24", "198.51.100.9/32", "2001:db8:9::9/64"],
        &["200.0.0.1 dev eth", "10.45.0.0/16 via 200.0.0.1"],
    );
    let users: Vec<u8> = (1..=8).collect();
    let listed: Vec<String> = users
        .iter()
        .map(|user| format!("{{ipv4: 10.45.0.{user}, teid: {user}, base-station: 200.0.0.2}}"))
        .collect();
    let listed = listed.join(", ");
    let text = format!(
        "function:
  name: mobile-gateway
  core: 2
  secret: 7
  gw-ip: 200.0.0.1
  gw-mac: \"02:00:00:00:00:01\"
  rate-limit: 10 Mbit/s
  base-stations: [{{address: 200.0.0.2}}]
  next-hops: [{{address: 192.0.2.9}}, {{address: 2001:db8:9::9}}]
  routes: [{{prefix: 192.0.2.0/24, next-hop: 192.0.2.9}},
    {{prefix: 198.51.100.0/24, next-hop: 2001:db8:9::9}}]
  users: [{listed}]
ports:
  access: {{type: af-packet, interface: s1}}
  core: {{type: af-packet, interface: core}}
workers: {{cores: [{first}, {last}], idle: sleep}}
"
    );
    let _gateway = lab.start(&lab.write("gateway.yaml", &text));

    let tunnels = socket(&station, (Ipv4Addr::new(200, 0, 0, 2), GTPU));
    let services = servers.map(|address| socket(&server, (address, 9)));
    for user in users {
        let own = Ipv4Addr::new(10, 45, 0, user);
        for (service, address) in services.iter().zip(servers) {
            let uplink = packet(own, address, UDP, &datagram((40_000, 9), b"uplink"));
            tunnels.send_to(&g_pdu(user, &uplink), "200.0.0.1:2152").expect("it can be sent");
            let (heard, source) = hear(service);
            assert_eq!((heard, source), (b"uplink".to_vec(), (own, 40_000).into()));
            service.send_to(b"downlink", source).expect("it can be sent");
            let (tunnelled, _) = hear(&tunnels);
            assert_eq!(tunnelled[4..8], [0, 0, 0, user], "the user's bearer");
            assert!(tunnelled.ends_with(b"downlink"), "{tunnelled:02x?}");
        }
    }

    let (_, shown, _) = lab.run(&["show", "tables", "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let by_worker = &shown["tables"]["users"]["used_by_worker"];
    let both = by_worker.as_array().expect("a list").iter().all(|count| count.as_u64() > Some(0));
    assert!(both, "each has users: {by_worker}");
    let (_, shown, _) = lab.run(&["show", "all", "--json"]);
    let shown = serde_json::from_str(&shown).expect("JSON");
    assert!(tally(&shown, "awaiting-neighbour") >= 6, "each worker asks for all three: {shown}");
    for reason in ["unresolved", "pending-full", "unhandled"] {
        assert_eq!(tally(&shown, reason), 0, "{reason}: {shown}");
    }
}

/// Returns a G-PDU for the bearer of this TEID without optional fields (TS 29.281 section 5.1).
fn g_pdu(teid: u8, packet: &[u8]) -> Vec<u8> {
    let len = (packet.len() as u16).to_be_bytes();
    [&[0x30, 255], &len[..], &[0, 0, 0, teid], packet].concat()
}

#[test]
fn a_nat_of_two_interfaces_on_each_side_finds_hosts_of_linux() {
    let Some(lab) = Lab::bare() else { return };
    let default = |of: &str| format!("default via {of}");
    let subscribers = ["100.64.0", "100.65.0"].map(|net| {
        let near = if net == "100.64.0" { "lan1" } else { "lan2" };
        host(&lab, near, &[&format!("{net}.2/24")], &[&default(&format!("{net}.1"))])
    });
    let pool = "198.18.0.0/24 via";
    let first = host(&lab, "wan1", &["192.0.2.9/24"], &[&format!("{pool} 192.0.2.1")]);
    let second = host(&lab, "wan2", &["192.0.3.9/24"], &[&format!("{pool} 192.0.3.1")]);
    let text = "function:
  name: cgnat
  sessions: 1000
  pools: [198.18.0.0/30]
  inside-ip: 100.64.0.1
  inside-next-hop: 100.64.0.2
  outside-ip: 192.0.2.1
  outside-next-hop: 192.0.2.9
  interfaces:
    - {port: lan2, side: inside, mac: '02:00:00:00:00:02', ip: 100.65.0.1,
       next-hop: 100.65.0.2, networks: [100.65.0.0/24]}
    - {port: wan2, side: outside, ip: 192.0.3.1, next-hop: 192.0.3.9,
       networks: [192.0.3.0/24]}
ports:
  inside: {type: af-packet, interface: lan1}
  outside: {type: af-packet, interface: wan1}
  lan2: {type: af-packet, interface: lan2}
  wan2: {type: af-packet, interface: wan2}
workers: {idle: sleep}
";
    let _nat = lab.start(&lab.write("nat.yaml", text));

    let servers = [(&first, [192, 0, 2, 9]), (&second, [192, 0, 3, 9])];
    for (number, subscriber) in subscribers.iter().enumerate() {
        let own = Ipv4Addr::new(100, 64 + number as u8, 0, 2);
        let client = socket(subscriber, (own, PORT));
        let mut seen = Vec::new();
        for (server, address) in servers {
            let service = socket(server, (Ipv4Addr::from(address), 9));
            let said = format!("{own} to {address:?}");
            let to = (Ipv4Addr::from(address), 9);
            client.send_to(said.as_bytes(), to).expect("it can be sent");
            let (heard, source) = hear(&service);
            assert_eq!(heard, said.into_bytes());
            service.send_to(b"heard", source).expect("it can be sent");
            assert_eq!(hear(&client), (b"heard".to_vec(), to.into()));
            seen.push(source);
        }
        // RFC 4787 REQ-1: one mapping, whichever way packets leave.
        assert!(
            seen[0] == seen[1] && seen[0].ip().to_string().starts_with("198.18.0."),
            "{seen:?}"
        );
    }
    let (_, shown, _) = lab.run(&["show", "all", "--json"]);
    let shown = serde_json::from_str(&shown).expect("JSON");
    for reason in ["unresolved", "pending-full", "unknown-vlan", "unhandled"] {
        assert_eq!(tally(&shown, reason), 0, "{reason}: {shown}");
    }
}
