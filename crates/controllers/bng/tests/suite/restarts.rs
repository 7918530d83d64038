//! A controller that begins again at a gateway that has sessions.

use controller_kit::Controller;
use protocol_ppp::Method;
use protocol_radius::List;
use serde_json::json;

use crate::host::Host;
use crate::server::{SECRET, START, STOP};
use crate::world::{World, keys, seconds};

#[test]
fn stations_keep_their_sessions_and_peers_dial_again() {
    let config = keys(json!({
        "ipoe": {"authentication": "radius"},
        "pppoe": {"authentication": "radius"},
    }));
    let mut world = World::new(&config, 1);
    world.server.is_open = true;
    world.server.add("user", "password", List::new());
    let [stays, goes] = [1, 2].map(|number| world.add(Host::dhcp(number.into(), number)));
    let peer = world.add(Host::dialled(3, 3, &[Method::ChapMd5], "user", "password"));
    [stays, goes, peer].iter().for_each(|host| world.begin(*host));
    world.run(seconds(20));
    let address = world.hosts[stays].address();
    assert!(world.pass(stays, 1000) && world.pass(peer, 10));
    let asked = world.server.asked;
    world.restart(&config, 2);
    world.end(goes, false);
    world.run(seconds(2));
    assert!(world.pass(stays, 1), "it forwards all the time");
    let stop = world.server.of_user("user", STOP).expect("what the peer has used is accounted");
    assert_eq!((stop.octets, stop.addresses.len()), ([10, 20], 2));
    assert!(world.dialled(peer).closed > 0, "its host was told");
    world.begin(peer);
    world.run(seconds(300));
    assert_eq!((world.hosts[stays].address(), world.dhcp(stays).naks), (address, 1));
    assert!(world.pass(stays, 1) && world.pass(peer, 1));
    assert_eq!(world.server.asked, asked + 1, "of the peer alone");
    // Who has gone meanwhile is gone after a lease's time, and volumes are those of both lives.
    assert_eq!(world.gateway.sessions.len(), 3);
    world.run(seconds(320));
    assert_eq!(world.gateway.sessions.len(), 2);
    world.end(stays, true);
    world.run(seconds(5));
    let stop = world.server.of_user("02:00:00:00:01:01", STOP).expect("a stop");
    assert_eq!(stop.octets, [1002, 2004]);
    world.end(peer, true);
    world.run(seconds(70));
    assert_eq!((world.gateway.sessions.len(), world.used()), (0, vec![0; 4]));
    let of_both_lives = world.server.sessions(START).len();
    assert_eq!((of_both_lives, world.server.sessions(STOP).len()), (7, 4));
}

/// Keys by which records wait in a file.
fn with_file() -> controller_bng::Config {
    keys(json!({
        "radius": {
            "servers": [{"address": "192.0.2.1", "local": "192.0.2.9", "secret": SECRET}],
            "records-file": "/var/lib/plumbline/records",
        },
    }))
}

const FIRST: &str = "02:00:00:00:01:01";
const SECOND: &str = "02:00:00:00:01:02";

#[test]
fn records_wait_for_a_server_over_a_restart() {
    let config = with_file();
    let mut world = World::new(&config, 3);
    let [first, second] = [1, 2].map(|number| world.add(Host::dhcp(number.into(), number)));
    world.begin(first);
    world.run(seconds(5));
    assert!(world.server.of_user(FIRST, START).is_some());
    world.server.is_dead = true;
    world.begin(second);
    assert!(world.pass(first, 5));
    world.end(first, true);
    world.run(seconds(60));
    assert!(world.hosts[second].address().is_some());
    world.restart(&config, 4);
    world.run(seconds(60));
    assert_eq!(world.server.of_user(FIRST, STOP), None);
    world.server.is_dead = false;
    world.run(seconds(60));
    let stop = world.server.of_user(FIRST, STOP).expect("it has waited");
    assert_eq!(stop.octets, [5, 10]);
    let all = world.server.records.iter();
    let starts = all.filter(|((_, status), it)| *status == START && it.user == SECOND);
    assert_eq!(starts.count(), 2, "one of each life");
    // What was confirmed does not leave again.
    world.server.records.clear();
    world.restart(&config, 5);
    world.run(seconds(60));
    assert_eq!(world.server.of_user(FIRST, STOP), None);
}

#[test]
fn a_disk_that_is_full_is_an_alarm_and_ends_nothing() {
    let config = with_file();
    let mut world = World::new(&config, 6);
    world.disk_is_full = true;
    world.server.is_dead = true;
    let host = world.add(Host::dhcp(1, 1));
    world.begin(host);
    world.run(seconds(10));
    assert!(world.pass(host, 5));
    let last = |world: &World| {
        let mut all = world.alarms.iter().filter(|alarm| alarm.cause == "records-unwritten");
        all.next_back().map(|alarm| alarm.severity.is_some())
    };
    assert_eq!(last(&world), Some(true));
    world.disk_is_full = false;
    world.end(host, true);
    world.run(seconds(10));
    assert_eq!(last(&world), Some(false));
    world.restart(&config, 7);
    world.server.is_dead = false;
    world.run(seconds(60));
    assert!(world.server.of_user(FIRST, START).is_some());
    assert_eq!(world.server.of_user(FIRST, STOP).map(|it| it.octets), Some([5, 10]));
}

#[test]
fn a_file_that_is_none_of_records_is_left_alone() {
    let mut world = World::new(&with_file(), 8);
    let why = world.bng.restore(b"hosts: []\n").expect_err("it is none");
    assert_eq!(why.key, "radius.records-file");
}
