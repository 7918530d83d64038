//! What an observer sees of a host: a connection of the Forwarding Plane Manager, as a trace and
//! among the neighbours.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use host::{Host, Observer, Record};
use protocol_fpm::{Config, Fpm};
use protocol_kit::Endpoint;
use wire::{ipv4, tcp};

/// A frame with a message of netlink that says nothing.
const NOTHING: [u8; 20] = [1, 1, 0, 20, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn turn_until(host: &mut Host<Fpm>, what: &str, is_so: impl Fn(&Host<Fpm>) -> bool) {
    for _ in 0..5000 {
        if is_so(host) {
            return;
        }
        host.turn(Duration::from_millis(2)).expect("it waits");
    }
    panic!("waited in vain for {what}");
}

/// Ports, sequence number and bytes of a segment.
fn segment(record: &Record) -> ([u16; 2], u32, Vec<u8>) {
    let packet = ipv4::View::parse(&record.frame[14..]).expect("a packet");
    let segment = tcp::View::parse(packet.payload()).expect("a segment");
    assert!(segment.verify_ipv4(packet.source(), packet.destination()).is_ok());
    let ports = [segment.source_port(), segment.destination_port()];
    (ports, segment.sequence(), segment.payload().to_vec())
}

#[test]
fn a_connection_is_traced_and_shown() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr());
    let at: SocketAddr = free.expect("a free port");
    let config = Config { at: Endpoint::Tcp(at), routes_max: 16, ..Config::default() };
    let observer = Arc::<Observer>::default();
    let machine = Fpm::new(config, 1).expect("memory");
    let mut host = Host::new(machine).expect("files").seen_by(&observer, "routes");
    turn_until(&mut host, "the listener", |_| observer.protocols().contains("fpm"));
    assert_eq!(observer.neighbours()[0].state, "awaited");

    let mut zebra = TcpStream::connect(at).expect("it listens");
    turn_until(&mut host, "the connection", |host| host.machine().is_connected());
    // Nothing is kept before somebody wants it.
    zebra.write_all(&NOTHING).expect("it reads");
    turn_until(&mut host, "bytes", |host| host.counters().bytes_received == 20);
    assert!(observer.trace().take(usize::MAX).is_empty());
    assert!(observer.trace().begin("fpm"));
    for count in 2..=3 {
        zebra.write_all(&NOTHING).expect("it reads");
        turn_until(&mut host, "bytes", |host| host.counters().bytes_received == 20 * count);
    }
    // A second connection makes the host find out whether the first one lives: it sends.
    let _second = TcpStream::connect(at).expect("it listens");
    turn_until(&mut host, "a probe", |host| host.counters().bytes_sent == 20);
    let records = observer.trace().take(usize::MAX);
    let heard: Vec<bool> = records.iter().map(|record| record.is_heard).collect();
    assert_eq!(heard, [true, true, false]);
    let own = zebra.local_addr().expect("an address").port();
    let expected = [([own, at.port()], 0), ([own, at.port()], 20), ([at.port(), own], 0)];
    for (record, (ports, sequence)) in records.iter().zip(expected) {
        assert_eq!(segment(record), (ports, sequence, NOTHING.to_vec()));
    }
    assert_eq!(observer.trace().counts(), [3, 0]);
    assert!(observer.trace().end());
    zebra.write_all(&NOTHING).expect("it reads");
    turn_until(&mut host, "bytes", |host| host.counters().bytes_received == 80);
    assert!(observer.trace().take(usize::MAX).is_empty());

    turn_until(&mut host, "news", |_| observer.neighbours()[0].state == "connected");
    let [timers] = &observer.timers()[..] else { panic!("there is one host") };
    assert_eq!((timers.name.as_str(), timers.streams), ("routes", 1));
    assert!(timers.turns > 0 && timers.sockets == 2, "{timers:?}");
    drop(host);
    assert!(observer.timers().is_empty(), "it has left");
}
