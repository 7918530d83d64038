//! Rules of a NAT that come and go with its file while it runs, on two workers: packets take the
//! new rule at once, whichever worker has the subscriber, and others' sessions stay.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::kit::until_or;
use crate::nat_network::{Network, SERVER, tally};

/// Subscribers, of which those of both workers have rules.
const CLIENTS: u8 = 8;

#[test]
fn a_reload_changes_rules_and_packets_take_them() {
    let clients: Vec<String> = (2..2 + CLIENTS).map(|host| format!("100.64.0.{host}")).collect();
    let names: Vec<&str> = clients.iter().map(String::as_str).collect();
    let Some(network) = Network::new(&[], &names) else { return };
    let cores = machine::cpu::available_cores();
    let [first, .., last] = cores.as_slice() else {
        println!("skipped: two workers need two cores");
        return;
    };
    network.internet.ip("route add 203.0.113.0/24 via 192.0.2.1").expect("a route");
    let workers = format!("cores: [{first}, {last}], idle: sleep");
    let keys = "core: 2\n  steering-key: 1";
    let _nat = network.nat_of_workers(("nat", "192.0.2.1"), keys, &workers);
    let before = network.lab.folder.path().join("nat.yaml");
    let before = std::fs::read_to_string(before).expect("it was written");

    let server = network.internet.run(|| bound((SERVER, 53).into())).expect("the namespace");
    let sockets: Vec<UdpSocket> = clients
        .iter()
        .map(|client| {
            let own = SocketAddr::new(client.parse().expect("an address"), 5000);
            network.subscribers.run(|| bound(own)).expect("the namespace")
        })
        .collect();
    let outside = |socket: &UdpSocket| said(&network, socket, &server, (SERVER, 53).into());
    let ends: Vec<SocketAddr> = sockets.iter().map(&outside).collect();
    assert!(ends.iter().all(|end| end.ip().to_string().starts_with("198.18.0.")), "{ends:?}");

    // The first half gets addresses for itself, two more share one by forwarded ports.
    let rules = "core: 2\n  static: [{inside: 100.64.0.2/31, outside: 203.0.113.2/31}, \
                 {inside: 100.64.0.4/31, outside: 203.0.113.4/31}]\n  \
                 port-forwarding: [{outside: 203.0.113.80, hosts: [\
                 {inside: 100.64.0.6, forwards: [{first-port: 80, inside-port: 5000}]}, \
                 {inside: 100.64.0.7, forwards: [{first-port: 81, inside-port: 5000}]}]}]";
    reload(&network, &before.replace("core: 2", rules));
    let own = (2..6).map(|host| SocketAddr::from(([203, 0, 113, host], 5000)));
    let shared = [80, 81].map(|port| SocketAddr::from(([203, 0, 113, 80], port)));
    let expected: Vec<SocketAddr> = own.chain(shared).chain(ends[6..].iter().copied()).collect();
    // Strangers reach them before they have said anything.
    for (socket, to) in sockets.iter().zip(&expected[..6]) {
        assert_eq!(said(&network, &server, socket, *to), (SERVER, 53).into(), "{to}");
    }
    let now: Vec<SocketAddr> = sockets.iter().map(&outside).collect();
    assert_eq!(now, expected, "who has no rule keeps its end");
    let table = network.told(&["show", "table", "rules", "--json"]);
    assert_eq!(table.as_array().map(Vec::len), Some(4), "{table}");

    // An address moves from one subscriber to another one, by single changes and by a reload.
    let moved = rules
        .replace("inside: 100.64.0.2/31", "inside: 100.64.0.8/31")
        .replace("{inside: 100.64.0.6, forwards: [{first-port: 80, inside-port: 5000}]}, ", "");
    reload(&network, &before.replace("core: 2", &moved));
    for (socket, to) in [(6, expected[0]), (7, expected[1]), (5, expected[5])] {
        let from = said(&network, &server, &sockets[socket], to);
        assert_eq!(from, (SERVER, 53).into(), "{to}");
    }
    let ends: Vec<SocketAddr> = [0, 1, 4].map(|at| outside(&sockets[at])).to_vec();
    assert!(ends.iter().all(|end| end.ip().to_string().starts_with("198.18.0.")), "{ends:?}");

    let taken = ["set", "add-static", "inside=100.64.0.6/32", "outside=203.0.113.4/32"];
    let (code, _, told) = network.lab.run(&taken);
    assert!(code != 0 && told.contains("no other rule"), "{told}");
    let (code, _, told) =
        network.lab.run(&["set", "remove-port-forwarding", "outside=203.0.113.80"]);
    assert_eq!(code, 0, "{told}");
    let end = outside(&sockets[5]);
    assert!(end.ip().to_string().starts_with("198.18.0."), "{end}");
    let shown = network.told(&["show", "all", "--json"]);
    assert_eq!(tally(&shown["drops"]["function"], "other-worker"), 0, "{shown}");
}

/// Writes another file and has it read.
fn reload(network: &Network, text: &str) {
    network.write("nat.yaml", text.as_bytes());
    let (code, _, told) = network.lab.run(&["set", "reload"]);
    assert_eq!(code, 0, "{told}");
}

fn bound(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(address).expect("its address is there");
    socket.set_nonblocking(true).expect("a socket");
    socket
}

/// A datagram from one to another, sent once more as long as it does not come, because neighbours
/// have to be found first: from where it came. Earlier ones that come late are passed over.
fn said(network: &Network, from: &UdpSocket, to: &UdpSocket, address: SocketAddr) -> SocketAddr {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let this = LAST.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let heard = || {
        let mut bytes = [0; 16];
        while let Ok((len, sender)) = to.recv_from(&mut bytes) {
            if bytes[..len] == this {
                return Some(sender);
            }
        }
        from.send_to(&this, address).expect("it can be sent");
        None
    };
    let why = || format!("at {address}: {}", network.told(&["show", "all", "--json"]));
    until_or("a datagram to arrive", heard, why)
}
