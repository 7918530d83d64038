//! A connection on which messages pass: what has arrived and is not read, what departs, and the
//! times of both. Nothing here grows.

use std::collections::VecDeque;
use std::time::Duration;

use protocol_kit::{Departure, STREAM_ROOM, Socket, Time};

use crate::authentication::{TAG_LEN, Tags};
use crate::change::Change;
use crate::message::{Inbox, Message, PREFIX_LEN};
use crate::trouble::Trouble;

/// A connection, or the place of one.
pub(crate) struct Stream {
    socket: Socket,
    /// Whether the driver has it open, as far as the machine was told and has departed.
    is_open: bool,
    inbox: Inbox,
    departures: VecDeque<Departure>,
    /// Bytes that may depart.
    room: usize,
    tags: Option<Tags>,
    heard: Time,
    said: Time,
    is_read: bool,
}

impl Stream {
    /// The place of a connection with messages up to a length, and with room for more bytes beside
    /// the longest one.
    pub fn new(socket: Socket, len_max: usize, more: usize) -> Stream {
        Stream {
            socket,
            is_open: false,
            inbox: Inbox::new(len_max + TAG_LEN, more),
            departures: VecDeque::new(),
            room: STREAM_ROOM,
            tags: None,
            heard: Time::ZERO,
            said: Time::ZERO,
            is_read: true,
        }
    }

    /// A connection begins that the driver opens, or has opened.
    pub fn begin(&mut self, now: Time) {
        self.inbox.clear();
        self.departures.clear();
        self.tags = None;
        (self.is_open, self.is_read, self.room) = (true, true, STREAM_ROOM);
        (self.heard, self.said) = (now, now);
    }

    /// Closes it, with whatever of it was not taken yet.
    pub fn close(&mut self) {
        self.departures.clear();
        if std::mem::take(&mut self.is_open) {
            self.departures.push_back(Departure::Close { socket: self.socket });
        }
    }

    /// The driver has closed it.
    pub fn is_gone(&mut self) {
        self.departures.clear();
        self.is_open = false;
    }

    /// Signs and checks from the next message on, where there is a key.
    pub fn authenticate(&mut self, tags: Option<Tags>) {
        self.tags = tags;
    }

    /// Takes as many of the arrived bytes as there is room for; returns their number.
    pub fn fill(&mut self, bytes: &[u8]) -> usize {
        self.inbox.fill(bytes)
    }

    /// Returns the next message, if it is whole; its changes replace those in `changes`.
    ///
    /// # Errors
    /// When it is none, or not the other side's.
    pub fn hear<C: Change>(
        &mut self,
        now: Time,
        changes: &mut Vec<C>,
    ) -> Result<Option<Message>, Trouble> {
        let Some(mut bytes) = self.inbox.take()?.map(|bytes| &*bytes) else { return Ok(None) };
        if let Some(tags) = &mut self.tags {
            bytes = tags.check(bytes)?;
        }
        let message = Message::read(bytes, changes)?;
        // Bytes that never become a message are no sign of life.
        self.heard = now;
        Ok(Some(message))
    }

    /// Says something; there must be room.
    pub fn say<C: Change>(&mut self, now: Time, message: &Message, changes: &[C]) {
        let mut bytes = Vec::with_capacity(LEN_OF_OTHERS + changes.len() * C::LEN_MAX);
        message.write(changes, &mut bytes);
        if let Some(tags) = &mut self.tags {
            tags.sign(&mut bytes, PREFIX_LEN);
        }
        self.room = self.room.saturating_sub(bytes.len());
        self.said = now;
        self.departures.push_back(Departure::Bytes { socket: self.socket, bytes: bytes.into() });
    }

    /// Says that nothing follows.
    pub fn finish(&mut self) {
        self.departures.push_back(Departure::Finish { socket: self.socket });
    }

    /// Wants bytes, or does not.
    pub fn read(&mut self, is_wanted: bool) {
        if self.is_open && std::mem::replace(&mut self.is_read, is_wanted) != is_wanted {
            self.departures.push_back(Departure::Read { socket: self.socket, is_wanted });
        }
    }

    /// Returns how many changes of a length there is room for; `None` if not even for a message
    /// without any.
    pub fn room_for_changes(&self, len: usize) -> Option<usize> {
        self.room.checked_sub(LEN_OF_OTHERS).map(|room| room / len)
    }

    /// There is room for as many more bytes.
    pub fn taken(&mut self, count: usize) {
        self.room = (self.room + count).min(STREAM_ROOM);
    }

    /// Returns what departs next.
    pub fn depart(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// Returns whether the other side has said nothing for too long.
    pub fn is_silent(&self, now: Time) -> bool {
        now >= self.silent_at()
    }

    /// Returns when the other side has said nothing for too long.
    pub fn silent_at(&self) -> Time {
        self.heard.after(SILENCE_MAX)
    }

    /// Returns whether it is time to show that this side lives.
    pub fn is_quiet(&self, now: Time) -> bool {
        now >= self.said.after(QUIET_MAX)
    }
}

/// Bytes of a message without changes at most, with its length and its tag.
const LEN_OF_OTHERS: usize = 128;

/// After such a time without a message a connection is given up.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// After such a time one side shows that it lives.
const QUIET_MAX: Duration = Duration::from_secs(1);
