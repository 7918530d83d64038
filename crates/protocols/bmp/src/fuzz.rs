//! The body of the fuzz target: a session by events that bytes tell, and messages of any content.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol_bgp::families::FAMILIES;
use protocol_kit::{Bytes, Departure, Opening, STREAM_ROOM, Socket, StreamOptions, Time};

use crate::collector::{Collector, Config, Event};
use crate::message::{self, Down, Figure, PeerHeader, PeerKind, Up};

/// Drives a session by what bytes say. It panics when more departs than there is room for, when
/// bytes depart without a session, when a connection is opened twice or closed and not there, or
/// when the session does not come to rest.
pub fn fuzz(bytes: &[u8]) {
    let config = Config {
        to: SocketAddr::from((Ipv4Addr::LOCALHOST, 5000)),
        local: None,
        patience: Duration::from_secs(60),
        options: StreamOptions::default(),
    };
    let mut session = Collector::new(config, SOCKET, 1);
    let (mut world, mut now) = (World::default(), Time::ZERO);
    for step in bytes.chunks(2) {
        let (what, value) = (step[0], step.get(1).copied().unwrap_or(0));
        let event = match what % 8 {
            // What a driver does not tell of a connection that is not there.
            0 if world.is_open && !world.stands => {
                world.stands = true;
                session.connected(now)
            }
            1 if world.stands && world.waiting > 0 => {
                let count = world.waiting.min(1 + usize::from(value) * 1024);
                world.waiting -= count;
                session.taken(count, now);
                None
            }
            2 if world.is_open => {
                (world.is_open, world.stands, world.waiting) = (false, false, 0);
                session.failed(now)
            }
            3 if world.stands => session.finished(now),
            4 => {
                now = now.after(Duration::from_secs(value.into()));
                session.tick(now)
            }
            5 => session.tick(now),
            _ => {
                let len = session.room().min(usize::from(value) * 512);
                session.send(Bytes::from(vec![value; len]), now);
                None
            }
        };
        world.note(event);
        while let Some(departure) = session.poll() {
            world.take(&departure);
        }
        assert_eq!(session.is_up(), world.is_up);
        assert!(!session.neighbour(now).state.is_empty());
    }
    messages(bytes);
}

/// What a driver and whoever is told know.
#[derive(Default)]
struct World {
    is_open: bool,
    stands: bool,
    is_up: bool,
    waiting: usize,
}

impl World {
    fn note(&mut self, event: Option<Event>) {
        if let Some(event) = event {
            assert_ne!(self.is_up, event == Event::Up, "each session begins and ends once");
            self.is_up = event == Event::Up;
        }
    }

    fn take(&mut self, departure: &Departure) {
        match departure {
            Departure::Open { opening: Opening::Stream { .. }, .. } => {
                assert!(!self.is_open, "it is there");
                (self.is_open, self.stands, self.waiting) = (true, false, 0);
            }
            Departure::Close { .. } => {
                assert!(self.is_open, "it is not there");
                (self.is_open, self.stands, self.waiting) = (false, false, 0);
            }
            Departure::Bytes { bytes, .. } => {
                assert!(self.stands && !bytes.is_empty());
                self.waiting += bytes.len();
                assert!(self.waiting <= STREAM_ROOM, "more than there is room for");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Writes messages around bytes. It panics when their lengths do not lead from each to the next.
fn messages(bytes: &[u8]) {
    let address = bytes.len().is_multiple_of(2).then_some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let header = PeerHeader {
        kind: if address.is_some() { PeerKind::PostPolicy } else { PeerKind::LocRib },
        distinguisher: [0; 8],
        address,
        asn: 1,
        identifier: 2,
        micros: u64::MAX,
        is_narrow: bytes.len().is_multiple_of(3),
    };
    let text = String::from_utf8_lossy(bytes);
    let mut out = Vec::new();
    message::initiation(&text, "name", &mut out);
    let up = Up { local: address, ports: [1, 2], opens: [bytes, bytes], table: &text };
    message::peer_up(&header, &up, &mut out);
    message::route_monitoring(&header, bytes, &mut out);
    let figures = FAMILIES.iter().map(|row| Figure::LocRibOf(row.family, 1));
    message::statistics(&header, &figures.collect::<Vec<_>>(), &mut out);
    message::peer_down(&header, Down::RemoteNotification(bytes), &text, &mut out);
    message::peer_down(&header, Down::LocRib, &text, &mut out);
    message::termination(message::Termination::Resources, &mut out);
    let mut left = &out[..];
    while !left.is_empty() {
        let [version, a, b, c, d, kind, ..] = *left else { panic!("a header is whole") };
        assert!(version == 3 && kind <= 5);
        left = &left[u32::from_be_bytes([a, b, c, d]) as usize..];
    }
}

/// Sessions that stand, stall, and are lost.
pub fn examples() -> Vec<Vec<u8>> {
    vec![
        vec![5, 0, 0, 0, 6, 255, 6, 255, 1, 255, 6, 255, 4, 61, 4, 2, 0, 0, 6, 9, 2, 0],
        vec![5, 0, 0, 0, 6, 255, 3, 0, 4, 2, 4, 31, 4, 60, 5, 0, 2, 0],
        vec![5, 0, 2, 0, 4, 1, 5, 0, 0, 0, 7, 1, 1, 1],
    ]
}

const SOCKET: Socket = Socket(1);
