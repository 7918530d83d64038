//! What hosts send that no host should.

use std::net::Ipv6Addr;

use controller_kit::{Context, Controller, Event, Punt};
use protocol_kit::{Bytes, Input, Machine, Random};
use protocol_radius::List;
use serde_json::json;
use wire::{icmp, udp};

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
    let six = world.add(Host::dhcp6(9, 3));
    let bare = world.add(Host::bare(10, 4));
    let hosts = [station, peer, six];
    hosts.iter().for_each(|host| world.begin(*host));
    assert_eq!(world.exchange(bare, 0x86dd, &crate::six::solicitation()).len(), 1);
    world.run(seconds(20));
    let addresses =
        |world: &World| hosts.map(|host| (world.hosts[host].address(), world.hosts[host].na()));
    let up = addresses(&world);
    let frames = std::mem::take(&mut world.heard);
    assert!(frames.len() > 10);
    let mut random = Random::new(3);
    let reasons = ["dhcpv4", "dhcpv6", "ppp", "pppoe-discovery", "router-solicitation", "other"];
    let mut has_reached = [false; 3];
    for number in 0..20_000 {
        let mut bytes = frames[random.below(frames.len() as u64) as usize].clone();
        let usual = world.reason(&bytes).expect("it came up");
        // Other stations than those that are up, on their lines.
        let mac: [u8; 6] = bytes[6..12].try_into().expect("six");
        for at in 0..bytes.len() - 5 {
            if bytes[at..at + 6] == mac {
                bytes[at + 5] = 77;
            }
        }
        for _ in 0..=random.below(3) {
            let at = 12 + random.below(bytes.len() as u64 - 12) as usize;
            bytes[at] = random.bits() as u8;
        }
        bytes.truncate(random.below(4 * bytes.len() as u64) as usize);
        if random.below(4) > 0 {
            mend(&mut bytes);
        }
        let reason = match random.below(4) {
            0 => reasons[random.below(reasons.len() as u64) as usize],
            _ => usual,
        };
        punt(&mut world, reason, bytes);
        if number % 100 == 0 {
            world.run(seconds(1));
            let show = world.bng.show();
            let leases = |version: &str| show["leases"][version].as_u64() > Some(1);
            let is_other = |it: &serde_json::Value| {
                it["mac"].as_str().is_some_and(|mac| mac.ends_with(":4d"))
                    && it["slaac"].is_string()
            };
            let has_prefix = world.table("subscribers", &[]).iter().any(is_other);
            let has_some = [leases("ipv4"), leases("ipv6"), has_prefix];
            has_reached.iter_mut().zip(has_some).for_each(|(all, one)| *all |= one);
        }
    }
    world.run(seconds(100));
    assert_eq!(has_reached, [true; 3], "DHCP of both versions, and router solicitations");
    assert_eq!(addresses(&world), up);
    assert!(hosts.iter().all(|host| world.pass(*host, 1)));
}

/// Makes the lengths and checksums of a frame with a packet of IP right again.
fn mend(frame: &mut [u8]) {
    let mut at = 12;
    while matches!(frame.get(at..at + 2), Some([0x88, 0xa8] | [0x81, 0x00])) {
        at += 4;
    }
    let (Some(kind), Some(packet)) = (frame.get(at..at + 2), frame.get(at + 2..)) else { return };
    let kind = [kind[0], kind[1]];
    let len = packet.len();
    let packet = &mut frame[at + 2..];
    match kind {
        [0x08, 0x00] if len >= 28 => {
            let (header, datagram) = packet.split_first_chunk_mut::<20>().expect("twenty");
            header[0] = 0x45;
            header[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            header[10..12].fill(0);
            let sum = wire::checksum::header_checksum(header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            datagram[4..6].copy_from_slice(&(len as u16 - 20).to_be_bytes());
            // None at all is right.
            datagram[6..8].fill(0);
        }
        [0x86, 0xdd] if len >= 48 => {
            let (header, body) = packet.split_at_mut(40);
            header[4..6].copy_from_slice(&(len as u16 - 40).to_be_bytes());
            let address = |at: usize| {
                Ipv6Addr::from(<[u8; 16]>::try_from(&header[at..at + 16]).expect("sixteen"))
            };
            let (from, to) = (address(8), address(24));
            if header[6] == 58 {
                body[2..4].fill(0);
                let sum = icmp::checksum_ipv6(from, to, body);
                body[2..4].copy_from_slice(&sum.to_be_bytes());
            } else {
                body[4..6].copy_from_slice(&(len as u16 - 40).to_be_bytes());
                body[6..8].fill(0);
                let (udp_header, payload) = body.split_first_chunk_mut::<8>().expect("eight");
                let sum = udp::checksum_ipv6(from, to, udp_header, payload);
                body[6..8].copy_from_slice(&sum.to_be_bytes());
            }
        }
        _ => {}
    }
}

fn punt(world: &mut World, reason: &'static str, bytes: Vec<u8>) {
    let (at, frame) = (world.now, Bytes::from(bytes));
    let context = Context::default();
    let punt = Punt { worker: 0, reason, port: 0, context, at, frame };
    world.bng.input(at, Input::Command(Event::Punted(punt)));
}
