//! What is refused; and frames through a real testpmd on every kind of port, where there is one.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use engine::Way;
use machine::clock::{self, Clock};
use packet::{Batch, PortId, Room};

use super::*;

static PATCH: LazyLock<Service> = LazyLock::new(|| Service::Bridge(bridge(Some([None, None]))));

fn bridge(patch: Option<[Option<wire::MacAddr>; 2]>) -> Bridge {
    Bridge { ports: 2, beyond: vec![], stations: Vec::new(), ageing_s: None, floods: false, patch }
}

fn keys(keys: Value) -> Map<String, Value> {
    keys.as_object().expect("a mapping").clone()
}

fn start(options: &Map<String, Value>) -> Result<Process, DriverError> {
    Process::start(&Start {
        service: &PATCH,
        function: "test",
        port_names: &[],
        configuration: &Value::Null,
        initial: &|| Ok(Vec::new()),
        beside: &[],
        standby: None,
        options,
        workers: 1,
        cores: &machine::cpu::available_cores(),
        frame_bytes_max: 1514,
        clock: Clock::with_rate(1e9),
        stop: Arc::new(AtomicBool::new(false)),
    })
}

#[test]
fn what_testpmd_cannot_do_is_refused_with_the_remedy() {
    let none = Map::new();
    assert_eq!(Testpmd.limitations(&PATCH, &none), Ok(Vec::new()));
    let on_veth = Testpmd.limitations(&PATCH, &keys(json!({ "ports": "af-xdp" }))).expect("told");
    assert_eq!(on_veth[0].verdicts, ["truncated"]);
    let refused = Testpmd.limitations(&Service::Bridge(bridge(None)), &none).expect_err("a bridge");
    assert!(refused.remedy.contains("patch"), "{refused:?}");
    let source = Some([Some(wire::MacAddr([2, 0, 0, 0, 0, 1])), None]);
    let refused = Testpmd.limitations(&Service::Bridge(bridge(source)), &none);
    assert!(refused.expect_err("an address").remedy.contains("source addresses"));
    for (key, wrong) in [
        ("ring-size", json!({ "ring-size": 1000 })),
        ("ring-size", json!({ "ring-size": 2048, "ports": "vhost-user" })),
        ("burst", json!({ "burst": 0 })),
        ("ports", json!({ "ports": "memory" })),
        ("rings", json!({ "rings": 2 })),
    ] {
        let refused = Testpmd.limitations(&PATCH, &keys(wrong)).expect_err("a wrong key");
        assert_eq!(refused.path(), format!("device.{key}"), "{refused:?}");
    }
}

#[test]
fn frames_pass_on_every_kind_of_port() {
    if let Err(why) = Testpmd.available() {
        println!("skipped: {why}");
        return;
    }
    for options in [
        json!({ "ports": "memif" }),
        json!({ "ports": "memif", "memif-role": "master", "ring-size": 64 }),
        json!({ "ports": "af-packet" }),
        json!({ "ports": "af-xdp" }),
        json!({ "ports": "vhost-user", "ring-size": 256 }),
        json!({ "ports": "virtio-user", "ring-size": 256 }),
    ] {
        let mut process = start(&keys(options.clone())).unwrap_or_else(|error| {
            panic!("{options}: {error}; {}", error.remedy);
        });
        let mut ports = process.ports();
        for (from, to) in [(0, 1), (1, 0)] {
            pass(&mut ports, from, to, &options);
        }
        assert!(process.facts().version.starts_with("DPDK "), "{:?}", process.facts());
        let usage = process.usage();
        assert!(usage.cpu_ns > Some(0) && usage.resident_bytes > Some(0), "{usage:?}");
        assert!(process.health().is_ok());
    }
}

/// Sends frames until one of them arrives unchanged at the other end.
fn pass(ports: &mut [Opened], from: usize, to: usize, options: &Value) {
    let mut batch = Batch::new(32, Room::default()).expect("memory");
    let begun = Instant::now();
    let frame: Vec<u8> = (0..100).map(|at| at as u8 ^ from as u8).collect();
    loop {
        batch.clear();
        batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(&frame);
        ports[from].queues[0].transmit(&mut batch, &[0], clock::now());
        batch.clear();
        ports[to].queues[0].receive(&mut batch, 32, clock::now());
        if batch.slots().any(|slot| batch.frame(slot) == frame) {
            return;
        }
        let counts = ports[from].monitor.counts();
        assert!(
            begun.elapsed() < PATIENCE,
            "{options}: sent {}, lost {}",
            counts.sent,
            counts.lost(Way::Transmit)
        );
        std::thread::park_timeout(POLL);
    }
}

#[test]
fn a_testpmd_that_dies_is_told_with_its_words() {
    if let Err(why) = Testpmd.available() {
        println!("skipped: {why}");
        return;
    }
    let mut process = start(&Map::new()).expect("it starts");
    process.child.stop(Duration::ZERO);
    assert!(process.health().expect_err("it has gone").what.starts_with("testpmd ended"));
}

#[test]
fn folders_of_the_dead_are_swept() {
    // The largest number of a process is below this (proc(5), pid_max).
    let left = std::env::temp_dir().join(format!("{FOLDER}4194305-left"));
    std::fs::create_dir_all(left.join("dpdk")).expect("a folder");
    let own = folder().expect("a folder");
    assert!(!left.exists() && own.path().exists());
    let second = folder().expect("a folder");
    assert!(own.path().exists() && second.path().exists(), "those of the living stay");
}
