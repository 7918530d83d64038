//! A client of a daemon: asks over its control socket and waits for the answer, for a bounded time.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::control::default_socket;
use crate::protocol::{Ask, Capture, Outcome, RESPONSE_BYTES_MAX, Request, Response, VERSION};
use crate::unit::Refused;

/// A conversation with a daemon.
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
    next_id: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The daemon cannot be reached, or does not answer.
    #[error("{what}: {}", path.display())]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// The daemon refused.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl ClientError {
    /// What to do about it; may be empty.
    pub fn remedy(&self) -> &str {
        match self {
            ClientError::Unreachable { remedy, .. } => remedy,
            ClientError::Refused(refused) => &refused.remedy,
        }
    }
}

impl Client {
    /// Connects to the socket at this path.
    ///
    /// # Errors
    /// When nobody serves it, or it may not be used.
    pub fn connect(path: &Path) -> Result<Client, ClientError> {
        let unreachable = |what: String, remedy: &str| ClientError::Unreachable {
            path: path.to_owned(),
            what,
            remedy: remedy.to_owned(),
        };
        let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => unreachable(
                "no daemon has this control socket".into(),
                "start it with `plumbline run`, or name another with --name or --socket",
            ),
            ErrorKind::ConnectionRefused => unreachable(
                "the daemon of this control socket is gone".into(),
                "start it again with `plumbline run`",
            ),
            ErrorKind::PermissionDenied => unreachable(
                "you may not use this control socket".into(),
                "become the user of the daemon, or set `control.mode` in its file",
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
    /// As [`Client::connect`].
    pub fn of_name(name: &str) -> Result<Client, ClientError> {
        Client::connect(&default_socket(name))
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    /// What the daemon refuses, or that it does not answer.
    pub fn ask(&mut self, ask: Ask) -> Result<Value, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        let failed = |path: &Path, what: String| ClientError::Unreachable {
            path: path.to_owned(),
            what,
            remedy: "look into the daemon's log".to_owned(),
        };
        let request = Request { version: VERSION, id, ask };
        let mut text =
            serde_json::to_vec(&request).map_err(|error| failed(&self.path, error.to_string()))?;
        text.push(b'\n');
        self.stream
            .get_mut()
            .write_all(&text)
            .map_err(|error| failed(&self.path, format!("the daemon does not listen: {error}")))?;
        let mut line = Vec::new();
        let limit = RESPONSE_BYTES_MAX as u64;
        let read = self.stream.by_ref().take(limit).read_until(b'\n', &mut line);
        read.map_err(|error| failed(&self.path, format!("the daemon does not answer: {error}")))?;
        if line.last() != Some(&b'\n') {
            return Err(failed(&self.path, "the daemon has ended".to_owned()));
        }
        let response: Response = serde_json::from_slice(&line)
            .map_err(|error| failed(&self.path, format!("an answer that is none: {error}")))?;
        match response.outcome {
            Outcome::Ok(value) => Ok(value),
            Outcome::Refused(refused) => Err(refused.into()),
        }
    }

    /// Copies of packets as a pcapng file, written out as they come; ends when the daemon has written
    /// as many as were asked for, or `stop` becomes true.
    ///
    /// # Errors
    /// What the daemon refuses, that it is gone, or that `out` takes no more.
    pub fn capture(
        mut self,
        wanted: Capture,
        out: &mut dyn Write,
        stop: &AtomicBool,
    ) -> Result<(), ClientError> {
        self.ask(Ask::Capture(wanted))?;
        let broken = |error: std::io::Error| ClientError::Unreachable {
            path: self.path.clone(),
            what: format!("the capture broke off: {error}"),
            remedy: "what was written before is good".to_owned(),
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

/// How soon a wish to stop is seen.
const LOOK: Duration = Duration::from_millis(50);

/// What the daemon may take to end a file.
const ENDING_TIME_MAX: Duration = Duration::from_secs(5);

/// A reload of a large function takes a while.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);
