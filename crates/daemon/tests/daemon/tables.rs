//! Tables of controllers beside those of the function: by which name each is found, what is refused
//! and why, and metrics of controllers.

use std::collections::BTreeMap;

use daemon::client::{Client, ClientError};
use daemon::protocol::{Ask, View};
use serde_json::{Value, json};

use crate::kit::{BRIDGE, Run, start, until};
use crate::metrics::{address, get};

const BOTH: &str = "controllers: [{name: left, stations: [1, 2, 3]}, {name: right, stations: [7]}]\n\
                    metrics: {listen: \"127.0.0.1:0\"}\n";

/// A request for a page.
fn page(name: &str, filters: &[(&str, &str)], from: u64) -> Ask {
    let pairs = filters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let filters: BTreeMap<String, String> = pairs.collect();
    Ask::Table { name: name.to_owned(), worker: None, from, limit: 2, of: None, filters }
}

fn refused(run: &Run, ask: Ask) -> (String, String) {
    match run.ask(ask) {
        Err(ClientError::Refused(refused)) => (refused.what, refused.remedy),
        other => panic!("{other:?}"),
    }
}

fn has_begun(run: &Run) {
    until("the controllers", || {
        let rows = run.show(View::Tables)["controllers"].as_array().cloned()?;
        let has = |row: &Value| row["controller"] != "left" || row["entries"] == 3;
        rows.iter().all(has).then_some(())
    });
}

#[test]
fn tables_of_controllers_are_found_by_their_names() {
    let run = start(&format!("{BRIDGE}{BOTH}"));
    has_begun(&run);
    let tables = run.show(View::Tables);
    assert!(tables["tables"]["stations"].is_object(), "the function's: {tables}");
    let row = json!({"controller": "left", "table": "things", "entries": 3, "filters": ["odd"],
                     "each": "a thing of a side"});
    assert_eq!(tables["controllers"][0], row);
    // Both controllers have one of this name.
    let (what, remedy) = refused(&run, page("things", &[], 0));
    assert_eq!(what, "there are several tables `things`");
    assert_eq!(remedy, "say which: `left/things` or `right/things`");
    let first = run.ask(page("left/things", &[], 0)).expect("a page");
    assert_eq!(
        (&first["entries"], &first["next"]),
        (&json!([{"thing": 1}, {"thing": 2}]), &json!(3))
    );
    assert_eq!(first["columns"], json!(["thing"]));
    let last = run.ask(page("left/things", &[], 3)).expect("a page");
    assert_eq!((&last["entries"], &last["next"]), (&json!([{"thing": 3}]), &Value::Null));
    let odd = run.ask(page("left/things", &[("odd", "yes")], 0)).expect("a page");
    assert_eq!(odd["entries"], json!([{"thing": 1}, {"thing": 3}]));
    // The function's are found with their owner, too.
    let own = run.ask(page("l2-switch/stations", &[], 0)).expect("a page");
    assert_eq!(own["entries"].as_array().map(Vec::len), Some(2));
    assert_eq!(own, run.ask(page("stations", &[], 0)).expect("a page"));

    for (ask, what, remedy) in [
        (page("left/thigns", &[], 0), "no table `left/thigns`", "`left/things`"),
        (page("statoins", &[], 0), "no table `statoins`", "`stations`"),
        (page("left/things", &[("od", "")], 0), "filtered by `od`", "`odd`"),
        (page("stations", &[("odd", "")], 0), "filtered by `odd`", "leave it out"),
        (page("stations", &[("for", "nowhere")], 0), "`nowhere` is neither an address", ""),
        (Ask::Metrics("lefd".to_owned()), "no controller `lefd`", "`left`"),
    ] {
        let (told, help) = refused(&run, ask.clone());
        assert!(told.contains(what) && help.contains(remedy), "{ask:?}: {told}; {help}");
    }
    let filters = BTreeMap::new();
    let name = "left/things".to_owned();
    let of_worker = Ask::Table { name, worker: Some(1), from: 0, limit: 9, of: None, filters };
    assert!(refused(&run, of_worker).0.contains("is no worker's"));
}

/// A controller that panics as it is asked answers so, and goes on with what it has.
#[test]
fn what_a_controller_cannot_answer_ends_nothing() {
    let run = start(&format!("{BRIDGE}{BOTH}"));
    has_begun(&run);
    let (what, _) = refused(&run, page("left/things", &[("odd", "panic")], 0));
    assert_eq!(what, "the controller cannot answer this");
    let page_of = |client: &mut Client| client.ask(page("left/things", &[], 0)).expect("a page");
    // Several clients ask at once, and each has its answer.
    let mut clients: Vec<Client> =
        (0..8).map(|_| Client::connect(&run.socket).expect("it listens")).collect();
    for _ in 0..5 {
        let all: Vec<Value> = clients.iter_mut().map(page_of).collect();
        assert!(all.iter().all(|page| page["next"] == 3), "{all:?}");
    }
    let protocols = run.show(View::Protocols);
    assert_eq!(protocols["protocols"]["left"]["restarts"], 0, "{protocols}");
    assert_eq!(run.show(View::Alarms)["alarms"]["cleared"], json!([]));
}

#[test]
fn controllers_have_metrics() {
    let run = start(&format!("{BRIDGE}{BOTH}"));
    has_begun(&run);
    let body = get(&address(&run), "/metrics");
    for line in [
        "# HELP plumbline_left_things_total Things of a side.\n",
        "# TYPE plumbline_left_things_total counter\n",
        "plumbline_left_things_total{of=\"left\"} 3\n",
        "plumbline_right_things_total{of=\"right\"} 1\n",
        "plumbline_uptime_seconds ",
    ] {
        assert!(body.contains(line), "{line}: {body}");
    }
}
