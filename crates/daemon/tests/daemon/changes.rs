//! Counters, changes by control, reloads and the state file.

use std::fs;
use std::sync::Arc;

use daemon::protocol::{Ask, View};
use serde_json::json;

use crate::kit::{BRIDGE, frame, more_stations, pass, start, try_start, until};

fn station(last: u8) -> serde_json::Value {
    json!({"set-station": {"mac": format!("02:00:00:00:00:{last:02x}"), "port": "uplink"}})
}

#[test]
fn frames_pass_and_add_up() {
    let run = start(BRIDGE);
    let (mut sender, _keep) = run.far("down");
    let (_other, mut receiver) = run.far("up");
    pass(500, &mut sender, &mut receiver);
    assert!(sender.send(&frame(9, 0)), "a frame from nobody");
    sender.publish();
    let all = until("the drop", || {
        Some(run.show(View::All)).filter(|all| all["counters"]["dropped"] == 1)
    });
    assert_eq!(all["counters"]["received"], 501);
    assert_eq!(all["counters"]["forwarded"], 500);
    assert_eq!(all["drops"]["function"]["invalid-source"], 1);
    assert_eq!(all["ports"]["downlink"]["received"], 501);
    assert_eq!(all["ports"]["uplink"]["sent"], 500);
    assert_eq!(all["stages"]["receive"]["packets"], 501);
    assert!(all["stages"]["transmit"]["cycles"].as_u64() > Some(0));
    assert!(all["workers"][0]["busy_ns"].as_u64() > Some(0));
    assert!(all["counters_per_s"]["received"].is_number());
    assert_eq!(run.show(View::Config)["config"]["workers"]["idle"], "sleep");
    run.stop().expect("it ends well");
}

#[test]
fn changes_are_acknowledged_or_refused() {
    let run = start(BRIDGE);
    let applied = run.ask(Ask::Set(station(1))).expect("a good change");
    let at: jiff::Timestamp =
        applied["applied_at"].as_str().expect("a time").parse().expect("RFC 3339");
    let age = jiff::Timestamp::now().duration_since(at);
    assert!(age.abs() < jiff::SignedDuration::from_secs(60), "{age}");
    let refused = run.ask(Ask::Set(json!({"set-station": {"mack": "02:00:00:00:00:01"}})));
    assert!(refused.expect_err("no such key").to_string().contains("mack"));
    let refused = run.ask(Ask::Set(json!({"remove-station": {"mac": "02:00:00:00:00:77"}})));
    assert_eq!(refused.expect_err("nobody").to_string(), "no such entry");
    let table = |name: &str| Ask::Table {
        name: name.into(),
        worker: None,
        from: 0,
        limit: 100,
        of: None,
        filters: Default::default(),
    };
    let tables = run.show(View::Tables);
    let names: Vec<&String> = tables["tables"].as_object().expect("tables").keys().collect();
    let page = run.ask(table(names[0])).expect("a table");
    assert!(page.to_string().contains("02:00:00:00:00:01"), "{page}");
    let refused = run.ask(table(&format!("{}x", names[0]))).expect_err("no such table");
    assert!(refused.remedy().contains(names[0].as_str()), "{refused}");
}

#[test]
fn a_reload_changes_what_differs_and_nothing_else() {
    let run = start(BRIDGE);
    let (mut sender, _keep) = run.far("down");
    let (_other, mut receiver) = run.far("up");
    pass(10, &mut sender, &mut receiver);
    run.ask(Ask::Set(station(5))).expect("a good change");

    // More stations: the ports stay, and so does what control did.
    run.rewrite(&more_stations(BRIDGE, 5));
    let done = run.ask(Ask::Reload).expect("a good file");
    assert_eq!(done, json!({"updates": 5, "ports": [], "controllers": []}));
    pass(10, &mut sender, &mut receiver);
    let tables = run.show(View::Tables).to_string();
    assert!(tables.contains("\"used\":8"), "2 + 5 + 1: {tables}");

    // Another uplink: the downlink forwards on, counters go on.
    run.rewrite(&more_stations(&BRIDGE.replace("@up", "@next"), 5));
    let done = run.ask(Ask::Reload).expect("a good file");
    assert_eq!(done["ports"], json!(["uplink"]));
    let (_another, mut next) = run.far("next");
    pass(10, &mut sender, &mut next);
    let ports = run.show(View::Ports);
    assert_eq!(ports["ports"]["uplink"]["sent"], 30, "of both links: {ports}");

    // The same link with another key: it is closed first.
    let coloured = BRIDGE.replace("interface: @up", "interface: @next, colour: red");
    run.rewrite(&more_stations(&coloured, 5));
    run.ask(Ask::Reload).expect("a good file");
    let (_another, mut again) = run.far("next");
    pass(10, &mut sender, &mut again);
    let ports = run.show(View::Ports);
    assert_eq!(ports["ports"]["uplink"]["sent"], 40, "{ports}");
    assert_eq!(ports["ports"]["downlink"]["received"], 40, "{ports}");
}

#[test]
fn a_bad_file_is_refused_whole() {
    let run = start(BRIDGE);
    let (mut sender, _keep) = run.far("down");
    let (_other, mut receiver) = run.far("up");
    let more = more_stations(BRIDGE, 7);
    for (text, why) in [
        (more.replace("idle: sleep", "idel: sleep"), "unknown key `idel`"),
        (more.replace("idle: sleep", "idle: poll"), "workers cannot be changed"),
        (more.replace("@up", "@upbroken"), "there is no link"),
        (more.replace("@up}", "@upbroken, colour: red}"), "there is no link"),
        (more.replace("stations:", "learning: false, stations:"), "learning"),
        ("function: [".to_owned(), "1"),
    ] {
        run.rewrite(&text);
        let refused = run.ask(Ask::Reload).expect_err("a bad file").to_string();
        assert!(refused.contains(why), "{why}: {refused}");
        let used = run.show(View::Tables).to_string();
        assert!(used.contains("\"used\":2,"), "{why}: {used}");
        pass(5, &mut sender, &mut receiver);
    }
    // One port changes and the other cannot: the first one comes back.
    run.rewrite(&more.replace("@down", "@downbroken").replace("@up", "@other"));
    run.ask(Ask::Reload).expect_err("a broken link");
    pass(5, &mut sender, &mut receiver);
    run.rewrite(&more.replace("@down}", "@down, colour: red}").replace("@up", "@upbroken"));
    run.ask(Ask::Reload).expect_err("a broken link");
    let (mut reopened, _keep) = run.far("down");
    pass(5, &mut reopened, &mut receiver);
}

const GATEWAY: &str = "\
function:
  name: mobile-gateway
  gw-ip: 192.0.2.1
  base-stations: [{address: 10.1.0.1, mac: '02:00:00:00:01:01'}]
  next-hops: [{address: 198.51.100.1, mac: '02:00:00:00:02:01'}]
  routes: [{prefix: 0.0.0.0/0, next-hop: 198.51.100.1}]
  users:
  - {ipv4: 10.0.0.1, teid: 1, base-station: 10.1.0.1}
  - {ipv4: 10.0.0.2, teid: 2, base-station: 10.1.0.1} # the last
ports:
  access: {type: wired, interface: @down}
  core: {type: wired, interface: @up}
workers: {idle: sleep}
control: {socket: @/control.sock}
";

#[test]
fn a_reload_that_is_refused_midway_is_undone() {
    let run = start(GATEWAY);
    let page = Ask::Table {
        name: "users".into(),
        worker: None,
        from: 0,
        limit: 100,
        of: None,
        filters: Default::default(),
    };
    let users = |run: &crate::kit::Run| run.show(View::Tables)["tables"]["users"]["used"].clone();
    let user =
        |number: u32| format!("{{ipv4: 10.0.0.{number}, teid: {number}, base-station: 10.1.0.1}}");
    // By control comes a user with an identifier that the file gives to another one.
    let guest = json!({"add-user": {"ipv4": "9.9.9.9", "teid": 4, "base-station": "10.1.0.1"}});
    run.ask(Ask::Set(guest)).expect("a new user");
    let before = run.ask(page.clone()).expect("a table");
    let more = GATEWAY.replace("# the last", &format!("\n  - {}\n  - {}", user(3), user(4)));
    run.rewrite(&more);
    let refused = run.ask(Ask::Reload).expect_err("identifier 4 is taken").to_string();
    assert!(refused.contains("exists already"), "{refused}");
    assert_eq!(users(&run), 3);
    assert_eq!(run.ask(page).expect("a table"), before);
    run.ask(Ask::Set(json!({"remove-user": {"ipv4": "9.9.9.9"}}))).expect("it was there");
    assert_eq!(run.ask(Ask::Reload).expect("now it fits")["updates"], 2);
    assert_eq!(users(&run), 4);
    run.rewrite(&more.replace("gw-ip: 192.0.2.1", "gw-ip: 192.0.2.2"));
    let refused = run.ask(Ask::Reload).expect_err("its own address").to_string();
    assert!(refused.contains("gw-ip"), "{refused}");
}

#[test]
fn a_file_is_followed_if_it_says_so() {
    let text = format!("{BRIDGE}reload: on-change\n");
    let run = start(&text);
    run.rewrite(&more_stations(&text, 30));
    until("the reload", || {
        run.show(View::Tables).to_string().contains("\"used\":32").then_some(())
    });
}

#[test]
fn state_survives_a_restart() {
    let text = format!("{BRIDGE}state: @/state.json\n");
    let run = start(&text);
    let folder = Arc::clone(&run.folder);
    let state = folder.path().join("state.json");
    run.ask(Ask::Set(station(5))).expect("a good change");
    assert_eq!(run.ask(Ask::Save).expect("there is a place")["updates"], 1);
    run.ask(Ask::Set(station(6))).expect("a good change");
    run.stop().expect("it ends well");

    let used = |run: &crate::kit::Run| run.show(View::Tables).to_string();
    let run = try_start(&text, true, Arc::clone(&folder)).expect("it starts");
    assert!(used(&run).contains("\"used\":4"), "{}", used(&run));
    run.stop().expect("it ends well");
    // Under other keys, what was kept comes on top.
    let larger = more_stations(&text, 1);
    let run = try_start(&larger, true, Arc::clone(&folder)).expect("it starts");
    assert!(used(&run).contains("\"used\":5"), "{}", used(&run));
    run.stop().expect("it ends well");

    let kept = fs::read_to_string(&state).expect("a file");
    for (damaged, why) in [
        (kept[..kept.len() / 2].to_owned(), "damaged"),
        ("{}".to_owned(), "not a state file"),
        (kept.replace("\"plumbline_state\":1", "\"plumbline_state\":9"), "version 9"),
        (kept.replace("l2-switch", "l3-router"), "to l3-router"),
        (kept.replace("set-station", "set-stat"), "does not fit"),
        (kept.replace("\"learning\":true", "\"learning\":false"), "learning"),
    ] {
        fs::write(&state, damaged).expect("writable");
        let refused = try_start(&text, true, Arc::clone(&folder)).err().expect("it is refused");
        assert!(refused.to_string().contains(why), "{why}: {refused}");
        assert!(refused.remedy().contains("--without-state"), "{}", refused.remedy());
    }
    let run = try_start(&text, false, Arc::clone(&folder)).expect("it starts without");
    assert!(used(&run).contains("\"used\":2"), "{}", used(&run));
    run.stop().expect("it ends well");
    try_start(&text, true, folder).expect("the file is a good one again").stop().expect("well");
}
