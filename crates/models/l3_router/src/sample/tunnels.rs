//! Frames out of tunnels and into them.
use crate::ports::{Numbered, SIDES, UPLINK};
use std::net::Ipv4Addr;

use function_l3_router::config::{Mac, NextHop, Prefixed, Resolved};
use function_l3_router::control::Update;
use model_kit::build::{datagram, frame, packet, set_word, text};
use wire::{MacAddr, arp, ethernet, protocol, vxlan};

use super::neighbours::arp_frame;
use super::steps::Sample;

/// Everything about the first of the tunnels.
pub(super) fn tunnels(sample: &mut Sample) {
    let all = sample.config.all_interfaces();
    let Some(one) = all.iter().find(|one| one.vxlan.is_some()) else { return };
    let Some(tunnel) = one.vxlan else { return };
    let number = sample.last_hop() - 5;
    let mac = Mac(MacAddr([0x0a, 0, 0, 0, 9, 1]));
    let far_end = NextHop { mac, ..sample.visitor(one.port) };
    let prefix = Prefixed { address: tunnel.remote.into(), len: 32 };
    sample.update(Update::SetNextHop { number, next_hop: far_end });
    sample.update(Update::SetRoute { prefix, next_hop: number, vrf: 0 });
    come_out(sample, one);
    go_in(sample, one, "a packet into a tunnel");
    sample.update(Update::RemoveNextHop { number });
    go_in(sample, one, "a packet into a tunnel whose far end is not reached");
    come_out(sample, one);
    sample.update(Update::RemoveRoute { prefix, vrf: 0 });
    if sample.config.resolve {
        all.iter().filter(|one| one.vxlan.is_some()).for_each(|one| far_end_answers(sample, one));
    }
}

/// The far end is a neighbour that was asked for, and moves.
fn far_end_answers(sample: &mut Sample, one: &Resolved) {
    let Some(tunnel) = one.vxlan else { return };
    let own = sample.config.all_interfaces()[usize::from(one.port.0)];
    for last in [1, 2] {
        let mac = MacAddr([0x0a, 0, 0, 0, 10, last]);
        let answer = arp_frame(&own, arp::OPERATION_REPLY, (mac, tunnel.remote), false);
        sample.frame(one.port, "the far end of a tunnel answers", answer);
        go_in(sample, one, "a packet into a tunnel to a neighbour");
    }
}

/// Packets out of the tunnel: to the visitor, to the router, that end here, and what is none.
fn come_out(sample: &mut Sample, one: &Resolved) {
    let Some(tunnel) = one.vxlan else { return };
    let own = sample.config.ip(one.port).address;
    let inner = |sample: &Sample, to: Ipv4Addr, ttl: u8| {
        let payload = datagram((40_000, 9), &text(40));
        let mut packet = packet(sample.source(), to, protocol::UDP, &payload);
        model_kit::build::set(wire::ipv4::offset::TTL, ttl)(&mut packet);
        frame(one.mac.0, MacAddr([0x0a, 0, 0, 0, 9, 2]), ethernet::TYPE_IPV4, &packet)
    };
    let whole = inner(sample, sample.host(), 64);
    for (about, vni, from, inner) in [
        ("a packet out of a tunnel", tunnel.vni, tunnel.remote, whole.clone()),
        ("a packet that ends here", tunnel.vni, tunnel.remote, inner(sample, sample.host(), 1)),
        ("a packet to the router", tunnel.vni, tunnel.remote, inner(sample, own, 64)),
        ("another tunnel", tunnel.vni ^ 1, tunnel.remote, whole.clone()),
        ("another far end", tunnel.vni, Ipv4Addr::new(192, 0, 2, 77), whole.clone()),
        ("a tunnel with a frame that is cut", tunnel.vni, tunnel.remote, whole[..9].to_vec()),
    ] {
        for (flags, change) in [(vxlan::FLAG_VNI, 0), (0, 0), (vxlan::FLAG_VNI, 0x2000)] {
            let id = (vni << 8).to_be_bytes();
            let carried = [&[flags, 0, 0, 0], &id[..], &inner].concat();
            let datagram = datagram((50_000, vxlan::VXLAN_PORT), &carried);
            let mut outer = packet(from, own, protocol::UDP, &datagram);
            set_word(wire::ipv4::offset::FLAGS_FRAGMENT, change)(&mut outer);
            outer.extend([0xcc; 3]);
            sample.packet(one.port, about, &outer);
        }
    }
}

/// The visitor is behind the tunnel.
fn go_in(sample: &mut Sample, one: &Resolved, about: &'static str) {
    let vlan = Some(one.vlan);
    let next_hop = NextHop { vlan, ..sample.visitor(one.port) };
    sample.update(Update::SetNextHop { number: sample.last_hop(), next_hop });
    for (port, ports) in SIDES.into_iter().zip([40_000, 50_000]) {
        let payload = datagram((ports, 9), &text(60));
        let packet = packet(sample.source(), sample.host(), protocol::UDP, &payload);
        sample.packet(port, about, &packet);
    }
    let visitor = sample.visitor(UPLINK);
    sample.update(Update::SetNextHop { number: sample.last_hop(), next_hop: visitor });
}
