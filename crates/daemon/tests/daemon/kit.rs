//! What the tests share: a kind of port whose far end they hold, and a daemon in a thread.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use daemon::client::Client;
use daemon::protocol::{Ask, View};
use daemon::{Configuration, Daemon, FUNCTIONS, Inbox, Parts, Remote, RunError, Source};
use engine::{
    KeyError, Link, Monitor, Opened, Port, PortCounts, PortDrop, PortError, PortKind, PortRequest,
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
pub const PARTS: Parts = Parts { functions: FUNCTIONS, ports: WIRED };

const WIRED: &[&dyn Kind] = &[&Entry::<Wired>::new()];

const DROPS: &[PortDrop] = &[PortDrop::transmit("ring-full")];

/// The far ends of open links, by name.
static FAR: LazyLock<Mutex<HashMap<String, Far>>> = LazyLock::new(Mutex::default);

/// What a peer of a port has.
pub type Far = (Sender, Receiver);

/// A kind of port that is a link of memory.
struct Wired;

/// Its keys.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Keys {
    /// The link; one whose name ends in `broken` cannot be opened.
    interface: String,
    /// Something else to change.
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

    fn validate(_: &Keys) -> Result<(), KeyError> {
        Ok(())
    }

    fn open(keys: &Keys, request: &PortRequest) -> Result<Opened, PortError> {
        if keys.interface.ends_with("broken") {
            let what = format!("there is no link {}", keys.interface);
            return Err(PortError::new(what, "name another"));
        }
        let (far, port) = port_memory::link(request.id, 1 << 20)
            .map_err(|error| PortError::new(error.to_string(), ""))?;
        FAR.lock().expect("no test panicked").insert(keys.interface.clone(), far);
        let counters = QueueCounters::new(DROPS);
        let queue = Counted { port, counters: Arc::clone(&counters) };
        Ok(Opened { queues: vec![Box::new(queue)], monitor: Arc::new(Watched(counters)) })
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

/// A bridge between two links whose names begin with `@`, with whatever else a test adds.
pub const BRIDGE: &str = "\
function: {name: l2-switch, upstream-table-size: 2, downstream-table-size: 2}
ports:
  downlink: {type: wired, interface: @down}
  uplink: {type: wired, interface: @up}
workers: {idle: sleep}
control: {socket: @/control.sock}
";

/// Starts what a text says; `@` stands for something that no other test has.
pub fn start(text: &str) -> Run {
    try_start(text, true, Arc::new(tempfile::tempdir().expect("a folder"))).expect("it starts")
}

/// The same in a folder that may hold something.
pub fn try_start(text: &str, with_state: bool, folder: Arc<TempDir>) -> Result<Run, RunError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let links = format!("link{}-", NUMBER.fetch_add(1, Ordering::Relaxed));
    let file = folder.path().join("function.yaml");
    std::fs::write(&file, fill(text, &folder, &links)).expect("writable");
    let configuration = Configuration::read(&file, PARTS)?;
    let inbox = Inbox::new();
    let remote = inbox.remote();
    let source = Source { file: file.clone(), parts: PARTS, with_state };
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
    /// The far end of a link, once for each time it was opened.
    pub fn far(&self, name: &str) -> Far {
        let name = format!("{}{name}", self.links);
        FAR.lock().expect("no test panicked").remove(&name).expect("the link is open")
    }

    /// Another text for the file.
    pub fn rewrite(&self, text: &str) {
        let text = fill(text, &self.folder, &self.links);
        std::fs::write(&self.file, text).expect("writable");
    }

    /// Asks over the socket.
    pub fn ask(&self, ask: Ask) -> Result<Value, daemon::client::ClientError> {
        Client::connect(&self.socket)?.ask(ask)
    }

    pub fn show(&self, view: View) -> Value {
        self.ask(Ask::Show(view)).expect("it answers")
    }

    /// Ends it and tells how it went.
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

/// A frame between two stations.
pub fn frame(to: u8, from: u8) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, to]);
    frame[6..12].copy_from_slice(&[if from == 0 { 0 } else { 2 }, 0, 0, 0, 0, from]);
    frame[12] = 8;
    frame
}

/// Sends frames and waits until the far end of the other port has all of them.
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

/// What is found before the deadline.
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
