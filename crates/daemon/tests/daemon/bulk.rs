//! Rows in files beside the daemon's: they are loaded, read anew, and their errors told.

use std::fs;
use std::sync::Arc;

use daemon::protocol::{Ask, View};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::{Run, try_start};

const ROUTER: &str = "\
function:
  name: l3-router
  resolve: true
  next-hops: [{port: uplink, ip: 10.1.0.9}, {port: uplink, ip: 10.1.0.8}]
  route-files: [@/routes]
ports:
  downlink: {type: wired, interface: @down}
  uplink: {type: wired, interface: @up}
workers: {idle: sleep}
control: {socket: @/control.sock}
state: @/state.json
";

/// Some thousand routes.
fn routes() -> Vec<String> {
    (0..5000)
        .map(|number| format!("20.{}.{}.0/24 {}", number / 256, number % 256, number % 2))
        .collect()
}

fn write(folder: &TempDir, lines: &[String]) {
    fs::write(folder.path().join("routes"), lines.join("\n")).expect("writable");
}

fn folder() -> Arc<TempDir> {
    Arc::new(tempfile::tempdir().expect("a folder"))
}

fn used(run: &Run) -> Value {
    run.show(View::Tables)["tables"]["routes"]["used"].clone()
}

/// The next hop of the route that a packet to an address takes.
fn leads_to(run: &Run, address: &str) -> Value {
    let of = Some(address.parse().expect("an address"));
    let ask = Ask::Table {
        name: "routes".into(),
        worker: Some(0),
        from: 0,
        limit: 9,
        of,
        filters: Default::default(),
    };
    run.ask(ask).expect("a route")["entries"][0]["leads-to"].clone()
}

#[test]
fn routes_of_a_file_are_loaded_and_a_reload_applies_the_difference() {
    let (folder, mut lines) = (folder(), routes());
    write(&folder, &lines);
    let run = try_start(ROUTER, true, Arc::clone(&folder)).expect("it starts");
    // Two links with the router's own addresses, and two next hops beside them.
    assert_eq!(used(&run), 5000 + 4 + 2);
    assert_eq!(leads_to(&run, "20.0.7.1"), "next hop 1");
    lines[7] = "20.0.7.0/24 10.1.0.9".to_owned();
    lines.truncate(4000);
    write(&folder, &lines);
    let done = run.ask(Ask::Reload).expect("a good file");
    assert_eq!(done, json!({"updates": 1001, "ports": [], "controllers": []}));
    assert_eq!((used(&run), leads_to(&run, "20.0.7.1")), ((4000 + 6).into(), "next hop 0".into()));
    // A file that is wrong changes nothing.
    lines[3] = "20.0.3.0/24 7".to_owned();
    lines[9] = "20.0.9.1/24 0".to_owned();
    write(&folder, &lines);
    let refused = run.ask(Ask::Reload).expect_err("two lines are wrong").to_string();
    assert!(refused.contains("routes:4: there is no next hop `7`"), "{refused}");
    assert!(refused.contains("routes:10: 20.0.9.1/24 has bits set"), "{refused}");
    assert_eq!(used(&run), 4000 + 6);
    run.stop().expect("it ends well");
}

#[test]
fn what_control_did_to_rows_outlives_a_restart_whatever_became_of_the_file() {
    let (folder, mut lines) = (folder(), routes());
    lines.truncate(100);
    write(&folder, &lines);
    let run = try_start(ROUTER, true, Arc::clone(&folder)).expect("it starts");
    let remove = |prefix: &str| Ask::Set(json!({"remove-route": {"prefix": prefix}}));
    run.ask(remove("20.0.3.0/24")).expect("it is there");
    run.ask(remove("20.0.4.0/24")).expect("it is there");
    run.stop().expect("it ends well");
    lines.remove(3);
    write(&folder, &lines);
    let run = try_start(ROUTER, true, Arc::clone(&folder)).expect("it starts again");
    assert_eq!(used(&run), 98 + 6);
    run.stop().expect("it ends well");
    fs::remove_file(folder.path().join("routes")).expect("it was there");
    let error = try_start(ROUTER, true, folder).err().expect("there is no file").to_string();
    assert!(error.contains("function.route-files: ") && error.contains("No such file"), "{error}");
}

/// Wherever the daemon was started: its file and those that it names are moved together.
#[test]
fn files_are_those_beside_the_one_that_names_them() {
    let folder = folder();
    write(&folder, &routes());
    let text = ROUTER.replace("@/routes", "routes");
    let run = try_start(&text, true, Arc::clone(&folder)).expect("it starts");
    assert_eq!(used(&run), 5000 + 4 + 2);
    // A missing one is told by the whole path.
    run.rewrite(&ROUTER.replace("[@/routes]", "[{path: sub/absent, vrf: 0}]"));
    let refused = run.ask(Ask::Reload).expect_err("there is none").to_string();
    let absent = folder.path().join("sub/absent");
    assert!(refused.contains(&format!("{}: No such file", absent.display())), "{refused}");
    run.stop().expect("it ends well");
}
