//! What hosts send that no host should.

use std::net::Ipv6Addr;

use controller_kit::{Context, Controller, Event, Punt};
use protocol_kit::{Bytes, Input, Machine, Random};
use protocol_radius::List;
use serde_json::json;
use wire::icmp;

use crate::host::{Host, frame};
use crate::world::{World, keys, seconds};

#[test]
fn stations_that_a_line_makes_up_are_limited() {
    let mut world = World::new(&keys(json!({})), 1);
    let good = world.add(Host::dhcp(8, 200));
    let host: Ipv6Addr = "fe80::77".parse().expect("an address");
    let to: Ipv6Addr = "ff02::2".parse().expect("an address");
    let mut body = vec![133, 0, 0, 0, 0, 0, 0, 0];
    let checksum = icmp::checksum_ipv6(host, to, &body);
    body[2..4].copy_from_slice(&checksum.to_be_bytes());
    let head = [&[0x60, 0, 0, 0, 0, 8, 58, 255][..], &host.octets(), &to.octets()].concat();
    let packet = [head, body].concat();
    for number in 0..64 {
        let line = world.hosts[good].line;
        let line = function_bng::config::Line { inner: 7, ..line };
        let bytes = frame((line, [2, 9, 0, 0, 0, number]), [0x33; 6], 0x86dd, &packet);
        punt(&mut world, "router-solicitation", bytes);
    }
    world.begin(good);
    world.run(seconds(5));
    assert!(world.hosts[good].address().is_some(), "others have room");
    assert_eq!(world.gateway.sessions.len(), 33, "32 of the line, and the other one's");
    assert_eq!(world.bng.show()["no-room"], json!(32));
}

#[test]
fn broken_frames_change_nothing() {
    let mut world = World::new(&keys(json!({"pppoe": {"authentication": "radius"}})), 2);
    world.server.add("somebody", "right", List::new());
    let methods = [protocol_ppp::Method::Pap];
    let station = world.add(Host::dhcp(7, 1));
    let peer = world.add(Host::dialled(8, 2, &methods, "somebody", "right"));
    [station, peer].iter().for_each(|host| world.begin(*host));
    world.run(seconds(20));
    let up = [station, peer].map(|host| world.hosts[host].address().expect("it is up"));
    let frames = std::mem::take(&mut world.heard);
    assert!(frames.len() > 10);
    let mut random = Random::new(3);
    let reasons = ["dhcpv4", "dhcpv6", "ppp", "pppoe-discovery", "router-solicitation", "other"];
    for number in 0..20_000 {
        let mut bytes = frames[random.below(frames.len() as u64) as usize].clone();
        // Other stations than those that are up, on their lines.
        bytes[11] = 77;
        for _ in 0..=random.below(3) {
            let at = 12 + random.below(bytes.len() as u64 - 12) as usize;
            bytes[at] = random.bits() as u8;
        }
        bytes.truncate(random.below(2 * bytes.len() as u64) as usize);
        let reason = reasons[random.below(reasons.len() as u64) as usize];
        punt(&mut world, reason, bytes);
        if number % 100 == 0 {
            world.run(seconds(1));
        }
    }
    world.run(seconds(100));
    assert_eq!([station, peer].map(|host| world.hosts[host].address()), up.map(Some));
    assert!(world.pass(station, 1) && world.pass(peer, 1));
}

fn punt(world: &mut World, reason: &'static str, bytes: Vec<u8>) {
    let (at, frame) = (world.now, Bytes::from(bytes));
    let context = Context::default();
    let punt = Punt { worker: 0, reason, port: 0, context, at, frame };
    world.bng.input(at, Input::Command(Event::Punted(punt)));
}
