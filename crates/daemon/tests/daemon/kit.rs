//! What the tests share: a kind of port whose far end they hold, and a daemon in a thread.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use daemon::client::Client;
use daemon::protocol::{Ask, View};
use daemon::{Configuration, Daemon, Inbox, Parts, Remote, RunError, Source};
use engine::{
    Link, Monitor, Opened, Port, PortCounts, PortDrop, PortError, PortKind, PortRequest,
    QueueCounters,
};
use machine::clock::{Clock, Ticks};
use packet::{Batch, Slot};
use port_memory::{MemoryPort, Receiver, Sender};
use ports::{Entry, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;

/// The functions there are, on links of memory.
pub fn parts() -> Parts {
    Parts { functions: functions::FUNCTIONS, ports: WIRED, controllers: crate::controllers::SIDES }
}

const WIRED: &[&dyn Kind] = &[&Entry::<Wired>::new()];

const DROPS: &[PortDrop] = &[PortDrop::transmit("ring-full")];

/// Remote ends of open links, by name.
static FAR: LazyLock<Mutex<HashMap<String, Far>>> = LazyLock::new(Mutex::default);

/// Remote end of a port.
pub type Far = (Sender, Receiver);

/// A port type that is a link of memory.
struct Wired;

/// Keys of the port type.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Keys {
    /// Name of the link; one whose name ends in `broken` cannot be opened.
    interface: String,
    /// A further key that can be changed.
    #[serde(default)]
    colour: String,
}

impl PortKind for Wired {
    const NAME: &'static str = "wired";
    const SUMMARY: &'static str = "a link of memory";
    type Config = Keys;

    fn available() -> Result<(), PortError> {
        Ok(())
    }

    fn open(keys: &Keys, request: &PortRequest) -> Result<Opened, PortError> {
        if keys.interface.ends_with("broken") {
            let what = format!("there is no link {}", keys.interface);
            return Err(PortError::new(what, "name another"));
        }
        let counters = QueueCounters::new(DROPS);
        let mut queues: Vec<Box<dyn Port>> = Vec::new();
        for queue in 0..request.queues {
            let (far, port) = port_memory::link(request.id, 1 << 20)
                .map_err(|error| PortError::new(error.to_string(), ""))?;
            // The first queue has the link's name, the others their number behind it.
            let number = if queue == 0 { String::new() } else { format!("#{queue}") };
            let name = format!("{}{number}", keys.interface);
            FAR.lock().expect("no test panicked").insert(name, far);
            queues.push(Box::new(Counted { port, counters: Arc::clone(&counters) }));
        }
        Ok(Opened { queues, monitor: Arc::new(Watched(counters)) })
    }
}

struct Counted {
    port: MemoryPort,
    counters: Arc<QueueCounters>,
}

impl Port for Counted {
    fn receive(&mut self, batch: &mut Batch, limit: usize, now: Ticks) -> usize {
        let count = self.port.receive(batch, limit, now);
        self.counters.received(count, 60 * count);
        count
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], now: Ticks) -> usize {
        let sent = self.port.transmit(batch, slots, now);
        self.counters.sent(sent, 60 * sent);
        self.counters.dropped(0, (slots.len() - sent) as u64);
        sent
    }
}

struct Watched(Arc<QueueCounters>);

impl Monitor for Watched {
    fn counts(&self) -> PortCounts {
        self.0.read()
    }

    fn link(&self) -> Link {
        Link::Up
    }
}

/// A daemon that runs in a thread.
pub struct Run {
    pub folder: Arc<TempDir>,
    pub file: PathBuf,
    pub socket: PathBuf,
    pub remote: Remote,
    pub links: String,
    thread: Option<JoinHandle<Result<(), RunError>>>,
}

/// Configuration of a bridge between two links whose names begin with `@`, to which a test can add
/// keys.
pub const BRIDGE: &str = "\
function: {name: l2-switch, stations: [{mac: 0a:00:00:00:00:01, port: uplink}, \
{mac: 0a:00:00:00:00:02, port: downlink}]}
ports:
  downlink: {type: wired, interface: @down}
  uplink: {type: wired, interface: @up}
workers: {idle: sleep}
control: {socket: @/control.sock}
";

/// A text like [`BRIDGE`] with further stations.
pub fn more_stations(text: &str, count: u8) -> String {
    let station = |last| format!("{{mac: 0a:00:00:00:01:{last:02x}, port: uplink}}, ");
    text.replace(
        "stations: [",
        &format!("stations: [{}", (0..count).map(station).collect::<String>()),
    )
}

/// Starts a daemon with this configuration; `@` stands for a text that is unique to the test.
pub fn start(text: &str) -> Run {
    try_start(text, true, Arc::new(tempfile::tempdir().expect("a folder"))).expect("it starts")
}

/// Starts a daemon with this configuration in a folder that may contain files.
pub fn try_start(text: &str, with_state: bool, folder: Arc<TempDir>) -> Result<Run, RunError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let links = format!("link{}-", NUMBER.fetch_add(1, Ordering::Relaxed));
    let file = folder.path().join("function.yaml");
    std::fs::write(&file, fill(text, &folder, &links)).expect("writable");
    let configuration = Configuration::read(&file, parts())?;
    let inbox = Inbox::new();
    let remote = inbox.remote();
    let source = Source { file: file.clone(), parts: parts(), with_state };
    let clock = Clock::calibrate(Duration::from_millis(5));
    let daemon = Daemon::start(configuration, source, inbox, clock)?;
    let socket = daemon.socket().to_owned();
    let thread = Some(thread::spawn(move || daemon.run()));
    Ok(Run { folder, file, socket, remote, links, thread })
}

fn fill(text: &str, folder: &TempDir, links: &str) -> String {
    text.replace("@/", &format!("{}/", folder.path().display())).replace('@', links)
}

impl Run {
    /// Returns the remote end of a link, once for each time it was opened.
    pub fn far(&self, name: &str) -> Far {
        let name = format!("{}{name}", self.links);
        FAR.lock().expect("no test panicked").remove(&name).expect("the link is open")
    }

    /// Replaces the text of the file.
    pub fn rewrite(&self, text: &str) {
        let text = fill(text, &self.folder, &self.links);
        std::fs::write(&self.file, text).expect("writable");
    }

    /// Sends a request over the socket.
    pub fn ask(&self, ask: Ask) -> Result<Value, daemon::client::ClientError> {
        Client::connect(&self.socket)?.ask(ask)
    }

    pub fn show(&self, view: View) -> Value {
        self.ask(Ask::Show(view)).expect("it answers")
    }

    /// Stops the daemon and returns its result.
    pub fn stop(mut self) -> Result<(), RunError> {
        self.remote.stop();
        self.thread.take().expect("it runs").join().expect("it does not panic")
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.remote.stop();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Returns a frame between two stations.
pub fn frame(to: u8, from: u8) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, to]);
    frame[6..12].copy_from_slice(&[if from == 0 { 0 } else { 2 }, 0, 0, 0, 0, from]);
    frame[12] = 8;
    frame
}

/// Sends frames and waits until the remote end of the other port has received all of them.
pub fn pass(count: usize, from: &mut Sender, to: &mut Receiver) {
    for _ in 0..count {
        assert!(from.send(&frame(9, 8)), "the ring has room");
    }
    from.publish();
    for _ in 0..count {
        until("a frame", || to.next_frame().map(drop));
        to.release();
    }
}

/// Polls `found` until it returns a value, or panics after the deadline.
pub fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        if let Some(found) = found() {
            return found;
        }
        thread::park_timeout(Duration::from_micros(200));
    }
    panic!("waited in vain for {what}")
}
