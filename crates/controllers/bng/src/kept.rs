//! The file in which records of accounting wait over a restart. It is a socket of the machine: what
//! is written departs, and nothing here waits for a disk.
//!
//! ```text
//!  Closed --> all that waits, in place of what it has --finished--> Closed
//!         --> what is new, behind what it has --most of it is confirmed--> Closed
//! ```
//! What a full disk has not taken the backlog has yet, and it is tried again.

use std::path::Path;
use std::time::Duration;

use protocol_kit::{Arrival, Bytes, Departure, FileOpening, Opening, STREAM_ROOM, Socket, Time};
use protocol_radius::backlog::Backlog;

/// The file.
pub(crate) struct RecordsFile {
    folder: String,
    name: String,
    state: State,
    /// What is yet to depart.
    rest: Bytes,
    /// Bytes that have departed and are not in the file yet.
    waiting: usize,
    /// When it may be opened.
    next: Time,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    /// It is being opened: whole, or to go on behind what it has.
    Opening(Way),
    Open(Way),
    /// All of it has departed, and it is to appear.
    Finishing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Whole,
    More,
}

impl RecordsFile {
    /// A file by its whole path, which is not open yet.
    pub fn new(path: &Path) -> RecordsFile {
        let text = |part: Option<&std::ffi::OsStr>| {
            part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
        };
        RecordsFile {
            folder: text(path.parent().map(Path::as_os_str)),
            name: text(path.file_name()),
            state: State::Closed,
            rest: Bytes::new(),
            waiting: 0,
            next: Time::ZERO,
        }
    }

    /// What departs to it next.
    pub fn poll(&mut self, backlog: &mut Backlog, now: Time) -> Option<Departure> {
        if self.state == State::Open(Way::More) && self.rest.is_empty() && self.waiting == 0 {
            if backlog.needs_snapshot() {
                self.state = State::Closed;
                return Some(Departure::Close { socket: SOCKET });
            }
            self.rest = backlog.journal().into();
        }
        match self.state {
            State::Closed if self.next <= now => Some(self.open(backlog)),
            State::Open(_) if !self.rest.is_empty() && self.waiting < STREAM_ROOM => {
                let bytes = self.rest.split_to(self.rest.len().min(STREAM_ROOM - self.waiting));
                self.waiting += bytes.len();
                Some(Departure::Bytes { socket: SOCKET, bytes })
            }
            State::Open(Way::Whole) if self.rest.is_empty() => {
                self.state = State::Finishing;
                Some(Departure::Finish { socket: SOCKET })
            }
            _ => None,
        }
    }

    fn open(&mut self, backlog: &mut Backlog) -> Departure {
        let way = if backlog.needs_snapshot() { Way::Whole } else { Way::More };
        if way == Way::Whole {
            self.rest = backlog.snapshot().into();
        }
        self.state = State::Opening(way);
        let (folder, name) = (self.folder.clone(), self.name.clone());
        let appears_whole = way == Way::Whole;
        let opening = Opening::File(FileOpening { folder, name, appears_whole, kept: None });
        Departure::Open { socket: SOCKET, opening }
    }

    /// What has become of it.
    pub fn arrive(&mut self, arrival: &Arrival<'_>, backlog: &mut Backlog, now: Time) {
        match (arrival, self.state) {
            (Arrival::Connected { .. }, State::Opening(way)) => self.state = State::Open(way),
            (Arrival::Taken { count, .. }, _) => self.waiting = self.waiting.saturating_sub(*count),
            (Arrival::Finished { .. }, _) => (self.state, self.waiting) = (State::Closed, 0),
            (Arrival::Failed { .. }, _) => {
                backlog.failed();
                (self.state, self.rest, self.waiting) = (State::Closed, Bytes::new(), 0);
                self.next = now.after(PAUSE);
            }
            _ => {}
        }
    }

    /// When there is something to do.
    pub fn deadline(&self) -> Option<Time> {
        (self.state == State::Closed).then_some(self.next)
    }
}

/// Its number among the files of the machine.
const SOCKET: Socket = Socket(0);

/// How long a disk that has not taken something is left alone.
const PAUSE: Duration = Duration::from_secs(10);
