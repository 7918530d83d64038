//! Scenarios that repeat published tests, made small: each runs to its end, checks pass, and every
//! method gives its figures. How fast anything is, is not asked.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{run, temporary_folder};

/// Scenarios beginning with one of these are run; what a machine cannot run, its cell says.
fn scenarios(begins: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = fs::read_dir(&folder).expect("the scenarios are there");
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found: Vec<PathBuf> = files
        .map(|file| file.expect("readable").path())
        .filter(|path| name(path).starts_with(begins))
        .collect();
    found.sort();
    found
}

/// Runs a scenario small; what was measured, and what this machine cannot run.
fn measured(path: &Path) -> Value {
    let folder = temporary_folder();
    let file = path.to_str().expect("a plain name");
    let ended = run(folder.path(), &["bench", file, "--small", "--quiet", "--json"]);
    // Measurements of a moment may be called not valid, and a device may be absent; what failed is
    // told by its cell.
    assert!(matches!(ended.code, Some(0 | 1 | 3)), "{file}: {:?}: {}", ended.code, ended.stderr);
    ended.json()
}

fn run_all(begins: &str) {
    let all = scenarios(begins);
    assert!(!all.is_empty(), "no scenario begins with {begins}");
    all.iter().for_each(|path| run_one(path));
}

fn run_one(path: &Path) {
    let name = path.display().to_string();
    let record = measured(path);
    let cells = record["cells"].as_array().expect("cells");
    let mut ran = 0;
    for cell in cells {
        let id = format!("{name}: {}", cell["id"]);
        if cell["check"].is_null() {
            println!("skipped: {id}: {}", cell["error"]);
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
    assert!(ran > 0, "{name}: no cell could run here");
}

#[test]
fn the_virtual_switches() {
    run_all("cisco-");
}

#[test]
fn the_provider_edge_router() {
    run_all("nokia-");
}

#[test]
fn the_virtual_cpe() {
    run_all("adva-");
}

#[test]
fn rfc_2544() {
    run_all("rfc2544-");
}

#[test]
fn a_router_whose_routes_change() {
    let [path] = scenarios("router-churn").try_into().expect("one scenario");
    let text = fs::read_to_string(path).expect("readable");
    // The whole Internet takes its time in a build for tests, for each cell anew.
    let smaller = text.replace("901_899", "20_000").replace("1_000_000", "5000");
    assert_ne!(smaller, text);
    let folder = temporary_folder();
    let file = folder.path().join("router-churn.yaml");
    fs::write(&file, smaller).expect("the folder can be written");
    run_one(&file);
}
