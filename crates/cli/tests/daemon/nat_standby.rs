//! Two NATs as daemons of their own on one segment: connections go on at the standby when the
//! active one is killed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use netns::Namespace;
use serde_json::{Value, json};

use crate::kit::until;
use crate::nat_network::{Network, PATIENCE, SERVER, tally};

/// The Ethernet addresses of the standby's ports, inside and outside.
const STANDBY: [&str; 2] = ["02:6e:61:74:00:11", "02:6e:61:74:00:12"];

/// What both know and nobody else does.
const KEY: &str = "of-these-two-nats-alone";

#[test]
fn a_connection_of_the_kernel_outlives_the_nat_that_opened_it() {
    let Some(network) = Network::new(&["ping"], &["100.64.0.2"]) else { return };
    let [inside, outside] = STANDBY;
    let standby = format!(
        "inside-mac: \"{inside}\"\n  outside-mac: \"{outside}\"\n  inside-ip: 100.127.255.253\n  \
         replication: {{role: standby, key: {KEY}}}"
    );
    let _standby = network.nat_beside("standby", "192.0.2.2", &standby);
    until("an alarm of a standby that is alone", || lost(&network, "standby")[0].then_some(()));
    let active = network.nat(&format!("replication: {{role: active, key: {KEY}}}"));

    let address: SocketAddr = (SERVER, 8080).into();
    let listener = network.internet.run(|| TcpListener::bind(address)).expect("the namespace");
    let listener = listener.expect("its address is there");
    let connect = || TcpStream::connect_timeout(&address, PATIENCE);
    let open = || {
        let client = network.subscribers.run(connect).expect("the namespace").expect("a server");
        let (server, from) = listener.accept().expect("a client");
        for end in [&client, &server] {
            end.set_read_timeout(Some(PATIENCE)).expect("a socket");
        }
        assert!(from.ip().to_string().starts_with("198.18.0."), "{from}");
        (client, server)
    };
    // Two that answer for an address of a pool draw packets to the wrong one by turns.
    network.internet.ip("route add 198.18.0.7/32 dev eth").expect("a route");
    let answered = |name| tally(&shown(&network, name), "arp-answered");
    let before = answered("standby");
    until("an answer for an address of the pool", || {
        let _ = network.internet.command("ping", &["-c", "1", "-W", "1", "198.18.0.7"], None);
        let known = network.internet.ip("neigh show 198.18.0.7 dev eth").expect("it tells");
        known.contains("02:6e:61:74:00:02").then_some(())
    });
    assert_eq!(answered("standby"), before, "a standby answers for none");

    let (client, server) = open();
    talk(&client, &server, b"through the active NAT");
    until("the standby to know what the active NAT knows", || {
        let shown = shown(&network, "nat");
        let told = tally(&shown, "replication-sent");
        // The session, and that its connection was answered.
        let is_told = told >= 1 && told == tally(&shown, "replication-acknowledged");
        let standby = tables(&network, "nat")["standby"].clone();
        let expected = json!({
            "role": "active",
            "peer": "127.0.0.1",
            "connected": true,
            "synchronised": true,
            "unacknowledged": 0,
        });
        (is_told && standby == expected).then_some(())
    });
    let standby = tables(&network, "standby")["standby"].clone();
    let told = ["role", "connected", "synchronised"].map(|key| standby[key].clone());
    assert_eq!(told, [json!("standby"), json!(true), json!(true)]);
    until("the standby to have found the active NAT", || {
        (lost(&network, "standby") == [false, true]).then_some(())
    });
    assert_eq!(opened(&network, "standby"), (0, 1));

    // SIGKILL: it says goodbye to nobody.
    drop(active);
    until("an alarm of the standby", || lost(&network, "standby")[0].then_some(()));
    let is_active = r#"{"set-active": {"active": true}}"#;
    let (code, _, told) = network.lab.run(&["set", is_active, "--name", "standby"]);
    assert_eq!(code, 0, "{told}");
    network.internet.ip("neigh flush dev eth").expect("it is there");
    until("the standby to answer for the pool", || {
        let _ = network.internet.command("ping", &["-c", "1", "-W", "1", "198.18.0.7"], None);
        let known = network.internet.ip("neigh show 198.18.0.7 dev eth").expect("it tells");
        known.contains(outside).then_some(())
    });
    move_to(&network.subscribers, "100.127.255.254", inside);
    move_to(&network.internet, "192.0.2.1", outside);
    talk(&client, &server, b"through the standby");
    assert_eq!(opened(&network, "standby"), (0, 1), "the connection is the one that was told");
    let (client, server) = open();
    talk(&client, &server, b"by a connection of its own");
    assert_eq!(opened(&network, "standby"), (1, 1));
}

/// Both ends say something and hear it.
fn talk(client: &TcpStream, server: &TcpStream, text: &[u8]) {
    for _ in 0..3 {
        for (mut from, mut to) in [(client, server), (server, client)] {
            from.write_all(text).expect("a connection");
            let mut heard = vec![0; text.len()];
            to.read_exact(&mut heard).expect("what was said");
            assert_eq!(heard, text);
        }
    }
}

/// What the network does on a fail-over: packets for an address go to another station.
fn move_to(namespace: &Namespace, address: &str, mac: &str) {
    let neighbour = format!("neigh replace {address} lladdr {mac} dev eth nud permanent");
    namespace.ip(&neighbour).expect("a neighbour");
}

/// How many sessions packets have opened there, and how many were told.
fn opened(network: &Network, name: &str) -> (u64, u64) {
    let shown = shown(network, name);
    (tally(&shown, "sessions-opened"), tally(&shown, "sessions-adopted"))
}

/// Whether there is an alarm there of the other NAT that is lost, and whether one is over.
fn lost(network: &Network, name: &str) -> [bool; 2] {
    let shown = network.told(&["show", "alarms", "--json", "--name", name]);
    let is_cause = |one: &Value| one["cause"] == "replication-lost";
    ["raised", "cleared"]
        .map(|key| shown["alarms"][key].as_array().into_iter().flatten().any(is_cause))
}

fn shown(network: &Network, name: &str) -> Value {
    network.told(&["show", "--json", "--name", name])
}

fn tables(network: &Network, name: &str) -> Value {
    network.told(&["show", "tables", "--json", "--name", name])
}
