//! A namespace with two links, a daemon between them, and a tester at their far ends.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use engine::{Monitor, Port, PortRequest};
use machine::clock::Clock;
use machine::cpu;
use netns::Namespace;
use packet::PortId;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The program that is tested.
pub const PLUMBLINE: &str = env!("CARGO_BIN_EXE_plumbline");

/// The program that runs as a daemon: another build of it where `PLUMBLINE_PROGRAM` names one.
fn program() -> PathBuf {
    std::env::var_os("PLUMBLINE_PROGRAM").map_or(PLUMBLINE.into(), PathBuf::from)
}

/// Two links: the daemon has `a0` and `b0`, the tester `a1` and `b1`.
pub struct Lab {
    pub namespace: Namespace,
    pub folder: TempDir,
}

/// A daemon as a child process.
pub struct Child {
    pub child: netns::Child,
    pub socket: PathBuf,
    /// The log so far.
    log: Arc<Mutex<Vec<String>>>,
}

impl Child {
    /// The lines of its log so far.
    pub fn logged(&self) -> Vec<String> {
        self.log.lock().expect("nobody panics").clone()
    }
}

/// The tester's end of a link.
pub struct End {
    pub port: Box<dyn Port>,
    pub monitor: Arc<dyn Monitor>,
}

impl Lab {
    /// Makes it; none, and a note, where that cannot be done.
    pub fn new() -> Option<Lab> {
        let lab = Lab::bare()?;
        let namespace = &lab.namespace;
        for key in ["all", "default"] {
            // The kernel's own packets would be counted, too.
            let _ = namespace.sysctl(&format!("net/ipv6/conf/{key}/disable_ipv6"), "1");
        }
        for (near, far) in [("a0", "a1"), ("b0", "b1")] {
            namespace.ip(&format!("link add {near} type veth peer name {far}")).expect("a link");
            for end in [near, far] {
                namespace.ip(&format!("link set {end} up")).expect("an interface");
            }
        }
        Some(lab)
    }

    /// Makes one without links and with the kernel's default settings; none, and a note, where that
    /// cannot be done.
    pub fn bare() -> Option<Lab> {
        if !netns::may_make_namespaces() || !netns::is_installed("ip") {
            println!("skipped: this needs the right to make network namespaces, and iproute2");
            return None;
        }
        let namespace = Namespace::new().expect("it may be made");
        Some(Lab { namespace, folder: tempfile::tempdir().expect("a folder") })
    }

    /// Writes a file of the folder.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("writable");
        path
    }

    /// Starts a daemon and waits until it says that it is ready.
    pub fn start(&self, file: &Path) -> Child {
        self.start_in(&self.namespace, file)
    }

    /// The same in another namespace.
    pub fn start_in(&self, namespace: &Namespace, file: &Path) -> Child {
        let mut command = Command::new(program());
        command.arg("run").arg(file).env("XDG_RUNTIME_DIR", self.folder.path());
        let mut child = namespace.spawn(command).expect("the program starts");
        let (out, errors) = child.output();
        let mut line = String::new();
        BufReader::new(out.expect("piped")).read_line(&mut line).expect("it says something");
        let socket = line.trim().rsplit(' ').next().unwrap_or_default();
        let mut errors = BufReader::new(errors.expect("piped"));
        if !line.starts_with("ready ") {
            let _ = errors.read_to_string(&mut line);
            panic!("{line}");
        }
        // Its log goes on until it ends.
        let log = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&log);
        thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                written.lock().expect("nobody panics").push(line);
            }
        });
        Child { child, socket: PathBuf::from(socket), log }
    }

    /// The far end of a link, as a packet socket.
    pub fn end(&self, interface: &str) -> End {
        self.open("af-packet", json!({"interface": interface, "ring": "frames"}))
    }

    /// A port of the tester.
    pub fn open(&self, kind: &str, keys: Value) -> End {
        let kind = ports::find(kind).expect("it is registered");
        let configured = kind.read(keys).expect("good keys");
        let request = PortRequest {
            name: "tester".to_owned(),
            id: PortId(0),
            queues: 1,
            frame_bytes_max: 1514,
            ticks_per_second: 1e9,
        };
        let opened = self.namespace.run(|| configured.open(&request)).expect("the namespace");
        let mut opened = opened.expect("what the keys name is there");
        End { port: opened.queues.remove(0), monitor: opened.monitor }
    }

    /// Runs the program to its end: its code, its output and what it said beside that.
    pub fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::new(PLUMBLINE)
            .args(arguments)
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .current_dir(self.folder.path())
            .output()
            .expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }
}

/// What is found before the deadline.
pub fn until<T>(what: &str, found: impl FnMut() -> Option<T>) -> T {
    until_or(what, found, String::new)
}

/// The same; what a failure tells beside what was waited for is asked for only then.
pub fn until_or<T>(
    what: &str,
    mut found: impl FnMut() -> Option<T>,
    why: impl FnOnce() -> String,
) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        if let Some(found) = found() {
            return found;
        }
        thread::park_timeout(Duration::from_millis(5));
    }
    panic!("waited in vain for {what} {}", why())
}

/// Writes the record of a measurement: what was measured, by which program, when and on what host,
/// with its stalls and the latency between its cores.
pub fn record(path: &Path, mut measured: Value) {
    let version = Command::new(PLUMBLINE).arg("--version").output().expect("it starts");
    let cores = cpu::available_cores();
    let clock = Clock::calibrate(Duration::from_millis(20));
    measured["program"] = String::from_utf8_lossy(&version.stdout).trim().into();
    measured["ended"] = jiff::Timestamp::now().to_string().into();
    measured["host"] = json!(lab::doctor::glance(&clock, cores[0], cores.get(1).copied()));
    let text = serde_json::to_string_pretty(&measured).expect("a record") + "\n";
    fs::write(path, text).expect("writable");
}

/// The median of some figures.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Repeats what a signal interrupts, as another test's program that ends.
pub fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
