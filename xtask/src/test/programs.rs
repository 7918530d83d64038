//! The programs that cargo builds of tests, and how to run each.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::lanes::Lane;
use crate::invocation::Invocation;

/// A program of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The package whose tests these are.
    pub package: String,
    /// The folder of the package, in which its tests run.
    folder: PathBuf,
    /// What it is built from, as cargo's flags name it: `--lib`, `--test suite`.
    target: String,
    executable: PathBuf,
}

impl Program {
    /// What is told of it.
    pub fn name(&self) -> String {
        format!("{} {}", self.package, self.target)
    }

    /// How cargo runs it.
    pub fn repeat(&self) -> Invocation {
        let Program { package, target, .. } = self;
        Invocation::new("cargo", &format!("test --locked -p {package} {target}"))
    }

    /// How it is run itself, as cargo would.
    pub fn invocation(&self) -> Invocation {
        // The variable is this program's own package's, where cargo has started it.
        Invocation::new(self.executable.to_string_lossy(), "")
            .within(&self.folder)
            .variable("CARGO_MANIFEST_DIR", self.folder.to_string_lossy())
    }

    /// Where it stands among the programs that take long: the lane, and the place in the list.
    pub fn place(&self) -> (Lane, usize) {
        let is_this = |(package, target): &(&str, &str)| {
            *package == self.package && self.target.ends_with(target)
        };
        let waiting = WAITING.iter().position(is_this).map(|place| (Lane::Waiting, place));
        let place = COMPUTING.iter().position(is_this).unwrap_or(COMPUTING.len());
        waiting.unwrap_or((Lane::Computing, place))
    }
}

/// Builds the programs of the tests of the packages that the flags select.
///
/// # Errors
/// When something does not compile.
pub fn build(invocation: &Invocation) -> Result<Vec<Program>> {
    invocation.output()?.lines().filter_map(|line| program(line).transpose()).collect()
}

/// The program that a message of cargo tells of, if it does.
fn program(message: &str) -> Result<Option<Program>> {
    let message: Value =
        serde_json::from_str(message).context("cargo prints a JSON value a line")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if message["profile"]["test"] != Value::Bool(true) || message["executable"].is_null() {
        return Ok(None);
    }
    let target = &message["target"];
    let name = text(&target["name"]);
    let target = match text(&target["kind"][0]).as_str() {
        // They were built so that they compile, and have no tests.
        "bench" | "example" => return Ok(None),
        "lib" => "--lib".to_owned(),
        kind => format!("--{kind} {name}"),
    };
    let manifest = PathBuf::from(text(&message["manifest_path"]));
    let folder = manifest.parent().unwrap_or(Path::new("")).to_owned();
    let package = package_of(&text(&message["package_id"])).to_owned();
    Ok(Some(Program { package, folder, target, executable: text(&message["executable"]).into() }))
}

/// The name in `path+file:///folder/tables#0.1.0` or `path+file:///folder/cli#plumbline@0.1.0`.
fn package_of(id: &str) -> &str {
    let (path, version) = id.rsplit_once('#').unwrap_or((id, ""));
    let folder = path.rsplit('/').next().unwrap_or(path);
    version.split_once('@').map_or(folder, |(name, _)| name)
}

/// Programs that wait for the clock, the kernel or other programs more than they compute, the
/// longest first: packages, and targets by how they end.
pub const WAITING: &[(&str, &str)] = &[
    ("plumbline", "cli"),
    ("port-vhost-user", "suite"),
    ("devices", "suite"),
    ("port-af-packet", "suite"),
    ("port-af-xdp", "suite"),
    ("plumbline", "daemon"),
    ("daemon", "daemon"),
    ("port-memif", "suite"),
    ("port-tap", "conformance"),
    ("port-fault", "faults"),
];

/// Programs that compute, the longest first; those that are not named take a few seconds.
pub const COMPUTING: &[(&str, &str)] = &[
    ("model-cgnat", "cgnat"),
    ("xtask", "tidy"),
    ("report", "suite"),
    ("testkit", "suite"),
    ("tables", "suite"),
    ("methods", "--lib"),
    ("methods", "suite"),
    ("devices", "--lib"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_cargo_tells_of_a_program() {
        let message = |executable: &str, is_test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///p/crates/cli#plumbline@0.1.0",
                "manifest_path":"/p/crates/cli/Cargo.toml","target":{{"kind":["test"],"name":"cli"}},
                "profile":{{"test":{is_test}}},"executable":{executable}}}"#
            )
        };
        let found = program(&message("\"/p/target/debug/deps/cli-1\"", true)).expect("is JSON");
        let found = found.expect("it is a program of tests");
        assert_eq!(found.name(), "plumbline --test cli");
        assert_eq!(found.repeat().to_string(), "cargo test --locked -p plumbline --test cli");
        assert_eq!(found.folder, Path::new("/p/crates/cli"));
        let is_none = |message: &str| program(message).expect("is JSON").is_none();
        assert!(is_none(&message("null", true)), "a library");
        assert!(is_none(&message("\"/p/target/debug/plumbline\"", false)), "a program");
        for kind in ["bench", "example"] {
            let built = message("\"/p/target/debug/deps/cli-1\"", true);
            assert!(is_none(&built.replace("[\"test\"]", &format!("[\"{kind}\"]"))), "{kind}");
        }
        assert!(is_none(r#"{"reason":"build-finished","success":true}"#));
        assert_eq!(package_of("path+file:///p/crates/tables#0.1.0"), "tables");
    }
}
