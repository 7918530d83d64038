//! Connections of hosts that leave cutting and checksums to their network cards, as all do that are
//! behind a veth: containers, virtual machines. What arrives is what was sent, whatever either end
//! leaves to its card and however long its packets may be.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::{Hosts, PATIENCE};
use crate::kit::Child;

const LEFT: [&str; 2] = ["10.0.0.1/24", "3fff:0:0:1::1/64"];

const SWITCH: &str = "\
function: {name: l2-switch}
ports:
  downlink: {type: af-packet, interface: a0}
  uplink: {type: af-packet, interface: b0}
workers: {idle: sleep, frame-bytes-max: 9018}
";

/// A router between two links, of which the second has an MTU.
fn router(right_mtu: u16) -> String {
    format!(
        "\
function:
  name: l3-router
  ipv6: true
  icmp-errors-per-s: 100
  resolve: true
  downlink-ip: 10.0.0.254/24
  uplink-ip: 10.0.1.254/24
  downlink-ipv6: \"3fff:0:0:1::fe/64\"
  uplink-ipv6: \"3fff:0:0:2::fe/64\"
  interfaces: [{{port: uplink, mtu: {right_mtu}}}]
ports:
  downlink: {{type: af-packet, interface: a0}}
  uplink: {{type: af-packet, interface: b0}}
workers: {{idle: sleep, frame-bytes-max: 9018}}
"
    )
}

const NAT: &str = "\
function:
  name: cgnat
  inside-ip: 10.0.0.254
  inside-ip-len: 24
  outside-ip: 10.0.1.254
  outside-ip-len: 24
  inside-next-hop: 10.0.0.1
  outside-next-hop: 10.0.1.1
  inside: [10.0.0.0/24]
  pools: [10.0.1.200/32]
  core: 1
ports:
  inside: {type: af-packet, interface: a0}
  outside: {type: af-packet, interface: b0}
workers: {idle: sleep, frame-bytes-max: 9018}
";

/// Both hosts on their own links, each with a way by the daemon's address 254.
fn routed() -> Option<Hosts> {
    let hosts = Hosts::new(&["ethtool"], &LEFT, &["10.0.1.1/24", "3fff:0:0:2::1/64"])?;
    for (host, number) in [(&hosts.left, 0), (&hosts.right, 1)] {
        host.ip(&format!("route add default via 10.0.{number}.254")).expect("a route");
        let via = format!("3fff:0:0:{}::fe", number + 1);
        host.ip(&format!("-6 route add default via {via}")).expect("a route");
    }
    Some(hosts)
}

/// What the ends of links differ in.
#[derive(Clone, Copy, Debug)]
struct Way {
    mtus: [u16; 2],
    /// Whether the left host leaves anything to its card.
    offloads: bool,
}

const USUAL: Way = Way { mtus: [1500, 1500], offloads: true };

fn set(hosts: &Hosts, way: Way) {
    for (near, host, mtu) in [("a0", &hosts.left, way.mtus[0]), ("b0", &hosts.right, way.mtus[1])] {
        host.ip(&format!("link set eth mtu {mtu}")).expect("an MTU");
        hosts.lab.namespace.ip(&format!("link set {near} mtu {mtu}")).expect("an MTU");
    }
    let state = if way.offloads { "on" } else { "off" };
    let features = ["-K", "eth", "tx", state, "tso", state, "gso", state];
    hosts.left.command("ethtool", &features, None).expect("they are veth's");
}

/// Sends bytes by a connection from the left host to the right one, and others back.
fn exchange(hosts: &Hosts, address: &str, len: usize) {
    let bytes: Vec<u8> = (0..len as u32).map(|at| (at.wrapping_mul(at) >> 9) as u8).collect();
    let listen = || TcpListener::bind((address, 0));
    let listener = hosts.right.run(listen).expect("runs").expect("it is its address");
    let to = listener.local_addr().expect("it has one");
    let start = Instant::now();
    thread::scope(|scope| {
        let answers = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("an option");
            let mut got = Vec::new();
            stream.read_to_end(&mut got).expect("all of it");
            stream.write_all(&got).expect("the way back");
            got
        });
        let connect = || TcpStream::connect_timeout(&to, PATIENCE);
        let mut stream = hosts.left.run(connect).expect("runs").expect("it is reached");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        stream.write_all(&bytes).expect("it is taken");
        stream.shutdown(Shutdown::Write).expect("all was sent");
        let mut back = Vec::new();
        stream.read_to_end(&mut back).expect("all of it");
        assert!(answers.join().expect("no panic") == bytes, "{address}: others arrived");
        assert!(back == bytes, "{address}: others came back");
    });
    println!("{address}: {len} bytes each way in {} ms", start.elapsed().as_millis());
}

/// Waits until the daemon forwards.
fn wait_for(hosts: &Hosts, _daemon: &Child, address: &str) {
    let start = Instant::now();
    while hosts.left.command("ping", &["-c", "1", "-W", "1", address], None).is_err() {
        assert!(start.elapsed() < Duration::from_secs(30), "{address} is not reached");
    }
}

const LEN: usize = 2_000_000;

#[test]
fn a_switch_carries_connections_of_hosts_as_they_come() {
    let right = ["10.0.0.2/24", "3fff:0:0:1::2/64"];
    let Some(hosts) = Hosts::new(&["ping", "ethtool"], &LEFT, &right) else { return };
    set(&hosts, USUAL);
    let switch = hosts.start(SWITCH);
    wait_for(&hosts, &switch, "10.0.0.2");
    exchange(&hosts, "10.0.0.2", LEN);
    exchange(&hosts, "3fff:0:0:1::2", LEN);
    set(&hosts, Way { offloads: false, ..USUAL });
    exchange(&hosts, "10.0.0.2", LEN);
}

#[test]
fn a_router_carries_connections_of_hosts_as_they_come() {
    let Some(hosts) = routed() else { return };
    set(&hosts, USUAL);
    let router = hosts.start(&router(1500));
    wait_for(&hosts, &router, "10.0.1.1");
    for (way, address) in [
        (USUAL, "10.0.1.1"),
        (USUAL, "3fff:0:0:2::1"),
        (Way { offloads: false, ..USUAL }, "10.0.1.1"),
        (Way { mtus: [9000, 1500], ..USUAL }, "10.0.1.1"),
        (Way { mtus: [9000, 1500], ..USUAL }, "3fff:0:0:2::1"),
    ] {
        set(&hosts, way);
        exchange(&hosts, address, LEN);
    }
}

#[test]
fn a_nat_carries_connections_of_hosts_as_they_come() {
    let Some(hosts) = routed() else { return };
    set(&hosts, USUAL);
    let nat = hosts.start(NAT);
    wait_for(&hosts, &nat, "10.0.1.1");
    for way in [USUAL, Way { offloads: false, ..USUAL }] {
        set(&hosts, way);
        exchange(&hosts, "10.0.1.1", LEN);
    }
}

#[test]
fn a_switch_past_the_kernel_completes_what_hosts_leave_to_their_cards() {
    let right = ["10.0.0.2/24", "3fff:0:0:1::2/64"];
    let Some(hosts) = Hosts::new(&["ping"], &LEFT, &right) else { return };
    let text = SWITCH.replace("af-packet", "af-xdp").replace(", frame-bytes-max: 9018", "");
    let switch = hosts.start(&text);
    wait_for(&hosts, &switch, "10.0.0.2");
    exchange(&hosts, "10.0.0.2", LEN);
    exchange(&hosts, "3fff:0:0:1::2", LEN);
}
