//! The thread that tells a standby what the worker of an active function hands over.
//!
//! What was sent is kept until it is acknowledged, up to [`WINDOW_MAX`] changes; then nothing is
//! taken from the worker. When a connection comes back, the same standby says which change it wants
//! next, and the rest is sent again; another one is told everything.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rtrb::Consumer;

use crate::change::{Change, Malformed};
use crate::link::Link;
use crate::message::{CHANGES_MAX, Hello, Message};
use crate::wire::{Rest, Trouble, Wire};

/// The thread's part of an active function.
pub struct Sender<C> {
    peer: SocketAddr,
    hello: Hello,
    ring: Consumer<C>,
    link: Arc<Link>,
    pace: Pace,
    /// Changes that are not acknowledged, the last of them numbered `last`.
    window: VecDeque<C>,
    last: u64,
    /// How many of them were sent on this connection.
    sent: usize,
    /// Where those lie one behind the other that are being sent.
    piece: Vec<C>,
}

impl<C: Change> Sender<C> {
    /// Tells `peer` what comes out of `ring`, at most so many changes a second; 0 for as many as
    /// can be.
    pub fn new(
        (peer, hello): (SocketAddr, Hello),
        ring: Consumer<C>,
        link: Arc<Link>,
        changes_per_s: u32,
    ) -> Sender<C> {
        Sender {
            peer,
            hello,
            ring,
            link,
            pace: Pace::new(changes_per_s, Instant::now()),
            window: VecDeque::with_capacity(WINDOW_MAX),
            last: 0,
            sent: 0,
            piece: Vec::with_capacity(CHANGES_MAX),
        }
    }

    /// Connects, again and again, until it is asked to end.
    pub fn run(mut self) {
        let mut back_off = BACK_OFF_MIN;
        while !self.link.stops() {
            let began = Instant::now();
            let Err(trouble) = self.connection();
            self.link.disconnected(&trouble);
            if began.elapsed() > BACK_OFF_MAX {
                back_off = BACK_OFF_MIN;
            }
            let until = Instant::now() + back_off;
            while !self.link.stops() && Instant::now() < until {
                thread::park_timeout(until.saturating_duration_since(Instant::now()));
            }
            back_off = (back_off * 2).min(BACK_OFF_MAX);
        }
    }

    /// One connection, from its beginning to its end.
    fn connection(&mut self) -> Result<std::convert::Infallible, Trouble> {
        let stream = TcpStream::connect_timeout(&self.peer, CONNECT_MAX);
        let mut wire = Wire::new::<C>(stream.map_err(Trouble::NoConnection)?)?;
        wire.say::<C>(&Message::Hello(self.hello), &[]);
        match wire.exchange::<C>(&self.link)? {
            Message::Welcome { next } => self.resume(next)?,
            Message::Refused(cause) => return Err(Trouble::Refused(cause)),
            _ => return Err(Malformed("no answer to a hello").into()),
        }
        self.link.connected();
        let (mut none, mut rest) = (Vec::<C>::new(), Rest::default());
        loop {
            if self.link.stops() {
                return Err(Trouble::Stopped);
            }
            let mut is_idle = true;
            for _ in 0..HEARD_MAX {
                let Some(message) = wire.hear(&mut none)? else { break };
                let Message::Acknowledged { last, refused } = message else {
                    return Err(Malformed("no acknowledgement").into());
                };
                is_idle &= !self.acknowledged(last, refused)?;
            }
            if wire.flush()? {
                is_idle &= !self.send(&mut wire);
                wire.flush()?;
            }
            match is_idle {
                true => rest.a_while(),
                false => rest.is_over(),
            }
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

    /// The standby has applied all up to `last`; tells whether that is news.
    fn acknowledged(&mut self, last: u64, refused: u64) -> Result<bool, Trouble> {
        self.link.refuses(refused);
        let before = self.link.last_done();
        if last > before {
            self.forget_until(last)?;
            self.link.done(last);
        }
        Ok(last > before)
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

    /// Sends a message full of changes; tells whether there were any.
    fn send(&mut self, wire: &mut Wire) -> bool {
        let room = WINDOW_MAX - self.window.len();
        let wanted = CHANGES_MAX.saturating_sub(self.window.len() - self.sent).min(room);
        for _ in 0..wanted {
            let Ok(change) = self.ring.pop() else { break };
            self.window.push_back(change);
            self.last += 1;
        }
        let unsent = self.window.len() - self.sent;
        let count = unsent.min(CHANGES_MAX).min(self.pace.allowed(Instant::now()));
        let first = self.last - unsent as u64 + 1;
        if count > 0 || wire.is_quiet() {
            self.piece.clear();
            self.piece.extend(self.window.range(self.sent..self.sent + count));
            wire.say(&Message::Changes { first }, &self.piece);
            self.sent += count;
            self.pace.used(count);
            self.link.sent(count);
        }
        count > 0
    }
}

/// How many changes a second are sent.
struct Pace {
    per_s: f64,
    /// Changes that may be sent.
    allowed: f64,
    filled: Instant,
}

impl Pace {
    fn new(per_s: u32, now: Instant) -> Pace {
        Pace { per_s: per_s.into(), allowed: 0.0, filled: now }
    }

    /// How many may be sent now.
    fn allowed(&mut self, now: Instant) -> usize {
        if self.per_s == 0.0 {
            return usize::MAX;
        }
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.filled = now;
        self.allowed = (self.allowed + passed * self.per_s).min((self.per_s * BURST_S).max(1.0));
        self.allowed as usize
    }

    fn used(&mut self, count: usize) {
        self.allowed -= count as f64;
    }
}

/// Changes that are kept until they are acknowledged.
pub const WINDOW_MAX: usize = 16_384;

/// Messages that are heard before something is said again.
const HEARD_MAX: usize = 64;

/// For how long a connection may take to come about.
const CONNECT_MAX: Duration = Duration::from_secs(1);

/// How long it waits before it connects again, at first.
const BACK_OFF_MIN: Duration = Duration::from_millis(50);

/// And at last.
const BACK_OFF_MAX: Duration = Duration::from_secs(2);

/// Seconds of a pace that may be sent at once.
const BURST_S: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_sent_than_the_pace_allows() {
        let begin = Instant::now();
        let mut pace = Pace::new(1000, begin);
        let mut sent = 0;
        for step in 0..=3000 {
            let allowed = pace.allowed(begin + Duration::from_millis(step)).min(7);
            pace.used(allowed);
            sent += allowed;
            assert!(sent as u64 <= step + 50, "{sent} after {step} ms");
        }
        assert!(sent >= 2990, "{sent} in 3 s");
        assert_eq!(Pace::new(0, begin).allowed(begin), usize::MAX);
    }
}
