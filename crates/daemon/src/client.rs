//! A client of a daemon: asks over its control socket and waits for the answer, for a bounded time.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::control::default_socket;
use crate::protocol::{
    Ask, Capture, Outcome, REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX, Request, Response, VERSION,
};
use crate::unit::Refused;
use crate::words;

/// Connection of a client to a daemon.
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
    next_id: u64,
}

/// Error of a request to a daemon.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The daemon cannot be reached, or does not answer.
    #[error("{what}: {}", path.display())]
    Unreachable {
        /// Path of the socket.
        path: PathBuf,
        /// Description of the error.
        what: String,
        /// Remedy.
        remedy: String,
    },
    /// The daemon refused the request.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl ClientError {
    /// Returns the remedy; may be empty.
    pub fn remedy(&self) -> &str {
        match self {
            ClientError::Unreachable { remedy, .. } => remedy,
            ClientError::Refused(refused) => &refused.remedy,
        }
    }
}

impl Client {
    /// Connects to the control socket at this path.
    ///
    /// # Errors
    /// When no daemon serves it, or access is denied.
    pub fn connect(path: &Path) -> Result<Client, ClientError> {
        let unreachable = |what: String, remedy: &str| ClientError::Unreachable {
            path: path.to_owned(),
            what,
            remedy: remedy.to_owned(),
        };
        let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => unreachable(
                "no daemon serves this control socket".into(),
                "start a daemon with `plumbline run`, or select another one with --name or \
                 --socket",
            ),
            ErrorKind::ConnectionRefused => unreachable(
                "the daemon of this control socket has ended".into(),
                "start it again with `plumbline run`",
            ),
            ErrorKind::PermissionDenied => unreachable(
                "permission denied for this control socket".into(),
                "use the user account of the daemon, or set `control.mode` in its file",
            ),
            _ => unreachable(format!("the daemon cannot be reached: {error}"), ""),
        })?;
        let set = |stream: &UnixStream| {
            stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
            stream.set_write_timeout(Some(ANSWER_TIME_MAX))
        };
        set(&stream).map_err(|error| unreachable(error.to_string(), ""))?;
        Ok(Client { path: path.to_owned(), stream: BufReader::new(stream), next_id: 1 })
    }

    /// Connects to the daemon of this name.
    ///
    /// # Errors
    /// Those of [`Client::connect`].
    pub fn of_name(name: &str) -> Result<Client, ClientError> {
        Client::connect(&default_socket(name))
    }

    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// When the daemon refuses the request, or does not answer.
    pub fn ask(&mut self, ask: Ask) -> Result<Value, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        let failed = |path: &Path, what: String| ClientError::Unreachable {
            path: path.to_owned(),
            what,
            remedy: "see the daemon's log".to_owned(),
        };
        let request = Request { version: VERSION, id, ask };
        let mut text =
            serde_json::to_vec(&request).map_err(|error| failed(&self.path, error.to_string()))?;
        text.push(b'\n');
        self.stream.get_mut().write_all(&text).map_err(|error| {
            failed(
                &self.path,
                format!(
                    "the request could not be sent to the \
                                                         daemon: {error}"
                ),
            )
        })?;
        self.answered()
    }

    /// Waits for an answer.
    fn answered(&mut self) -> Result<Value, ClientError> {
        let failed = |path: &Path, what: String| ClientError::Unreachable {
            path: path.to_owned(),
            what,
            remedy: "see the daemon's log".to_owned(),
        };
        let mut line = Vec::new();
        let limit = RESPONSE_BYTES_MAX as u64;
        let read = self.stream.by_ref().take(limit).read_until(b'\n', &mut line);
        read.map_err(|error| failed(&self.path, format!("the daemon does not answer: {error}")))?;
        if line.last() != Some(&b'\n') {
            return Err(failed(&self.path, "the daemon has ended".to_owned()));
        }
        let response: Response = serde_json::from_slice(&line)
            .map_err(|error| failed(&self.path, format!("the answer is invalid: {error}")))?;
        match response.outcome {
            Outcome::Ok(value) => Ok(value),
            Outcome::Refused(refused) => Err(refused.into()),
        }
    }

    /// Sends many changes, one a line, as words ([`words`]) or as [`Ask::Updates`] has them, and
    /// returns what became of them.
    ///
    /// # Errors
    /// When the daemon does not take them, or they cannot be read.
    pub fn updates(&mut self, from: &mut dyn BufRead) -> Result<Value, ClientError> {
        let request = Request { version: VERSION, id: self.next_id, ask: Ask::Updates };
        self.next_id += 1;
        let path = self.path.clone();
        let failed = |what: String| ClientError::Unreachable {
            path: path.clone(),
            what,
            remedy: "see the daemon's log".to_owned(),
        };
        let mut text = serde_json::to_vec(&request).map_err(|error| failed(error.to_string()))?;
        text.push(b'\n');
        let mut line = Vec::new();
        let broken = loop {
            line.clear();
            let most = REQUEST_BYTES_MAX as u64;
            let unread = match from.take(most).read_until(b'\n', &mut line) {
                Ok(len) if len as u64 == most => Some(format!("a line has more than {most} bytes")),
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            };
            if let Some(why) = unread {
                let what = format!("the changes cannot be read: {why}");
                return Err(Refused::new(what, "those before may have taken effect").into());
            }
            let is_last = line.is_empty();
            match is_last {
                true => text.push(b'\n'),
                false => words::push(&mut text, &line),
            }
            if text.len() >= PIECE_BYTES || is_last {
                // A daemon that refuses the rest has said why.
                let broken = self.stream.get_mut().write_all(&text).err();
                text.clear();
                if is_last || broken.is_some() {
                    break broken;
                }
            }
        };
        match (self.answered(), broken) {
            (Err(ClientError::Unreachable { .. }), Some(error)) => {
                Err(failed(format!("the changes could not be sent to the daemon: {error}")))
            }
            (answer, _) => answer,
        }
    }

    /// Writes copies of packets to `out` as a pcapng file; ends when the daemon has sent the
    /// requested number, or `stop` becomes true.
    ///
    /// # Errors
    /// When the daemon refuses the request or ends, or `out` cannot be written.
    pub fn capture(
        mut self,
        wanted: Capture,
        out: &mut dyn Write,
        stop: &AtomicBool,
    ) -> Result<(), ClientError> {
        self.ask(Ask::Capture(wanted))?;
        let broken = |error: std::io::Error| ClientError::Unreachable {
            path: self.path.clone(),
            what: format!("the capture was interrupted: {error}"),
            remedy: "the packets written so far are valid".to_owned(),
        };
        let mut stopped_at = None;
        self.stream.get_ref().set_read_timeout(Some(LOOK)).map_err(broken)?;
        loop {
            let chunk = match self.stream.fill_buf() {
                Ok([]) => return out.flush().map_err(broken),
                Ok(chunk) => chunk,
                Err(error) if is_pause(&error) => &[],
                Err(error) => return Err(broken(error)),
            };
            let count = chunk.len();
            out.write_all(chunk).map_err(broken)?;
            self.stream.consume(count);
            if stop.load(Ordering::Relaxed) {
                // The daemon ends the file when this half is closed.
                let since = *stopped_at.get_or_insert_with(|| {
                    let _ = self.stream.get_ref().shutdown(Shutdown::Write);
                    Instant::now()
                });
                if since.elapsed() > ENDING_TIME_MAX {
                    return out.flush().map_err(broken);
                }
            }
        }
    }
}

fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// How much of many changes is sent at once, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Interval at which `stop` is read.
const LOOK: Duration = Duration::from_millis(50);

/// Time limit for the daemon to end a file.
const ENDING_TIME_MAX: Duration = Duration::from_secs(5);

/// Time limit for an answer; a reload of a large function takes a while.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);
