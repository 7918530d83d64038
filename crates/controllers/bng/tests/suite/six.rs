//! IPv6: leases of DHCPv6, and router advertisements.

use std::net::Ipv6Addr;

use protocol_radius::List;
use serde_json::json;
use wire::{icmp, udp};

use crate::external::{ADDRESS, DUID, PREFIX};
use crate::host::Host;
use crate::server::STOP;
use crate::world::{World, keys, seconds};

const HOST: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x77);

/// A packet of IPv6.
fn packet(next_header: u8, hop_limit: u8, to: Ipv6Addr, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((body.len() as u16).to_be_bytes());
    packet.extend([next_header, hop_limit]);
    packet.extend(HOST.octets());
    packet.extend(to.octets());
    packet.extend(body);
    packet
}

fn solicitation() -> Vec<u8> {
    let to = "ff02::2".parse().expect("an address");
    let mut body = vec![133, 0, 0, 0, 0, 0, 0, 0];
    let checksum = icmp::checksum_ipv6(HOST, to, &body);
    body[2..4].copy_from_slice(&checksum.to_be_bytes());
    packet(58, 255, to, &body)
}

/// A message of a client of DHCPv6.
fn message(kind: u8, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let to = "ff02::1:2".parse().expect("an address");
    let mut body = vec![kind, 1, 2, 3];
    for (code, value) in options {
        body.extend(code.to_be_bytes());
        body.extend((value.len() as u16).to_be_bytes());
        body.extend(value);
    }
    let len = 8 + body.len() as u16;
    let mut header = [0; 8];
    let fields =
        |checksum| udp::Fields { source_port: 546, destination_port: 547, length: len, checksum };
    fields(0).emit(&mut header);
    fields(udp::checksum_ipv6(HOST, to, &header, &body)).emit(&mut header);
    packet(17, 1, to, &[&header[..], &body].concat())
}

/// The options of a message that came, behind its type.
fn read(frame: &[u8]) -> (u8, Vec<(u16, Vec<u8>)>) {
    let message = &frame[2 + 40 + 8..];
    let (mut rest, mut options) = (&message[4..], Vec::new());
    while let [a, b, c, d, behind @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*c, *d]));
        options.push((u16::from_be_bytes([*a, *b]), behind[..len].to_vec()));
        rest = &behind[len..];
    }
    (message[0], options)
}

fn ia(id: u8) -> Vec<u8> {
    [&[0, 0, 0, id][..], &[0; 8]].concat()
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
