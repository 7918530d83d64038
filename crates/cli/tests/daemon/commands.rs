//! The commands of a running daemon, and its signals.

use std::fs;

use engine::Port;
use machine::clock;
use packet::{Batch, PortId, Room, Slot};
use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{Lab, until};

const BRIDGE: &str = "\
function: {name: l2-switch, stations: [{mac: 0a:00:00:00:00:01, port: uplink}]}
ports:
  downlink: {type: af-packet, interface: a0}
  uplink: {type: af-packet, interface: b0}
workers: {idle: sleep}
state: state.json
";

/// Sends frames from a station into a port.
fn send(port: &mut dyn Port, count: usize, from: u8) {
    let mut batch = Batch::new(64, Room { headroom: 0, frame: 1514, long: 0 }).expect("memory");
    for _ in 0..count {
        let frame = batch.append(PortId(0), 60).expect("room");
        frame.fill(0);
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        frame[6..12].copy_from_slice(&[if from == 0 { 0 } else { 2 }, 0, 0, 0, 0, from]);
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    }
    let slots: Vec<Slot> = batch.slots().collect();
    assert_eq!(port.transmit(&mut batch, &slots, clock::now()), count);
}

#[test]
fn a_daemon_is_shown_changed_captured_and_ended() {
    let Some(lab) = Lab::new() else { return };
    let text =
        BRIDGE.replace("state.json", &lab.folder.path().join("state.json").display().to_string());
    let file = lab.write("bridge.yaml", &text);
    let mut daemon = lab.start(&file);
    let mut near = lab.end("a1");
    send(&mut *near.port, 20, 8);
    send(&mut *near.port, 1, 0);
    until("the counters", || {
        let (code, shown, _) = lab.run(&["show", "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(code, 0);
        (shown["counters"]["dropped"] == 1 && shown["counters"]["forwarded"] == 20).then_some(())
    });
    let (code, shown, _) = lab.run(&["show", "ports"]);
    assert!(code == 0 && shown.contains("uplink.sent"), "{shown}");
    for what in ["counters", "stages", "drops", "tables", "workers", "config", "all"] {
        let (code, shown, told) = lab.run(&["show", what, "--name", "bridge"]);
        assert!(code == 0 && !shown.is_empty(), "{what}: {shown}{told}");
    }
    let (code, told, _) = lab.run(&["set", "set-station", "mac=02:00:00:00:00:05", "port=uplink"]);
    assert!(code == 0 && told.starts_with("applied at: 20"), "{told}");
    let (code, _, told) = lab.run(&["set", "remove-station", "mac=02:00:00:00:00:66"]);
    assert!(code == 2 && told.contains("no such entry"), "{told}");
    let (code, _, told) = lab.run(&["show", "--name", "nobody"]);
    assert!(code == 4 && told.contains("plumbline run"), "{told}");

    let capture = std::thread::scope(|scope| {
        let capture = scope.spawn(|| {
            lab.run(&["capture", "-w", "drops.pcapng", "--direction", "drop", "--count", "3"])
        });
        while !capture.is_finished() {
            send(&mut *near.port, 1, 0);
            std::thread::park_timeout(std::time::Duration::from_millis(20));
        }
        capture.join().expect("no panic")
    });
    assert!(capture.0 == 0 && capture.2.contains("missed"), "{capture:?}");
    let captured = fs::read(lab.folder.path().join("drops.pcapng")).expect("a file");
    let text = String::from_utf8_lossy(&captured);
    assert_eq!(text.matches("dropped: invalid-source").count(), 3);
    if netns::is_installed("tshark") {
        let shown = lab.namespace.command(
            "tshark",
            &["-r", &lab.folder.path().join("drops.pcapng").display().to_string()],
            None,
        );
        assert_eq!(shown.expect("a file that tshark reads").lines().count(), 3);
    }

    // A link that goes down is told of, for as long as it is so.
    let alarms = || lab.run(&["show", "alarms", "--all"]).1;
    lab.namespace.ip("link set b1 down").expect("it is there");
    until("an alarm", || alarms().contains("port uplink  link-down  major").then_some(()));
    let shown = lab.run(&["show", "all", "--json"]).1;
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["alarms"]["major"], 1, "{shown}");
    lab.namespace.ip("link set b1 up").expect("it is there");
    until("its end", || alarms().starts_with("no alarms\n").then_some(()));
    assert!(alarms().contains("port uplink"), "it is remembered: {}", alarms());
    let (code, _, told) = lab.run(&["capture", "-w", "x", "--protocol", "vrrp"]);
    assert!(code == 2 && told.contains("nobody here speaks"), "{code} {told}");
    let both = ["capture", "-w", "x", "--protocol", "bfd", "--port", "uplink"];
    let (code, _, told) = lab.run(&both);
    assert!(code == 2 && told.contains("cannot be used with '--port"), "{code} {told}");

    // SIGHUP reads the file again; SIGTERM ends it well, and its state is kept.
    let more = "stations: [{mac: 0a:00:00:00:00:02, port: uplink}, ";
    let longer = fs::read_to_string(&file).expect("ours").replace("stations: [", more);
    fs::write(&file, longer).expect("writable");
    let process = Pid::from_raw(daemon.child.id() as i32).expect("a process");
    kill_process(process, Signal::HUP).expect("it runs");
    let table = ["show", "table", "stations"];
    until("the reload", || lab.run(&table).1.contains("0a:00:00:00:00:02").then_some(()));
    kill_process(process, Signal::TERM).expect("it runs");
    let ended = until("its end", || daemon.child.ended());
    assert_eq!(ended.code(), Some(0));
    assert!(!daemon.socket.exists(), "the socket is gone");
    let state = fs::read_to_string(lab.folder.path().join("state.json")).expect("a state file");
    assert!(state.contains("02:00:00:00:00:05"), "{state}");
    let _again = lab.start(&file);
}

#[test]
fn what_is_wrong_is_told_before_anything_is_opened() {
    let Some(lab) = Lab::new() else { return };
    lab.write("bad.yaml", &BRIDGE.replace("a0}", "a0, ringbytes: 5}"));
    let (code, _, told) = lab.run(&["run", "bad.yaml"]);
    assert_eq!(code, 2);
    for part in ["bad.yaml, line 3", "ports.downlink.ringbytes", "did you mean `ring-bytes`?"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    lab.write("good.yaml", BRIDGE);
    let (code, told, _) = lab.run(&["run", "good.yaml", "--check"]);
    assert!(code == 0 && told.contains("valid"), "{told}");
    // Outside the namespace there is no such interface.
    let (code, _, told) = lab.run(&["run", "good.yaml"]);
    assert!(code == 4 && told.contains("a0") && told.contains("help:"), "{told}");
}
