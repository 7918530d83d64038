//! A file of UPDATEs and changes of sessions, as they come.

use std::collections::VecDeque;
use std::time::Duration;

use protocol_kit::{Bytes, Departure, STREAM_ROOM, Socket, Time};

use super::became::Became;

/// What waits for the file of UPDATEs, and the file.
#[derive(Debug)]
pub(super) struct Log {
    /// The name of the last file.
    pub name: String,
    /// When the next file begins; `None` if that is to be found out.
    pub rotate_at: Option<Time>,
    state: State,
    /// Records that are no piece yet.
    draft: Vec<u8>,
    /// When they become one.
    flush_at: Option<Time>,
    /// Pieces of whole records.
    pieces: VecDeque<Bytes>,
    /// Bytes of those.
    waiting: usize,
    /// Bytes that have departed and were not taken.
    on_way: usize,
    /// Bytes of the file.
    written: u64,
}

/// How the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is none, and one is tried from then on.
    Absent(Time),
    Begins,
    There,
    Ends,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            name: String::new(),
            rotate_at: None,
            state: State::Absent(Time::ZERO),
            draft: Vec::new(),
            flush_at: None,
            pieces: VecDeque::new(),
            waiting: 0,
            on_way: 0,
            written: 0,
        }
    }
}

impl Log {
    /// Adds a record; false if there is no room for it.
    pub fn add(&mut self, now: Time, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        if self.waiting + self.draft.len() >= WAITING_MAX {
            return false;
        }
        write(&mut self.draft);
        self.flush_at = self.flush_at.or(Some(now.after(PATIENCE)));
        if self.draft.len() >= PIECE_BYTES {
            self.flush();
        }
        true
    }

    fn flush(&mut self) {
        self.flush_at = None;
        if !self.draft.is_empty() {
            self.waiting += self.draft.len();
            self.pieces.push_back(Bytes::copy_from_slice(&self.draft));
            self.draft.clear();
        }
    }

    /// Whether a file is to begin now; then it does.
    pub fn begins(&mut self, now: Time) -> bool {
        let State::Absent(at) = self.state else { return false };
        let is_due = at <= now;
        if is_due {
            (self.state, self.on_way, self.written) = (State::Begins, 0, 0);
        }
        is_due
    }

    /// Something has become of the file.
    pub fn became(&mut self, what: Became, now: Time) {
        match what {
            Became::There => self.state = State::There,
            Became::Taken(count) => self.on_way = self.on_way.saturating_sub(count),
            Became::Whole => self.state = State::Absent(now),
            Became::Lost => self.state = State::Absent(now.after(AGAIN)),
        }
    }

    /// Returns what departs next.
    pub fn poll(&mut self, socket: Socket, file_bytes_max: u64, now: Time) -> Option<Departure> {
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush();
        }
        if self.state != State::There {
            return None;
        }
        if self.rotate_at.is_some_and(|at| at <= now) || self.written >= file_bytes_max {
            self.state = State::Ends;
            return Some(Departure::Finish { socket });
        }
        let len = self.pieces.front()?.len();
        if self.on_way + len > STREAM_ROOM {
            return None;
        }
        let bytes = self.pieces.pop_front()?;
        self.waiting -= len;
        self.on_way += len;
        self.written += len as u64;
        Some(Departure::Bytes { socket, bytes })
    }

    /// Returns when there is something to do.
    pub fn deadline(&self) -> Option<Time> {
        let own = match self.state {
            State::Absent(at) => Some(at),
            State::There => self.rotate_at,
            State::Begins | State::Ends => None,
        };
        own.into_iter().chain(self.flush_at).min()
    }
}

/// Bytes that wait for a file.
const WAITING_MAX: usize = 8 << 20;

/// Bytes that depart at once: two pieces, each with one more record, are on their way.
const PIECE_BYTES: usize = 64 << 10;

/// For how long a record may wait for others.
const PATIENCE: Duration = Duration::from_millis(500);

/// After what time a file is tried again that could not be written.
const AGAIN: Duration = Duration::from_secs(10);
