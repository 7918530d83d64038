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

/// The variable that names the tree to judge in place of this one.
pub const TREE: &str = "PLUMBLINE_TREE";

/// The folder of the workspace.
pub fn root() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize();
    std::env::var_os(TREE).map_or_else(|| own().expect("the workspace is there"), PathBuf::from)
}

/// All text files of the project, by path.
pub static FILES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).ok()?.to_str()?.replace('\\', "/");
        // What is not text is not judged by these rules.
        Some(Source { path: name, text: fs::read_to_string(&path).ok()? })
    };
    let mut files: Vec<Source> = paths(&root()).into_iter().filter_map(read).collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
});

/// Files whose name ends so.
pub fn files(end: &'static str) -> impl Iterator<Item = &'static Source> {
    FILES.iter().filter(move |file| file.path.ends_with(end))
}

/// One file by its path.
pub fn file(path: &str) -> &'static str {
    file_if_there(path).unwrap_or_else(|| panic!("{path} is absent"))
}

/// The same where it may be absent.
pub fn file_if_there(path: &str) -> Option<&'static str> {
    let found = FILES.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
    Some(&FILES[found].text)
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

/// The path of a file of a package as [`FILES`] has it.
pub fn in_project(path: &str) -> &str {
    let root = METADATA["workspace_root"].as_str().unwrap_or_default();
    path.strip_prefix(root).and_then(|path| path.strip_prefix('/')).unwrap_or(path)
}

/// The folder of a package from the workspace's.
pub fn folder_of(package: &Value) -> String {
    let root = root().canonicalize().expect("the workspace is there");
    let manifest = Path::new(text(package, "manifest_path"));
    let folder = manifest.parent().and_then(|folder| folder.strip_prefix(&root).ok());
    folder.expect("a member lies in the workspace").to_string_lossy().into_owned()
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

/// All files of a tree, without what is generated in it.
pub fn paths(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let (path, name) = (entry.path(), entry.file_name());
            let generated = name == "target" || folder == top && (name == "runs" || name == ".git");
            let fuzzed = folder.ends_with("fuzz") && (name == "corpus" || name == "artifacts");
            if path.is_dir() && !generated && !fuzzed {
                folders.push(path);
            } else if path.is_file() && !generated {
                found.push(path);
            }
        }
    }
    found
}
