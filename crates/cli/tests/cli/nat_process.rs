//! The NAT as a process of its own, over packet sockets and over shared memory: sessions of all
//! protocols are opened, used both ways and closed, each frame of the check held to the oracle.
//!
//! Sessions are begun as fast as they succeed, and again while they have no answer, so that a busy
//! machine takes longer and loses none.

use serde_json::Value;

use crate::devices::can_run;
use crate::{run, temporary_folder, write};

/// Two sessions in five are TCP with its handshake, one is an echo, the others are UDP.
const SCENARIO: &str = "\
function: {name: cgnat, sessions: 5000, port-block: {size: 64, per-subscriber: 4}}
traffic: {sessions: 500, client: 50, client-ports: 2, server: 20, tcp-share: 0.4, icmp-share: 0.2}
methods:
  - {name: session-capacity, start: 500, max-sessions: 1000, verify: 1, verify-final: 1, beyond: 0, wait: 20 s}
  - {name: teardown-rate, sessions: 500, repetitions: 1, wait: 20 s}
";

#[test]
fn sessions_pass_a_nat_over_packet_sockets_both_ways() {
    pass_both_ways("af-packet", 1);
}

/// All frames come by the queue of one worker, which hands half of them to the other one.
#[test]
fn sessions_pass_a_nat_over_shared_memory_both_ways() {
    pass_both_ways("memif", machine::cpu::available_cores().len().min(2));
}

/// Two processes of which one is killed: the other one goes on with all that it had acknowledged.
#[test]
fn sessions_outlive_the_process_that_opened_them() {
    if !can_run() {
        return;
    }
    let folder = temporary_folder();
    write(folder.path(), "nat.yaml", WITH_STANDBY);
    let ended = run(folder.path(), &["bench", "nat.yaml", "--quiet", "--json"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.stderr);
    let record = ended.json();
    let cell = &record["cells"][0];
    assert_eq!(cell["check"]["passed"], true, "{}", cell["check"]);
    let [failover, again] = cell["outcomes"].as_array().expect("outcomes").as_slice() else {
        panic!("{cell}")
    };
    assert_eq!(figure(failover, "sessions_opened"), 1000.0, "{failover}");
    assert_eq!(figure(failover, "sessions_kept"), 1000.0, "{failover}");
    let [lost, unacknowledged] = ["sessions_fresh_lost", "sessions_unacknowledged"];
    assert!(figure(failover, lost) <= figure(failover, unacknowledged), "{failover}");
    let trials = failover["trials"].as_array().expect("trials");
    let takeovers = trials.iter().filter(|trial| trial["takeover"].is_object());
    let told = "a standby in a process of its own";
    let told = takeovers.map(|trial| assert_eq!(trial["takeover"]["what"], told)).count();
    assert_eq!(told, 2, "each repetition has both anew");
    assert_eq!(all_succeeded(again, "close"), 100, "the next method has a device again");
}

/// Half a thousand sessions before, and more while one process is killed.
const WITH_STANDBY: &str = "\
function: {name: cgnat, sessions: 5000, port-block: {size: 64, per-subscriber: 4}, replication: {role: rehearsal}}
device: {name: process, idle: sleep}
traffic: {sessions: 0, client: 50, client-ports: 2, server: 20, tcp-share: 0.4, icmp-share: 0.2}
methods:
  - {name: failover, sessions: 500, rate: 500, before: 500 ms, after: 500 ms, repetitions: 2, wait: 3 s}
  - {name: teardown-rate, sessions: 100, repetitions: 1, wait: 20 s}
";

fn pass_both_ways(ports: &str, workers: usize) {
    if !can_run() {
        return;
    }
    let folder = temporary_folder();
    let scenario = SCENARIO.replace("sessions: 5000", &format!("sessions: 5000, core: {workers}"));
    let text = format!("{scenario}device: {{name: process, ports: {ports}, idle: sleep}}\n");
    write(folder.path(), "nat.yaml", &text);
    let ended = run(folder.path(), &["bench", "nat.yaml", "--quiet", "--json"]);
    // Measurements of a moment may be called not valid.
    assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.stderr);
    let record = ended.json();
    let cell = &record["cells"][0];
    assert_eq!(cell["check"]["passed"], true, "{}", cell["check"]);
    let outcomes = cell["outcomes"].as_array().unwrap_or_else(|| panic!("{cell}"));
    let [capacity, teardown] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert_eq!(figure(capacity, "session_capacity"), 1000.0, "{capacity}");
    assert!(all_succeeded(capacity, "open") >= 1000);
    assert!(all_succeeded(capacity, "use") >= 1000);
    assert_eq!(all_succeeded(teardown, "close"), 500);
}

/// How many sessions the trials of an outcome did something with; all of them succeeded.
fn all_succeeded(outcome: &Value, action: &str) -> u64 {
    let trials = outcome["trials"].as_array().expect("trials");
    let of_action = trials.iter().map(|trial| &trial["sessions"]).filter(|s| s["action"] == action);
    let succeeded = |sessions: &Value| {
        let [asked, succeeded, wrong] =
            ["asked", "succeeded", "wrong"].map(|key| sessions[key].as_u64().expect(key));
        assert_eq!((succeeded, wrong), (asked, 0), "{action}: {sessions}");
        succeeded
    };
    of_action.map(succeeded).sum()
}

fn figure(outcome: &Value, name: &str) -> f64 {
    let figures = outcome["figures"].as_array().expect("figures");
    let found = figures.iter().find(|figure| figure["name"] == name);
    found
        .and_then(|figure| figure["value"].as_f64())
        .unwrap_or_else(|| panic!("no {name}: {outcome}"))
}
