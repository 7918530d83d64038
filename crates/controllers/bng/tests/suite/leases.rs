//! IPoE by DHCPv4.

use std::net::Ipv4Addr;

use function_bng::Update;
use protocol_radius::attributes::kind;
use protocol_radius::{Code, List};
use serde_json::json;

use crate::host::Host;
use crate::server::{INTERIM, START, STOP};
use crate::world::{World, keys, seconds};

fn radius() -> serde_json::Value {
    json!({"ipoe": {"authentication": "radius"}})
}

fn servers() -> serde_json::Value {
    json!([{"address": "192.0.2.1", "local": "192.0.2.9", "secret": crate::server::SECRET}])
}

const MAC: &str = "02:00:00:00:01:01";

#[test]
fn a_client_is_acknowledged_when_its_packets_pass() {
    let mut world = World::new(&keys(json!({})), 1);
    world.apply_time = seconds(1);
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(1) / 2);
    assert_eq!((world.hosts[host].address(), world.gateway.sessions.len()), (None, 0));
    world.run(seconds(1));
    // `World::inject` has looked at the gateway when the acknowledgement left.
    let address = world.hosts[host].address().expect("an address");
    assert!(world.pass(host, 100));
    assert_eq!(address.octets()[..3], [10, 1, 0]);
    let (session, _) = world.gateway.sessions.values().next().expect("a session");
    assert_eq!(session.ipv4, Some(address));
    assert_eq!(session.profile.as_str(), "default");
    let options = &world.dhcp(host).options;
    assert!(options.contains(&(3, vec![10, 1, 0, 1])), "{options:?}");
    assert!(options.contains(&(1, vec![255, 255, 255, 192])), "{options:?}");
    assert!(options.contains(&(6, vec![192, 0, 2, 53])), "{options:?}");
}

#[test]
fn leases_are_renewed_released_and_end_by_time() {
    let mut world = World::new(&keys(json!({})), 2);
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(2000));
    let address = world.hosts[host].address().expect("an address");
    assert!(world.dhcp(host).acks >= 6, "it was renewed");
    assert_eq!(world.gateway.sessions.len(), 1);
    world.end(host, true);
    world.run(seconds(5));
    assert_eq!((world.gateway.sessions.len(), world.used()[0]), (0, 1), "it waits");
    world.run(seconds(61));
    assert_eq!(world.used(), [0, 0, 0, 0]);
    world.begin(host);
    world.run(seconds(5));
    assert_ne!(world.hosts[host].address(), Some(address), "it comes back late");
    // This time it says nothing.
    world.end(host, false);
    world.run(seconds(590));
    assert_eq!(world.gateway.sessions.len(), 1);
    world.run(seconds(80));
    assert_eq!((world.gateway.sessions.len(), world.used()[0]), (0, 0));
    let show = controller_kit::Controller::show(&world.bng);
    assert_eq!((&show["ended"]["released"], &show["ended"]["lost"]), (&json!(1), &json!(1)));
}

#[test]
fn whom_the_server_rejects_gets_nothing() {
    let mut world = World::new(&keys(radius()), 3);
    world.server.add(MAC, MAC, List::new());
    let [welcome, not] = [Host::dhcp(7, 1), Host::dhcp(8, 2)].map(|host| world.add(host));
    world.begin(welcome);
    world.begin(not);
    world.run(seconds(10));
    assert!(world.hosts[welcome].address().is_some());
    assert_eq!(world.hosts[not].address(), None);
    assert_eq!(world.gateway.sessions.len(), 1);
    assert!(world.server.of_user(MAC, START).is_some_and(|record| record.addresses.len() == 1));
    assert_eq!(world.server.sessions(START).len(), 1);
    // A server that is silent lets nobody in, and there is an alarm.
    world.server.is_dead = true;
    let late = world.add(Host::dhcp(9, 3));
    world.begin(late);
    world.run(seconds(120));
    assert_eq!(world.hosts[late].address(), None);
    assert!(world.alarms.iter().any(|it| it.cause == "radius-server-dead"), "{:?}", world.alarms);
    assert!(world.hosts[welcome].address().is_some(), "who is up stays up");
}

#[test]
fn what_the_server_grants_is_given() {
    let mut world = World::new(
        &keys(json!({
            "ipoe": {"authentication": "radius"},
            "radius": {
                "servers": servers(),
                "attributes": [
                    {"attribute": "Filter-Id", "pattern": "{profile}"},
                    {"attribute": "Framed-IP-Address", "pattern": "{address}"},
                    {"attribute": "Session-Timeout", "pattern": "{session-timeout}"},
                ],
            },
        })),
        4,
    );
    let mut list = List::new();
    list.put(kind::FRAMED_IP_ADDRESS, &[10, 9, 9, 9]).expect("it fits");
    list.put(11, b"gold").expect("it fits");
    list.put_number(27, 300).expect("it fits");
    list.put(kind::CLASS, b"of 1905").expect("it fits");
    world.server.add(MAC, MAC, list);
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(5));
    assert_eq!(world.hosts[host].address(), Some(Ipv4Addr::new(10, 9, 9, 9)));
    let (session, _) = world.gateway.sessions.values().next().expect("a session");
    assert_eq!(session.profile.as_str(), "gold");
    world.run(seconds(290));
    assert_eq!(world.gateway.sessions.len(), 1);
    world.end(host, false);
    world.run(seconds(20));
    assert_eq!(world.gateway.sessions.len(), 0, "its time is over");
    assert_eq!(world.server.of_user(MAC, STOP).and_then(|it| it.cause), Some(5));
}

#[test]
fn a_subscriber_on_another_line_ends_its_old_session() {
    let mut world = World::new(&keys(radius()), 5);
    let mut list = List::new();
    list.put(kind::FRAMED_IP_ADDRESS, &[10, 9, 9, 9]).expect("it fits");
    world.server.add(MAC, MAC, list);
    let [here, there] = [Host::dhcp(7, 1), Host::dhcp(8, 1)].map(|host| world.add(host));
    world.begin(here);
    world.run(seconds(5));
    assert!(world.pass(here, 10));
    world.end(here, false);
    world.begin(there);
    world.run(seconds(10));
    assert_eq!(world.hosts[there].address(), Some(Ipv4Addr::new(10, 9, 9, 9)));
    assert!(world.pass(there, 10));
    let lines: Vec<u16> =
        world.gateway.sessions.values().map(|(session, _)| session.line.inner).collect();
    assert_eq!(lines, [8]);
    assert_eq!((world.server.sessions(START).len(), world.server.sessions(STOP).len()), (2, 1));
}

#[test]
fn volumes_are_accounted_whatever_ends_a_session() {
    let mut world = World::new(&keys(radius()), 6);
    world.server.add(MAC, MAC, List::new());
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(5));
    assert!(world.pass(host, 1 << 33));
    world.run(seconds(130));
    let interim = world.server.of_user(MAC, INTERIM).expect("an interim record");
    assert_eq!(interim.octets, [1 << 33, 2 << 33]);
    assert!(world.pass(host, 5));
    assert_eq!(world.command("disconnect", json!({"mac": MAC})), Ok(json!({"ended": 1})));
    world.run(seconds(5));
    let stop = world.server.of_user(MAC, STOP).expect("a stop");
    assert_eq!((stop.octets, stop.cause), ([(1 << 33) + 5, (2 << 33) + 10], Some(6)));
    assert_eq!(world.gateway.sessions.len(), 0);
}

#[test]
fn a_volume_that_was_lost_is_not_waited_for() {
    let mut world = World::new(&keys(json!({"idle-timeout-s": 120})), 12);
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(5));
    assert!(world.pass(host, 1));
    world.untold = 1;
    world.end(host, false);
    world.run(seconds(420));
    assert_eq!(world.gateway.sessions.len(), 0, "it was idle");
}

#[test]
fn a_change_that_is_refused_ends_the_session_and_gives_everything_back() {
    let mut world = World::new(&keys(radius()), 7);
    world.server.add(MAC, MAC, List::new());
    world.gateway.refuses = true;
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(3));
    world.end(host, false);
    world.run(seconds(120));
    assert_eq!((world.hosts[host].address(), world.used()[0]), (None, 0));
    assert_eq!(world.table("subscribers", &[]).len(), 0);
    assert!(world.server.sessions(START).is_empty());
}

#[test]
fn servers_change_and_end_sessions() {
    let mut world = World::new(
        &keys(json!({
            "ipoe": {"authentication": "radius"},
            "radius": {
                "servers": servers(),
                "dynamic": ["192.0.2.9:3799"],
                "attributes": [{"attribute": "Filter-Id", "pattern": "{profile}"}],
            },
        })),
        8,
    );
    world.server.add(MAC, MAC, List::new());
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(5));
    let request = |profile: Option<&str>, user: &str| {
        let mut list = List::new();
        list.put(kind::USER_NAME, user.as_bytes()).expect("it fits");
        if let Some(profile) = profile {
            list.put(11, profile.as_bytes()).expect("it fits");
        }
        list
    };
    let profile = |world: &World| {
        world.gateway.sessions.values().next().map(|(it, _)| it.profile.to_string())
    };
    world.ask(Code::CoaRequest, 1, &request(Some("gold"), MAC));
    world.run(seconds(1));
    assert_eq!(world.server.answers.pop(), Some((Code::CoaAck, None)));
    assert_eq!(profile(&world).as_deref(), Some("gold"));
    // The gateway does not take the next one: the session goes on as it was.
    world.gateway.refuses = true;
    world.ask(Code::CoaRequest, 2, &request(Some("silver"), MAC));
    world.run(seconds(1));
    assert_eq!(world.server.answers.pop(), Some((Code::CoaNak, Some(407))));
    world.gateway.refuses = false;
    assert_eq!(profile(&world).as_deref(), Some("gold"));
    world.ask(Code::DisconnectRequest, 3, &request(None, "nobody"));
    world.run(seconds(1));
    assert_eq!(world.server.answers.pop(), Some((Code::DisconnectNak, Some(503))));
    world.ask(Code::DisconnectRequest, 4, &request(None, MAC));
    world.run(seconds(1));
    world.ask(Code::DisconnectRequest, 4, &request(None, MAC));
    world.run(seconds(1));
    assert_eq!(world.server.answers, [(Code::DisconnectAck, None); 2], "alike");
    assert_eq!(world.gateway.sessions.len(), 0);
}

#[test]
fn operators_see_sessions_and_give_them_profiles() {
    let mut world = World::new(&keys(radius()), 9);
    world.server.is_open = true;
    for number in 1..=3 {
        let host = world.add(Host::dhcp(number.into(), number));
        world.begin(host);
    }
    world.run(seconds(5));
    assert_eq!(world.table("subscribers", &[]).len(), 3);
    let one = world.table("subscribers", &[("line", "100.2")]);
    assert_eq!(
        (one.len(), &one[0]["mac"], &one[0]["state"]),
        (1, &json!("02:00:00:00:01:02"), &json!("up"))
    );
    let address = one[0]["ipv4"].as_str().expect("an address").to_owned();
    assert_eq!(world.table("subscribers", &[("address", &address)]), one);
    assert_eq!(world.table("subscribers", &[("for", MAC)]).len(), 1);
    let changed = world.command("profile", json!({"mac": MAC, "profile": "gold"}));
    assert_eq!(changed, Ok(json!({"changed": 1})));
    world.run(seconds(1));
    let Some(Update::ChangeSession(changed)) = world.gateway.applied.last() else {
        panic!("nothing has changed")
    };
    assert_eq!(changed.profile.as_str(), "gold");
    let unknown = world.command("profile", json!({"mac": MAC, "profile": "glod"}));
    assert_eq!(unknown, Err("there is no profile `glod`; did you mean `gold`?".to_owned()));
    assert!(world.command("disconnect", json!({})).is_err());
    assert_eq!(world.table("radius", &[]).len(), 2);
    let said = world.lines.join("\n");
    assert!(said.contains("is up") && !said.contains(crate::server::SECRET), "{said}");
}

#[test]
fn a_pool_that_is_short_is_told_and_one_that_is_empty_gives_nothing() {
    let mut world = World::new(
        &keys(json!({"pools": [
            {"name": "few", "kind": "ipv4", "prefix": "10.1.0.0/30", "alarm-percent": 50},
        ]})),
        10,
    );
    let hosts = [1, 2].map(|number| world.add(Host::dhcp(number.into(), number)));
    hosts.iter().for_each(|host| world.begin(*host));
    world.run(seconds(5));
    let up = hosts.iter().filter(|host| world.hosts[**host].address().is_some()).count();
    assert_eq!(up, 1, "the other address is the gateway's");
    assert!(world.alarms.iter().any(|it| it.cause == "pool-short" && it.source == "few"));
}

#[test]
fn a_client_that_calls_itself_otherwise_takes_the_session_over() {
    let mut world = World::new(&keys(json!({})), 11);
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(5));
    let before = world.hosts[host].address().expect("an address");
    world.end(host, false);
    world.dhcp(host).identifier = Some(b"another system".to_vec());
    world.begin(host);
    world.run(seconds(5));
    assert_eq!(world.hosts[host].address(), Some(before));
    assert_eq!((world.gateway.sessions.len(), world.used()[0]), (1, 1));
}
