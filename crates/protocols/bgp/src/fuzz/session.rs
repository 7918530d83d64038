//! A speaker whose driver does what bytes describe, and looks at what it wants.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol_kit::{
    Arrival, Departure, Input, Machine, Opening, Output, STREAM_ROOM, Socket, Time,
};

use crate::config::{Config, Restart};
use crate::framing::Framing;
use crate::message::{EXTENDED_LEN_MAX, write_keepalive};
use crate::speaker::{Command, Report, Speaker};

/// A driver.
struct Driver {
    speaker: Speaker,
    now: Time,
    streams: BTreeMap<Socket, Stream>,
    /// The numbers of what is accepted.
    numbers: std::ops::Range<u32>,
    is_established: bool,
}

#[derive(Default)]
struct Stream {
    stands: bool,
    is_finished: bool,
    is_read: bool,
    on_way: usize,
    framing: Framing,
}

/// Drives a speaker by steps: a byte that says what happens, one that says how much, and bytes.
/// Returns how many sessions there were.
pub(super) fn drive(bytes: &[u8]) -> u64 {
    let offered = Config { restart: Some(Restart::default()), ..local() };
    let mut driver = Driver {
        speaker: Speaker::new(AT, vec![offered], 1),
        now: Time::ZERO,
        streams: BTreeMap::new(),
        numbers: 0..0,
        is_established: false,
    };
    driver.settle();
    let mut rest = bytes;
    while let Some(([what, count], behind)) = rest.split_first_chunk() {
        let len = if what % 8 == 0 { usize::from(*count) } else { 0 };
        let (piece, behind) = behind.split_at(behind.len().min(len));
        rest = behind;
        driver.step(*what, *count, piece);
        // Several things may have happened before a driver polls.
        if *what < 0x80 {
            driver.settle();
        }
    }
    driver.settle();
    driver.speaker.peer(0).counters().established
}

impl Driver {
    fn step(&mut self, what: u8, count: u8, piece: &[u8]) {
        let at = usize::from(what / 8) % self.streams.len().max(1);
        let chosen = self.streams.iter().nth(at).map(|(socket, _)| *socket);
        match (what % 8, chosen) {
            (0, Some(socket)) => {
                let stream = &self.streams[&socket];
                if stream.stands && stream.is_read && !piece.is_empty() {
                    self.arrive(Arrival::Bytes { socket, bytes: piece });
                }
            }
            (1, Some(socket)) if !self.streams[&socket].stands => {
                self.stream(socket).stands = true;
                self.arrive(Arrival::Connected { socket, local: None, peer: None });
            }
            (1 | 2, _) => self.accept(),
            (3, Some(socket)) if self.streams[&socket].stands => {
                self.arrive(Arrival::Finished { socket });
            }
            (4, Some(socket)) => {
                self.streams.remove(&socket);
                self.arrive(Arrival::Failed { socket });
            }
            (5, Some(socket)) => {
                let count = self.stream(socket).on_way.min(usize::from(count) * 16);
                self.stream(socket).on_way -= count;
                self.arrive(Arrival::Taken { socket, count });
            }
            (6, _) => self.now = self.now.after(Duration::from_secs(count.into())),
            (7, _) => {
                let command = match what / 8 % 4 {
                    0 => Command::Start(0),
                    1 => Command::Stop(0, "enough".to_owned()),
                    2 => Command::Reset(0, String::new()),
                    _ => {
                        let mut messages = Vec::new();
                        (0..count).for_each(|_| write_keepalive(&mut messages));
                        Command::Send(0, messages)
                    }
                };
                self.speaker.input(self.now, Input::Command(command));
            }
            _ => {}
        }
    }

    fn accept(&mut self) {
        let mut numbers = self.numbers.clone();
        let free = numbers.find(|number| !self.streams.contains_key(&Socket(*number)));
        if let Some(socket) = free.map(Socket) {
            self.streams
                .insert(socket, Stream { stands: true, is_read: true, ..Stream::default() });
            let peer = Some(SocketAddr::new(local().peer, 50_000));
            self.arrive(Arrival::Connected { socket, local: Some(AT), peer });
        }
    }

    fn stream(&mut self, socket: Socket) -> &mut Stream {
        self.streams.get_mut(&socket).expect("an open stream")
    }

    fn arrive(&mut self, arrival: Arrival<'_>) {
        self.speaker.input(self.now, Input::Arrival(arrival));
    }

    fn settle(&mut self) {
        for _ in 0..OUTPUTS_MAX {
            match self.speaker.poll(self.now) {
                None => {
                    let deadline = self.speaker.deadline();
                    assert!(deadline.is_none_or(|deadline| deadline > self.now), "it has rested");
                    return;
                }
                Some(Output::Departure(departure)) => self.depart(departure),
                Some(Output::Report(report)) => self.hear(&report),
            }
        }
        panic!("that many outputs");
    }

    fn depart(&mut self, departure: Departure) {
        match departure {
            Departure::Open { opening: Opening::Listener { streams, .. }, .. } => {
                self.numbers = streams;
            }
            Departure::Open { socket, .. } => {
                let stream = Stream { is_read: true, ..Stream::default() };
                assert!(self.streams.insert(socket, stream).is_none(), "it is open already");
            }
            Departure::Close { socket } => {
                assert!(self.streams.remove(&socket).is_some(), "it is not open");
            }
            Departure::Bytes { socket, bytes } => {
                let stream = self.stream(socket);
                assert!(stream.stands && !stream.is_finished && !bytes.is_empty());
                stream.on_way += bytes.len();
                assert!(stream.on_way <= STREAM_ROOM);
                let mut rest = &bytes[..];
                let mut next =
                    || stream.framing.next(&mut rest, EXTENDED_LEN_MAX).map(|one| one.is_some());
                while next().expect("messages") {}
            }
            Departure::Finish { socket } => {
                let stream = self.stream(socket);
                assert!(stream.stands && !std::mem::replace(&mut stream.is_finished, true));
            }
            Departure::Read { socket, is_wanted } => self.stream(socket).is_read = is_wanted,
            other => panic!("{other:?}"),
        }
    }

    fn hear(&mut self, report: &Report) {
        match report {
            Report::Established(..) => {
                assert!(!std::mem::replace(&mut self.is_established, true), "one at a time");
            }
            Report::Down { why, .. } => {
                assert!(!why.to_string().is_empty());
                assert!(std::mem::replace(&mut self.is_established, false), "one that stood");
            }
            Report::Refresh(..) | Report::Update(..) => assert!(self.is_established),
        }
    }
}

/// Sessions: one that connects and one that is accepted, both at once, with everything that may
/// happen then.
pub(super) fn examples() -> Vec<Vec<u8>> {
    let (mut open, mut keepalive) = (Vec::new(), Vec::new());
    config().open().write(&mut open);
    write_keepalive(&mut keepalive);
    let feed = |stream: u8, bytes: &[u8]| [&[stream * 8, bytes.len() as u8], bytes].concat();
    let opening = |stream: u8| [feed(stream, &open), feed(stream, &keepalive)].concat();
    let connected = [1, 0];
    let accepted = [2, 0];
    let update = [&keepalive[..16], &[0, 23, 2, 0, 0, 0, 0]].concat();
    let all: [&[&[u8]]; 6] = [
        &[&connected, &opening(0), &feed(0, &update), &[6, 20], &[5, 9], &[6, 80]],
        &[&accepted, &opening(1), &[15, 0], &[11, 0], &[7, 0], &[6, 9]],
        &[&connected, &accepted, &opening(0), &opening(1), &[3, 0], &[4, 0]],
        &[&connected, &accepted, &feed(0, &open), &feed(1, &open), &feed(1, &keepalive)],
        &[&connected, &opening(0), &accepted, &opening(1), &feed(1, &update)],
        &[&connected, &opening(0), &[31, 200], &[31, 250], &[23, 0], &[6, 255], &[6, 255]],
    ];
    all.iter().map(|steps| [&[2][..], &steps.concat()].concat()).collect()
}

/// What the other side says first.
pub(super) fn config() -> Config {
    let local = local();
    let restart = Some(Restart { families: local.families, ..Restart::default() });
    Config { restart, ..Config::new(local.peer_as, local.identifier + 1, AT.ip(), local.local_as) }
}

/// What is configured of the peer.
fn local() -> Config {
    Config::new(65_001, 0x0a00_0001, Ipv4Addr::new(192, 0, 2, 2).into(), 65_002)
}

/// Where the speaker listens.
const AT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 179);

/// More outputs than one step may have.
const OUTPUTS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_have_sessions() {
        let sessions: Vec<u64> = examples().iter().map(|example| drive(&example[1..])).collect();
        assert_eq!(sessions, [1, 1, 1, 1, 2, 1]);
    }
}
