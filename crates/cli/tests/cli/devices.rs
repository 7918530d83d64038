//! Devices other than the embedded one, by the program that they start: the daemon, over each kind
//! of port, and the comparison of devices.

use std::fs;

use serde_json::Value;

use crate::{Ended, run, scenario, temporary_folder, write};

/// Whether namespaces can be made here; says so if not.
pub(crate) fn can_run() -> bool {
    let can = netns::may_make_namespaces() && netns::is_installed("ip");
    if !can {
        println!("skipped: this needs the right to make network namespaces, and iproute2");
    }
    can
}

#[test]
fn a_broadband_gateway_as_a_daemon_passes_the_check() {
    if !can_run() {
        return;
    }
    let folder = temporary_folder();
    let text = "function: {name: bng, kind: mixed}\n\
                device: {name: process, ports: af-packet, idle: sleep}\n\
                methods: [forwarding-rate]\n";
    write(folder.path(), "process.yaml", text);
    let ended = run(folder.path(), &["check", "process.yaml", "--json"]).expect(0);
    let check = &ended.json()["cells"][0]["check"];
    assert_eq!(check["passed"], true, "{check}");
    let covered = check["coverage"].as_array().expect("a list");
    let names: Vec<&str> = covered.iter().filter_map(|one| one["name"].as_str()).collect();
    for name in ["forward-access", "forward-core", "queued", "rate-exceeded", "spoofed-source"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

/// The tester's clients bring their sessions up at the daemon's controller, and ordinary traffic is
/// theirs then.
#[test]
fn clients_bring_their_sessions_up_at_a_daemon() {
    if !can_run() {
        return;
    }
    let folder = temporary_folder();
    let text = "function: {name: bng, kind: mixed, set-up: protocol, subscribers: 300}\n\
                device: {name: process, ports: af-packet, idle: sleep}\n\
                methods:\n\
                - {name: session-rate, min-rate: 100, max-rate: 100, hold: 2 s, wait: 20 s, \
                   verify: 1, warm-up-sessions: 100}\n\
                - {name: forwarding-rate, duration: 0.2 s}\n";
    write(folder.path(), "clients.yaml", text);
    let ended = run(folder.path(), &["bench", "clients.yaml", "--json"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.stderr);
    let cell = &ended.json()["cells"][0];
    assert_eq!(cell["check"]["passed"], true, "{}", cell["check"]);
    let figure = |method: usize, name: &str| {
        let figures = cell["outcomes"][method]["figures"].as_array().expect("a list");
        let found = figures.iter().find(|figure| figure["name"] == name);
        found.and_then(|figure| figure["value"].as_f64()).expect("a figure")
    };
    assert_eq!([figure(0, "session_rate"), figure(0, "sessions_verified")], [100.0, 200.0]);
    assert!(figure(1, "forwarding_rate") > 0.0);
    let refused = run(folder.path(), &["bench", "clients.yaml", "--set", "device=embedded"]);
    let Ended { stderr, .. } = refused.expect(2);
    assert!(stderr.contains("Set `device: process`"), "{stderr}");
}

/// Every verdict, and the changes between them, through the daemon's control and over real ports.
#[test]
fn the_daemon_passes_the_check_over_each_kind_of_port() {
    if !can_run() {
        return;
    }
    for ports in ["af-packet", "af-xdp", "memif", "vhost-user", "virtio-user"] {
        let folder = temporary_folder();
        let text = format!(
            "function: {{name: l3-router, ipv6: true}}\n\
             device: {{name: process, ports: {ports}, idle: sleep}}\n\
             methods: [forwarding-rate]\n"
        );
        write(folder.path(), "process.yaml", &text);
        let ended = run(folder.path(), &["check", "process.yaml", "--json"]).expect(0);
        let cell = &ended.json()["cells"][0];
        assert_eq!(cell["device"], "process", "{ports}");
        let check = &cell["check"];
        assert_eq!(check["passed"], true, "{ports}: {check}");
        assert!(check["frames"].as_u64() > Some(50), "{ports}: {check}");
        let covered = check["coverage"].as_array().expect("a list");
        let names: Vec<&str> = covered.iter().filter_map(|one| one["name"].as_str()).collect();
        for name in ["forward-uplink", "forward-downlink", "no-route"] {
            assert!(names.contains(&name), "{ports}: {names:?}");
        }
    }
}

#[test]
fn devices_stand_side_by_side() {
    if !can_run() {
        return;
    }
    let folder = temporary_folder();
    let path = scenario("compare-l3-small.yaml");
    let path = path.to_str().expect("a plain path");
    let ended = run(folder.path(), &["bench", path]);
    // Measurements may be called not valid on a machine as busy as that of a test.
    assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.stderr);
    let runs = fs::read_dir(folder.path().join("runs")).expect("a run was kept");
    let mut folders = runs.map(|entry| entry.expect("readable").path());
    let run = folders.find(|path| path.join("run.json").is_file()).expect("a run");
    let read = |name: &str| fs::read_to_string(run.join(name)).expect(name);
    let record: Value = serde_json::from_str(&read("run.json")).expect("the record is whole");
    let cells = record["cells"].as_array().expect("a list");
    let devices: Vec<&str> = cells.iter().filter_map(|cell| cell["device"].as_str()).collect();
    assert_eq!(devices, ["embedded", "process", "linux"]);
    for cell in cells {
        let device = &cell["device"];
        assert_eq!(cell["check"]["passed"], true, "{device}: {}", cell["check"]);
        let trials = cell["outcomes"][0]["trials"].as_array().expect("a list");
        assert!(!trials.is_empty(), "{device}");
        let knows = trials.iter().all(|trial| trial["device_cpu"]["ns"].as_u64() > Some(0));
        assert_eq!(knows, device != "embedded", "its CPU time is told of another device: {device}");
    }
    let junit = read("junit.xml");
    for property in
        ["name=\"check_claim\" value=\"full\"", "name=\"check_claim\" value=\"partial\""]
    {
        assert!(junit.contains(property), "{property} is missing in\n{junit}");
    }
    assert!(junit.contains("name=\"check_left_out\""), "{junit}");
}
