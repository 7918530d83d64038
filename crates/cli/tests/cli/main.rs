//! The command line as a user meets it: the program runs in a temporary folder, and what it prints
//! is compared.
//!
//! `UPDATE_GOLDEN=1 cargo test -p plumbline` rewrites the expected texts; review the difference.

mod bad_input;
mod bench;
mod bgp;
mod contrib;
mod devices;
mod environment;
mod examples;
mod given;
mod help;
mod installed;
mod interrupted;
mod nat;
mod nat_process;
mod newcomer;
mod packages;
mod past;
mod past_ipfix;
mod replay;
mod report;
mod row_files;
mod runs;
mod serve;
mod smoke;
mod trace;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program, with nothing of the caller's environment that changes what it prints.
fn plumbline(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumbline"));
    command.current_dir(folder).env("COLUMNS", "100").env_remove("RUST_BACKTRACE");
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// Runs the program to its end.
fn run(folder: &Path, arguments: &[&str]) -> Ended {
    let output = plumbline(folder).args(arguments).output().expect("the program starts");
    Ended::from(output)
}

/// How the program ended and what it printed.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        for words in ["bug in plumbline", "panicked", "RUST_BACKTRACE", "unwrap()", "Err(", "Os {"]
        {
            assert!(!stderr.contains(words), "a person reads this: {stderr}");
        }
        Ended { code: output.status.code(), stdout, stderr }
    }
}

impl Ended {
    #[track_caller]
    fn expect(self, code: i32) -> Ended {
        let Ended { stdout, stderr, .. } = &self;
        assert_eq!(self.code, Some(code), "--- stdout\n{stdout}\n--- stderr\n{stderr}");
        self
    }

    #[track_caller]
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("standard output is one JSON document: {error}\n{}", self.stdout)
        })
    }
}

/// Compares a text with the expected one in a file, or rewrites the file when asked to.
#[track_caller]
fn assert_as_in(file: &Path, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(file, text).expect("the expected text can be written");
        return;
    }
    let expected = fs::read_to_string(file).unwrap_or_default();
    assert!(
        expected == text,
        "not as in {}:\n--- expected\n{expected}\n--- got\n{text}",
        file.display()
    );
}

/// A file of this test's folder.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A scenario that comes with the source.
fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name)
}

/// Writes a scenario into a folder.
fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("a temporary folder is writable");
}

fn temporary_folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}
