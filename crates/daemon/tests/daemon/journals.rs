//! The journal beside the state file: what a daemon knows after a kill.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use daemon::protocol::View;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::{BRIDGE, Run, start, try_start, until};

/// A bridge whose stations a controller wants; the switch refuses station 40.
fn text(stations: &str) -> String {
    format!("{BRIDGE}controllers: [{{name: left, stations: {stations}}}]\nstate: @/state\n")
}

/// What a kill leaves: the files of a daemon that goes on.
fn killed(run: &Run) -> Arc<TempDir> {
    let folder = Arc::new(tempfile::tempdir().expect("a folder"));
    for name in ["state", "state.journal"] {
        let path = run.folder.path().join(name);
        if path.exists() {
            fs::copy(path, folder.path().join(name)).expect("room");
        }
    }
    folder
}

/// The lines of a journal behind the first one; none if there is no journal.
fn lines(folder: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(folder.join("state.journal")).ok()?;
    Some(text.lines().skip(1).map(str::to_owned).collect())
}

/// Waits until the controller has heard of its changes: of this number of runs.
fn settled(run: &Run, runs: usize) {
    until("what became of the changes", || {
        let shown = run.show(View::Protocols);
        let applied = shown["protocols"]["left"]["controller"]["applied"].as_array().cloned()?;
        (applied.len() >= runs).then_some(())
    });
}

/// What the controller has found when it began.
fn found(run: &Run) -> Value {
    until("the controller", || {
        let shown = run.show(View::Protocols);
        Some(shown["protocols"]["left"]["controller"]["found"].clone()).filter(Value::is_array)
    })
}

#[test]
fn a_journal_has_what_was_applied_and_a_start_leaves_out_what_does_not_fit() {
    let run = start(&text("[1, 40, 41]"));
    settled(&run, 2);
    let kept = lines(run.folder.path()).expect("a journal");
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(!kept.concat().contains("port-3"), "{kept:?}");

    // Lines that the switch refuses, or does not understand, in the middle of good ones.
    let folder = killed(&run);
    let mut journal =
        File::options().append(true).open(folder.path().join("state.journal")).expect("a file");
    for change in [
        json!({"remove-station": {"mac": "02:00:00:00:01:55"}}),
        json!({"turn-off": 1}),
        json!({"set-station": {"mac": "02:00:00:00:01:03", "port": "uplink"}}),
    ] {
        writeln!(journal, "{change}").expect("room");
    }
    let next = try_start(&text("[1, 3, 41]"), true, folder).expect("it starts");
    assert_eq!(found(&next), json!([1, 3, 41]));
    next.stop().expect("it ends well");
}
