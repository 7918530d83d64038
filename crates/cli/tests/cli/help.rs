//! Help, lists and the schema.

use crate::{assert_as_in, data, run, temporary_folder};
use serde_json::json;

#[test]
fn the_help_of_every_command_is_as_reviewed() {
    let folder = temporary_folder();
    for command in [
        "",
        "bench",
        "check",
        "new",
        "report",
        "runs",
        "serve",
        "trace",
        "nat",
        "nat forward",
        "nat reverse",
        "bgp",
        "bgp dump",
        "run",
        "show",
        "set",
        "capture",
        "schema",
        "doctor",
        "list",
        "generate",
    ] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let ended = run(folder.path(), &arguments).expect(0);
        let name = if command.is_empty() { "plumbline" } else { command }.replace(' ', "-");
        assert_as_in(&data(&format!("help/{name}.txt")), &ended.stdout);
        let longest = ended.stdout.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(100), "{name}: a line of {longest:?} characters");
    }
}

#[test]
fn without_a_command_the_help_is_shown_and_the_exit_code_says_so() {
    let ended = run(temporary_folder().path(), &[]).expect(2);
    assert!(ended.stderr.contains("Usage: plumbline"), "{}", ended.stderr);
}

#[test]
fn typing_mistakes_are_answered_with_the_nearest_word() {
    let folder = temporary_folder();
    for (arguments, near) in [
        (vec!["bensh", "x.yaml"], "'bench'"),
        (vec!["docter"], "'doctor'"),
        (vec!["bench", "x.yaml", "--jsn"], "'--json'"),
        (vec!["bench", "x.yaml", "--output", "d"], "'--output-dir'"),
    ] {
        let ended = run(folder.path(), &arguments).expect(2);
        assert!(ended.stderr.contains(near), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn the_version_names_the_commit() {
    let ended = run(temporary_folder().path(), &["--version"]).expect(0);
    let version = concat!("plumbline ", env!("CARGO_PKG_VERSION"), " (");
    assert!(ended.stdout.starts_with(version), "{}", ended.stdout);
}

#[test]
fn lists_name_the_function_the_device_and_the_methods() {
    let folder = temporary_folder();
    let text = run(folder.path(), &["list"]).expect(0).stdout;
    for name in ["mobile-gateway", "mgw", "embedded", "capacity", "throughput"] {
        assert!(text.contains(name), "{name} in {text}");
    }
    let json = run(folder.path(), &["list", "--json"]).expect(0).json();
    assert_eq!(json["functions"][0]["name"], "mobile-gateway");
}

#[test]
fn the_schema_describes_the_keys_of_every_section() {
    let schema = run(temporary_folder().path(), &["schema"]).expect(0).json();
    assert_eq!(schema["properties"]["scale"]["enum"][0], "none");
    let text = schema.to_string();
    for key in ["rate-limit", "fluct-user", "pkt-size", "loss-tolerance", "\"mgw\""] {
        assert!(text.contains(key), "{key}");
    }
}

#[test]
fn doctor_tells_the_noise_floor() {
    let folder = temporary_folder();
    let short = ["doctor", "--stall-time", "0.02"];
    let ended = run(folder.path(), &short).expect(0);
    let parts = ["Stalls of a busy loop", "Random memory access", "What it means", "noise floor"];
    for part in parts.iter().chain(&["Devices (device.name)", "Ports (type)", "external"]) {
        assert!(ended.stdout.contains(part), "{part} in {}", ended.stdout);
    }
    let json = run(folder.path(), &[short.as_slice(), &["--json"]].concat()).expect(0).json();
    assert!(json["host"]["cores"].as_u64().is_some_and(|cores| cores > 0), "{json}");
    assert!(json["stalls"][0]["longest_ns"].is_u64(), "{json}");
    assert_eq!(
        json["devices"][0],
        json!({
            "name": "embedded",
            "summary": "the function built into this program, on threads of this machine",
            "hindrance": null,
        })
    );
    assert!(json["ports"].as_array().is_some_and(|all| !all.is_empty()), "{json}");
    assert!(json["verdicts"].as_array().is_some_and(|all| all.len() >= 4), "{json}");
}

#[test]
fn doctor_refuses_a_time_that_is_none() {
    let ended = run(temporary_folder().path(), &["doctor", "--stall-time=-1"]).expect(2);
    assert!(ended.stderr.contains("stall-time"), "{}", ended.stderr);
    let ended = run(temporary_folder().path(), &["doctor", "--stall-time", "0"]).expect(2);
    assert!(ended.stderr.contains("from 0.01 to 3600"), "{}", ended.stderr);
}
