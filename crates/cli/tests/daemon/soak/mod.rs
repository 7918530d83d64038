//! A daemon under load both ways that is reloaded every second, captured on and off, and whose
//! peers go away again and again: every frame is accounted for, and memory stays as it is.
//!
//! One peer is a memif port that dies with all it holds, the other an interface that goes down. It
//! lasts a quarter of a minute; `cargo xtask soak --minutes 10` lets it last longer and writes a
//! record. What a frame may be lost to: a counter of the daemon, of the tester's ports, or of an
//! interface.

mod account;
mod traffic;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use daemon::client::Client;
use daemon::protocol::{Ask, Capture};
use serde_json::json;

use crate::kit::{self, Lab};

use traffic::Tester;

const FILE: &str = "\
function: {name: l2-switch, mode: bridge, stations: []}
ports:
  downlink: {type: af-packet, interface: a0, ring: frames, ring-bytes: 4194304}
  uplink: {type: memif, socket: SOCKET, role: master}
workers: {idle: sleep}
";

/// What is done meanwhile, and how often it was.
#[derive(Default)]
struct Disturbances {
    end: AtomicBool,
    reloads: AtomicU64,
    port_changes: AtomicU64,
    captures: AtomicU64,
    captured_bytes: AtomicU64,
    deaths: AtomicU64,
    links_down: AtomicU64,
}

#[test]
fn no_frame_is_lost_without_a_counter() {
    let seconds = std::env::var("PLUMBLINE_SOAK_SECONDS").ok();
    let seconds: u64 = seconds.and_then(|text| text.parse().ok()).unwrap_or(15);
    let period = Duration::from_secs((seconds / 4).clamp(1, 10));
    let Some(lab) = Lab::new() else { return };
    let peer = lab.folder.path().join("peer.sock").display().to_string();
    let text = FILE.replace("SOCKET", &peer);
    let file = lab.write("soak.yaml", &text);
    let mut daemon = lab.start(&file);
    let mut tester = Tester::new(&lab, &peer);
    let disturbances = Disturbances::default();
    let mut memory = Vec::new();
    let started = Instant::now();
    thread::scope(|scope| {
        let (lab, socket, disturbances) = (&lab, &daemon.socket, &disturbances);
        let (file, text) = (&file, &text);
        scope.spawn(move || reload(file, text, socket, disturbances));
        scope.spawn(move || capture(socket, disturbances));
        scope.spawn(move || take_link_down(lab, period, disturbances));
        let mut samples_due = (1..=20).map(|part| Duration::from_secs(seconds) * part / 20);
        let mut due = samples_due.next();
        tester.load(Duration::from_secs(seconds), period, disturbances, || {
            if due.is_some_and(|due| started.elapsed() >= due) {
                due = samples_due.next();
                memory.push(resident_bytes(daemon.child.id()));
            }
        });
        disturbances.end.store(true, Ordering::Relaxed);
    });
    let account = account::settle(&lab, &daemon.socket, &mut tester);
    let growth = memory.last().copied().unwrap_or(0).saturating_sub(memory[memory.len() / 5]);
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let not_in_order = tester.up.not_in_order + tester.down.not_in_order;
    let record = json!({
        "seconds": seconds,
        "account": account,
        "reloads": count(&disturbances.reloads),
        "port_changes": count(&disturbances.port_changes),
        "captures": count(&disturbances.captures),
        "captured_bytes": count(&disturbances.captured_bytes),
        "peer_deaths": count(&disturbances.deaths),
        "links_down": count(&disturbances.links_down),
        "resident_bytes": memory,
        "resident_growth_bytes": growth,
        "not_in_order": not_in_order,
    });
    if let Some(path) = std::env::var_os("PLUMBLINE_SOAK_RECORD") {
        kit::record(path.as_ref(), record.clone());
    }
    assert!(tester.up.received.min(tester.down.received) > 1000, "{record}");
    assert_eq!(account["unexplained"], 0, "{record}");
    assert_eq!(account["adds_up"], true, "{record}");
    assert_eq!(not_in_order, 0, "{record}");
    assert!(growth <= GROWTH_BYTES_MAX, "{record}");
    for what in ["reloads", "captures", "peer_deaths", "links_down"] {
        assert!(record[what].as_u64() > Some(1), "{what}: {record}");
    }
    assert_eq!(daemon.child.stop(Duration::from_secs(20)).and_then(|end| end.code()), Some(0));
}

/// Another table every second, and another ring of a port now and then.
fn reload(file: &Path, text: &str, socket: &Path, disturbances: &Disturbances) {
    let mut turn = 0;
    while !paused(Duration::from_secs(1), &disturbances.end) {
        turn += 1;
        let size = if turn % 2 == 0 { 2 } else { 50 };
        let station = |last| format!("{{mac: 0a:00:00:00:00:{last:02x}, port: uplink}}, ");
        let stations: String = (0..size).map(station).collect();
        let ring = if turn / 5 % 2 == 0 { "4194304" } else { "8388608" };
        let text = text.replace("stations: []", &format!("stations: [{stations}]"));
        fs::write(file, text.replace("4194304", ring)).expect("writable");
        let done = Client::connect(socket).expect("it runs").ask(Ask::Reload).expect("a good file");
        disturbances.reloads.fetch_add(1, Ordering::Relaxed);
        let changes = done["ports"].as_array().map_or(0, Vec::len) as u64;
        disturbances.port_changes.fetch_add(changes, Ordering::Relaxed);
    }
}

/// A second of capture, a second without.
fn capture(socket: &Path, disturbances: &Disturbances) {
    while !paused(Duration::from_secs(1), &disturbances.end) {
        let client = Client::connect(socket).expect("it runs");
        let stop = AtomicBool::new(false);
        let bytes = thread::scope(|scope| {
            let stop = &stop;
            let capture = scope.spawn(move || {
                let mut file = Vec::new();
                client.capture(Capture::default(), &mut file, stop).expect("a capture");
                file.len() as u64
            });
            paused(Duration::from_secs(1), &disturbances.end);
            stop.store(true, Ordering::Relaxed);
            capture.join().expect("no panic")
        });
        disturbances.captures.fetch_add(1, Ordering::Relaxed);
        disturbances.captured_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The near interface goes down for half a second, between two deaths of the far end.
fn take_link_down(lab: &Lab, period: Duration, disturbances: &Disturbances) {
    let mut pause = period / 2;
    while !paused(pause, &disturbances.end) {
        lab.namespace.ip("link set a1 down").expect("our interface");
        paused(Duration::from_millis(500), &AtomicBool::new(false));
        lab.namespace.ip("link set a1 up").expect("our interface");
        disturbances.links_down.fetch_add(1, Ordering::Relaxed);
        pause = period.saturating_sub(Duration::from_millis(500));
    }
}

/// Whether it ends before so much time has passed.
fn paused(time: Duration, end: &AtomicBool) -> bool {
    let started = Instant::now();
    while started.elapsed() < time {
        if end.load(Ordering::Relaxed) {
            return true;
        }
        thread::park_timeout(Duration::from_millis(10));
    }
    end.load(Ordering::Relaxed)
}

fn resident_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

/// The allocator's own doing; a leak of a frame each would be a hundred times that.
const GROWTH_BYTES_MAX: u64 = 16 << 20;
