//! Changes that servers and operators ask for.

use controller_kit::Controller;
use protocol_radius::attributes::kind;
use protocol_radius::{Code, List};
use serde_json::json;

use crate::host::Host;
use crate::server::{INTERIM, SECRET, STOP};
use crate::world::{World, keys, seconds};

const MAC: &str = "02:00:00:00:01:01";

/// A world with a client that is up, and its number.
fn up(seed: u64) -> (World, usize) {
    let mut world = World::new(
        &keys(json!({
            "ipoe": {"authentication": "radius"},
            "radius": {
                "servers": [{"address": "192.0.2.1", "local": "192.0.2.9", "secret": SECRET}],
                "dynamic": ["192.0.2.9:3799"],
                "interim-interval-s": 0,
                "attributes": [
                    {"attribute": "Filter-Id", "pattern": "{profile}"},
                    {"attribute": "Reply-Message", "pattern": "{vrf}"},
                    {"attribute": "Session-Timeout", "pattern": "{session-timeout}"},
                    {"attribute": "Idle-Timeout", "pattern": "{idle-timeout}"},
                    {"attribute": "Acct-Interim-Interval", "pattern": "{interim-interval}"},
                ],
            },
        })),
        seed,
    );
    world.server.add(MAC, MAC, List::new());
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(5));
    assert!(world.hosts[host].address().is_some());
    (world, host)
}

/// A request with these attributes, and its answer.
fn change(world: &mut World, identifier: u8, numbers: &[(u8, u32)], texts: &[(u8, &str)]) -> Code {
    let mut list = List::new();
    list.put(kind::USER_NAME, MAC.as_bytes()).expect("it fits");
    numbers.iter().for_each(|(kind, value)| list.put_number(*kind, *value).expect("it fits"));
    texts.iter().for_each(|(kind, text)| list.put(*kind, text.as_bytes()).expect("it fits"));
    world.ask(Code::CoaRequest, identifier, &list);
    world.run(seconds(1));
    world.server.answers.pop().expect("an answer").0
}

#[test]
fn a_change_that_the_gateway_refuses_changes_nothing() {
    let (mut world, host) = up(1);
    world.gateway.refuses = true;
    let all = [(SESSION_TIMEOUT, 60), (IDLE_TIMEOUT, 60)];
    let texts = [(FILTER_ID, "gold"), (REPLY_MESSAGE, "blue")];
    assert_eq!(change(&mut world, 1, &all, &texts), Code::CoaNak);
    world.gateway.refuses = false;
    // The next one does not bring the refused one with it.
    assert_eq!(change(&mut world, 2, &[(INTERIM_INTERVAL, 300)], &[]), Code::CoaAck);
    assert_eq!(change(&mut world, 3, &[], &[(FILTER_ID, "gold")]), Code::CoaAck);
    let (session, _) = world.gateway.sessions.values().next().expect("a session");
    assert_eq!((session.profile.as_str(), session.vrf), ("gold", None));
    world.run(seconds(400));
    assert!(world.pass(host, 1), "neither of the times holds");
}

#[test]
fn a_second_change_waits_for_the_first_one_to_have_its_answer() {
    let (mut world, _) = up(2);
    world.apply_time = seconds(2);
    let request = |texts: &[(u8, &str)]| {
        let mut list = List::new();
        list.put(kind::USER_NAME, MAC.as_bytes()).expect("it fits");
        texts.iter().for_each(|(kind, text)| list.put(*kind, text.as_bytes()).expect("it fits"));
        list
    };
    world.ask(Code::CoaRequest, 1, &request(&[(FILTER_ID, "gold")]));
    world.ask(Code::CoaRequest, 2, &request(&[(REPLY_MESSAGE, "blue")]));
    world.run(seconds(1));
    assert_eq!(world.server.answers, [(Code::CoaNak, Some(506))]);
    assert_eq!(world.command("profile", json!({"mac": MAC, "profile": "default"})), changed(0));
    world.run(seconds(2));
    assert_eq!(world.server.answers.last(), Some(&(Code::CoaAck, None)));
    assert_eq!(world.command("profile", json!({"mac": MAC, "profile": "default"})), changed(1));
}

#[test]
fn a_profile_of_an_operator_that_is_refused_changes_nothing_and_is_told() {
    let (mut world, host) = up(3);
    world.gateway.refuses = true;
    assert_eq!(world.command("profile", json!({"mac": MAC, "profile": "gold"})), changed(1));
    world.run(seconds(1));
    world.gateway.refuses = false;
    assert!(world.pass(host, 1));
    assert_eq!(world.table("subscribers", &[])[0]["profile"], json!("default"));
    let is_told = |line: &String| line.contains("refused profile `gold`");
    assert!(world.lines.iter().any(is_told), "{:?}", world.lines);
}

#[test]
fn times_of_a_change_hold_from_then_on() {
    let (mut world, host) = up(4);
    world.run(seconds(400));
    assert_eq!(world.server.sessions(INTERIM).len(), 0);
    assert_eq!(change(&mut world, 1, &[(INTERIM_INTERVAL, 60)], &[]), Code::CoaAck);
    assert!(world.pass(host, 9));
    world.run(seconds(70));
    assert_eq!(world.server.of_user(MAC, INTERIM).map(|it| it.octets), Some([9, 18]));
    assert_eq!(change(&mut world, 2, &[(IDLE_TIMEOUT, 120)], &[]), Code::CoaAck);
    world.end(host, false);
    world.run(seconds(240));
    assert_eq!(world.gateway.sessions.len(), 0);
    assert_eq!(world.server.of_user(MAC, STOP).and_then(|it| it.cause), Some(4), "it was idle");
    assert_eq!(world.bng.show()["ended"]["idle-timeout"], json!(1));
}

#[test]
fn a_session_is_found_by_its_identifier_alone() {
    let (mut world, _) = up(5);
    let id = world.table("subscribers", &[])[0]["accounting"].as_str().expect("one").to_owned();
    let other = |at: usize| {
        let digit = if id.as_bytes()[at] == b'0' { "1" } else { "0" };
        format!("{}{digit}{}", &id[..at], &id[at + 1..])
    };
    let wrong = ["x".to_owned(), "ü".repeat(12), other(7), other(15), other(23)];
    for (number, id) in (1..).zip(&wrong) {
        let mut list = List::new();
        list.put(kind::ACCT_SESSION_ID, id.as_bytes()).expect("it fits");
        world.ask(Code::DisconnectRequest, number, &list);
        world.run(seconds(1));
        assert_eq!(world.server.answers.pop(), Some((Code::DisconnectNak, Some(503))), "{id}");
    }
    let mut list = List::new();
    list.put(kind::ACCT_SESSION_ID, id.as_bytes()).expect("it fits");
    world.ask(Code::DisconnectRequest, 9, &list);
    world.run(seconds(1));
    assert_eq!(world.server.answers.pop(), Some((Code::DisconnectAck, None)));
    assert_eq!(world.gateway.sessions.len(), 0);
}

fn changed(count: u32) -> Result<serde_json::Value, String> {
    Ok(json!({"changed": count}))
}

const FILTER_ID: u8 = 11;
const REPLY_MESSAGE: u8 = 18;
const SESSION_TIMEOUT: u8 = 27;
const IDLE_TIMEOUT: u8 = 28;
const INTERIM_INTERVAL: u8 = 85;
