//! A daemon under load that is reloaded every second, captured on and off, and whose peer goes away
//! again and again: every frame is accounted for, and memory stays as it is.
//!
//! It lasts a quarter of a minute; `cargo xtask soak --minutes 10` lets it last longer and writes a
//! record. What a frame may be lost to: a counter of the daemon, of the tester's sockets, or of an
//! interface.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use daemon::client::Client;
use daemon::protocol::{Ask, Capture, View};
use engine::Way;
use machine::clock;
use packet::{Batch, PortId, Room, Slot};
use serde_json::{Value, json};

use crate::kit::{End, Lab, until};

const FILE: &str = "\
function: {name: l2-forward, mode: bridge, upstream-table-size: 2, downstream-table-size: 2}
ports:
  downlink: {type: af-packet, interface: a0, ring: frames}
  uplink: {type: af-packet, interface: b0, ring-bytes: 4194304}
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
}

/// What came back to the tester.
#[derive(Default)]
struct Received {
    frames: u64,
    not_in_order: u64,
    next: u64,
}

#[test]
fn no_frame_is_lost_without_a_counter() {
    let seconds = std::env::var("PLUMBLINE_SOAK_SECONDS").ok();
    let seconds: u64 = seconds.and_then(|text| text.parse().ok()).unwrap_or(15);
    let Some(lab) = Lab::new() else { return };
    let file = lab.write("soak.yaml", FILE);
    let mut daemon = lab.start(&file);
    let (mut near, mut far) = (lab.end("a1"), lab.end("b1"));
    let disturbances = Disturbances::default();
    let mut received = Received::default();
    let mut memory = Vec::new();
    let started = Instant::now();
    thread::scope(|scope| {
        let (lab, file, socket, disturbances) = (&lab, &file, &daemon.socket, &disturbances);
        scope.spawn(move || reload(file, socket, disturbances));
        scope.spawn(move || capture(socket, disturbances));
        scope.spawn(move || kill_peer(lab, seconds, disturbances));
        let mut samples_due = (1..=20).map(|part| Duration::from_secs(seconds) * part / 20);
        let mut due = samples_due.next();
        load(seconds, &mut near, &mut far, &mut received, || {
            if due.is_some_and(|due| started.elapsed() >= due) {
                due = samples_due.next();
                memory.push(resident_bytes(daemon.child.id()));
            }
        });
        disturbances.end.store(true, Ordering::Relaxed);
    });
    let account = settle(&lab, &daemon.socket, &near, &mut far, &mut received);
    let growth = memory.last().copied().unwrap_or(0).saturating_sub(memory[memory.len() / 5]);
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let record = json!({
        "seconds": seconds,
        "account": account,
        "reloads": count(&disturbances.reloads),
        "port_changes": count(&disturbances.port_changes),
        "captures": count(&disturbances.captures),
        "captured_bytes": count(&disturbances.captured_bytes),
        "peer_deaths": count(&disturbances.deaths),
        "resident_bytes": memory,
        "resident_growth_bytes": growth,
        "not_in_order": received.not_in_order,
        "ended": jiff::Timestamp::now().to_string(),
        "kernel": fs::read_to_string("/proc/version").unwrap_or_default().trim(),
    });
    if let Some(path) = std::env::var_os("PLUMBLINE_SOAK_RECORD") {
        let text = serde_json::to_string_pretty(&record).expect("a record") + "\n";
        fs::write(path, text).expect("writable");
    }
    assert!(received.frames > 1000, "{record}");
    assert_eq!(account["unexplained"], 0, "{record}");
    assert_eq!(account["adds_up"], true, "{record}");
    assert_eq!(received.not_in_order, 0, "{record}");
    assert!(growth <= GROWTH_BYTES_MAX, "{record}");
    for what in ["reloads", "captures", "peer_deaths"] {
        assert!(record[what].as_u64() > Some(1), "{what}: {record}");
    }
    assert_eq!(daemon.child.stop(Duration::from_secs(20)).and_then(|end| end.code()), Some(0));
}

/// Sends numbered frames at an even rate and takes what comes back.
fn load(
    seconds: u64,
    near: &mut End,
    far: &mut End,
    received: &mut Received,
    mut now_and_then: impl FnMut(),
) {
    let mut batch = Batch::new(BURST, Room { headroom: 0, frame: 1514 }).expect("memory");
    let started = Instant::now();
    let mut number = 0_u64;
    while started.elapsed() < Duration::from_secs(seconds) {
        let due = (started.elapsed().as_secs_f64() * RATE_PPS) as u64;
        if number + BURST as u64 <= due {
            batch.clear();
            for _ in 0..BURST {
                let frame = batch.append(PortId(0), 60).expect("room");
                frame.fill(0);
                frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
                frame[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 8, 0x88, 0xb5]);
                frame[14..22].copy_from_slice(&number.to_be_bytes());
                number += 1;
            }
            let slots: Vec<Slot> = batch.slots().collect();
            near.port.transmit(&mut batch, &slots, clock::now());
        } else {
            thread::park_timeout(Duration::from_micros(300));
        }
        take(far, received, &mut batch);
        now_and_then();
    }
}

fn take(far: &mut End, received: &mut Received, batch: &mut Batch) {
    loop {
        batch.clear();
        if far.port.receive(batch, BURST, clock::now()) == 0 {
            return;
        }
        for slot in batch.slots() {
            let Some(bytes) = batch.frame(slot)[14..].first_chunk() else { continue };
            let number = u64::from_be_bytes(*bytes);
            received.frames += 1;
            received.not_in_order += u64::from(number < received.next);
            received.next = number + 1;
        }
    }
}

/// Another table every second, and another ring of a port now and then.
fn reload(file: &Path, socket: &Path, disturbances: &Disturbances) {
    let mut turn = 0;
    while !paused(Duration::from_secs(1), &disturbances.end) {
        turn += 1;
        let size = if turn % 2 == 0 { "2" } else { "50" };
        let ring = if turn / 5 % 2 == 0 { "4194304" } else { "8388608" };
        let text = FILE.replace("upstream-table-size: 2", &format!("upstream-table-size: {size}"));
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

/// The far interface goes down for half a second, every ten seconds.
fn kill_peer(lab: &Lab, seconds: u64, disturbances: &Disturbances) {
    let period = Duration::from_secs(10.min(seconds / 4)).max(Duration::from_secs(1));
    while !paused(period, &disturbances.end) {
        lab.namespace.ip("link set b1 down").expect("our interface");
        paused(Duration::from_millis(500), &AtomicBool::new(false));
        lab.namespace.ip("link set b1 up").expect("our interface");
        disturbances.deaths.fetch_add(1, Ordering::Relaxed);
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

/// Waits until nothing moves any more, and says where every frame is.
fn settle(lab: &Lab, socket: &Path, near: &End, far: &mut End, received: &mut Received) -> Value {
    let mut batch = Batch::new(BURST, Room { headroom: 0, frame: 1514 }).expect("memory");
    let mut last = Value::Null;
    until("the last frame", || {
        take(far, received, &mut batch);
        let all = Client::connect(socket).expect("it runs").ask(Ask::Show(View::All));
        let now = account(lab, &all.expect("it answers"), near, far, received);
        let still = now == last;
        last = now;
        still.then_some(())
    });
    last
}

fn account(lab: &Lab, all: &Value, near: &End, far: &End, received: &Received) -> Value {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let sum = |value: &Value| -> u64 {
        value.as_object().into_iter().flatten().map(|one| number(one.1)).sum()
    };
    let (counters, down, up) =
        (&all["counters"], &all["ports"]["downlink"], &all["ports"]["uplink"]);
    let interface = |name: &str, counter: &str| -> u64 {
        let path = format!("/sys/class/net/{name}/statistics/{counter}");
        // The files of a namespace are those that a process in it sees.
        let read = lab.namespace.command("ip", &["-j", "-s", "link", "show", name], None);
        let shown: Value = serde_json::from_str(&read.expect("our interface")).expect(&path);
        let (way, key) = counter.split_once('_').expect("rx_dropped, say");
        number(&shown[0]["stats64"][way][key])
    };
    let sent = near.monitor.counts().sent;
    let in_lost = sum(&down["drops"]["receive"])
        + interface("a1", "tx_dropped")
        + interface("a0", "rx_dropped");
    let out_lost = interface("b0", "tx_dropped")
        + interface("b1", "rx_dropped")
        + far.monitor.counts().lost(Way::Receive);
    let before = sent.saturating_sub(number(&down["received"]));
    let behind = number(&up["sent"]).saturating_sub(received.frames);
    let inside = number(&counters["received"])
        - number(&counters["forwarded"])
        - number(&counters["dropped"])
        - number(&counters["transmit_full"])
        - number(&counters["punted"]);
    let of_ports = number(&down["received"]) + number(&up["received"]);
    let to_ports = number(&down["sent"]) + number(&up["sent"]);
    let adds_up = inside == 0
        && of_ports == number(&counters["received"])
        && to_ports == number(&counters["forwarded"]);
    json!({
        "sent": sent,
        "received": received.frames,
        "lost_before_the_daemon": before,
        "counted_before_the_daemon": in_lost,
        "lost_in_the_daemon": number(&counters["dropped"]) + number(&counters["transmit_full"]),
        "lost_behind_the_daemon": behind,
        "counted_behind_the_daemon": out_lost,
        "unexplained": before.saturating_sub(in_lost) + behind.saturating_sub(out_lost),
        "adds_up": adds_up,
        "counters": counters,
        "ports": {"downlink": down["drops"], "uplink": up["drops"]},
    })
}

fn resident_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

/// Far below what the machine can, so that losses are those of the disturbances.
const RATE_PPS: f64 = 20_000.0;

const BURST: usize = 32;

/// The allocator's own doing; a leak of a frame each would be a hundred times that.
const GROWTH_BYTES_MAX: u64 = 16 << 20;
