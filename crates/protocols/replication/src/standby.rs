//! The machine of a standby: it listens, takes changes from one active function at a time, hands
//! them to the worker, and acknowledges what the worker has applied.
//!
//! A peer is trusted with what it says once it has the same configuration, and the same key where
//! there is one. What it can do to this process is bounded all the same: a message, a queue, a
//! connection, and five seconds of silence.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use protocol_kit::{
    Arrival, Departure, Endpoint, Input, Machine, Neighbour, Opening, Output, STREAM_ROOM, Socket,
    Time, Tls, Trace,
};
use rtrb::Producer;

use crate::authentication::{Credentials, Side, connection};
use crate::change::Change;
use crate::link::Link;
use crate::message::{Hello, Identity, Message, changes_max, len_max};
use crate::pace::Look;
use crate::shown;
use crate::stream::Stream;
use crate::trouble::Trouble;

/// What the machine hands to the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received<C> {
    /// A change.
    Change(C),
    /// What follows is of an active function that knows nothing of what was told before: its
    /// numbers mean other things from now on, and what is there stays until its time is up.
    Afresh,
}

/// The machine of a standby.
pub struct Standby<C> {
    at: SocketAddr,
    digest: [u8; 32],
    shard: (u32, u32),
    credentials: Credentials,
    ring: Producer<Received<C>>,
    link: Arc<Link>,
    peer: Option<Peer>,
    /// What was handed to the worker so far.
    handed_over: u64,
    listener: Listener,
    stream: Stream,
    stage: Stage,
    /// What both sides call the connection.
    connection: u64,
    look: Look,
    /// When it looks whether the worker is still there.
    watch: Time,
    /// The changes of a message, and how many of them were handed over.
    changes: Vec<C>,
    next: usize,
    /// What was acknowledged last.
    told: Option<(u64, u64)>,
    /// How often the worker has closed and opened its ears, as far as was noticed.
    ears: u64,
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Listener {
    /// Not open before this time.
    Waiting(Time),
    Open,
    /// The worker is gone.
    Ended,
}

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There is none.
    Alone,
    /// Nothing was heard.
    Connected,
    /// A nonce was said.
    Challenged,
    /// Its active function knows nothing of what was told before, and the worker has no room to be
    /// told that.
    Afresh(u64),
    /// Changes pass.
    Following,
    /// A refusal was said, which is on its way until this time.
    Refusing(Time),
}

impl<C: Change> Standby<C> {
    /// Listens at an address for an active function of the same configuration and worker, and puts
    /// its changes into `ring`.
    pub fn new(
        at: SocketAddr,
        (digest, shard): ([u8; 32], (u32, u32)),
        credentials: Credentials,
        (ring, link): (Producer<Received<C>>, Arc<Link>),
    ) -> Standby<C> {
        link.disconnected(Trouble::Alone);
        Standby {
            at,
            digest,
            shard,
            credentials,
            ring,
            link,
            peer: None,
            handed_over: 0,
            listener: Listener::Waiting(Time::ZERO),
            stream: Stream::new(STREAM, len_max::<C>(), STREAM_ROOM),
            stage: Stage::Alone,
            connection: 0,
            look: Look::new(Time::ZERO),
            watch: Time::ZERO,
            changes: Vec::with_capacity(changes_max::<C>()),
            next: 0,
            told: None,
            ears: 0,
        }
    }

    /// Returns what it and its worker tell each other.
    pub fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// What has arrived on the stream.
    fn arrive(&mut self, now: Time, arrival: Arrival<'_>) -> Result<(), Trouble> {
        match arrival {
            Arrival::Failed { .. } => {
                self.stream.is_gone();
                return Err(Trouble::Closed);
            }
            Arrival::Finished { .. } => return Err(Trouble::Closed),
            Arrival::Taken { count, .. } => self.stream.taken(count),
            Arrival::Bytes { mut bytes, .. } => {
                while !bytes.is_empty() && !matches!(self.stage, Stage::Refusing(_)) {
                    let count = self.stream.fill(bytes);
                    if count == 0 {
                        return Err(Trouble::Flooded);
                    }
                    bytes = &bytes[count..];
                    self.hear_all(now)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Hears all messages that are there, as long as the worker has room for their changes.
    fn hear_all(&mut self, now: Time) -> Result<(), Trouble> {
        loop {
            self.hand_over();
            if self.next < self.changes.len() {
                return Ok(());
            }
            let Some(message) = self.stream.hear(now, &mut self.changes)? else { return Ok(()) };
            // What was read comes in turn behind it.
            self.next = self.changes.len();
            match (self.stage, message) {
                (Stage::Connected, Message::Hello(hello)) => self.challenge(now, hello),
                (Stage::Connected, Message::Refused(cause)) => self.refuse(now, cause),
                (Stage::Challenged, Message::Identity(identity)) => self.judge(now, identity),
                (Stage::Following, Message::Changes { first }) => {
                    self.expect(first, self.changes.len())?;
                    self.next = 0;
                }
                (Stage::Following, Message::HandedOver) => return Err(Trouble::HandedOver),
                (Stage::Refusing(_), _) => return Ok(()),
                _ => return Err(Trouble::Malformed),
            }
        }
    }

    /// Answers a hello.
    fn challenge(&mut self, now: Time, hello: Hello) {
        if hello.is_keyed != self.credentials.is_keyed() {
            return self.refuse(now, Trouble::Key);
        }
        let nonce = self.credentials.nonce();
        self.stream.say::<C>(now, &Message::Challenge { nonce }, &[]);
        let mut heard = Vec::new();
        Message::Hello(hello).write::<C>(&[], &mut heard);
        self.stream.authenticate(self.credentials.tags(Side::Standby, &heard, &nonce));
        (self.stage, self.connection) = (Stage::Challenged, connection(&nonce));
    }

    /// Takes changes of an active function, or does not.
    fn judge(&mut self, now: Time, identity: Identity) {
        if identity.shard != self.shard {
            return self.refuse(now, Trouble::Worker);
        }
        if identity.digest != self.digest {
            return self.refuse(now, Trouble::Configuration);
        }
        if self.is_deaf() {
            return self.refuse(now, Trouble::Active);
        }
        match self.peer.filter(|peer| peer.instance == identity.instance) {
            Some(peer) => self.welcome(now, peer.received.map_or(0, |(last, _)| last + 1)),
            None => {
                self.stage = Stage::Afresh(identity.instance);
                self.begin_afresh(now, identity.instance);
            }
        }
    }

    /// Tells the worker of another active function, if it has room.
    fn begin_afresh(&mut self, now: Time, instance: u64) {
        if self.ring.push(Received::Afresh).is_ok() {
            self.handed_over += 1;
            self.link.resynchronise();
            self.peer = Some(Peer { instance, received: None });
            self.welcome(now, 0);
        }
    }

    fn welcome(&mut self, now: Time, next: u64) {
        self.stream.say::<C>(now, &Message::Welcome { next }, &[]);
        self.link.connected(self.connection);
        self.told = None;
        (self.stage, self.look) = (Stage::Following, Look::new(now));
    }

    fn refuse(&mut self, now: Time, cause: Trouble) {
        self.stream.say::<C>(now, &Message::Refused(cause), &[]);
        self.stream.finish();
        self.link.disconnected(cause);
        self.stage = Stage::Refusing(now.after(REFUSING_MAX));
    }

    /// Whether changes from a sequence number on are those that follow.
    fn expect(&mut self, first: u64, count: usize) -> Result<(), Trouble> {
        self.link.sent(count);
        let Some(peer) = self.peer.as_mut().filter(|_| count > 0) else { return Ok(()) };
        // Numbers so high that a sum could wrap around are none that were counted.
        match peer.received {
            Some((last, _)) if first != last + 1 => {
                // What was missed cannot be told again: the next connection begins anew.
                self.peer = None;
                return Err(Trouble::Gap);
            }
            None if !(1..u64::MAX / 2).contains(&first) => return Err(Trouble::Malformed),
            _ => {}
        }
        let base = Base { handed_over: self.handed_over, sequence: first - 1 };
        peer.received.get_or_insert((first - 1, base));
        Ok(())
    }

    /// Hands changes to the worker, as many as it has room for.
    fn hand_over(&mut self) -> bool {
        let mut count = 0;
        for &change in &self.changes[self.next..] {
            if self.ring.push(Received::Change(change)).is_err() {
                break;
            }
            count += 1;
        }
        self.next += count;
        self.handed_over += count as u64;
        if let Some(Peer { received: Some((last, _)), .. }) = &mut self.peer {
            *last += count as u64;
        }
        count > 0
    }

    /// The sequence number up to which the worker has applied everything.
    fn applied(&self) -> u64 {
        let received = self.peer.and_then(|peer| peer.received);
        received.map_or(0, |(_, base)| {
            let applied = self.link.last_done().checked_sub(base.handed_over);
            applied.map_or(0, |count| base.sequence + count)
        })
    }

    /// Ends a connection.
    fn fail(&mut self, trouble: Trouble) {
        self.stream.close();
        if !matches!(self.stage, Stage::Refusing(_)) {
            self.link.disconnected(trouble);
        }
        self.stage = Stage::Alone;
        self.changes.clear();
        self.next = 0;
    }

    /// Whether the worker wants to hear nothing.
    fn is_deaf(&self) -> bool {
        self.ears % 2 == 1
    }

    /// Ends the connection where the worker has stopped hearing since, if only for a moment:
    /// whoever tells must begin anew.
    fn notice_ears(&mut self) {
        let ears = self.link.ears();
        if std::mem::replace(&mut self.ears, ears) == ears {
            return;
        }
        self.peer = None;
        if !matches!(self.stage, Stage::Alone | Stage::Refusing(_)) {
            self.fail(Trouble::Active);
        }
        self.link.notice(ears);
    }

    /// Does what is due.
    fn work(&mut self, now: Time) {
        match self.stage {
            Stage::Connected | Stage::Challenged | Stage::Afresh(_) | Stage::Following
                if self.stream.is_silent(now) =>
            {
                self.fail(Trouble::Silent);
            }
            Stage::Afresh(instance) => {
                self.begin_afresh(now, instance);
                self.look.looked(now, true);
            }
            Stage::Following => {
                if let Err(trouble) = self.follow(now) {
                    self.fail(trouble);
                }
            }
            Stage::Refusing(until) if now >= until => self.fail(Trouble::Closed),
            _ => {}
        }
    }

    /// Hands over what the worker had no room for, and acknowledges what it has applied.
    fn follow(&mut self, now: Time) -> Result<(), Trouble> {
        let mut is_busy = self.next < self.changes.len();
        self.hear_all(now)?;
        self.stream.read(self.next == self.changes.len());
        let state = (self.applied(), self.link.refused());
        let is_news = self.told != Some(state);
        if (is_news || self.stream.is_quiet(now)) && self.stream.room_for_changes(1).is_some() {
            let answer = Message::Acknowledged { last: state.0, refused: state.1 };
            self.stream.say::<C>(now, &answer, &[]);
            self.told = Some(state);
        }
        is_busy |= is_news || self.link.last_done() < self.handed_over;
        self.look.looked(now, is_busy);
        Ok(())
    }

    /// Opens the listener, or ends everything where the worker is gone.
    fn listen(&mut self, now: Time) -> Option<Departure> {
        if self.ring.is_abandoned() && self.listener != Listener::Ended {
            self.stream.close();
            self.stage = Stage::Alone;
            self.link.disconnected(Trouble::Ended);
            let was_open = self.listener == Listener::Open;
            self.listener = Listener::Ended;
            return was_open.then_some(Departure::Close { socket: LISTENER });
        }
        let Listener::Waiting(until) = self.listener else { return None };
        if now < until {
            return None;
        }
        self.listener = Listener::Open;
        // One at a time.
        let opening = Opening::Listener {
            at: Endpoint::Tcp(self.at),
            options: self.credentials.options(),
            streams: STREAM.0..STREAM.0 + 1,
        };
        Some(Departure::Open { socket: LISTENER, opening })
    }
}

impl<C: Change> Machine for Standby<C> {
    type Command = Infallible;
    type Report = Infallible;

    fn input(&mut self, now: Time, input: Input<'_, Infallible>) {
        self.notice_ears();
        match input {
            Input::Arrival(Arrival::Failed { socket: LISTENER }) => {
                if self.listener == Listener::Open {
                    self.link.disconnected(Trouble::NotListening);
                    self.listener = Listener::Waiting(now.after(LISTEN_AGAIN));
                }
            }
            Input::Arrival(Arrival::Connected { socket: STREAM, .. }) => {
                self.stream.begin(now);
                self.stage = Stage::Connected;
            }
            Input::Arrival(Arrival::Failed { .. }) if self.stage == Stage::Alone => {
                // A connection that is to be closed is closed already.
                self.stream.is_gone();
            }
            Input::Arrival(arrival) if self.stage != Stage::Alone => {
                if let Err(trouble) = self.arrive(now, arrival) {
                    self.fail(trouble);
                }
            }
            Input::Arrival(_) | Input::Command(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Infallible>> {
        if let Some(departure) = self.stream.depart() {
            return Some(Output::Departure(departure));
        }
        if let Some(departure) = self.listen(now) {
            return Some(Output::Departure(departure));
        }
        self.notice_ears();
        self.work(now);
        if now >= self.watch {
            self.watch = now.after(WATCH_EVERY);
        }
        self.stream.depart().map(Output::Departure)
    }

    fn deadline(&self) -> Option<Time> {
        let own = match self.stage {
            Stage::Alone if self.listener == Listener::Ended => None,
            Stage::Alone => Some(self.watch),
            Stage::Connected | Stage::Challenged => Some(self.stream.silent_at()),
            Stage::Afresh(_) | Stage::Following => Some(self.look.at()),
            Stage::Refusing(until) => Some(until),
        };
        match self.listener {
            Listener::Waiting(until) => Some(own.map_or(until, |own| own.min(until))),
            Listener::Open | Listener::Ended => own,
        }
    }

    fn neighbours(&self, _: Time) -> Vec<Neighbour> {
        let active = || shown::neighbour("active, to", self.at, &self.link);
        self.link.hears().then(active).into_iter().collect()
    }

    fn tls(&self) -> Option<&Tls> {
        self.credentials.tls()
    }

    fn trace(&self, _: Socket) -> Option<Trace> {
        Some(shown::TRACE)
    }
}

/// The number of the listener.
const LISTENER: Socket = Socket(0);

/// The number of the stream that was accepted.
const STREAM: Socket = Socket(1);

/// After such a time it tries again to listen.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// How often it looks whether the worker is still there, while nobody is connected.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// For how long a refusal may be on its way.
const REFUSING_MAX: Duration = Duration::from_secs(1);
