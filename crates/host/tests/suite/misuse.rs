//! What a machine does wrong harms it alone, and is counted.

use std::time::Duration;

use host::Host;
use protocol_kit::{
    Departure, Endpoint, Input, Machine, Opening, Output, Several, Socket, StreamOptions, Time,
};
use simulation::{Probe, Seen};

use crate::probe::{turn, turn_until};

const SOCKET: Socket = Socket(1);

fn datagrams() -> Opening {
    Opening::Datagrams { local: "127.0.0.1:0".parse().expect("an address"), interface: None }
}

#[test]
fn what_is_wanted_of_sockets_that_are_not_there_is_counted() {
    let mut host = Host::new(Probe::default()).expect("a host");
    let socket = SOCKET;
    host.command(Departure::Open { socket, opening: datagrams() });
    host.command(Departure::Open { socket, opening: datagrams() });
    assert_eq!(turn(&mut host), []);
    assert_eq!(host.counters().opened_twice, 1);
    let (nowhere, bytes) = (Socket(2), b"x".to_vec());
    let ip = "127.0.0.1".parse().expect("an address");
    for socket in [nowhere, SOCKET] {
        let (interface, bytes) = (None, bytes.clone());
        host.command(Departure::Packet { socket, interface, from: ip, to: ip, ttl: 1, bytes });
        host.command(Departure::Frame { socket, bytes: vec![0; 60] });
        host.command(Departure::Bytes { socket, bytes: vec![1].into() });
        host.command(Departure::Finish { socket });
        host.command(Departure::Read { socket, is_wanted: false });
    }
    host.command(Departure::Close { socket: nowhere });
    assert_eq!(turn(&mut host), []);
    let counters = host.counters();
    assert_eq!((counters.misdirected, counters.sent, counters.unsent), (11, 0, 0));
    // A stream that does not stand yet carries nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let to = Endpoint::Tcp(listener.local_addr().expect("an address"));
    let (socket, options) = (Socket(3), StreamOptions::default());
    let opening = Opening::Stream { from: None, to, options };
    host.command(Departure::Open { socket, opening });
    host.command(Departure::Bytes { socket, bytes: bytes.into() });
    host.command(Departure::Finish { socket });
    turn_until(&mut host, "the stream", |seen| match seen {
        Seen::Connected { socket: Socket(3), .. } => Some(()),
        _ => None,
    });
    assert_eq!(host.counters().misdirected, 13);
    host.command(Departure::Bytes { socket, bytes: vec![1].into() });
    assert_eq!(turn(&mut host), [Seen::Taken { socket, count: 1 }]);
}

/// A machine that always wants to say something.
struct Restless(u64);

impl Machine for Restless {
    type Command = Departure;
    type Report = Seen;

    fn input(&mut self, _: Time, _: Input<'_, Departure>) {}

    fn poll(&mut self, _: Time) -> Option<Output<Seen>> {
        self.0 += 1;
        Some(Output::Report(Seen::Failed { socket: Socket(77) }))
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

#[test]
fn a_machine_that_never_rests_does_not_keep_others_from_their_work() {
    let machines: Vec<protocol_kit::several::AnyMachine<Departure, Seen>> =
        vec![Box::new(Restless(0)), Box::new(Probe::default())];
    let mut host = Host::new(Several::new(machines)).expect("a host");
    let socket = SOCKET;
    host.command((1, Departure::Open { socket, opening: datagrams() }));
    let at = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener").local_addr();
    let at = at.expect("an address");
    let (options, streams) = (StreamOptions::default(), 5..6);
    let opening = Opening::Listener { at: Endpoint::Tcp(at), options, streams };
    host.command((1, Departure::Open { socket: Socket(2), opening }));
    let others = |host: &mut Host<Several<Departure, Seen>>| {
        let mut seen = host.turn(Duration::from_secs(60)).expect("it turns");
        seen.retain(|(place, seen)| *place == 1 && !matches!(seen, Seen::Link { .. }));
        seen
    };
    others(&mut host);
    let _client = std::net::TcpStream::connect(at).expect("it is connected");
    // Each turn ends although the patience is long.
    let stream = crate::frr::until("the stream", || {
        others(&mut host).into_iter().find_map(|(_, seen)| match seen {
            Seen::Connected { socket, .. } => Some(socket),
            _ => None,
        })
    });
    assert_eq!(stream, Socket(5));
    assert!(host.counters().restless >= 2);
}
