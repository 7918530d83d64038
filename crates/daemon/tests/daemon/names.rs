//! Names of next hops that come while a router runs: later changes call by them, and they outlive
//! reload and restart.

use std::sync::Arc;

use daemon::client::Client;
use daemon::protocol::Ask;
use serde_json::{Value, json};

use crate::kit::{Run, start, try_start};

const ROUTER: &str = "\
function:
  name: l3-router
  resolve: true
  next-hops: [{name: isp-a, port: uplink, ip: 10.1.0.9}, {port: uplink, ip: 10.1.0.8}]
  routes: [{prefix: 203.0.113.0/24, next-hop: isp-a}]
ports:
  downlink: {type: wired, interface: @down}
  uplink: {type: wired, interface: @up}
workers: {idle: sleep}
control: {socket: @/control.sock}
state: @/state.json
";

fn route(to: &str) -> Ask {
    Ask::Set(json!({"set-route": {"prefix": "198.51.100.0/24", "next-hop": to}}))
}

fn come(number: u32, name: &str, last: u8) -> Ask {
    let next_hop = json!({"name": name, "port": "uplink", "ip": format!("10.1.0.{last}")});
    Ask::Set(json!({"set-next-hop": {"number": number, "next-hop": next_hop}}))
}

/// Where the route of the changes leads, in words.
fn leads_to(run: &Run) -> Value {
    let of = Some("198.51.100.1".parse().expect("an address"));
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
fn names_of_run_time_outlive_reload_and_restart() {
    let run = start(ROUTER);
    let folder = Arc::clone(&run.folder);
    let refused = run.ask(route("isp-c")).expect_err("nobody");
    let remedy = refused.remedy();
    assert!(remedy.contains("no next hop `isp-c`") && remedy.contains("show table"), "{remedy}");
    run.ask(come(7, "isp-c", 20)).expect("a good change");
    run.ask(route("isp-c")).expect("it has come");
    let expected = json!("next hop 7 (isp-c)");
    assert_eq!(leads_to(&run), expected);
    let twice = run.ask(come(8, "isp-a", 21)).expect_err("the file's first has it");
    assert!(twice.remedy().contains("has the name `isp-a`"), "{}", twice.remedy());
    // A reload leaves them, and gives none of them to another.
    run.rewrite(&ROUTER.replace("203.0.113.0", "192.0.2.0"));
    run.ask(Ask::Reload).expect("a good file");
    run.ask(route("isp-a")).expect("of the file");
    run.ask(route("isp-c")).expect("of run time");
    let taken = "{name: isp-c, port: uplink, ip: 10.1.0.8}";
    run.rewrite(&ROUTER.replace("{port: uplink, ip: 10.1.0.8}", taken));
    let refused = run.ask(Ask::Reload).expect_err("another has it").to_string();
    assert!(refused.contains("exists already"), "{refused}");
    assert_eq!(leads_to(&run), expected);
    run.stop().expect("it ends well");

    let run = try_start(ROUTER, true, folder).expect("it starts");
    assert_eq!(leads_to(&run), expected);
    run.ask(route("isp-a")).expect("of the file");
    assert_eq!(leads_to(&run), json!("next hop 0 (isp-a)"));
    run.ask(route("isp-c")).expect("of run time");
    assert_eq!(leads_to(&run), expected);
    run.stop().expect("it ends well");
}

/// A name holds for the next line, and what is refused says what helps.
#[test]
fn lines_call_by_the_names_of_lines_before_them() {
    let run = start(ROUTER);
    let lines = [
        "set-next-hop number=7 next-hop={\"name\":\"isp-c\",\"port\":\"uplink\",\"ip\":\"10.1.0.20\"}",
        "set-route prefix=198.51.100.0/24 next-hop=isp-c",
        "remove-next-hop number=isp-c",
        "set-route prefix=198.51.100.0/24 next-hop=isp-c",
    ];
    let mut client = Client::connect(&run.socket).expect("it listens");
    let told = client.updates(&mut lines.join("\n").as_bytes()).expect("it answers");
    assert_eq!((&told["applied"], &told["refused"]), (&json!(3), &json!(1)), "{told}");
    assert_eq!(told["errors"][0]["line"], 4, "{told}");
    let what = told["errors"][0]["what"].as_str().unwrap_or_default();
    assert!(what.starts_with("no such entry; There is no next hop `isp-c` at present"), "{what}");
    assert_eq!(leads_to(&run), "next hop 7");
    run.stop().expect("it ends well");
}
