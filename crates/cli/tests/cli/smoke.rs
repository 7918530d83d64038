//! Smoke tests of the scenarios that repeat published tests: each runs to its end, checks pass, and
//! each method yields its figures. Speed is not asserted.
//!
//! Of each scenario the first cell runs, and each other that shows something new: a function on a
//! device by methods that no cell before it had. All cells run when tests are to be thorough.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread;

use lab::registry::FUNCTIONS;
use lab::scenario::Scenario;
use serde_json::Value;

use crate::{run, temporary_folder};

/// The scenarios whose names begin with `begins`; a cell that cannot run on this machine says so.
fn scenarios(begins: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = fs::read_dir(&folder).expect("the scenarios are there");
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found: Vec<PathBuf> = files
        .map(|file| file.expect("readable").path())
        .filter(|path| name(path).starts_with(begins) && !name(path).ends_with(".pcap"))
        .collect();
    found.sort();
    found
}

/// The cells of a scenario to run, by their ids.
struct Chosen {
    path: PathBuf,
    cells: Vec<String>,
}

/// What is run of all scenarios, in the order of their names.
static CHOSEN: LazyLock<Vec<Chosen>> = LazyLock::new(|| {
    let mut shown = BTreeSet::new();
    let of = |path| choose(path, &mut shown);
    let is_alone = |path: &PathBuf| ALONE.iter().any(|name| path.ends_with(name));
    scenarios("").into_iter().filter(|path| !is_alone(path)).map(of).collect()
});

/// How the names of the scenarios begin that a test runs; the others are one test's.
const SWITCHES: &[&str] = &["cisco-"];
const PROVIDER_EDGE: &[&str] = &["nokia-pe-"];
const VIRTUAL_CPE: &[&str] = &["adva-"];
const NATS: &[&str] = &["nfware-", "cgnat-", "nat64", "ds-lite"];
const REFLECTORS: &[&str] = &["route-reflector", "nokia-rr-", "rr-"];
const RFC_2544: &[&str] = &["rfc2544-"];
const GROUPS: [&[&str]; 6] = [SWITCHES, PROVIDER_EDGE, VIRTUAL_CPE, NATS, REFLECTORS, RFC_2544];

/// Scenarios whose tests change them.
const ALONE: [&str; 3] = ["rr-compare.yaml", "router-churn.yaml", "path-failure.yaml"];

fn choose(path: PathBuf, shown: &mut BTreeSet<String>) -> Chosen {
    let read = Scenario::read(&path, FUNCTIONS).expect("a scenario");
    let scenario = read.smoke_test().expect("every method can be shortened");
    let mut cells = Vec::new();
    for (benchmark, cell) in scenario.cells() {
        let device = benchmark.device(cell);
        let keys = cell.parameters.iter().filter(|(key, _)| key.starts_with("device."));
        let keys: Vec<_> = keys.collect();
        let methods = benchmark.methods.iter().map(|choice| &choice.method);
        let methods: Vec<_> = methods
            .map(|method| (method.name(), method.configuration()["search"].clone()))
            .collect();
        let function = benchmark.unit.name();
        let kind =
            format!("{function} {} {:?} {keys:?} {methods:?}", device.name(), device.options);
        if shown.insert(kind) || cells.is_empty() || testkit::walk::is_thorough() {
            cells.push(cell.id.clone());
        }
    }
    Chosen { path, cells }
}

/// Runs the smoke test of cells of a scenario; returns its record.
fn measured(path: &Path, cells: &[String]) -> Value {
    let folder = temporary_folder();
    let file = path.to_str().expect("a plain name");
    let mut arguments = vec!["bench", file, "--smoke", "--quiet", "--json"];
    arguments.extend(cells.iter().flat_map(|cell| ["--cell", cell.as_str()]));
    let ended = run(folder.path(), &arguments);
    // Code 3: such short measurements may be invalid, and a device may be absent. Any other code is
    // a failure; code 1, a failed check, is a bug on any machine.
    let told = || failures(&ended.json());
    assert!(
        matches!(ended.code, Some(0 | 3)),
        "{file}: {:?}: {}{}",
        ended.code,
        ended.stderr,
        told()
    );
    let record = ended.json();
    let is_absent = |cell: &Value| !cell["unavailable"].is_null();
    let is_invalid = |outcome: &Value| outcome["validity"]["valid"] == false;
    let has_invalid =
        |cell: &Value| cell["outcomes"].as_array().into_iter().flatten().any(is_invalid);
    let measured = record["cells"].as_array().expect("cells");
    let has_cause = measured.iter().any(|cell| is_absent(cell) || has_invalid(cell));
    assert_eq!(ended.code == Some(3), has_cause, "{file}: {:?}: {}", ended.code, ended.stderr);
    assert!(cells.is_empty() || measured.len() == cells.len(), "{file}: {cells:?}");
    record
}

/// The failures that the cells report.
fn failures(record: &Value) -> String {
    let cells = record["cells"].as_array().into_iter().flatten();
    let failed = cells.filter(|cell| !cell["error"].is_null() || cell["check"]["passed"] == false);
    failed.map(|cell| format!("\n{}: {} {}", cell["id"], cell["error"], cell["check"])).collect()
}

fn run_all(group: &[&str]) {
    let run = CHOSEN.iter().filter(|one| is_of(group, &one.path));
    let count = run.map(|one| run_one(&one.path, &one.cells)).count();
    assert!(count >= group.len(), "{group:?}: {count}");
}

fn is_of(group: &[&str], path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    group.iter().any(|begins| name.starts_with(begins))
}

fn run_one(path: &Path, cells: &[String]) {
    // The kernel has one NAT, which tests of other programs use, too.
    let uses_kernel_nat = path.ends_with("cgnat-vs-linux.yaml");
    let _alone = uses_kernel_nat.then(|| netns::alone_with("kernel-nat").expect("a file to lock"));
    assert!(count_run(path, cells) > 0, "{}: no cell could run here", path.display());
}

/// Runs the smoke test of cells of a scenario, all if none is named; returns how many of them could
/// run here.
fn count_run(path: &Path, cells: &[String]) -> usize {
    let name = path.display().to_string();
    let record = measured(path, cells);
    let cells = record["cells"].as_array().expect("cells");
    let mut ran = 0;
    for cell in cells {
        let id = format!("{name}: {}", cell["id"]);
        if cell["check"].is_null() {
            // The built-in device is never absent; an absent device says why, and what to do.
            let absent = &cell["unavailable"];
            assert!(absent["why"].is_string() && absent["remedy"].is_string(), "{id}: {cell}");
            assert_ne!(cell["configuration"]["device"]["name"], "embedded", "{id}: {absent}");
            println!("skipped: {id}: {}", absent["why"]);
            continue;
        }
        assert_eq!(cell["check"]["passed"], true, "{id}: {}", cell["check"]);
        let outcomes = cell["outcomes"].as_array().expect("outcomes");
        assert!(!outcomes.is_empty(), "{id}: {}", cell["error"]);
        for outcome in outcomes {
            assert!(outcome["answer"].is_string(), "{id}: {outcome}");
        }
        ran += 1;
    }
    ran
}

#[test]
fn the_virtual_switches() {
    run_all(SWITCHES);
}

#[test]
fn the_provider_edge_router() {
    run_all(PROVIDER_EDGE);
}

#[test]
fn the_virtual_cpe() {
    run_all(VIRTUAL_CPE);
}

#[test]
fn the_carrier_grade_nat() {
    run_all(NATS);
}

#[test]
fn route_reflectors() {
    run_all(REFLECTORS);
}

/// Each in a run of its own beside the others, as most of them wait for most of their time: GoBGP
/// takes a peer that was lost after five seconds, and FRR waits before it tells its first table.
#[test]
fn route_reflectors_side_by_side() {
    let [path] = scenarios("rr-compare").try_into().expect("one scenario");
    let text = fs::read_to_string(path).expect("readable");
    let (_, rest) = text.split_once("\ndevice: [").expect("a list of devices");
    let (all, _) = rest.split_once(']').expect("its end");
    assert!(all.split(", ").count() > 4, "{all}");
    thread::scope(|scope| {
        for name in all.split(", ") {
            let mut text = text.replace(&format!("[{all}]"), &format!("[{name}]"));
            if name != "embedded" {
                // A smoke test has the same few for both numbers.
                text = text.replace("clients: [10, 100]", "clients: 10");
            }
            scope.spawn(move || {
                let folder = temporary_folder();
                let file = folder.path().join(format!("{name}.yaml"));
                fs::write(&file, text).expect("the folder can be written");
                count_run(&file, &[]);
            });
        }
    });
}

#[test]
fn rfc_2544() {
    run_all(RFC_2544);
}

#[test]
fn the_other_scenarios() {
    let others = CHOSEN.iter().filter(|one| !GROUPS.iter().any(|group| is_of(group, &one.path)));
    others.for_each(|one| run_one(&one.path, &one.cells));
}

#[test]
fn a_router_whose_routes_change() {
    let [path] = scenarios("router-churn").try_into().expect("one scenario");
    let text = fs::read_to_string(path).expect("readable");
    // The full Internet table takes long to set up in a test build, for each cell again.
    let smaller = text.replace("901_899", "20_000").replace("1_000_000", "5000");
    assert_ne!(smaller, text);
    let folder = temporary_folder();
    let file = folder.path().join("router-churn.yaml");
    fs::write(&file, smaller).expect("the folder can be written");
    run_one(&file, &[]);
}

#[test]
fn a_path_that_fails() {
    let [path] = scenarios("path-failure").try_into().expect("one scenario");
    let text = fs::read_to_string(path).expect("readable");
    // Long enough for the session to come up, and once; two threads poll all the time.
    let shorter = "repetitions: 1, establish: 1.5 s, lasting: 100 ms, after: 50 ms";
    let text = text.replace("repetitions: 10", shorter);
    let (text, _) = text.split_once("thresholds:").expect("the last part");
    let folder = temporary_folder();
    fs::write(folder.path().join("path.yaml"), text).expect("the folder can be written");
    let ended = run(folder.path(), &["bench", "path.yaml", "--quiet", "--json"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.stderr);
    let record = ended.json();
    let cell = &record["cells"][0];
    assert_eq!(cell["check"]["passed"], true, "{}", cell["check"]);
    let outcome = &cell["outcomes"][0];
    let trials = outcome["trials"].as_array().expect("trials");
    let faults: Vec<&Value> = trials.iter().map(|trial| &trial["path_failure"]["fault"]).collect();
    assert_eq!(faults, ["silence", "port-down"], "{outcome}");
}
