//! Subscribers of a NAT that has nothing but what they need, and hosts of the Internet.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use netns::Namespace;
use serde_json::Value;

use super::{Hosts, PATIENCE};
use crate::kit::again;

/// Who has this network alone says so in as many lines.
pub const SMALL: &str = "\
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

pub const SUBSCRIBER: &str = "192.168.1.2/24";
pub const SERVER: &str = "203.0.113.1/24";

/// - `cgnat`, RFC 3022 section 4.1: a subscriber reaches the Internet and is answered
#[test]
fn a_nat_has_the_subscribers_of_its_file_alone() {
    let Some(hosts) = Hosts::new(&["ping"], &[SUBSCRIBER], &[SERVER]) else { return };
    hosts.left.ip("route add default via 192.168.1.1").expect("a route");
    let _nat = hosts.start(SMALL);
    hosts.ping("203.0.113.1");
}

/// - `cgnat`, RFC 4787 REQ-1: a mapping is found by what far hosts see of it, and the NAT's own
///   services keep theirs
#[test]
fn subscribers_share_the_address_of_the_port_with_the_host() {
    let Some(hosts) = Hosts::new(&["ping"], &[SUBSCRIBER], &[SERVER]) else { return };
    hosts.left.ip("route add default via 192.168.1.1").expect("a route");
    let keys = "pools: [203.0.113.2/32]\n  outside-host-interface: h-out";
    let _nat = hosts.start(&SMALL.replace("pools: [203.0.113.8/29]", keys));
    let bind = |host: &Namespace, address: &str| {
        let socket = host.run(|| UdpSocket::bind(address)).expect("the namespace");
        let socket = socket.expect("its address is there");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        socket
    };
    let asks = |from: &UdpSocket, to: (&str, u16), whom: &UdpSocket| {
        from.send_to(b"question", to).expect("it leaves");
        let mut heard = [0; 8];
        let (_, source) = again(|| whom.recv_from(&mut heard)).expect("a question");
        assert_eq!(&heard, b"question");
        whom.send_to(b"answer", source).expect("it leaves");
        assert_eq!(again(|| from.recv(&mut heard)).expect("an answer"), 6);
        source.to_string()
    };
    let server = bind(&hosts.right, "203.0.113.1:53");
    hosts.ping("203.0.113.1");
    let client = bind(&hosts.left, "192.168.1.2:500");
    let seen = asks(&client, ("203.0.113.1", 53), &server);
    assert!(seen.starts_with("203.0.113.2:"), "{seen}");
    // Whose it is, asked by what the far host saw, by the far host and by a port that nobody has.
    let whose = |sought: &str| {
        let words = ["show", "table", "sessions", "--for", sought, "--json"];
        let (code, shown, told) = hosts.lab.run(&words);
        assert_eq!(code, 0, "{told}");
        let found: Vec<Value> = serde_json::from_str(&shown).expect("JSON");
        found.iter().map(|one| one["inside"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let all: [Vec<String>; 3] = [&seen, "203.0.113.1:53", "203.0.113.2:1"].map(whose);
    assert_eq!(
        all,
        [vec!["192.168.1.2:500".to_owned()], vec!["192.168.1.2:500".to_owned()], vec![]]
    );
    let (code, _, told) = hosts.lab.run(&["show", "table", "pools", "--for", "203.0.113.2"]);
    assert!(code != 0 && told.contains("not found by an address"), "{code} {told}");
    // Programs of the host have the same address.
    hosts.right.command("ping", &["-c", "1", "-W", "5", "203.0.113.2"], None).expect("an answer");
    let program = bind(&hosts.lab.namespace, "203.0.113.2:500");
    asks(&server, ("203.0.113.2", 500), &program);
    asks(&client, ("203.0.113.1", 53), &server);
}

/// - `cgnat`, RFC 9293 section 3.10.7.1: after a restart that forgets them, connections end at once
///   on both sides instead of waiting for answers that never come
#[test]
fn a_nat_that_has_forgotten_a_connection_says_so_to_both_ends() {
    let Some(hosts) = Hosts::new(&["ping"], &[SUBSCRIBER], &[SERVER]) else { return };
    hosts.left.ip("route add default via 192.168.1.1").expect("a route");
    let file = SMALL.replace("  pools:", "  tcp-resets: both\n  pools:");
    hosts.right.ip("route add 203.0.113.8/29 via 203.0.113.2").expect("a route");
    let listen = || TcpListener::bind("203.0.113.1:80");
    let listener = hosts.right.run(listen).expect("the namespace").expect("its address is there");
    for is_client in [true, false] {
        let nat = hosts.start(&file);
        let address = ([203, 0, 113, 1], 80).into();
        let connect = || TcpStream::connect_timeout(&address, PATIENCE);
        let client = hosts.left.run(connect).expect("the namespace").expect("a server");
        let (server, _) = listener.accept().expect("a client");
        for end in [&client, &server] {
            end.set_read_timeout(Some(PATIENCE)).expect("a socket");
        }
        // SIGKILL: it says goodbye to nobody.
        drop(nat);
        let _nat = hosts.start(&file);
        let mut end = if is_client { &client } else { &server };
        end.write_all(b"question").expect("it leaves");
        let refused = end.read(&mut [0; 8]).expect_err("there is no such connection any more");
        assert_eq!(refused.kind(), ErrorKind::ConnectionReset, "{is_client}: {refused}");
    }
}
