//! Protocols and controllers touch no clock, socket, thread, file or source of randomness: what a
//! machine does follows from its inputs alone, on real sockets and in a simulation.

use crate::none;
use crate::tree::{FILES, file, files};

/// Folders of machines, each with a `clippy.toml` that says the same to the compiler.
const FOLDERS: &[&str] = &["crates/protocols/", "crates/controllers/"];

/// What no machine may name.
const FORBIDDEN: &[&str] = &[
    "std::time::Instant",
    "std::time::SystemTime",
    "std::thread",
    "std::fs",
    "std::env",
    "std::process",
    "std::io::stdin",
    "std::io::stdout",
    "std::sync::Mutex",
    "std::sync::RwLock",
    "UdpSocket",
    "TcpStream",
    "TcpListener",
    "UnixStream",
    "UnixListener",
    "UnixDatagram",
    "HashMap",
    "HashSet",
    "RandomState",
    "clock::now",
];

#[test]
fn machines_touch_nothing_outside_of_them() {
    let mut findings = Vec::new();
    let mut seen = 0;
    let is_machine = |path: &str| {
        FOLDERS.iter().any(|folder| path.starts_with(folder)) && path.contains("/src/")
    };
    for file in files(".rs").filter(|file| is_machine(&file.path)) {
        seen += 1;
        findings.extend(named(&file.text).map(|what| format!("{} names {what}", file.path)));
    }
    assert!(seen > 5, "{seen} files of machines");
    none("machines that are no machines: make it an argument", &findings);
}

#[test]
fn the_compiler_is_told_of_it() {
    for folder in FOLDERS {
        if FILES.iter().any(|file| file.path.starts_with(folder)) {
            let lints = file(&format!("{folder}clippy.toml"));
            for what in ["Instant", "UdpSocket", "TcpStream", "HashMap", "std::thread::spawn"] {
                assert!(lints.contains(what), "{folder}clippy.toml does not forbid {what}");
            }
        }
    }
}

#[test]
fn what_a_machine_names_is_found_in_code_alone() {
    let found = |text: &str| named(text).count();
    assert_eq!(found("use std::time::Instant;\nlet map = HashMap::new();"), 2);
    assert_eq!(found("use std::{fs, time::{Duration, Instant}};"), 2);
    assert_eq!(found("// std::time::Instant\nuse std::time::Duration;\nstruct Threads;"), 0);
}

/// What of the forbidden a file names in its code.
fn named(text: &str) -> impl Iterator<Item = &'static str> {
    let code: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    // Imports in braces stand apart from what they come from.
    let braced = code.contains("use std::{");
    FORBIDDEN.iter().copied().filter(move |what| {
        let last = what.rsplit("::").next().unwrap_or(what);
        let is_word = |text: &str, word: &str| {
            text.match_indices(word).any(|(at, _)| {
                let is_of_name = |one: char| one.is_alphanumeric() || one == '_';
                !text[..at].ends_with(is_of_name)
                    && !text[at + word.len()..].starts_with(is_of_name)
            })
        };
        is_word(&code, what) || braced && is_word(&code, last)
    })
}
