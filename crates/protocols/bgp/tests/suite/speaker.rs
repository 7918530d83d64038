//! The machine of several peers: its listener, whose a connection is, and what waits to be heard.

use std::net::{IpAddr, SocketAddr};

use protocol_bgp::config::Config;
use protocol_bgp::speaker::{Command, Report, Speaker};
use protocol_kit::{
    Arrival, Departure, Endpoint, Input, Machine, Opening, Output, Secret, Socket, StreamOptions,
    Time,
};

use crate::driven::{opening, seconds, update};

const AT: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), 179);

fn peer(number: u8) -> Config {
    let options = StreamOptions {
        ttl: Some(255),
        ttl_min: 250 + number,
        md5: vec![(address(number), Secret(vec![number]))],
        ..StreamOptions::default()
    };
    Config { is_passive: number == 2, options, ..Config::new(65_001, 1, address(number), 65_002) }
}

fn address(number: u8) -> IpAddr {
    [192, 0, 2, number].into()
}

/// What a peer says first.
fn remote() -> Vec<u8> {
    opening(&Config::new(65_002, 9, AT.ip(), 65_001))
}

struct Driven {
    speaker: Speaker,
    now: Time,
}

impl Driven {
    fn new() -> Driven {
        Driven { speaker: Speaker::new(AT, vec![peer(2), peer(3)], 1), now: Time::ZERO }
    }

    fn poll(&mut self) -> (Vec<Departure>, Vec<Report>) {
        let (mut departures, mut reports) = (Vec::new(), Vec::new());
        while let Some(output) = self.speaker.poll(self.now) {
            match output {
                Output::Departure(departure) => departures.push(departure),
                Output::Report(report) => reports.push(report),
            }
        }
        (departures, reports)
    }

    fn input(&mut self, arrival: Arrival<'_>) {
        self.speaker.input(self.now, Input::Arrival(arrival));
    }

    fn connect(&mut self, socket: u32, from: u8) {
        let peer = Some(SocketAddr::new(address(from), 50_000));
        self.input(Arrival::Connected { socket: Socket(socket), local: Some(AT), peer });
    }

    fn feed(&mut self, socket: u32, bytes: &[u8]) {
        self.input(Arrival::Bytes { socket: Socket(socket), bytes });
    }
}

#[test]
fn it_listens_and_connects_as_its_peers_want() {
    let mut driven = Driven::new();
    let (departures, _) = driven.poll();
    let [listener, stream] = &departures[..] else { panic!("{departures:?}") };
    // Peers of all are let in that are near enough for one of them, and have their keys.
    let options = StreamOptions {
        ttl: Some(255),
        ttl_min: 252,
        md5: vec![(address(2), Secret(vec![2])), (address(3), Secret(vec![3]))],
        ..StreamOptions::default()
    };
    let opening = Opening::Listener { at: Endpoint::Tcp(AT), options, streams: 3..12 };
    assert_eq!(*listener, Departure::Open { socket: Socket(0), opening });
    let Departure::Open { socket: Socket(2), opening: Opening::Stream { .. } } = stream else {
        panic!("{stream:?}")
    };
    // A listener that fails is opened again.
    driven.input(Arrival::Failed { socket: Socket(0) });
    assert_eq!(driven.poll().0, []);
    driven.now = driven.now.after(seconds(1));
    assert!(driven.speaker.deadline().is_some_and(|deadline| deadline <= driven.now));
    let (departures, _) = driven.poll();
    assert!(matches!(departures[..], [Departure::Open { socket: Socket(0), .. }]));
}

#[test]
fn a_connection_belongs_to_the_peer_of_its_address() {
    let mut driven = Driven::new();
    driven.poll();
    driven.connect(3, 3);
    driven.connect(4, 2);
    driven.connect(5, 9);
    let mapped: IpAddr = "::ffff:192.0.2.3".parse().unwrap();
    let peer = Some(SocketAddr::new(mapped, 50_000));
    driven.input(Arrival::Connected { socket: Socket(6), local: None, peer });
    let (departures, _) = driven.poll();
    let closed: Vec<_> = departures
        .iter()
        .filter_map(|departure| match departure {
            Departure::Close { socket } => Some(socket.0),
            _ => None,
        })
        .collect();
    // The stranger's, and the earlier one of a peer that has connected anew.
    assert_eq!(closed, [5, 3]);
    driven.feed(4, &remote());
    driven.feed(6, &remote());
    let (_, reports) = driven.poll();
    let peers: Vec<_> = reports
        .iter()
        .map(|report| match report {
            Report::Established(peer, _) => *peer,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(peers, [0, 1]);
    let shown: Vec<_> = driven
        .speaker
        .neighbours(driven.now)
        .into_iter()
        .map(|one| (one.address, one.state))
        .collect();
    let up = |address: &str| (address.to_owned(), "established".to_owned());
    assert_eq!(shown, [up("192.0.2.2"), up("192.0.2.3")]);
    assert!(driven.speaker.trace(Socket(4)).is_some());
    // Its number may be that of another one's later.
    driven.input(Arrival::Failed { socket: Socket(4) });
    let (_, reports) = driven.poll();
    assert!(matches!(reports[..], [Report::Down { peer: 0, .. }]));
    driven.connect(4, 9);
    assert!(driven.poll().0.contains(&Departure::Close { socket: Socket(4) }));
}

#[test]
fn operators_are_obeyed() {
    let mut driven = Driven::new();
    driven.poll();
    driven.connect(4, 2);
    driven.feed(4, &remote());
    driven.poll();
    let command = |driven: &mut Driven, command| {
        driven.speaker.input(driven.now, Input::Command(command));
        driven.poll()
    };
    let (departures, _) = command(&mut driven, Command::Send(0, update()));
    assert!(departures.contains(&Departure::Bytes { socket: Socket(4), bytes: update().into() }));
    // There is no session, no room, and no such peer.
    assert_eq!(command(&mut driven, Command::Send(1, update())).0, []);
    assert_eq!(command(&mut driven, Command::Send(0, vec![0; 300_000])).0, []);
    assert_eq!(command(&mut driven, Command::Reset(7, String::new())).0, []);
    let (_, reports) = command(&mut driven, Command::Stop(0, "why".into()));
    let [Report::Down { peer: 0, why, is_graceful: false }] = &reports[..] else { panic!() };
    assert_eq!(why.to_string(), "the peer was told: Cease, Administrative Shutdown: why");
    driven.connect(5, 2);
    assert!(driven.poll().0.contains(&Departure::Close { socket: Socket(5) }));
    command(&mut driven, Command::Start(0));
    driven.connect(6, 2);
    driven.feed(6, &remote());
    assert!(matches!(driven.poll().1[..], [Report::Established(0, _)]));
    let (_, reports) = command(&mut driven, Command::Reset(0, String::new()));
    assert!(matches!(reports[..], [Report::Down { peer: 0, .. }]));
}

#[test]
fn nothing_is_read_while_too_much_waits_to_be_heard() {
    let mut driven = Driven::new();
    driven.poll();
    driven.connect(4, 2);
    driven.feed(4, &remote());
    driven.poll();
    (0..5000).for_each(|_| driven.feed(4, &update()));
    let read = |is_wanted| Departure::Read { socket: Socket(4), is_wanted };
    // Departures come first.
    let first = std::iter::from_fn(|| driven.speaker.poll(driven.now)).next();
    assert_eq!(first, Some(Output::Departure(read(false))));
    assert_eq!(driven.speaker.deadline(), Some(Time::ZERO));
    let (departures, reports) = driven.poll();
    assert_eq!((departures, reports.len()), (vec![read(true)], 5000));
}

#[test]
fn a_connection_may_be_gone_before_anything_of_it_was_wanted() {
    let mut driven = Driven::new();
    driven.poll();
    // It is accepted and lost, and its number is that of another one, before anybody polls.
    driven.connect(4, 2);
    driven.input(Arrival::Failed { socket: Socket(4) });
    assert_eq!(driven.poll().0, [], "nothing is wanted of what is gone");
    driven.connect(4, 2);
    driven.feed(4, &remote());
    driven.input(Arrival::Failed { socket: Socket(4) });
    let (departures, reports) = driven.poll();
    assert_eq!((departures, reports.len()), (vec![], 2));
    // So is one that was to be closed.
    driven.connect(5, 9);
    driven.input(Arrival::Failed { socket: Socket(5) });
    assert_eq!(driven.poll().0, []);
}
