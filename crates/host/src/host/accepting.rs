//! Streams that others begin, and listeners that have to wait for room.

use std::io;
use std::time::Duration;

use nix::libc;
use protocol_kit::{Arrival, Machine, Socket, Time};

use super::Host;
use crate::error::SocketError;
use crate::socket::{Held, Kind};
use crate::stream::Stream;
use crate::tls::{Failure, TlsTrouble};

impl<M: Machine> Host<M> {
    /// Accepts streams of a listener.
    pub(super) fn accept(&mut self, number: Socket) {
        for _ in 0..ACCEPTS_MAX {
            let now = self.now();
            let free = self.free_number(number);
            let Some(listener) = self.find(number, Kind::listener) else { return };
            match free.map(|free| (free, listener.accept())) {
                None => return self.rest(number, None),
                Some((_, Ok(None))) => return,
                Some((socket, Ok(Some(accepted)))) => {
                    let (local, peer) = (accepted.local, accepted.peer);
                    let session = match listener.session() {
                        Ok(session) => session,
                        Err(source) => {
                            let what = format!("listener at {}", listener.at);
                            self.note_failure(SocketError { what, source });
                            continue;
                        }
                    };
                    let is_plain = session.is_none();
                    let stream = Stream::accepted(socket, accepted, session);
                    let kept = Held::new(Kind::Stream(Box::new(stream)));
                    match is_plain {
                        true => self.tell(now, Arrival::Connected { socket, local, peer }),
                        false => drop(self.greeting.insert(socket, now.after(GREETING_MAX))),
                    }
                    self.hold(socket, kept);
                    self.counters.accepted += 1;
                }
                Some((_, Err(error))) => {
                    self.counters.errors += 1;
                    if error.raw_os_error().is_some_and(|code| NO_ROOM.contains(&code)) {
                        return self.rest(number, Some(now.after(REST)));
                    }
                }
            }
        }
    }

    /// The lowest free number for a stream of a listener.
    pub(super) fn free_number(&mut self, number: Socket) -> Option<Socket> {
        let listener = self.find(number, Kind::listener)?;
        let mut numbers = listener.lowest..listener.streams.end;
        let free = numbers.find(|number| !self.sockets.contains_key(&Socket(*number)));
        let lowest = free.unwrap_or(numbers.end);
        self.find(number, Kind::listener)?.lowest = lowest;
        free.map(Socket)
    }

    /// Lets a listener accept nothing: until a time, or until one of its numbers is free.
    pub(super) fn rest(&mut self, number: Socket, until: Option<Time>) {
        self.set_rest(number, true);
        if let Some(until) = until {
            self.resting.insert(number, until);
        }
    }

    pub(super) fn set_rest(&mut self, number: Socket, rests: bool) {
        if let Some(held) = self.sockets.get_mut(&number) {
            if let Kind::Listener(listener) = &mut held.kind {
                listener.rests = rests;
            }
            let done = held.watch(number, &self.epoll);
            let now = self.now();
            self.go_on(number, done.map_err(io::Error::from), now);
        }
    }

    /// Ends accepted streams whose handshake takes too long: somebody else may wait for the number.
    pub(super) fn end_greetings(&mut self) {
        let now = self.now();
        while let Some((number, _)) = self.greeting.iter().find(|(_, until)| **until <= now) {
            let number = *number;
            self.go_on(number, Err(Failure::new(TlsTrouble::Slow).into()), now);
        }
    }

    /// Lets listeners try again whose rest is over.
    pub(super) fn wake_listeners(&mut self) {
        let now = self.now();
        while let Some((number, _)) = self.resting.iter().find(|(_, until)| **until <= now) {
            let number = *number;
            self.resting.remove(&number);
            self.set_rest(number, false);
        }
    }
}

/// Streams that a listener accepts in a turn.
const ACCEPTS_MAX: usize = 64;

/// The longest handshake of an accepted stream.
const GREETING_MAX: Duration = Duration::from_secs(5);

/// How long a listener rests when the kernel has no room for its streams.
const REST: Duration = Duration::from_millis(100);

/// What the kernel says when it has no room.
const NO_ROOM: [i32; 4] = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
