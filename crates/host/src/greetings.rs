//! Accepted streams in the handshake of TLS, of which no machine has heard. They have numbers of
//! their own, so that one who is silent keeps nobody from a machine's.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use protocol_kit::{Socket, Time};

use crate::stream::Accepted;
use crate::tls::{Handshake, Session};

/// All of them, the oldest first.
#[derive(Default)]
pub(crate) struct Greetings {
    all: BTreeMap<u64, Greeting>,
    /// The number of the next one.
    next: u64,
}

/// One of them.
pub(crate) struct Greeting {
    /// Who has accepted it.
    pub listener: Socket,
    pub accepted: Accepted,
    pub session: Session,
    /// When it takes too long.
    until: Time,
    /// What the kernel tells now.
    watched: EpollFlags,
}

impl Greetings {
    /// Adds one, and returns its number and the oldest one if that has to give way.
    pub fn add(
        &mut self,
        listener: Socket,
        accepted: Accepted,
        session: Session,
        now: Time,
    ) -> (u64, Option<Greeting>) {
        let (until, watched) = (now.after(SPAN_MAX), EpollFlags::empty());
        let oldest = (self.all.len() == COUNT_MAX).then(|| self.all.pop_first()).flatten();
        let number = self.next;
        self.next += 1;
        self.all.insert(number, Greeting { listener, accepted, session, until, watched });
        (number, oldest.map(|(_, oldest)| oldest))
    }

    /// Goes on with a handshake as far as the kernel is ready; whether it is done.
    ///
    /// # Errors
    /// Why the stream has failed.
    pub fn go_on(&mut self, number: u64, epoll: &Epoll) -> io::Result<bool> {
        let Some(greeting) = self.all.get_mut(&number) else { return Ok(false) };
        if greeting.session.shake_hands(&greeting.accepted.socket)? == Handshake::Done {
            return Ok(true);
        }
        let mut wanted = EpollFlags::EPOLLIN;
        wanted.set(EpollFlags::EPOLLOUT, greeting.session.wants_write());
        let mut event = EpollEvent::new(wanted, BASE + number);
        match greeting.watched {
            before if before == wanted => {}
            before if before.is_empty() => epoll.add(&greeting.accepted.socket, event)?,
            _ => epoll.modify(&greeting.accepted.socket, &mut event)?,
        }
        greeting.watched = wanted;
        Ok(false)
    }

    /// Takes one.
    pub fn take(&mut self, number: u64) -> Option<Greeting> {
        self.all.remove(&number)
    }

    /// Takes one that takes too long.
    pub fn take_late(&mut self, now: Time) -> Option<Greeting> {
        let oldest = self.all.first_entry()?;
        (oldest.get().until <= now).then(|| oldest.remove())
    }

    /// When the next one takes too long.
    pub fn until(&self) -> Option<Time> {
        self.all.values().next().map(|oldest| oldest.until)
    }

    /// A listener is closed: its own end.
    pub fn end_of(&mut self, listener: Socket) {
        self.all.retain(|_, greeting| greeting.listener != listener);
    }
}

impl Greeting {
    /// Lets the kernel tell no more of it here.
    pub fn leave(&mut self, epoll: &Epoll) {
        if !self.watched.is_empty() {
            // It is there for as long as the socket is.
            let _ = epoll.delete(&self.accepted.socket);
        }
    }
}

/// What the kernel calls the first one; sockets have smaller numbers.
pub(crate) const BASE: u64 = 1 << 32;

/// Most of them of a host.
const COUNT_MAX: usize = 64;

/// The longest handshake.
const SPAN_MAX: Duration = Duration::from_secs(5);
