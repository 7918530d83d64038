//! Streams that others begin, and listeners that have to wait for room.

use std::io;
use std::time::Duration;

use nix::libc;
use nix::sys::epoll::EpollFlags;
use protocol_kit::{Arrival, Machine, Socket, Time};

use super::Host;
use crate::error::SocketError;
use crate::greetings::Greeting;
use crate::socket::{Held, Kind};
use crate::stream::{Accepted, Stream};
use crate::tls::{FILES_AGE_MAX, Failure, Session, TlsTrouble};

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
                Some((socket, Ok(Some(accepted)))) => match listener.session(now) {
                    Ok(session) => {
                        self.counters.accepted += 1;
                        match session {
                            None => self.admit(socket, accepted, None),
                            Some(session) => {
                                let added = self.greetings.add(number, accepted, session, now);
                                let (greeting, oldest) = added;
                                oldest.into_iter().for_each(|oldest| self.end(oldest, too_slow()));
                                self.greet(greeting);
                            }
                        }
                    }
                    Err(source) => {
                        let what = format!("listener at {}", listener.at);
                        self.note_failure(SocketError { what, source });
                        return self.rest(number, Some(now.after(FILES_AGE_MAX)));
                    }
                },
                Some((_, Err(error))) => {
                    self.counters.errors += 1;
                    if error.raw_os_error().is_some_and(|code| NO_ROOM.contains(&code)) {
                        return self.rest(number, Some(now.after(REST)));
                    }
                }
            }
        }
    }

    /// A stream that somebody else has begun stands.
    fn admit(&mut self, socket: Socket, accepted: Accepted, session: Option<Session>) {
        let (local, peer) = (accepted.local, accepted.peer);
        let is_plain = session.is_none();
        let stream = Stream::accepted(socket, accepted, session);
        self.tell(self.now(), Arrival::Connected { socket, local, peer });
        self.hold(socket, Held::new(Kind::Stream(Box::new(stream))));
        if !is_plain {
            // Of what has come with the handshake the kernel tells nothing.
            self.ready(socket, EpollFlags::EPOLLIN);
        }
    }

    /// Goes on with the handshake of an accepted stream.
    pub(super) fn greet(&mut self, greeting: u64) {
        let done = self.greetings.go_on(greeting, &self.epoll);
        if matches!(done, Ok(false)) {
            return;
        }
        let Some(mut greeting) = self.greetings.take(greeting) else { return };
        greeting.leave(&self.epoll);
        let free = self.free_number(greeting.listener);
        match done.and_then(|_| free.ok_or_else(|| io::Error::other(NO_NUMBER))) {
            Ok(socket) => self.admit(socket, greeting.accepted, Some(greeting.session)),
            Err(error) => self.end(greeting, error),
        }
    }

    /// Ends an accepted stream of which the machine has not heard.
    fn end(&mut self, greeting: Greeting, source: io::Error) {
        self.counters.failed += 1;
        let what = format!("stream with {}", greeting.accepted.peer());
        self.note_failure(SocketError { what, source });
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

    /// Ends accepted streams whose handshake takes too long.
    pub(super) fn end_greetings(&mut self) {
        let now = self.now();
        while let Some(greeting) = self.greetings.take_late(now) {
            self.end(greeting, too_slow());
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

fn too_slow() -> io::Error {
    Failure::new(TlsTrouble::Slow).into()
}

/// Streams that a listener accepts in a turn.
const ACCEPTS_MAX: usize = 64;

/// Why a stream ends that came to stand when all numbers of its listener were in use.
const NO_NUMBER: &str = "there are as many streams as there may be";

/// How long a listener rests when the kernel has no room for its streams.
const REST: Duration = Duration::from_millis(100);

/// What the kernel says when it has no room.
const NO_ROOM: [i32; 4] = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
