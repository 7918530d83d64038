//! IPoE by DHCP of external servers.

use std::net::{IpAddr, Ipv4Addr};

use controller_bng::Config;
use controller_kit::Controller;
use function_bng::Update;
use serde_json::json;

use crate::host::Host;
use crate::server::START;
use crate::world::{World, keys, seconds};

/// Two servers of DHCPv4.
pub fn relayed(mode: &str) -> Config {
    let servers = SERVERS.map(|server| server.to_string());
    keys(json!({
        "ipoe": {"authentication": "radius"},
        "relay": {"ipv4": {"servers": servers, "local": "192.0.2.9", "mode": mode}},
    }))
}

const SERVERS: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 67), Ipv4Addr::new(192, 0, 2, 68)];

const RELEASE: u8 = 7;

fn world(seed: u64) -> World {
    let mut world = World::new(&relayed("proxy"), seed);
    world.server.is_open = true;
    world
}

/// Sessions that have begun at the gateway.
fn begun(world: &World) -> usize {
    let all = world.gateway.applied.iter();
    all.filter(|update| matches!(update, Update::AddSession(_))).count()
}

#[test]
fn a_session_begins_goes_on_and_ends_with_the_lease_of_an_external_server() {
    let mut world = world(1);
    world.apply_time = seconds(1);
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(1) / 2);
    assert_eq!((world.external.leases.len(), world.gateway.sessions.len()), (1, 0));
    assert_eq!(world.hosts[host].address(), None, "the gateway does not have it yet");
    world.run(seconds(1));
    // `World::inject` has looked at the gateway when the acknowledgement left.
    let address = Ipv4Addr::new(10, 2, 0, 1);
    assert_eq!(world.hosts[host].address(), Some(address));
    assert!(world.pass(host, 100));
    // The servers are told the line, and the link; the client knows the gateway.
    let agent = [&[1, 5][..], b"100.7", &[5, 4, 10, 1, 0, 1]].concat();
    assert!(world.external.asked.iter().all(|(_, told)| *told == agent));
    let options = &world.dhcp(host).options;
    assert!(options.contains(&(54, vec![10, 1, 0, 1])), "{options:?}");
    assert!(options.iter().all(|(code, _)| *code != 82), "{options:?}");
    // It is renewed each 300 s, and no other session begins.
    world.run(seconds(2000));
    assert!(world.dhcp(host).acks >= 6, "{}", world.dhcp(host).acks);
    assert_eq!((world.hosts[host].address(), begun(&world)), (Some(address), 1));
    world.end(host, true);
    world.run(seconds(5));
    assert_eq!((world.external.leases.len(), world.gateway.sessions.len()), (0, 0));
    assert_eq!(world.external.asked.last().expect("it was told").0, RELEASE);
    // This time it says nothing.
    world.begin(host);
    world.run(seconds(5));
    assert!(world.hosts[host].address().is_some());
    world.end(host, false);
    world.run(seconds(590));
    assert_eq!(world.gateway.sessions.len(), 1);
    world.run(seconds(30));
    let show = world.bng.show();
    assert_eq!((world.gateway.sessions.len(), &show["ended"]["lost"]), (0, &json!(1)));
    assert_eq!(show["ended"]["released"], json!(1));
    assert!(show["relayed"]["ipv4"]["answered"].as_u64() >= Some(8), "{show}");
    assert_eq!(world.used(), [0; 4]);
}

#[test]
fn servers_that_name_the_gateway_themselves_are_told_to() {
    let mut world = World::new(&relayed("relay"), 2);
    world.server.is_open = true;
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(1));
    let (_, agent) = world.external.asked.first().expect("they were asked");
    assert!(agent.windows(6).any(|it| it == [11, 4, 10, 1, 0, 1]), "{agent:?}");
}

#[test]
fn whom_radius_rejects_no_server_hears_of() {
    let mut world = world(3);
    world.server.is_open = false;
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(10));
    assert_eq!((world.external.asked.len(), world.hosts[host].address()), (0, None));
}

#[test]
fn a_server_that_is_silent_is_an_alarm_and_the_other_one_serves() {
    let mut world = world(4);
    world.external.dead.insert(SERVERS[0].into());
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(20));
    assert!(world.hosts[host].address().is_some());
    let told = |world: &World, server: Ipv4Addr| -> Vec<bool> {
        let its = world.alarms.iter().filter(|it| it.source == server.to_string());
        its.map(|it| it.cause == "dhcp-server-silent" && it.severity.is_some()).collect()
    };
    assert_eq!((told(&world, SERVERS[0]), told(&world, SERVERS[1])), (vec![true], vec![]));
    world.external.dead.clear();
    world.end(host, true);
    world.begin(host);
    world.run(seconds(5));
    assert_eq!(told(&world, SERVERS[0]), [true, false]);
    // Without any of them nobody has an address, and nothing is left of who has asked.
    world.external.dead.extend(SERVERS.map(IpAddr::from));
    let late = world.add(Host::dhcp(8, 2));
    world.begin(late);
    world.run(seconds(30));
    world.end(late, false);
    world.run(seconds(90));
    assert_eq!((world.hosts[late].address(), world.gateway.sessions.len()), (None, 1));
    assert_eq!(world.table("subscribers", &[]).len(), 1);
}

#[test]
fn a_lease_survives_a_restart_of_the_controller() {
    let mut world = world(5);
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(10));
    let address = world.hosts[host].address().expect("an address");
    world.restart(&relayed("proxy"), 6);
    world.run(seconds(3000));
    assert_eq!((world.hosts[host].address(), world.dhcp(host).naks), (Some(address), 0));
    assert!(world.pass(host, 1));
    assert_eq!(begun(&world), 1, "the session goes on as it was");
}

#[test]
fn a_client_that_is_given_another_address_goes_on_with_it() {
    let mut world = world(7);
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(5));
    let mut before = world.hosts[host].address().expect("an address");
    assert!(world.pass(host, 10));
    // The servers have forgotten it; it starts anew, and says so or not.
    for (says_so, sessions) in [(false, 1), (true, 3)] {
        world.external.leases.clear();
        world.end(host, says_so);
        world.begin(host);
        world.run(seconds(3));
        let after = world.hosts[host].address().expect("an address");
        assert_ne!(after, before);
        assert!(world.pass(host, 10), "{says_so}");
        before = after;
        assert_eq!((world.gateway.sessions.len(), world.server.sessions(START).len()), {
            (1, sessions)
        });
        // Another one may have the address of before.
        let last = std::mem::take(&mut world.external.last);
        let other = world.add(Host::dhcp(20 + sessions as u16, 20 + sessions as u8));
        world.begin(other);
        world.run(seconds(3));
        assert!(world.hosts[other].address().is_some());
        world.end(other, true);
        world.run(seconds(3));
        world.external.last = last;
    }
}

#[test]
fn a_station_on_another_line_has_its_address_when_its_old_session_is_gone() {
    let mut world = world(9);
    let [here, there] = [Host::dhcp(7, 1), Host::dhcp(8, 1)].map(|host| world.add(host));
    world.begin(here);
    world.run(seconds(5));
    let address = world.hosts[here].address().expect("an address");
    world.end(here, false);
    // The old session goes after the server has given its address.
    world.apply_time = seconds(1);
    world.begin(there);
    world.run(seconds(3));
    assert_eq!(world.hosts[there].address(), Some(address));
    assert!(world.pass(there, 10));
    let lines: Vec<u16> = world.gateway.sessions.values().map(|(it, _)| it.line.inner).collect();
    assert_eq!(lines, [8]);
    assert_eq!(world.bng.show()["ended"]["moved"], json!(1));
}

#[test]
fn an_address_that_somebody_has_is_not_given_twice() {
    // The pool of sessions of PPPoE has what the servers give.
    let mut world = World::new(
        &keys(json!({
            "pools": [{"name": "same", "kind": "ipv4", "prefix": "10.2.0.0/30"}],
            "relay": {"ipv4": {"servers": [SERVERS[0]], "local": "192.0.2.9"}},
        })),
        8,
    );
    let peer = world.add(Host::dialled(3, 3, &[], "", ""));
    world.begin(peer);
    world.run(seconds(10));
    assert_eq!(world.hosts[peer].address(), Some(Ipv4Addr::new(10, 2, 0, 1)));
    let host = world.add(Host::dhcp(7, 1));
    world.begin(host);
    world.run(seconds(10));
    assert_eq!((world.hosts[host].address(), world.gateway.sessions.len()), (None, 1));
    let show = world.bng.show();
    assert!(show["ended"]["exhausted"].as_u64() > Some(0), "{show}");
}
