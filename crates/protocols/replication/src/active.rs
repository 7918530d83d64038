//! The machine that tells a standby what the worker of an active function hands over.
//!
//! What was sent is kept until it is acknowledged, up to [`WINDOW_MAX`] changes; then nothing is
//! taken from the worker. When a connection comes back, the same standby says which change it wants
//! next, and the rest is sent again; another one is told everything.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use protocol_kit::{
    Arrival, Departure, Endpoint, Input, Machine, Neighbour, Opening, Output, Socket, Time, Tls,
    Trace,
};
use rtrb::Consumer;

use crate::authentication::{Credentials, Side, connection};
use crate::change::{Change, Malformed};
use crate::link::{Link, Phase};
use crate::message::{GREETING_LEN_MAX, Hello, Identity, Message, changes_max};
use crate::pace::{Look, Pace};
use crate::shown;
use crate::stream::Stream;
use crate::trouble::Trouble;

/// The machine of an active function.
pub struct Active<C> {
    standby: SocketAddr,
    identity: Identity,
    /// How often it has begun to tell after it had rested.
    beginnings: u64,
    credentials: Credentials,
    ring: Consumer<C>,
    link: Arc<Link>,
    pace: Pace,
    look: Look,
    stream: Stream,
    stage: Stage,
    /// What both sides call the connection.
    connection: u64,
    /// When the connection was begun, and how long it waits before the next one.
    began: Time,
    back_off: Duration,
    /// Changes that are not acknowledged, the last of them numbered `last`.
    window: VecDeque<C>,
    last: u64,
    /// How many of them were sent on this connection.
    sent: usize,
    /// Where those lie one behind the other that are being sent.
    piece: Vec<C>,
}

/// How far a connection is.
enum Stage {
    /// There is none before this time.
    Waiting(Time),
    /// It is being opened.
    Connecting,
    /// A hello was said.
    Greeting(Hello),
    /// It has said who it is.
    Introduced,
    /// Changes pass.
    Telling,
    /// It has said that this was all, which is on its way until this time.
    Leaving(Time),
    /// The worker has nothing to tell.
    Resting,
    /// The worker is gone.
    Ended,
}

impl<C: Change> Active<C> {
    /// Tells `standby` what comes out of `ring`, at most so many changes per second; 0 for as many
    /// as can be.
    pub fn new(
        (standby, identity): (SocketAddr, Identity),
        credentials: Credentials,
        (ring, link): (Consumer<C>, Arc<Link>),
        changes_per_s: u32,
    ) -> Active<C> {
        Active {
            standby,
            identity,
            beginnings: 0,
            credentials,
            ring,
            link,
            pace: Pace::new(changes_per_s),
            look: Look::new(Time::ZERO),
            // It hears nothing that is long.
            stream: Stream::new(STREAM, GREETING_LEN_MAX, HEARD_LEN_MAX),
            stage: Stage::Waiting(Time::ZERO),
            connection: 0,
            began: Time::ZERO,
            back_off: BACK_OFF_MIN,
            window: VecDeque::with_capacity(WINDOW_MAX),
            last: 0,
            sent: 0,
            piece: Vec::with_capacity(changes_max::<C>()),
        }
    }

    /// Returns what it and its worker tell each other.
    pub fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// What has arrived on the stream.
    fn arrive(&mut self, now: Time, arrival: Arrival<'_>) -> Result<(), Trouble> {
        match arrival {
            Arrival::Connected { .. } if matches!(self.stage, Stage::Connecting) => {
                self.stream.begin(now);
                let is_keyed = self.credentials.is_keyed();
                let hello = Hello { is_keyed, nonce: self.credentials.nonce() };
                self.stream.say::<C>(now, &Message::Hello(hello), &[]);
                self.stage = Stage::Greeting(hello);
            }
            Arrival::Failed { .. } => {
                self.stream.is_gone();
                let is_made = !matches!(self.stage, Stage::Connecting);
                return Err(if is_made { Trouble::Closed } else { Trouble::NoConnection });
            }
            Arrival::Finished { .. } => return Err(Trouble::Closed),
            Arrival::Taken { count, .. } => self.stream.taken(count),
            Arrival::Bytes { mut bytes, .. } => {
                let mut none = Vec::<C>::new();
                while !bytes.is_empty() {
                    bytes = &bytes[self.stream.fill(bytes)..];
                    while let Some(message) = self.stream.hear(now, &mut none)? {
                        self.hear(now, message)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn hear(&mut self, now: Time, message: Message) -> Result<(), Trouble> {
        match (&self.stage, message) {
            (_, Message::Refused(cause)) => Err(cause),
            (Stage::Greeting(hello), Message::Challenge { nonce }) => {
                let mut said = Vec::new();
                Message::Hello(*hello).write::<C>(&[], &mut said);
                self.stream.authenticate(self.credentials.tags(Side::Active, &said, &nonce));
                self.stream.say::<C>(now, &Message::Identity(self.identity), &[]);
                (self.stage, self.connection) = (Stage::Introduced, connection(&nonce));
                Ok(())
            }
            (Stage::Introduced, Message::Welcome { next }) => {
                self.resume(next)?;
                self.link.connected(self.connection);
                (self.stage, self.look) = (Stage::Telling, Look::new(now));
                Ok(())
            }
            (Stage::Telling, Message::Acknowledged { last, refused }) => {
                self.acknowledged(last, refused)
            }
            (Stage::Leaving(_), Message::Acknowledged { .. }) => Ok(()),
            _ => Err(Trouble::Malformed),
        }
    }

    /// Begins where the standby wants to.
    fn resume(&mut self, next: u64) -> Result<(), Trouble> {
        self.sent = 0;
        if next == 0 {
            self.window.clear();
            self.link.resynchronise();
            return Ok(());
        }
        self.forget_until(next - 1)
    }

    /// The standby has applied all up to `last`.
    fn acknowledged(&mut self, last: u64, refused: u64) -> Result<(), Trouble> {
        self.link.refuses(refused);
        if last > self.link.last_done() {
            self.forget_until(last)?;
            self.link.done(last);
        }
        Ok(())
    }

    /// Gives up what need not be sent again.
    fn forget_until(&mut self, last: u64) -> Result<(), Trouble> {
        let first = self.last - self.window.len() as u64;
        if last > self.last {
            return Err(Malformed("it acknowledges what was never sent").into());
        }
        let count = last.saturating_sub(first) as usize;
        self.window.drain(..count);
        self.sent = self.sent.saturating_sub(count);
        Ok(())
    }

    /// Ends a connection.
    fn fail(&mut self, now: Time, trouble: Trouble) {
        self.stream.close();
        if matches!(self.stage, Stage::Leaving(_)) {
            return self.rest(now);
        }
        self.link.disconnected(trouble);
        if now.since(self.began) > BACK_OFF_MAX {
            self.back_off = BACK_OFF_MIN;
        }
        self.stage = Stage::Waiting(now.after(self.back_off));
        self.back_off = (self.back_off * 2).min(BACK_OFF_MAX);
    }

    /// Does what is due.
    fn work(&mut self, now: Time) {
        if self.ring.is_abandoned() && !matches!(self.stage, Stage::Ended) {
            self.stream.close();
            self.link.disconnected(Trouble::Ended);
            self.stage = Stage::Ended;
        }
        match (self.link.phase(), &self.stage) {
            (_, Stage::Ended) => {}
            (Phase::Telling, Stage::Resting) => self.begin_anew(now),
            (Phase::Resting, Stage::Resting) => self.look.looked(now, false),
            // What was handed over is told as long as there is a connection.
            (Phase::Telling, _) | (Phase::Leaving, Stage::Telling | Stage::Leaving(_)) => {}
            (Phase::Leaving | Phase::Resting, _) => {
                self.stream.close();
                self.rest(now);
            }
        }
        match self.stage {
            Stage::Waiting(until) if now >= until => {
                (self.stage, self.began) = (Stage::Connecting, now);
                self.stream.begin(now);
            }
            Stage::Connecting if now >= self.began.after(CONNECT_MAX) => {
                self.fail(now, Trouble::NoConnection);
            }
            Stage::Greeting(_) | Stage::Introduced | Stage::Telling
                if self.stream.is_silent(now) =>
            {
                self.fail(now, Trouble::Silent);
            }
            Stage::Telling => {
                self.tell(now);
                if self.link.phase() == Phase::Leaving && self.window.is_empty() {
                    self.leave(now);
                }
            }
            Stage::Leaving(until) if now >= until => self.fail(now, Trouble::HandedOver),
            _ => {}
        }
    }

    /// Says that this was all, where it was.
    fn leave(&mut self, now: Time) {
        // The worker hands over nothing more, so an empty ring stays empty.
        if self.ring.is_empty() && self.stream.room_for_changes(1).is_some() {
            self.stream.say::<C>(now, &Message::HandedOver, &[]);
            self.stream.finish();
            self.link.disconnected(Trouble::HandedOver);
            self.stage = Stage::Leaving(now.after(LEAVING_MAX));
        }
    }

    /// Forgets what was not told.
    fn rest(&mut self, now: Time) {
        if self.link.is_connected() {
            self.link.disconnected(Trouble::Closed);
        }
        self.window.clear();
        while self.ring.pop().is_ok() {
            self.last += 1;
        }
        self.link.done(self.last);
        self.sent = 0;
        (self.stage, self.look) = (Stage::Resting, Look::new(now));
        self.look.looked(now, false);
        self.link.rest();
    }

    /// Tells as one that has told nothing yet: what it knows may have come from others since, under
    /// other numbers.
    fn begin_anew(&mut self, now: Time) {
        self.beginnings += 1;
        self.identity.instance = self.credentials.instance_after(self.beginnings);
        (self.stage, self.back_off) = (Stage::Waiting(now), BACK_OFF_MIN);
    }

    /// Says a message full of changes, if there are any.
    fn tell(&mut self, now: Time) {
        let Some(room) = self.stream.room_for_changes(C::LEN_MAX) else {
            return self.look.looked(now, true);
        };
        let free = WINDOW_MAX - self.window.len();
        let wanted = changes_max::<C>().saturating_sub(self.window.len() - self.sent).min(free);
        for _ in 0..wanted {
            let Ok(change) = self.ring.pop() else { break };
            self.window.push_back(change);
            self.last += 1;
        }
        let unsent = self.window.len() - self.sent;
        let count = unsent.min(changes_max::<C>()).min(room).min(self.pace.allowed(now));
        let first = self.last - unsent as u64 + 1;
        if count > 0 || self.stream.is_quiet(now) {
            self.piece.clear();
            self.piece.extend(self.window.range(self.sent..self.sent + count));
            self.stream.say(now, &Message::Changes { first }, &self.piece);
            self.sent += count;
            self.pace.used(count);
            self.link.sent(count);
        }
        self.look.looked(now, unsent > 0);
    }
}

impl<C: Change> Machine for Active<C> {
    type Command = Infallible;
    type Report = Infallible;

    fn input(&mut self, now: Time, input: Input<'_, Infallible>) {
        let Input::Arrival(arrival) = input;
        if matches!(self.stage, Stage::Waiting(_) | Stage::Resting | Stage::Ended) {
            // Of a connection that is to be closed; it is closed already where it has failed.
            if matches!(arrival, Arrival::Failed { .. }) {
                self.stream.is_gone();
            }
            return;
        }
        if let Err(trouble) = self.arrive(now, arrival) {
            self.fail(now, trouble);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Infallible>> {
        if let Some(departure) = self.stream.depart() {
            return Some(Output::Departure(departure));
        }
        let was_alone = matches!(self.stage, Stage::Waiting(_) | Stage::Resting);
        self.work(now);
        if was_alone && matches!(self.stage, Stage::Connecting) {
            let to = Endpoint::Tcp(self.standby);
            let opening = Opening::Stream { from: None, to, options: self.credentials.options() };
            return Some(Output::Departure(Departure::Open { socket: STREAM, opening }));
        }
        self.stream.depart().map(Output::Departure)
    }

    fn deadline(&self) -> Option<Time> {
        match self.stage {
            Stage::Waiting(until) => Some(until),
            Stage::Connecting => Some(self.began.after(CONNECT_MAX)),
            Stage::Greeting(_) | Stage::Introduced => Some(self.stream.silent_at()),
            Stage::Telling | Stage::Resting => Some(self.look.at()),
            Stage::Leaving(until) => Some(until),
            Stage::Ended => None,
        }
    }

    fn neighbours(&self, _: Time) -> Vec<Neighbour> {
        let is_told = self.link.phase() != Phase::Resting;
        let standby = || shown::neighbour("standby at", self.standby, &self.link);
        is_told.then(standby).into_iter().collect()
    }

    fn tls(&self) -> Option<&Tls> {
        self.credentials.tls()
    }

    fn trace(&self, _: Socket) -> Option<Trace> {
        Some(shown::TRACE)
    }
}

/// Changes that are kept until they are acknowledged.
pub const WINDOW_MAX: usize = 16_384;

/// The number of its stream, which no socket of a standby has.
pub(crate) const STREAM: Socket = Socket(2);

/// For how long its last word may be on its way.
const LEAVING_MAX: Duration = Duration::from_secs(1);

/// Bytes of messages that are heard at once.
const HEARD_LEN_MAX: usize = 4096;

/// For how long a connection may take to come about.
const CONNECT_MAX: Duration = Duration::from_secs(1);

/// How long it waits before it connects again, at first.
const BACK_OFF_MIN: Duration = Duration::from_millis(50);

/// And at last.
const BACK_OFF_MAX: Duration = Duration::from_secs(2);
