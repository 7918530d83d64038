//! A connection with a peer: its state and its timers (RFC 4271 section 8).

use std::time::Duration;

use protocol_kit::{Bytes, Departure, Random, STREAM_ROOM, Socket, Time};

use crate::framing::Framing;
use crate::message::{HEADER_LEN, LEN_MAX, write_keepalive};
use crate::negotiated::Negotiated;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub socket: Socket,
    /// Whether this speaker has begun it.
    pub is_outgoing: bool,
    pub phase: Phase,
    pub framing: Framing,
    /// When nothing has come for too long, in each phase.
    pub hold_at: Option<Time>,
    /// Whether what the peer sends is read.
    is_read: bool,
    keepalive_at: Option<Time>,
    /// Bytes that have departed and were not taken.
    on_way: usize,
    /// When nothing was taken for too long (RFC 9687).
    pub send_hold_at: Option<Time>,
    /// The OPEN that was sent.
    pub open: Vec<u8>,
    /// What was agreed on, from OpenConfirm on.
    pub negotiated: Option<Box<Negotiated>>,
    /// When this phase began.
    pub since: Time,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It is being opened, and does not stand yet.
    Opening,
    /// The peer has the OPEN.
    OpenSent,
    /// Both have one, and this speaker has agreed.
    OpenConfirm,
    /// Both have.
    Established,
    /// The peer is told why it ends, and closes it.
    Closing,
}

impl Connection {
    /// One that is to be opened, or that the peer has opened.
    pub fn new(socket: Socket, is_outgoing: bool, now: Time) -> Connection {
        Connection {
            socket,
            is_outgoing,
            phase: Phase::Opening,
            framing: Framing::default(),
            hold_at: None,
            is_read: true,
            keepalive_at: None,
            on_way: 0,
            send_hold_at: None,
            open: Vec::new(),
            negotiated: None,
            since: now,
        }
    }

    /// Goes on to another phase, in which something has to come within a time.
    pub fn enter(&mut self, phase: Phase, now: Time, patience: Option<Duration>) {
        (self.phase, self.since) = (phase, now);
        self.hold_at = patience.map(|patience| now.after(patience));
    }

    /// Something has come from the peer.
    pub fn heard(&mut self, now: Time) {
        // Of a peer that is not read nothing is heard, and that is not its fault.
        let hold = self.hold().filter(|_| self.is_read);
        self.hold_at = hold.map(|hold| now.after(hold));
    }

    /// What the peer sends is read from now on, or is not; returns what changes if it does.
    pub fn read(&mut self, is_wanted: bool, now: Time) -> Option<Departure> {
        if std::mem::replace(&mut self.is_read, is_wanted) == is_wanted {
            return None;
        }
        self.heard(now);
        Some(Departure::Read { socket: self.socket, is_wanted })
    }

    /// The hold time that was agreed on, unless it is for ever.
    pub fn hold(&self) -> Option<Duration> {
        let hold = self.negotiated.as_ref()?.hold_time;
        (!hold.is_zero()).then_some(hold)
    }

    /// The time at which a KEEPALIVE is due is drawn anew: something that stands for one was sent.
    pub fn spoke(&mut self, now: Time, random: &mut Random) {
        let interval = self.hold().map(|hold| random.shortened(hold / 3, 0, 25));
        self.keepalive_at = interval.map(|interval| now.after(interval));
    }

    /// Whether a KEEPALIVE is due.
    pub fn owes_keepalive(&self, now: Time) -> bool {
        self.keepalive_at.is_some_and(|at| at <= now)
    }

    /// The bytes that have room, beside a last word.
    pub fn room(&self) -> usize {
        (STREAM_ROOM - RESERVED).saturating_sub(self.on_way)
    }

    /// Makes bytes depart, which have room.
    pub fn send(&mut self, bytes: impl Into<Bytes>, now: Time) -> Departure {
        let bytes = bytes.into();
        if self.on_way == 0 {
            self.send_hold_at = Some(now.after(self.send_hold()));
        }
        self.on_way += bytes.len();
        Departure::Bytes { socket: self.socket, bytes }
    }

    /// Makes a KEEPALIVE depart. Where there is no room, what is on the way stands for it.
    pub fn send_keepalive(&mut self, now: Time, random: &mut Random) -> Option<Departure> {
        self.spoke(now, random);
        let mut bytes = Vec::with_capacity(HEADER_LEN);
        write_keepalive(&mut bytes);
        self.send_word(bytes, now)
    }

    /// Makes a short message depart that is no UPDATE, if it has room beside a last word.
    pub fn send_word(&mut self, bytes: Vec<u8>, now: Time) -> Option<Departure> {
        let has_room = STREAM_ROOM - self.on_way >= RESERVED / 2 + bytes.len();
        has_room.then(|| self.send(bytes, now))
    }

    /// The transport has taken bytes.
    pub fn taken(&mut self, count: usize, now: Time) {
        self.on_way = self.on_way.saturating_sub(count);
        self.send_hold_at = (self.on_way > 0).then(|| now.after(self.send_hold()));
    }

    fn send_hold(&self) -> Duration {
        SEND_HOLD_MIN.max(self.hold().unwrap_or_default() * 2)
    }

    /// The longest message that the peer may send.
    pub fn len_max(&self) -> usize {
        self.negotiated.as_ref().map_or(LEN_MAX, |negotiated| negotiated.len_max)
    }

    /// When it has something to do.
    pub fn deadline(&self) -> Option<Time> {
        [self.hold_at, self.keepalive_at, self.send_hold_at].into_iter().flatten().min()
    }
}

/// Bytes of a stream's room that are kept for KEEPALIVEs and a NOTIFICATION.
const RESERVED: usize = 4 * LEN_MAX;

/// The least time in which a peer takes something (RFC 9687 section 3.2).
const SEND_HOLD_MIN: Duration = Duration::from_secs(8 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_word_has_room_whatever_was_said() {
        let mut random = Random::new(1);
        let mut connection = Connection::new(Socket(1), true, Time::ZERO);
        let mut on_way = 0;
        let mut depart = |departure: Departure| {
            let Departure::Bytes { bytes, .. } = departure else { panic!("{departure:?}") };
            on_way += bytes.len();
        };
        depart(connection.send(vec![0; connection.room()], Time::ZERO));
        let keepalives = std::iter::from_fn(|| connection.send_keepalive(Time::ZERO, &mut random));
        keepalives.take(10_000).for_each(&mut depart);
        assert_eq!(connection.room(), 0);
        assert!(on_way + LEN_MAX <= STREAM_ROOM && on_way + 4 * LEN_MAX > STREAM_ROOM);
        // What was on the way stands for a sign of life until it is taken.
        assert_eq!(connection.send_keepalive(Time::ZERO, &mut random), None);
        connection.taken(on_way, Time::ZERO);
        assert!(connection.send_keepalive(Time::ZERO, &mut random).is_some());
    }
}
