//! IPv6: leases of DHCPv6, and router advertisements.

use std::net::Ipv6Addr;
use std::time::Duration;

use controller_kit::Controller;
use protocol_radius::List;
use serde_json::json;
use wire::icmp;

use crate::external::{ADDRESS, DUID, PREFIX};
use crate::host::Host;
use crate::host6::{self, Item, ia};
use crate::server::{START, STOP};
use crate::world::{World, keys, seconds};

const HOST: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x77);

pub fn solicitation() -> Vec<u8> {
    let to = "ff02::2".parse().expect("an address");
    let mut body = vec![133, 0, 0, 0, 0, 0, 0, 0];
    let checksum = icmp::checksum_ipv6(HOST, to, &body);
    body[2..4].copy_from_slice(&checksum.to_be_bytes());
    host6::packet((HOST, to), (58, 255), &body)
}

/// A message of a client of DHCPv6.
fn message(kind: u8, options: &[Item]) -> Vec<u8> {
    host6::message(HOST, kind, 0x01_0203, options)
}

/// The type and options of a message in a frame, from its EtherType on.
fn read(frame: &[u8]) -> (u8, Vec<Item>) {
    host6::read(&frame[2..])
}

#[test]
fn a_client_of_dhcpv6_has_an_address_and_a_prefix() {
    let mut world = World::new(&keys(json!({"ipoe": {"authentication": "radius"}})), 1);
    let mac = "02:00:00:00:01:01";
    world.server.add(mac, mac, List::new());
    let host = world.add(Host::bare(7, 1));
    let duid = (1u16, vec![0, 3, 0, 1, 2, 0, 0, 0, 1, 1]);
    let elapsed = (8, vec![0, 0]);
    let solicit = [duid.clone(), (3, ia(1)), (25, ia(2)), elapsed.clone()];
    let offers = world.exchange(host, 0x86dd, &message(1, &solicit));
    let (kind, offered) = read(offers.first().expect("an answer"));
    assert_eq!((kind, world.gateway.sessions.len()), (2, 0), "an Advertise");
    let of = |options: &[(u16, Vec<u8>)], code| {
        options.iter().find(|(other, _)| *other == code).cloned().expect("it is there")
    };
    let mut request = vec![duid.clone(), elapsed.clone()];
    request.extend([2, 3, 25].map(|code| of(&offered, code)));
    let replies = world.exchange(host, 0x86dd, &message(3, &request));
    let (kind, given) = read(replies.first().expect("an answer"));
    assert_eq!(kind, 7, "a Reply");
    let (session, _) = world.gateway.sessions.values().next().expect("a session");
    let na = session.na.expect("an address");
    let delegated = session.delegated.expect("a prefix");
    assert_eq!((session.ipv4, delegated.len), (None, 56));
    let [address, prefix] = [3, 25].map(|code| of(&given, code).1);
    assert!(address.windows(16).any(|it| it == na.octets()), "{na}");
    assert!(prefix.windows(16).any(|it| it == delegated.address.octets()));
    // A solicitation of the same station adds a prefix of the link to the same session.
    let advertisements = world.exchange(host, 0x86dd, &solicitation());
    let advertisement = &advertisements.first().expect("an advertisement")[2 + 40..];
    let (session, _) = world.gateway.sessions.values().next().expect("a session");
    let slaac = session.slaac.expect("a prefix");
    assert_eq!((advertisement[0], session.na), (134, Some(na)));
    assert!(advertisement.windows(16).any(|it| it == slaac.address.octets()));
    assert_eq!((world.gateway.sessions.len(), world.server.asked), (1, 1));
    // It releases both.
    let mut release = vec![duid, elapsed];
    release.extend([2, 3, 25].map(|code| of(&given, code)));
    world.exchange(host, 0x86dd, &message(8, &release));
    world.run(seconds(5));
    assert_eq!(world.gateway.sessions.len(), 0);
    assert!(world.server.of_user(mac, STOP).is_some());
    world.run(seconds(61));
    assert_eq!(world.used(), [0; 4]);
}

#[test]
fn a_peer_of_ppp_has_all_of_ipv6() {
    let mut world = World::new(&keys(json!({"dns": ["2001:db8::53"]})), 3);
    let host = world.add(Host::dialled(7, 1, &[], "", ""));
    world.begin(host);
    world.run(seconds(10));
    let session = |world: &World| world.gateway.sessions.values().next().expect("a session").0;
    let slaac = session(&world).slaac.expect("a prefix");
    let advertisements = world.exchange_within(host, &solicitation());
    let advertisement = &advertisements.first().expect("an advertisement")[40..];
    assert_eq!(advertisement[0], 134);
    let dns: Ipv6Addr = "2001:db8::53".parse().expect("an address");
    for address in [slaac.address, dns] {
        assert!(advertisement.windows(16).any(|it| it == address.octets()), "{address}");
    }
    let duid = (1u16, vec![0, 3, 0, 1, 2, 0, 0, 0, 2, 1]);
    let solicit = [duid, (25, ia(2)), (8, vec![0, 0]), (14, Vec::new())];
    let replies = world.exchange_within(host, &message(1, &solicit));
    let delegated = session(&world).delegated.expect("a prefix");
    assert_eq!(replies.first().map(|packet| packet[48]), Some(7), "a Reply at once");
    assert!(replies[0].windows(16).any(|it| it == delegated.address.octets()));
    world.end(host, true);
    world.run(seconds(70));
    assert_eq!((world.gateway.sessions.len(), world.used()), (0, vec![0; 4]));
}

#[test]
fn a_host_that_asks_for_a_router_is_told_when_its_packets_pass() {
    let mut world = World::new(&keys(json!({"idle-timeout-s": 120})), 2);
    world.apply_time = seconds(2);
    let host = world.add(Host::bare(7, 1));
    assert!(world.exchange(host, 0x86dd, &solicitation()).is_empty(), "not yet");
    world.run(seconds(2));
    assert_eq!(world.gateway.sessions.len(), 1);
    let again = world.exchange(host, 0x86dd, &solicitation());
    assert!(!again.is_empty());
    // One with a wrong hop limit is none.
    let mut wrong = solicitation();
    wrong[7] = 64;
    let other = world.add(Host::bare(8, 2));
    world.exchange(other, 0x86dd, &wrong);
    world.run(seconds(5));
    assert_eq!(world.gateway.sessions.len(), 1);
    // Nothing comes from it: it ends.
    world.run(seconds(240));
    assert_eq!(world.gateway.sessions.len(), 0);
    let show = controller_kit::Controller::show(&world.bng);
    assert_eq!(show["ended"]["idle-timeout"], json!(1));
}

#[test]
fn external_servers_give_an_address_and_a_prefix() {
    let relay = json!({"ipv6": {"servers": ["2001:db8:9::67"], "local": "2001:db8:9::9"}});
    let mut world = World::new(&keys(json!({"relay": relay})), 3);
    let host = world.add(Host::bare(7, 1));
    let duid = (1u16, vec![0, 3, 0, 1, 2, 0, 0, 0, 1, 1]);
    let ias = [(3, ia(1)), (25, ia(2))];
    let solicit = [&[duid.clone()][..], &ias].concat();
    let offers = world.exchange(host, 0x86dd, &message(1, &solicit));
    let (kind, _) = read(offers.first().expect("an answer"));
    assert_eq!((kind, world.gateway.sessions.len()), (2, 0), "an Advertise");
    let named = [duid, (2, DUID.to_vec())];
    let request = [&named[..], &ias].concat();
    let replies = world.exchange(host, 0x86dd, &message(3, &request));
    assert_eq!(read(replies.first().expect("an answer")).0, 7, "a Reply");
    let (session, _) = world.gateway.sessions.values().next().expect("a session");
    let delegated = session.delegated.expect("a prefix");
    assert_eq!((session.na, delegated.address, delegated.len), (Some(ADDRESS), PREFIX, 56));
    // The line, the station, and the name of the line.
    let (_, interface) = world.external.asked.last().expect("it was asked");
    assert_eq!(interface[10..], *b"100.7");
    // It is renewed, and lives for 600 s from then on.
    world.run(seconds(400));
    world.exchange(host, 0x86dd, &message(5, &request));
    world.run(seconds(400));
    assert_eq!(world.gateway.sessions.len(), 1);
    // A router advertisement says that there is more.
    let advertisements = world.exchange(host, 0x86dd, &solicitation());
    assert_eq!(advertisements.first().expect("an advertisement")[2 + 40 + 5], 0xc0);
    let lifetimes = [0; 8];
    let na = [&ADDRESS.octets()[..], &lifetimes].concat();
    let pd = [&lifetimes[..], &[56], &PREFIX.octets()].concat();
    let within = |ia: Vec<u8>, code: u8, value: Vec<u8>| {
        [&ia[..], &[0, code, 0, value.len() as u8], &value].concat()
    };
    let ias = [(3, within(ia(1), 5, na)), (25, within(ia(2), 26, pd))];
    world.exchange(host, 0x86dd, &message(8, &[&named[..], &ias].concat()));
    world.run(seconds(5));
    let left = world.gateway.sessions.values().next().map(|(session, _)| session);
    assert!(left.is_none_or(|it| it.na.is_none() && it.delegated.is_none()), "{left:?}");
}

/// A station with clients of both versions.
fn both(world: &mut World) -> [usize; 2] {
    [world.add(Host::dhcp(7, 1)), world.add(Host::dhcp6(7, 1))]
}

#[test]
fn a_family_without_addresses_leaves_the_other_one_alone() {
    let mut world = World::new(
        &keys(json!({
            "ipoe": {"authentication": "radius"},
            "pools": [
                {"name": "home", "kind": "ipv4", "prefix": "10.1.0.0/26"},
                {"name": "na", "kind": "na", "prefix": "2001:db8:1::/128"},
            ],
        })),
        4,
    );
    world.server.is_open = true;
    let first = world.add(Host::bare(8, 2));
    let duid = (1u16, vec![0, 3, 0, 1, 2, 0, 0, 0, 1, 2]);
    world.exchange(first, 0x86dd, &message(1, &[duid, (3, ia(1)), (14, Vec::new())]));
    assert_eq!(world.used(), [0, 1]);
    let [v4, v6] = both(&mut world);
    world.begin(v4);
    world.begin(v6);
    world.run(seconds(3));
    assert!(world.hosts[v4].address().is_some());
    assert_eq!((world.dhcp(v4).naks, world.hosts[v6].na()), (0, None));
    assert_eq!(world.bng.show()["ended"]["exhausted"], json!(0));
    // Without any address it ends.
    world.end(v4, true);
    world.run(seconds(10));
    assert_ne!(world.bng.show()["ended"]["exhausted"], json!(0));
    assert_eq!(world.gateway.sessions.len(), 1);
}

#[test]
fn a_lease_that_begins_while_the_last_one_ends_is_of_another_session() {
    let mut world = World::new(&keys(json!({})), 5);
    let [v4, v6] = both(&mut world);
    world.begin(v6);
    world.run(seconds(3));
    assert!(world.hosts[v6].na().is_some());
    // The release comes between what is offered and what is asked for.
    world.apply_time = seconds(1);
    world.begin(v4);
    world.run(Duration::from_micros(500));
    world.end(v6, true);
    world.run(seconds(20));
    assert!(world.pass(v4, 1));
    let known = world.table("subscribers", &[]);
    let known: Vec<_> = known.iter().filter_map(|entry| entry["session"].as_u64()).collect();
    let set: Vec<_> = world.gateway.sessions.keys().map(|number| u64::from(*number)).collect();
    assert_eq!(known, set);
    world.end(v4, true);
    world.run(seconds(70));
    assert_eq!((world.gateway.sessions.len(), world.used()), (0, vec![0; 4]));
}

#[test]
fn what_a_client_declines_it_is_not_offered_again() {
    let mut world = World::new(&keys(json!({})), 6);
    let hosts = both(&mut world);
    hosts.iter().for_each(|host| world.begin(*host));
    world.run(seconds(5));
    let [v4, v6] = hosts;
    let before = (world.hosts[v4].address(), world.hosts[v6].na());
    assert!(before.0.is_some() && before.1.is_some());
    for host in hosts {
        world.decline(host);
        world.run(seconds(20));
    }
    let after = (world.hosts[v4].address(), world.hosts[v6].na());
    assert!(after.0.is_some() && after.1.is_some(), "{after:?}");
    assert!(before.0 != after.0 && before.1 != after.1, "{before:?}");
    assert!(world.pass(v4, 1) && world.pass(v6, 1));
    assert_eq!(world.used(), [2, 2, 0, 1], "what was declined waits");
}

#[test]
fn a_stop_has_the_addresses_of_its_session() {
    let mut world = World::new(&keys(json!({"ipoe": {"authentication": "radius"}})), 7);
    world.server.is_open = true;
    let v6 = world.add(Host::dhcp6(7, 1));
    for says_so in [true, false] {
        world.begin(v6);
        world.run(seconds(5));
        world.end(v6, says_so);
        world.run(seconds(700));
    }
    let [starts, stops] = [START, STOP].map(|status| {
        let all = world.server.records.iter().filter(|((_, of), _)| *of == status);
        all.map(|(_, record)| record.addresses.clone()).collect::<Vec<_>>()
    });
    assert_eq!((starts.len(), starts[0].len()), (2, 2), "an address and a prefix");
    assert_eq!(starts, stops);
}
