//! Scenarios by the command line: `--set`, `--function`, `plumbline new`, and errors as JSON.

use std::fs;

use serde_json::{Value, json};

use crate::{data, run, temporary_folder, write};

/// A run of a moment, without a file.
const MOMENT: [&str; 5] = [
    "--method",
    "capacity",
    "--set",
    "methods[0]={name: capacity, repetitions: 1, duration: 50 ms, warm-up: 0}",
    "--json",
];

#[test]
fn a_function_is_measured_without_a_file_and_its_record_runs_again() {
    let folder = temporary_folder();
    let mut arguments = vec!["bench", "--function", "l3-router", "--set", "traffic.pkt-size=128"];
    arguments.extend(["--set", "function.upstream-l3-table-size=10000"]);
    arguments.extend(MOMENT);
    let ended = run(folder.path(), &arguments);
    assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.stderr);
    let record = ended.json();
    assert_eq!(record["scenario"]["name"], "l3-router");
    let configuration = &record["cells"][0]["configuration"];
    assert_eq!(configuration["function"]["upstream-l3-table-size"], 10_000);
    assert_eq!(configuration["traffic"]["pkt-size"], 128);
    write(folder.path(), "again.yaml", record["scenario"]["text"].as_str().expect("a text"));
    let again = run(folder.path(), &["check", "again.yaml", "--json"]).expect(0).json();
    assert_eq!(again["cells"][0]["configuration"]["function"], configuration["function"]);
    assert_eq!(again["cells"][0]["configuration"]["traffic"], configuration["traffic"]);
}

/// The defaults of a function are for its first figure: what they drop is not what was asked for.
#[test]
fn the_smallest_scenario_of_each_function_lets_traffic_pass() {
    let folder = temporary_folder();
    let functions = run(folder.path(), &["list", "--json"]).expect(0).json();
    let mut count = 0;
    for function in functions["functions"].as_array().expect("a list") {
        let name = function["name"].as_str().expect("a name");
        if name == "route-reflector" {
            continue;
        }
        let mut arguments = vec!["bench", "--function", name];
        arguments.extend(MOMENT);
        let ended = run(folder.path(), &arguments);
        assert!(matches!(ended.code, Some(0 | 3)), "{name} {:?}: {}", ended.code, ended.stderr);
        let record = ended.json();
        let outcome = &record["cells"][0]["outcomes"][0];
        let (dropped, received) = dropped_of_received(outcome);
        assert!(received > 0 && dropped * 100 <= received, "{name}: {dropped} of {received}");
        count += 1;
    }
    assert!(count >= 4, "only {count} functions");
}

/// The first example of the documents is what people try first.
#[test]
fn the_first_documented_scenario_measures_what_passes() {
    let folder = temporary_folder();
    let text = fs::read_to_string(data("../../../docs/scenarios.md")).expect("it is there");
    let example = text.split("```").nth(1).and_then(|part| part.strip_prefix("yaml\n"));
    write(folder.path(), "example.yaml", example.expect("an example"));
    let arguments = [&["bench", "example.yaml"][..], &MOMENT].concat();
    let ended = run(folder.path(), &arguments);
    assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.stderr);
    let record = ended.json();
    for cell in record["cells"].as_array().expect("cells") {
        let (dropped, received) = dropped_of_received(&cell["outcomes"][0]);
        assert!(received > 0 && dropped * 100 <= received, "{dropped} of {received}");
    }
}

/// The frames that the device dropped in all trials, and those that came back.
fn dropped_of_received(outcome: &Value) -> (u64, u64) {
    let sum = |list: &str, key: &str| -> u64 {
        let trials = outcome["trials"].as_array().into_iter().flatten();
        let parts = trials.flat_map(|trial| trial[list].as_array().into_iter().flatten());
        parts.map(|part| part[key].as_u64().unwrap_or_default()).sum()
    };
    (sum("drops", "packets"), sum("directions", "received"))
}

#[test]
fn a_capacity_that_drops_says_so_in_its_answer() {
    let folder = temporary_folder();
    let mut arguments = vec!["bench", "--function", "mobile-gateway"];
    arguments.extend(["--set", "function.rate-limit=10 kB/s"]);
    arguments.extend(MOMENT);
    let record = run(folder.path(), &arguments).json();
    let answer = record["cells"][0]["outcomes"][0]["answer"].as_str().expect("an answer");
    assert!(answer.contains("the device dropped"), "{answer}");
    assert!(answer.contains("rate-exceeded"), "{answer}");
}

#[test]
fn a_mistake_in_a_set_is_answered_as_in_a_file() {
    let folder = temporary_folder();
    write(folder.path(), "good.yaml", "function: mobile-gateway\n");
    write(folder.path(), "bad.yaml", "function: {name: mobile-gateway, usr: 5}\n");
    let in_file = run(folder.path(), &["check", "bad.yaml"]).expect(2);
    let option = ["--set", "function.usr=5"];
    for arguments in [
        vec!["check", "good.yaml"],
        vec!["bench", "good.yaml"],
        vec!["trace", "good.yaml", "--output", "x.pcap"],
        vec!["check", "--function", "mobile-gateway"],
    ] {
        let ended = run(folder.path(), &[&arguments[..], &option].concat()).expect(2);
        let place = "  file: bad.yaml, line 1";
        let expected = in_file.stderr.replace(place, "  option: --set function.usr=5");
        assert_eq!(ended.stderr, expected, "{arguments:?}");
    }
    let ended = run(folder.path(), &["check"]).expect(2);
    assert!(ended.stderr.contains("--function"), "{}", ended.stderr);
}

#[test]
fn new_writes_a_scenario_that_is_correct_and_never_overwrites() {
    let folder = temporary_folder();
    let ended = run(folder.path(), &["new", "l2fwd"]).expect(0);
    assert!(
        ended.stderr.contains("l2-switch.yaml, a scenario of l2-switch that runs as it stands")
    );
    let text = fs::read_to_string(folder.path().join("l2-switch.yaml")).expect("it is there");
    let first = text.lines().next().expect("a line");
    assert_eq!(first, "# yaml-language-server: $schema=scenario.schema.json");
    let schema = fs::read_to_string(folder.path().join("scenario.schema.json")).expect("it is");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let document: Value = serde_saphyr::from_str(&text).expect("YAML");
    assert!(jsonschema::is_valid(&schema, &document));
    run(folder.path(), &["check", "l2-switch.yaml", "--quiet"]).expect(0);
    write(folder.path(), "l2-switch.yaml", "mine");
    let again = run(folder.path(), &["new", "l2-switch", "--json"]).expect(2);
    let error: Value = serde_json::from_str(&again.stderr).expect("one object");
    assert_eq!(error["message"], "the file exists");
    assert_eq!(fs::read_to_string(folder.path().join("l2-switch.yaml")).expect("there"), "mine");
    let other = run(folder.path(), &["new", "cgnat", "--output", "-"]).expect(0);
    assert!(other.stdout.contains("\n  name: cgnat\n"), "{}", other.stdout);
}

/// Every subcommand that knows `--json` ends a failure with one JSON object, whatever failed.
#[test]
fn errors_are_json_where_json_is_asked_for() {
    let folder = temporary_folder();
    let nothing: &[(&[&str], i64)] = &[
        (&["bench", "absent.yaml"], 2),
        (&["check", "absent.yaml"], 2),
        (&["new", "no-such-function"], 2),
        (&["report", "absent"], 2),
        (&["runs", "tag", "absent", "a"], 2),
        (&["serve", "--listen", "nowhere"], 2),
        (&["trace", "absent.yaml", "--output", "x"], 2),
        (&["nat", "forward", "absent.yaml", "10.0.0.1"], 2),
        (&["bgp", "dump", "absent"], 2),
        (&["run", "absent.yaml"], 2),
        (&["show", "--socket", "absent"], 4),
        (&["set", "reload", "--socket", "absent"], 4),
        (&["schema", "--updates", "absent"], 2),
        (&["doctor", "--stall-time", "soon"], 2),
        (&["list", "--no-such-flag"], 2),
    ];
    let mut named: Vec<&str> = nothing.iter().map(|(arguments, _)| arguments[0]).collect();
    for (arguments, code) in nothing {
        let ended = run(folder.path(), &[arguments, &["--json"][..]].concat());
        assert_eq!(ended.code, i32::try_from(*code).ok(), "{arguments:?}: {}", ended.stderr);
        let last = ended.stderr.lines().last().unwrap_or_default();
        let error: Value = serde_json::from_str(last)
            .unwrap_or_else(|_| panic!("{arguments:?} is no JSON: {}", ended.stderr));
        assert_eq!(error["exit_code"], json!(code), "{arguments:?}");
        for key in ["message", "help"] {
            assert!(
                error[key].as_str().is_some_and(|text| !text.is_empty()),
                "{arguments:?}: {error}"
            );
        }
        assert!(ended.stdout.is_empty(), "{arguments:?}: {}", ended.stdout);
    }
    // The help texts know which commands have the flag.
    named.sort_unstable();
    for entry in fs::read_dir(data("help")).expect("the help of each command") {
        let path = entry.expect("readable").path();
        let text = fs::read_to_string(&path).expect("a text");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let command = name.split('-').next().unwrap_or_default();
        if text.contains("      --json") {
            assert!(named.binary_search(&command).is_ok(), "{command} has --json and no case here");
        }
    }
}
