//! The thread of a standby: it listens, takes changes from one active function at a time, hands
//! them to the worker, and acknowledges what the worker has applied.
//!
//! A peer is trusted with what it says once it has the same configuration; there is no secret. What
//! it can do to this process is bounded all the same: a message, a queue, a connection, and five
//! seconds of silence.

use std::convert::Infallible;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rtrb::Producer;

use crate::change::{Change, Malformed};
use crate::link::Link;
use crate::message::{CHANGES_MAX, Cause, Hello, Message};
use crate::wire::{Rest, Trouble, Wire};

/// What the thread hands to the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received<C> {
    /// A change.
    Change(C),
    /// What follows is of an active function that knows nothing of what was told before: its
    /// numbers mean other things from now on, and what is there stays until its time is up.
    Afresh,
}

/// The thread's part of a standby.
pub struct Receiver<C> {
    listener: TcpListener,
    digest: [u8; 32],
    shard: (u32, u32),
    ring: Producer<Received<C>>,
    link: Arc<Link>,
    peer: Option<Peer>,
    /// What was handed to the worker so far.
    handed_over: u64,
}

/// The active function that was heard last.
#[derive(Clone, Copy)]
struct Peer {
    instance: u64,
    /// The sequence number of the last change from it that was handed over, and what was handed
    /// over before its first one and the sequence number before that; none where there was none.
    received: Option<(u64, Base)>,
}

#[derive(Clone, Copy)]
struct Base {
    handed_over: u64,
    sequence: u64,
}

impl<C: Change> Receiver<C> {
    /// Takes changes from a function of the same configuration and worker, and puts them into
    /// `ring`.
    pub fn new(
        listener: TcpListener,
        (digest, shard): ([u8; 32], (u32, u32)),
        ring: Producer<Received<C>>,
        link: Arc<Link>,
    ) -> Receiver<C> {
        Receiver { listener, digest, shard, ring, link, peer: None, handed_over: 0 }
    }

    /// Takes connections, one after the other, until it is asked to end.
    pub fn run(mut self) {
        self.link.disconnected("nobody has connected yet");
        let mut rest = Rest::default();
        while !self.link.stops() {
            // An error is that of one connection, or there is none: the next one may be better.
            let Ok((stream, _)) = self.listener.accept() else {
                rest.a_while();
                continue;
            };
            rest.is_over();
            let Err(trouble) = self.connection(stream);
            self.link.disconnected(&trouble);
        }
    }

    /// One connection, from its beginning to its end.
    fn connection(&mut self, stream: TcpStream) -> Result<Infallible, Trouble> {
        let mut wire = Wire::new::<C>(stream)?;
        self.greet(&mut wire)?;
        self.link.connected();
        let (mut changes, mut next) = (Vec::<C>::with_capacity(CHANGES_MAX), 0);
        let (mut rest, mut told) = (Rest::default(), None);
        loop {
            if self.link.stops() {
                return Err(Trouble::Stopped);
            }
            let mut is_idle = true;
            if next == changes.len()
                && let Some(message) = wire.hear(&mut changes)?
            {
                let Message::Changes { first } = message else {
                    return Err(Malformed("no changes").into());
                };
                next = 0;
                self.expect(first, changes.len())?;
                is_idle = false;
            }
            let handed_over = self.hand_over(&changes[next..]);
            next += handed_over;
            is_idle &= handed_over == 0;
            if wire.flush()? {
                let state = (self.applied(), self.link.refused());
                if told != Some(state) || wire.is_quiet() {
                    is_idle = false;
                    told = Some(state);
                    let answer = Message::Acknowledged { last: state.0, refused: state.1 };
                    wire.say::<C>(&answer, &[]);
                    wire.flush()?;
                }
            }
            match is_idle {
                true => rest.a_while(),
                false => rest.is_over(),
            }
        }
    }

    /// Hears who it is, and says what it wants.
    fn greet(&mut self, wire: &mut Wire) -> Result<(), Trouble> {
        let hello = match wire.exchange::<C>(&self.link)? {
            Message::Hello(hello) => self.judge(hello),
            Message::Refused(cause) => Err(cause),
            _ => return Err(Malformed("no hello").into()),
        };
        match hello {
            Err(cause) => {
                wire.say::<C>(&Message::Refused(cause), &[]);
                wire.flush()?;
                Err(Trouble::Refused(cause))
            }
            Ok(hello) => {
                let next = self.resume(hello.instance)?;
                wire.say::<C>(&Message::Welcome { next }, &[]);
                wire.flush()?;
                Ok(())
            }
        }
    }

    fn judge(&self, hello: Hello) -> Result<Hello, Cause> {
        if hello.shard != self.shard {
            return Err(Cause::Worker);
        }
        if hello.digest != self.digest { Err(Cause::Configuration) } else { Ok(hello) }
    }

    /// The sequence number that is wanted next; 0 for all there is.
    fn resume(&mut self, instance: u64) -> Result<u64, Trouble> {
        if let Some(peer) = self.peer.filter(|peer| peer.instance == instance) {
            return Ok(peer.received.map_or(0, |(last, _)| last + 1));
        }
        let mut rest = Rest::default();
        while self.ring.push(Received::Afresh).is_err() {
            if self.link.stops() {
                return Err(Trouble::Stopped);
            }
            rest.a_while();
        }
        self.handed_over += 1;
        self.link.resynchronise();
        self.peer = Some(Peer { instance, received: None });
        Ok(0)
    }

    /// Whether changes from a sequence number on are those that follow.
    fn expect(&mut self, first: u64, count: usize) -> Result<(), Trouble> {
        self.link.sent(count);
        let Some(peer) = self.peer.as_mut().filter(|_| count > 0) else { return Ok(()) };
        // Numbers so high that a sum could wrap around are none that were counted.
        let is_next = match peer.received {
            Some((last, _)) => first == last + 1,
            None => (1..u64::MAX / 2).contains(&first),
        };
        if !is_next {
            return Err(Malformed("changes are missing").into());
        }
        let base = Base { handed_over: self.handed_over, sequence: first - 1 };
        peer.received.get_or_insert((first - 1, base));
        Ok(())
    }

    /// Hands changes to the worker, as many as it has room for; tells how many those were.
    fn hand_over(&mut self, changes: &[C]) -> usize {
        let mut count = 0;
        for &change in changes {
            if self.ring.push(Received::Change(change)).is_err() {
                break;
            }
            count += 1;
        }
        self.handed_over += count as u64;
        if let Some(Peer { received: Some((last, _)), .. }) = &mut self.peer {
            *last += count as u64;
        }
        count
    }

    /// The sequence number up to which the worker has applied everything.
    fn applied(&self) -> u64 {
        let received = self.peer.and_then(|peer| peer.received);
        received.map_or(0, |(_, base)| {
            let applied = self.link.last_done().checked_sub(base.handed_over);
            applied.map_or(0, |count| base.sequence + count)
        })
    }
}
