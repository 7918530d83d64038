//! The one queue by which a daemon hears of requests, signals and ended captures.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use serde_json::Value;

use crate::capture::Stream;
use crate::controller::Order;
use crate::piece::{Piece, Told};
use crate::protocol::{Ask, Capture};
use crate::unit::Refused;

/// A job for the main thread of the daemon.
pub(crate) enum Job {
    /// A client's request, with the channel for the answer.
    Asked(Ask, SyncSender<Result<Value, Refused>>),
    /// Some lines of a stream of changes, with the channel for the answer.
    Piece(Piece, SyncSender<Result<Told, Refused>>),
    /// A client's request for a capture, with the channel for the answer.
    Capture(Capture, SyncSender<Result<Stream, Refused>>),
    /// The controller asks for something.
    Control(Order),
    /// The capture has ended.
    EndCapture,
    /// A signal requests a reload of the file.
    Reload,
    /// A signal requests the end.
    Stop,
}

/// Channel by which a daemon receives jobs.
pub struct Inbox {
    pub(crate) jobs: Receiver<Job>,
    pub(crate) sender: SyncSender<Job>,
}

/// Handle to a daemon in the same process.
#[derive(Clone)]
pub struct Remote(pub(crate) SyncSender<Job>);

impl Inbox {
    /// Creates an empty inbox.
    pub fn new() -> Inbox {
        let (sender, jobs) = sync_channel(JOBS_MAX);
        Inbox { jobs, sender }
    }

    /// Returns a handle to the daemon that uses this inbox now or later.
    pub fn remote(&self) -> Remote {
        Remote(self.sender.clone())
    }
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox::new()
    }
}

impl Remote {
    /// Ends the daemon in an orderly way.
    pub fn stop(&self) {
        let _ = self.0.send(Job::Stop);
    }

    /// Makes the daemon reload its file; the result is in the log.
    pub fn reload(&self) {
        let _ = self.0.send(Job::Reload);
    }

    /// Starts a capture.
    pub(crate) fn capture(&self, wanted: Capture) -> Result<Stream, Refused> {
        let (answer, answered) = sync_channel(1);
        let ended = |_| Refused::new("the daemon is ending", "");
        self.0.send(Job::Capture(wanted, answer)).map_err(|_| ended(()))?;
        answered.recv().unwrap_or_else(|_| Err(ended(())))
    }

    /// Removes the taps of a capture.
    pub(crate) fn end_capture(&self) {
        let _ = self.0.send(Job::EndCapture);
    }

    /// Asks for something in the controller's name; none if the daemon has ended.
    pub(crate) fn control(&self, order: Order) -> Option<()> {
        self.0.send(Job::Control(order)).ok()
    }

    /// Applies some lines of a stream of changes.
    pub(crate) fn piece(&self, piece: Piece) -> Result<Told, Refused> {
        let (answer, answered) = sync_channel(1);
        let ended = |_| Refused::new("the daemon is ending", "");
        self.0.send(Job::Piece(piece, answer)).map_err(|_| ended(()))?;
        answered.recv().unwrap_or_else(|_| Err(ended(())))
    }

    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// When the daemon refuses the request or has ended.
    pub fn ask(&self, ask: Ask) -> Result<Value, Refused> {
        self.ask_within(ask, ANSWER_TIME_MAX)
    }

    /// Sends a request and waits at most `time` for the answer.
    ///
    /// # Errors
    /// Those of [`Remote::ask`], or when the time is over.
    pub fn ask_within(&self, ask: Ask, time: Duration) -> Result<Value, Refused> {
        let (answer, answered) = sync_channel(1);
        let ended = || Refused::new("the daemon is ending", "");
        self.0.send(Job::Asked(ask, answer)).map_err(|_| ended())?;
        match answered.recv_timeout(time) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                Err(Refused::new("the daemon is busy", "try again later"))
            }
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }
}

/// Largest number of waiting jobs; further senders wait.
const JOBS_MAX: usize = 64;

/// Time limit for an answer, longer than a reload of ten million users.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(600);
