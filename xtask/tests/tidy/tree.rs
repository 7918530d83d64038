//! The workspace as the tests read it: its files, and what cargo says of its packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

/// A file of the project.
pub struct Source {
    /// Its path from the workspace's folder, with `/`.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All text files of the project.
pub static FILES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut paths = Vec::new();
    walk(&root(), &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).ok()?.to_str()?.replace('\\', "/");
        // What is not text is not judged by these rules.
        Some(Source { path: name, text: fs::read_to_string(&path).ok()? })
    };
    paths.into_iter().filter_map(read).collect()
});

/// Files whose name ends so.
pub fn files(end: &'static str) -> impl Iterator<Item = &'static Source> {
    FILES.iter().filter(move |file| file.path.ends_with(end))
}

/// One file by its path.
pub fn file(path: &str) -> &'static str {
    let found = FILES.iter().find(|file| file.path == path);
    found.map_or_else(|| panic!("{path} is absent"), |file| &file.text)
}

/// What `cargo metadata` says.
pub static METADATA: LazyLock<Value> = LazyLock::new(|| {
    // One platform only: the crates of others are not on this machine.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
});

/// The packages of this workspace.
pub fn members() -> impl Iterator<Item = &'static Value> {
    let ids = METADATA["workspace_members"].as_array().expect("a workspace has members");
    packages().filter(move |package| ids.contains(&package["id"]))
}

/// All packages, ours and theirs.
pub fn packages() -> impl Iterator<Item = &'static Value> {
    METADATA["packages"].as_array().expect("there are packages").iter()
}

/// A text field.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Names of the folders in a folder, sorted.
pub fn folders(path: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(path)).expect("the folder is there");
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        let name = entry.file_name();
        let is_top = folder == root();
        let generated = name == "target" || is_top && (name == "runs" || name == ".git");
        let fuzzed = folder.ends_with("fuzz") && (name == "corpus" || name == "artifacts");
        if path.is_dir() && !generated && !fuzzed {
            walk(&path, paths);
        } else if path.is_file() && !generated {
            paths.push(path);
        }
    }
}
