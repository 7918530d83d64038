//! Records keep what was measured, survive a round trip, and obey their published schema.

use std::path::Path;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::*;
use crate::{
    Direction, Events, Load, Pps, SessionAction, SessionCounts, SessionLoad, Stage, StageRole,
    Stalls, Trial, WorkerTime,
};

fn trial() -> Trial {
    let mut latency_ns = Histogram::<u64>::new(3).expect("3 digits are allowed");
    for value in 1..=1000 {
        latency_ns.record(value * 10).expect("the histogram resizes itself");
    }
    Trial {
        effective: Duration::from_millis(999),
        directions: vec![Direction {
            name: "uplink".into(),
            intended: 999_000,
            sent: 1000,
            received: 990,
            lost: 10,
            ring_full: 4,
            duplicated: 0,
            reordered: 1,
            misdelivered: 0,
            sent_bytes: 64_000,
            latency_ns: latency_ns.clone(),
            last_lost_ns: Some(900_000_000),
        }],
        stages: vec![Stage {
            name: "decap".into(),
            role: StageRole::Function,
            packets: 1000,
            ticks: 25_000,
        }],
        drops: vec![("policer".into(), 6)],
        events: vec![Events {
            kind: "handover".into(),
            requested: 3,
            acknowledged: 3,
            refused: 0,
            late_frames: 1,
            accepted_ns: latency_ns.clone(),
            visible_ns: latency_ns.clone(),
            blackout_ns: latency_ns,
        }],
        stalls: vec![Stalls { thread: "worker 0".into(), ..Stalls::default() }],
        workers: vec![WorkerTime {
            worker: 0,
            core: Some(1),
            cpu_ns: 999_000_000,
            wall_ns: 999_000_000,
            packets: 1000,
        }],
        ..Trial::new(Load::PerInterface(Pps(1e6)), Duration::from_secs(1), 2.5e9)
    }
}

/// A trial that opened 1000 sessions in half a second, of which one failed.
fn opening() -> Trial {
    let load = SessionLoad { rate: Some(2000.0), ..SessionLoad::all(SessionAction::Open, 1000) };
    let mut counts =
        SessionCounts { attempted: 1000, held: Some(999), ..SessionCounts::new(&load) };
    (counts.succeeded, counts.failed) = (999, 1);
    counts.answered_ns.record_n(5_000, 999).expect("within its bounds");
    Trial {
        effective: Duration::from_millis(500),
        sessions: Some(counts),
        ..Trial::new(Load::Sessions(load), Duration::from_secs(1), 2.5e9)
    }
}

fn record() -> RunRecord {
    let trial = TrialRecord::new(0, "search", &trial(), Vec::new());
    let opening = TrialRecord::new(1, "search", &opening(), Vec::new());
    let outcome = Outcome {
        method: "throughput".into(),
        configuration: json!({"trial-duration": 1.0}),
        answer: "It forwards.".into(),
        aggregation: "per interface".into(),
        figures: vec![Figure::single("throughput", 1e6, "pps")],
        bounds: Some(Bounds { lower_pps: Some(1e6), upper_pps: None, regular: false }),
        trials: vec![trial, opening],
        validity: Validity::from_limits(vec![Limit {
            kind: LimitKind::Search,
            invalidates: false,
            what: "no upper bound".into(),
            advice: "raise max-rate".into(),
        }]),
        claims: vec![Claim {
            clause: "rfc2544.26.1".into(),
            level: ClaimLevel::Partial,
            reason: "1 s trials instead of 60 s".into(),
        }],
        ..Outcome::default()
    };
    let mut parameters = serde_json::Map::new();
    parameters.insert("function.user".into(), json!(1000));
    parameters.insert("function.tunnel".into(), json!("gtp-u"));
    let cell = Cell {
        id: "0001".into(),
        parameters,
        function: "mobile-gateway".into(),
        device: "embedded".into(),
        configuration: json!({"user": 1000}),
        seed: 1,
        state_bytes: Some(128_000),
        sessions_open: Some(1_000),
        check: Some(Check { passed: true, frames: 100, ..Check::default() }),
        outcomes: vec![outcome],
        ..Cell::default()
    };
    RunRecord {
        schema_version: RunRecord::SCHEMA_VERSION,
        id: "mobile-gateway-20261121T120000Z".into(),
        seconds: 9.0,
        tags: vec!["nightly".into()],
        message: String::new(),
        tool: Tool::default(),
        scenario: Scenario::default(),
        started: "2026-11-21T12:00:00Z".into(),
        finished: "2026-11-21T12:00:09Z".into(),
        host: HostFacts {
            random_access_probe: vec![RandomAccess {
                bytes: 1 << 30,
                in_flight: 16,
                ns_per_access: 12.5,
            }],
            ..HostFacts::default()
        },
        status: Status::of(std::slice::from_ref(&cell), false),
        plan: PlanRecord { seed: 1, repetitions: 1, measurements: 1, ..PlanRecord::default() },
        cells: vec![cell],
        comparisons: vec![Comparison { confidence_95: Some([1.1, 1.2]), ..Comparison::default() }],
        thresholds: vec![ThresholdVerdict { value: Some(1e6), ..ThresholdVerdict::default() }],
        plots: vec![Plot::default()],
    }
}

#[test]
fn a_trial_of_sessions_keeps_its_counts_and_tells_rates() {
    let record = TrialRecord::new(0, "search", &opening(), Vec::new());
    assert_eq!(record.load_pps(), None, "its load is no rate of frames");
    let written = serde_json::to_value(record.load).expect("plain data");
    let expected = json!({
        "kind": "sessions", "action": "open", "first": 0, "count": 1000, "sessions_per_s": 2000.0
    });
    assert_eq!(written, expected);
    let sessions = record.sessions.expect("the load was of sessions");
    assert_eq!((sessions.attempted, sessions.succeeded, sessions.failed), (1000, 999, 1));
    assert_eq!((sessions.attempted_per_s, sessions.succeeded_per_s), (2000.0, 1998.0));
    assert_eq!(
        (sessions.held, sessions.answered.map(|times| times.samples)),
        (Some(999), Some(999))
    );
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    let written = serde_json::to_string_pretty(&record()).expect("a record is plain data");
    let read: RunRecord = serde_json::from_str(&written).expect("what we wrote we can read");
    assert_eq!(read, record());
}

#[test]
fn a_record_obeys_the_published_schema() {
    let schema = serde_json::to_value(record_schema()).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let written = serde_json::to_value(record()).expect("a record is plain data");
    let errors: Vec<String> = validator.iter_errors(&written).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    // No object takes a key that is none of its own, whatever holds it.
    let (mut tried, mut open) = (0, Vec::new());
    with_another_key(&written, &mut String::new(), &mut |path, other| {
        tried += 1;
        let is_free = FREE.iter().any(|end| path.ends_with(end));
        if validator.is_valid(other) != is_free {
            open.push(path.to_owned());
        }
    });
    assert!(tried > 30 && open.is_empty(), "{tried} objects, of which these are wrong: {open:?}");
    let mut broken = written;
    broken["cells"][0]["outcomes"][0]["trials"][0]["load"] = json!({"kind": "perhaps"});
    assert!(!validator.is_valid(&broken), "the schema must notice an unknown load");
}

/// Ends of paths to mappings whose keys are those of a scenario, or of a device.
const FREE: &[&str] =
    &["/parameters", "/configuration", "/filter", "/details", "/tester", "/function", "/traffic"];

/// Passes the whole record to `each` once for each object in it, with one more key there.
fn with_another_key(whole: &Value, path: &mut String, each: &mut impl FnMut(&str, &Value)) {
    let here = whole.pointer(path).expect("a path from this walk").clone();
    let mut below = |step: String| {
        let end = path.len();
        *path += &format!("/{}", step.replace('~', "~0").replace('/', "~1"));
        with_another_key(whole, path, each);
        path.truncate(end);
    };
    match &here {
        Value::Object(keys) => {
            keys.keys().for_each(|key| below(key.clone()));
            let mut other = whole.clone();
            other.pointer_mut(path).expect("as above")["perhaps-a-key"] = json!(1);
            each(path, &other);
        }
        Value::Array(items) => (0..items.len()).for_each(|at| below(at.to_string())),
        _ => {}
    }
}

/// `docs/run.schema.json` is what users of a record download; `UPDATE_GOLDEN=1` rewrites it.
#[test]
fn the_published_schema_is_that_of_this_version() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.schema.json");
    let mut current = serde_json::to_string_pretty(&record_schema()).expect("a schema is JSON");
    current.push('\n');
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, current).expect("the document can be written");
        return;
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == current, "docs/run.schema.json is out of date; run: cargo xtask golden");
}

/// The last table of the document: each field that it names is one of the schema.
#[test]
fn the_fields_that_stand_for_those_of_csit_exist() {
    let schema = serde_json::to_value(record_schema()).expect("a schema is JSON");
    let text = include_str!("../../../../docs/record.md");
    let (_, table) = text.split_once("## Fields of FD.io CSIT").expect("the table's heading");
    let mut count = 0;
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let remarks = columns[3].split('`').skip(1).step_by(2).filter(|name| name.contains('.'));
        let remarks = remarks.filter(|name| *name != "tags.json");
        for path in std::iter::once(columns[2].trim_matches('`')).chain(remarks) {
            assert!(has_field(&schema, path), "{path} is no field of the record: {row}");
            count += 1;
        }
    }
    assert!(count > 30, "only {count} fields were found in the table");
    assert!(
        !has_field(&schema, "cells[].outcomes[].begun"),
        "the walk through the schema is blind"
    );
}

/// Whether the schema has a field at `cells[].outcomes[].started`.
fn has_field(schema: &Value, path: &str) -> bool {
    let resolve = |node: &Value| -> Value {
        // An optional field is `anyOf` its type and null.
        let named = node["anyOf"].as_array().and_then(|all| all.first()).unwrap_or(node);
        let reference = named["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/"));
        reference.map_or_else(|| named.clone(), |name| schema["$defs"][name].clone())
    };
    let mut node = schema.clone();
    for part in path.split('.') {
        let name = part.trim_end_matches("[]");
        let Some(field) = node["properties"].get(name) else { return false };
        let field = if name == part { field.clone() } else { field["items"].clone() };
        node = resolve(&field);
    }
    true
}

#[test]
fn the_message_says_what_kept_the_run_from_passing() {
    let mut record = record();
    record.set_message();
    assert_eq!(record.message, "", "it passed");
    record.cells[0].parameters.clear();
    let message = |record: &RunRecord, status: Status| {
        let mut record = record.clone();
        record.status = status;
        record.set_message();
        record.message
    };
    record.cells[0].outcomes[0].validity.limits[0].invalidates = true;
    assert_eq!(message(&record, Status::Invalid), "mobile-gateway, throughput: no upper bound");
    record.thresholds[0].answer = "throughput is 1 Mpps, not >= 5 Mpps".into();
    assert_eq!(message(&record, Status::ThresholdMissed), record.thresholds[0].answer);
    record.cells[0].error = Some("no memory".into());
    assert_eq!(message(&record, Status::Failed), "mobile-gateway: no memory");
    record.cells[0].check = Some(Check { frames: 9, mismatch_count: 2, ..Check::default() });
    let failed = message(&record, Status::CheckFailed);
    assert_eq!(failed, "mobile-gateway: 2 of 9 frames differ from the oracle");
    assert!(message(&record, Status::Interrupted).contains("interrupted"));
}

#[test]
fn a_run_without_identifier_is_named_by_scenario_and_time() {
    let mut record = record();
    assert_eq!(record.name(), "mobile-gateway-20261121T120000Z");
    record.id.clear();
    record.scenario.name = "small".into();
    record.started = "2026-11-21T12:00:00.123Z".into();
    assert_eq!(record.name(), "small-20261121T120000Z");
}

#[test]
fn a_histogram_survives_in_full() {
    let record = TrialRecord::new(0, "search", &trial(), Vec::new());
    let latency = record.directions[0].latency.as_ref().expect("1000 frames were timed");
    assert_eq!(latency.histogram(), Some(trial().directions[0].latency_ns.clone()));
    assert_eq!(latency.samples, 1000);
    assert!((4990..=5010).contains(&latency.p50_ns), "median of 10..10000 is {}", latency.p50_ns);
}

#[test]
fn derived_values_follow_the_counts() {
    let record = TrialRecord::new(0, "search", &trial(), Vec::new());
    assert_eq!(record.loss_fraction, 0.01);
    assert_eq!(record.loss_percent, 1.0);
    assert_eq!(record.stages[0].ticks_per_packet, 25.0);
    assert_eq!(record.stages[0].ns_per_packet, 10.0);
    assert_eq!(record.load_pps(), Some(1e6));
}

#[test]
fn the_worst_thing_names_the_status() {
    let mut cell =
        Cell { check: Some(Check { passed: true, ..Check::default() }), ..Cell::default() };
    assert_eq!(Status::of(&[cell.clone()], false), Status::Passed);
    assert_eq!(Status::of(&[cell.clone()], true), Status::Interrupted);
    cell.outcomes.push(Outcome::default());
    assert_eq!(Status::of(&[cell.clone()], false), Status::Invalid);
    cell.error = Some("the device failed".into());
    assert_eq!(Status::of(&[cell.clone()], true), Status::Failed);
    cell.check = Some(Check::default());
    assert_eq!(Status::of(&[cell], true), Status::CheckFailed);
}

#[test]
fn limits_of_the_host_invalidate_and_take_the_claims_back() {
    let mut outcome = record().cells[0].outcomes[0].clone();
    assert!(outcome.validity.valid);
    outcome.add_limits(&crate::validity::host_limits(&HostFacts::default()));
    assert!(!outcome.validity.valid, "a clock that is not invariant");
    assert_eq!(outcome.validity.limits.len(), 2, "what was known before is kept");
    assert_eq!(outcome.claims[0].level, ClaimLevel::None);
}

#[test]
fn hexadecimal_text_is_limited() {
    assert_eq!(Mismatch::hex(&[0x0a, 0xff]), "0aff");
    assert!(Mismatch::hex(&[0; 300]).ends_with("… (300 bytes)"));
}

#[test]
fn a_cell_is_named_by_what_was_swept() {
    assert_eq!(record().cells[0].label(), "function.user=1000, function.tunnel=gtp-u");
    let cell = Cell { function: "mobile-gateway".into(), ..Cell::default() };
    assert_eq!(cell.label(), "mobile-gateway");
}
