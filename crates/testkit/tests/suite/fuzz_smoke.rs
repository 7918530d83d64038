//! Runs every fuzz body for a short time on the stable toolchain, and over every input that ever
//! broke something.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::fuzz::{smoke, targets};

/// Inputs for every target.
const ITERATIONS: u32 = 8_000;
/// Where the inputs start; printed, so that a failure can be repeated.
const SEED: u64 = 1;

#[test]
fn every_target_survives_seeded_inputs() {
    for target in targets() {
        println!("{} from seed {SEED}", target.name());
        smoke(&target, SEED, ITERATIONS);
    }
}

#[test]
fn every_target_survives_every_regression() {
    let files = regressions();
    for target in targets() {
        let mut body = target.body();
        for file in &files {
            println!("{} with {}", target.name(), file.display());
            body(&fs::read(file).expect("a regression can be read"));
        }
    }
}

#[test]
fn every_target_has_a_name_of_its_own() {
    let names: Vec<String> = targets().map(|target| target.name()).collect();
    let different: BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "a name is listed twice: {names:?}");
    assert!(names.len() > 20, "{names:?}");
}

/// The folder of the workspace.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file below a folder named `regressions` of a crate.
fn regressions() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![workspace().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a crate can be read") {
            let path = entry.expect("a folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.components().any(|part| part.as_os_str() == "regressions") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
