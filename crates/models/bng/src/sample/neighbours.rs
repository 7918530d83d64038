//! Next hops without an Ethernet address: answers, silence, probes, and removal while packets wait.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_bng::Update;
use function_bng::config::{Line, NextHop, Route};
use function_bng::gateway::ACCESS;
use function_kit::sections::Prefixed;
use model_kit::build::NeighbourMessage;
use wire::ipv6::link_local;
use wire::{MacAddr, arp, ethernet};

use super::build::{self, on_line};
use super::steps::Sample;

/// Everything that asking can lead to, for one next hop of each version of IP.
pub(super) fn neighbours(sample: &mut Sample) {
    for address in [IpAddr::V4(HOP), IpAddr::V6(HOP_IPV6)] {
        let prefix = Prefixed { address: IpAddr::V4(NETWORK), len: 24 };
        let route = Route { prefix, vrf: None, next_hop: address };
        sample.update(Update::AddNextHop(NextHop { address, vrf: None, mac: None }));
        sample.update(Update::AddRoute(route));
        send(sample, "a packet to a next hop that is asked for");
        for _ in 0..9 {
            let frame = frame(sample);
            sample.frame_at_once(ACCESS, "one of many packets to a next hop", frame);
        }
        for (mac, about) in [
            (MacAddr([1, 0, 0, 0, 0, 1]), "an answer with the address of a group"),
            (MacAddr::ZERO, "an answer without an address"),
            (FIRST, "the answer of a next hop"),
        ] {
            answer(sample, about, address, mac);
        }
        send(sample, "a packet to a next hop that answered");
        answer(sample, "another answer of a next hop", address, SECOND);
        send(sample, "a packet to a next hop that has moved");
        sample.wait(1201);
        send(sample, "a packet to a next hop that is probed");
        answer(sample, "the answer to a probe", address, SECOND);
        sample.wait(1201);
        (0..4).for_each(|_| sample.wait(1));
        send(sample, "a packet to a next hop that was forgotten");
        (0..4).for_each(|_| sample.wait(1));
        send(sample, "a packet to a next hop that did not answer");
        sample.update(Update::RemoveNextHop { address, vrf: None });
        sample.update(Update::RemoveRoute { prefix, vrf: None });
        sample.update(Update::RemoveNextHop { address, vrf: None });
        sample.wait(5);
    }
}

/// A packet of the first visitor to the network behind the next hop.
fn frame(sample: &Sample) -> Vec<u8> {
    let own = build::addresses(&sample.ipoe)[0];
    let to = Ipv4Addr::from_bits(NETWORK.to_bits() | 7).into();
    build::up(&sample.config, &sample.ipoe, &build::udp(own, to, 100))
}

fn send(sample: &mut Sample, about: &'static str) {
    let frame = frame(sample);
    sample.access(about, frame);
}

/// What a next hop answers.
fn answer(sample: &mut Sample, about: &'static str, address: IpAddr, mac: MacAddr) {
    let own = sample.config.core_mac;
    let frame = match address {
        IpAddr::V4(sender_ip) => {
            let mut packet = [0; arp::HEADER_LEN];
            let fields = arp::Fields {
                operation: arp::OPERATION_REPLY,
                sender_mac: mac,
                sender_ip,
                target_mac: own,
                target_ip: Ipv4Addr::new(198, 19, 255, 254),
            };
            fields.emit(&mut packet);
            let untagged = Line { outer: 0, inner: 0 };
            on_line(&sample.config, untagged, [own, mac], ethernet::TYPE_ARP, &packet)
        }
        IpAddr::V6(target) => NeighbourMessage {
            to: own,
            from: mac,
            ends: [target, link_local(own)],
            kind: 136,
            flags: 0x60,
            target,
            options: [&[2, 1][..], &mac.0].concat(),
        }
        .frame(),
    };
    sample.core(about, frame);
}

const HOP: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 9);
const HOP_IPV6: Ipv6Addr = Ipv6Addr::new(0x3fff, 0, 0xc, 0, 0, 0, 0, 9);
const NETWORK: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 0);
const FIRST: MacAddr = MacAddr([2, 0, 0, 0, 1, 1]);
const SECOND: MacAddr = MacAddr([2, 0, 0, 0, 1, 2]);
