//! Runs every fuzz body for a short time on the stable toolchain, and over every input that ever
//! broke something; and holds the list of targets equal to the fuzz package.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::fuzz::{TARGETS, smoke};

/// Inputs for every target.
const ITERATIONS: u32 = 8_000;
/// Where the inputs start; printed, so that a failure can be repeated.
const SEED: u64 = 1;

#[test]
fn every_target_survives_seeded_inputs() {
    for target in TARGETS {
        println!("{} from seed {SEED}", target.name);
        smoke(target, SEED, ITERATIONS);
    }
}

#[test]
fn every_target_survives_every_regression() {
    for file in regressions() {
        let input = fs::read(&file).expect("a regression can be read");
        for target in TARGETS {
            println!("{} with {}", target.name, file.display());
            (target.run)(&input);
        }
    }
}

#[test]
fn the_fuzz_package_has_every_target_and_no_other() {
    let fuzz = workspace().join("fuzz");
    let files = fs::read_dir(fuzz.join("fuzz_targets")).expect("the fuzz package is there");
    let files: BTreeSet<String> = files
        .map(|file| file.expect("the folder can be read").path())
        .map(|path| path.file_stem().expect("a file has a name").to_string_lossy().into_owned())
        .collect();
    let names: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(files, names);
    assert_eq!(names.len(), TARGETS.len(), "a name is listed twice");
    assert!(TARGETS.is_sorted_by_key(|target| target.name), "the list is sorted");

    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).expect("it has a manifest");
    for name in &names {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not in its manifest");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), names.len());
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
