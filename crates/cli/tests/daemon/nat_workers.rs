//! A NAT of two workers as a daemon: by whichever worker's queue a packet comes, the one that has
//! its subscriber gets it.

use std::net::{SocketAddr, UdpSocket};

use serde_json::Value;

use crate::kit::until_or;
use crate::nat_network::{Network, SERVER, tally};

/// Subscribers, and sockets of each.
const CLIENTS: u8 = 8;
const SOCKETS: usize = 4;

#[test]
fn packets_find_the_worker_of_their_subscriber_by_any_queue() {
    let clients: Vec<String> = (2..2 + CLIENTS).map(|host| format!("100.64.0.{host}")).collect();
    let names: Vec<&str> = clients.iter().map(String::as_str).collect();
    let Some(network) = Network::new(&[], &names) else { return };
    let cores = machine::cpu::available_cores();
    let [first, .., last] = cores.as_slice() else {
        println!("skipped: two workers need two cores");
        return;
    };
    let workers = format!("cores: [{first}, {last}], idle: sleep");
    // A drawn key gives all of them to one worker in one of 128 runs.
    let keys = "core: 2\n  steering-key: 1";
    let _nat = network.nat_of_workers(("nat", "192.0.2.1"), keys, &workers);

    let server = network.internet.run(|| bound((SERVER, 53).into())).expect("the namespace");
    // Each with the end by which the server knows it.
    let mut known: Vec<(UdpSocket, SocketAddr)> = Vec::new();
    let mut words = 0..;
    let mut say = |from: &UdpSocket, to: &UdpSocket, address| {
        said(&network, words.next().expect("a number"), (from, to), address)
    };
    for client in &clients {
        for _ in 0..SOCKETS {
            let own = SocketAddr::new(client.parse().expect("an address"), 0);
            let socket = network.subscribers.run(|| bound(own)).expect("the namespace");
            let outside = say(&socket, &server, (SERVER, 53).into());
            assert!(outside.ip().to_string().starts_with("198.18.0."), "{outside}");
            assert_eq!(say(&server, &socket, outside), (SERVER, 53).into());
            known.push((socket, outside));
        }
    }
    // Each says something to the subscriber after it, by the end outside (RFC 4787 REQ-9).
    for (index, (socket, outside)) in known.iter().enumerate() {
        let (other, to) = &known[(index + SOCKETS) % known.len()];
        let heard_from = say(socket, other, *to);
        assert_eq!(heard_from, *outside, "a subscriber is known by its outside end");
    }

    let tables = network.told(&["show", "tables", "--json"]);
    let sessions = &tables["tables"]["sessions"]["used_by_worker"];
    let by_worker: Vec<u64> = sessions.as_array().expect("a list").iter().map(count).collect();
    assert!(by_worker.len() == 2 && by_worker.iter().all(|count| *count > 0), "{by_worker:?}");
    let shown = network.told(&["show", "all", "--json"]);
    assert_eq!(tally(&shown["drops"]["function"], "other-worker"), 0, "{shown}");
    assert!(
        tally(&shown, "handed-over") > 0,
        "some reach a subscriber of the other worker: {shown}"
    );
    let handed = ["inside", "outside"].map(|port| {
        let told = &shown["ports"][port]["facts"]["handed-to-other-workers"];
        told.as_str().and_then(|count| count.parse::<u64>().ok()).expect("it is told")
    });
    println!("sessions {by_worker:?}, handed from queue to queue {handed:?}");
    assert!(handed.iter().sum::<u64>() > 0, "the kernel knows nothing of subscribers: {shown}");
}

fn bound(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(address).expect("its address is there");
    socket.set_nonblocking(true).expect("a socket");
    socket
}

/// Says a word to an address, once more as long as it is not heard, for neighbours have to be found
/// first; returns from where it was heard. Words from before may still arrive.
fn said(
    network: &Network,
    word: u32,
    (from, to): (&UdpSocket, &UdpSocket),
    address: SocketAddr,
) -> SocketAddr {
    let word = word.to_be_bytes();
    let mut heard = [0; 4];
    let heard_in_time = || {
        while let Ok((bytes, by)) = to.recv_from(&mut heard) {
            if heard[..bytes] == word {
                return Some(by);
            }
        }
        from.send_to(&word, address).expect("it can be sent");
        None
    };
    let why = || format!("at {address}: {}", network.told(&["show", "all", "--json"]));
    until_or("a datagram to arrive", heard_in_time, why)
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}
