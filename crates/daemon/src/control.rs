//! The server of the control socket: a few threads, each with one client, all of them bounded.
//!
//! A request has a greatest length and a time in which it must be complete; an answer has a time in
//! which it must be taken. Where all places are taken, the client that has been silent for longest
//! loses its own. Who may speak is the file mode's matter.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::{Value, json};

use crate::capture::Stream;
use crate::config::Control;
use crate::error::RunError;
use crate::inbox::Remote;
use crate::protocol::{Ask, Outcome, REQUEST_BYTES_MAX, Request, Response, VERSION};
use crate::stream;
use crate::unit::Refused;

/// A bound control socket; clients wait until it is served.
pub(crate) struct Bound {
    listener: UnixListener,
    file: SocketFile,
}

/// Server of a control socket; dropping it removes the socket and ends all connections.
pub(crate) struct Server {
    waker: UnixStream,
    stop: Arc<AtomicBool>,
    clients: Clients,
    thread: Option<JoinHandle<()>>,
    file: SocketFile,
}

/// A socket in the file system, removed when it is dropped.
struct SocketFile(PathBuf);

/// Returns the default path of the control socket of a daemon with this name.
pub fn default_socket(name: &str) -> PathBuf {
    let folder = match env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) if !folder.is_empty() => Path::new(&folder).join("plumbline"),
        _ => PathBuf::from("/run/plumbline"),
    };
    folder.join(format!("{name}.sock"))
}

impl Server {
    /// Binds the socket, and replaces one that no daemon serves any more.
    ///
    /// # Errors
    /// When another daemon serves it, or its folder cannot be written.
    pub fn bind(name: &str, control: &Control) -> Result<Bound, RunError> {
        let path = control.socket.clone().unwrap_or_else(|| default_socket(name));
        let failed = |what: String, remedy: &str| Err(RunError::path(&path, what, remedy));
        if path.as_os_str().len() > PATH_BYTES_MAX {
            let what = format!("the path of a socket has at most {PATH_BYTES_MAX} bytes");
            return failed(what, "choose a shorter `control.socket`");
        }
        if UnixStream::connect(&path).is_ok() {
            let what = "another daemon serves this control socket".to_owned();
            return failed(what, "stop it, or choose another `name` or `control.socket`");
        }
        if control.socket.is_none()
            && let Some(folder) = path.parent()
            && let Err(error) = fs::create_dir_all(folder)
        {
            return failed(
                format!("cannot create the folder of the control socket: {error}"),
                ELSEWHERE,
            );
        }
        match bound(&path, control.mode_bits().unwrap_or(0o600)) {
            Ok(bound) => Ok(bound),
            Err(error) => failed(format!("cannot create the control socket: {error}"), ELSEWHERE),
        }
    }

    fn accept(listener: &UnixListener, remote: &Remote, clients: &Clients, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => clients.serve(stream, remote.clone()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // File descriptors are used up, or the listener was shut down; the next turn tells.
                Err(_) => thread::park_timeout(Duration::from_millis(20)),
            }
        }
    }
}

/// Binds the socket under a temporary name, sets its mode, and renames it.
fn bound(path: &Path, mode: u32) -> io::Result<Bound> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let beside = SocketFile(folder.join(format!(".{}", std::process::id())));
    let _ = fs::remove_file(&beside.0);
    let listener = UnixListener::bind(&beside.0)?;
    fs::set_permissions(&beside.0, fs::Permissions::from_mode(mode))?;
    fs::rename(&beside.0, path)?;
    Ok(Bound { listener, file: SocketFile(path.to_owned()) })
}

impl Bound {
    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.file.0
    }

    /// Starts to serve clients.
    ///
    /// # Errors
    /// When no thread can be created.
    pub fn serve(self, remote: Remote) -> Result<Server, RunError> {
        let Bound { listener, file } = self;
        let failed = |error: io::Error| RunError::path(&file.0, error, "free some memory");
        let waker = UnixStream::from(OwnedFd::from(listener.try_clone().map_err(failed)?));
        let stop = Arc::new(AtomicBool::new(false));
        let clients = Clients::default();
        let body = {
            let (stop, clients) = (Arc::clone(&stop), clients.clone());
            move || Server::accept(&listener, &remote, &clients, &stop)
        };
        let thread = thread::Builder::new().name("control".into()).spawn(body).map_err(failed)?;
        Ok(Server { waker, stop, clients, thread: Some(thread), file })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A listener that is shut down lets its thread go.
        let _ = self.waker.shutdown(Shutdown::Both);
        let _ = self.thread.take().map(JoinHandle::join);
        self.clients.end();
        tracing::debug!(path = %self.file.0.display(), "control socket closed");
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The connected clients.
#[derive(Clone, Default)]
struct Clients(Arc<Mutex<Vec<Client>>>);

struct Client {
    number: u64,
    stream: UnixStream,
    heard: Instant,
    is_busy: bool,
}

impl Clients {
    /// Serves a client on a new thread; a silent client is disconnected if there are too many.
    fn serve(&self, stream: UnixStream, remote: Remote) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() >= CLIENTS_MAX {
            let silent = list.iter().enumerate().filter(|(_, client)| !client.is_busy);
            let Some((place, _)) = silent.min_by_key(|(_, client)| client.heard) else { return };
            let _ = list.remove(place).stream.shutdown(Shutdown::Both);
        }
        let Ok(copy) = stream.try_clone() else { return };
        let number = list.iter().map(|client| client.number + 1).max().unwrap_or_default();
        list.push(Client { number, stream: copy, heard: Instant::now(), is_busy: false });
        drop(list);
        let clients = self.clone();
        let body = move || {
            // Whatever goes wrong with a client ends its conversation and nothing else.
            let _ = converse(stream, &remote, &clients, number);
            clients.forget(number);
        };
        let started = thread::Builder::new().name("client".into()).stack_size(STACK_BYTES);
        if started.spawn(body).is_err() {
            self.forget(number);
        }
    }

    fn heard(&self, number: u64, is_busy: bool) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = list.iter_mut().find(|client| client.number == number) {
            client.heard = Instant::now();
            client.is_busy = is_busy;
        }
    }

    fn forget(&self, number: u64) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.retain(|client| client.number != number);
    }

    fn end(&self) {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.iter().for_each(|client| drop(client.stream.shutdown(Shutdown::Both)));
    }
}

/// Serves a client from its first request to its end.
fn converse(
    mut stream: UnixStream,
    remote: &Remote,
    clients: &Clients,
    number: u64,
) -> io::Result<()> {
    stream.set_write_timeout(Some(ANSWER_TIME_MAX))?;
    let mut lines = Lines::default();
    while let Some(line) = lines.next(&mut stream)? {
        clients.heard(number, true);
        let (id, outcome) = match understand(&line) {
            Ok(Request { id, ask: Ask::Updates, .. }) => {
                let outcome = stream::take(&mut stream, &mut lines.buffer, remote)?;
                if outcome.is_err() {
                    // What follows is no request.
                    return answer(&mut stream, id, outcome);
                }
                (id, outcome)
            }
            Ok(Request { id, ask: Ask::Capture(wanted), .. }) => match remote.capture(wanted) {
                Ok(capture) => return pour(capture, id, &mut stream, remote),
                Err(refused) => (id, Err(refused)),
            },
            Ok(request) => (request.id, remote.ask(request.ask)),
            Err((id, refused)) => (id, Err(refused)),
        };
        answer(&mut stream, id, outcome)?;
        clients.heard(number, false);
    }
    Ok(())
}

/// Writes a capture to a client; it is the last answer on the connection.
fn pour(capture: Stream, id: u64, stream: &mut UnixStream, remote: &Remote) -> io::Result<()> {
    let poured =
        answer(stream, id, Ok(json!({"format": "pcapng"}))).and_then(|()| capture.write_to(stream));
    remote.end_capture();
    poured
}

fn understand(line: &[u8]) -> Result<Request, (u64, Refused)> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        (0, Refused::new(format!("the request is not JSON: {error}"), ONE_LINE))
    })?;
    let id = value.get("id").and_then(Value::as_u64).unwrap_or_default();
    match value.get("version").and_then(Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        _ => {
            let what = format!("this daemon supports only version {VERSION} of the protocol");
            return Err((
                id,
                Refused::new(what, "use the same version of plumbline as the daemon"),
            ));
        }
    }
    serde_json::from_value(value)
        .map_err(|error| (id, Refused::new(format!("the request is invalid: {error}"), ONE_LINE)))
}

fn answer(stream: &mut UnixStream, id: u64, outcome: Result<Value, Refused>) -> io::Result<()> {
    let outcome = match outcome {
        Ok(value) => Outcome::Ok(value),
        Err(refused) => Outcome::Refused(refused),
    };
    let mut text = serde_json::to_vec(&Response { version: VERSION, id, outcome })?;
    text.push(b'\n');
    stream.write_all(&text)
}

/// Reader of a client's lines, each of bounded length and complete within a bounded time.
#[derive(Default)]
struct Lines {
    buffer: Vec<u8>,
}

impl Lines {
    /// Returns the next line without its end; `None` at the end of the input.
    fn next(&mut self, stream: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
        let mut chunk = [0; 4096];
        let mut deadline = Instant::now() + SILENCE_MAX;
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let rest = self.buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                return Ok(Some(line));
            }
            if self.buffer.len() >= REQUEST_BYTES_MAX {
                let what = format!("a request has at most {REQUEST_BYTES_MAX} bytes");
                answer(stream, 0, Err(Refused::new(what, ONE_LINE)))?;
                return Ok(None);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            stream.set_read_timeout(Some(left))?;
            let count = match stream.read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if self.buffer.is_empty() {
                deadline = Instant::now() + REQUEST_TIME_MAX;
            }
            self.buffer.extend_from_slice(&chunk[..count]);
        }
    }
}

const ELSEWHERE: &str = "set `control.socket` to a path that this process may write to";
const ONE_LINE: &str = "send one object per line, as docs/running.md shows";

/// Longest path of a local socket in bytes.
const PATH_BYTES_MAX: usize = 107;

/// Largest number of clients at a time.
const CLIENTS_MAX: usize = 32;

/// Time of silence after which a client is considered gone.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// Time limit from the first byte of a request to its end.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(5);

/// Time limit for a client to read an answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);

/// Stack size of a client's thread in bytes; the values of a request nest at most as deep as
/// serde_json allows, 128 levels.
const STACK_BYTES: usize = 512 << 10;
