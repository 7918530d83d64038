//! The journal beside the state file: what a daemon knows after a kill.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use daemon::protocol::{Ask, View};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::{BRIDGE, Run, start, try_start, until};

/// A bridge whose stations a controller wants; the switch refuses station 40.
fn text(stations: &str) -> String {
    with(BRIDGE, stations)
}

fn with(bridge: &str, stations: &str) -> String {
    format!("{bridge}controllers: [{{name: left, stations: {stations}}}]\nstate: @/state\n")
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

/// How many stations the switch knows; its file has two.
fn stations(run: &Run) -> u64 {
    run.show(View::Tables)["tables"]["stations"]["used"].as_u64().expect("a number")
}

/// How many changes lead from the file of a switch to what it has.
fn changes(run: &Run) -> u64 {
    run.ask(Ask::Save).expect("room")["updates"].as_u64().expect("a number")
}

fn remove(run: &Run, mac: &str) {
    run.ask(Ask::Set(json!({"remove-station": {"mac": mac}}))).expect("it is there");
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

#[test]
fn a_journal_begins_anew_with_other_keys_of_the_function() {
    let first = text("[1]");
    let run = start(&first);
    settled(&run, 1);
    assert_eq!(lines(run.folder.path()).map(|lines| lines.len()), Some(1));
    let rules = |count: u8| {
        let rule = |priority| format!("{{priority: {priority}, action: permit}}, ");
        let rules = (0..count).map(rule).collect::<String>();
        with(&BRIDGE.replace("stations:", &format!("acl: [{rules}], stations:")), "[1]")
    };
    let more = rules(2);
    run.rewrite(&more);
    run.ask(Ask::Reload).expect("a good file");
    assert_eq!(lines(run.folder.path()), None, "the state file has it");
    // Under the keys of the beginning, there would be nothing to remove.
    run.ask(Ask::Set(json!({"remove-rule": {"priority": 1}}))).expect("it is there");
    assert_eq!(lines(run.folder.path()).map(|all| all.len()), Some(1));
    let next = try_start(&more, true, killed(&run)).expect("it starts");
    assert_eq!((changes(&next), found(&next)), (2, json!([1])));
    // The same with keys that have changed while no daemon ran.
    let most = rules(3);
    let other = try_start(&most, true, killed(&run)).expect("it starts");
    assert_eq!(lines(other.folder.path()), None);
    assert_eq!(changes(&other), 2);
    let elsewhere = most.replace("state: @/state", "state: @/elsewhere");
    other.rewrite(&elsewhere);
    let refused = other.ask(Ask::Reload).expect_err("the journal lies beside it").to_string();
    assert!(refused.contains("state cannot be changed"), "{refused}");
}

#[test]
fn a_journal_of_a_time_with_controllers_is_read_once() {
    let run = start(&text("[1, 41]"));
    settled(&run, 1);
    let folder = killed(&run);
    let journal = fs::read(folder.path().join("state.journal")).expect("a file");
    let alone = format!("{BRIDGE}state: @/state\n");
    let next = try_start(&alone, true, Arc::clone(&folder)).expect("it starts");
    assert_eq!(stations(&next), 4);
    remove(&next, "02:00:00:00:01:29");
    next.stop().expect("it ends well");
    assert_eq!(lines(folder.path()), None);
    // As if it could not be removed.
    fs::write(folder.path().join("state.journal"), journal).expect("room");
    let last = try_start(&alone, true, folder).expect("it starts");
    assert_eq!(stations(&last), 3, "it follows no state file, and there is one");
}

#[test]
fn a_life_without_the_state_file_is_what_the_next_one_knows() {
    let run = start(&text("[1, 2, 3]"));
    settled(&run, 1);
    run.ask(Ask::Save).expect("room");
    run.ask(Ask::Set(json!({"set-station": {"mac": "02:00:00:00:09:09", "port": "uplink"}})))
        .expect("room");
    let again = try_start(&text("[7]"), false, killed(&run)).expect("it starts");
    settled(&again, 1);
    assert_eq!(stations(&again), 3);
    let next = try_start(&text("[7]"), true, killed(&again)).expect("it starts");
    assert_eq!((stations(&next), found(&next)), (3, json!([7])));
}

#[test]
fn a_disk_that_takes_nothing_is_an_alarm_until_it_takes_the_state_file() {
    let run = start(&text("[1]").replace("@/state", "@/absent/state"));
    settled(&run, 1);
    let raised = || {
        let alarms = run.show(View::Alarms)["alarms"]["raised"].clone();
        let all = alarms.as_array().expect("a list").clone();
        all.iter().map(|one| one["cause"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    until("both alarms", || (raised() == ["journal-failed", "state-failed"]).then_some(()));
    assert!(run.ask(Ask::Save).is_err());
    let folder = run.folder.path().join("absent");
    fs::create_dir(&folder).expect("room");
    run.ask(Ask::Save).expect("room");
    assert!(raised().is_empty());
    remove(&run, "0a:00:00:00:00:01");
    assert_eq!(lines(&folder).map(|all| all.len()), Some(1));
}
