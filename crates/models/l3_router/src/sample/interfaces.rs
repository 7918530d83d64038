//! Frames of VLANs and VRFs, and sources with and without a way back.
use crate::ports::{DOWNLINK, Numbered, SIDES, UPLINK, other};
use std::net::{IpAddr, Ipv4Addr};

use function_l3_router::config::{Mac, NextHop, Resolved};
use function_l3_router::control::Update;
use model_kit::build::{datagram, ether_type_of, frame, packet, packet_ipv6, text};
use stages::vlan;
use wire::bytes::put_u16;
use wire::{MacAddr, arp, ethernet, protocol};

use crate::catalogue;

use super::steps::{SOURCE_IPV6, Sample, VISITED_HOST_IPV6};

/// Tags that are somebody's and tags that are nobody's; the same network in two VRFs.
pub(super) fn interfaces(sample: &mut Sample) {
    let all = sample.config.all_interfaces();
    unknown(sample, &all);
    // Few of each kind: the size of a sample does not depend on how many there are.
    for interface in all.iter().filter(|one| one.vlan > 0).take(INTERFACES) {
        of_vlan(sample, interface);
    }
    if sample.config.vrfs > 0 {
        in_vrf(sample, sample.config.vrfs, &all);
    }
    for interface in all.iter().filter(|one| !one.urpf.is_none()).take(INTERFACES) {
        sources(sample, interface);
    }
}

fn unknown(sample: &mut Sample, all: &[Resolved]) {
    for port in sample.config.numbers() {
        let is_free = |vlan: &u16| !all.iter().any(|one| one.port == port && one.vlan == *vlan);
        let Some(free) = (1..=4094).rev().find(is_free) else { continue };
        let own = all[usize::from(port.0)];
        for (vlan, about) in [
            (free, "a tag that no interface has"),
            (0xe000, "a tag of a priority alone"),
            (0xffff, "a tag of the VLAN that is reserved"),
        ] {
            let whole = to_visitor(sample, &own);
            let tagged = tagged(whole, vlan);
            for len in [15, 17] {
                sample.frame(port, "a frame cut in its tag", tagged[..len].to_vec());
            }
            sample.frame(port, about, tagged);
        }
    }
}

fn of_vlan(sample: &mut Sample, interface: &Resolved) {
    let whole = to_visitor(sample, interface);
    for (tci, about) in [
        (interface.vlan, "a packet by a VLAN"),
        (interface.vlan | 0xe000, "a packet by a VLAN with a priority"),
    ] {
        sample.frame(interface.port, about, tagged(whole.clone(), tci));
    }
    let (mac, peer) = (interface.mac.0, MacAddr([0x0a, 0, 0, 0, 3, 3]));
    if let Some(ip) = interface.ip {
        let mut request = [0; arp::HEADER_LEN];
        arp::Fields {
            operation: arp::OPERATION_REQUEST,
            sender_mac: peer,
            sender_ip: Ipv4Addr::from_bits(ip.address.to_bits() ^ 1),
            target_mac: MacAddr::ZERO,
            target_ip: ip.address,
        }
        .emit(&mut request);
        let request = frame(MacAddr::BROADCAST, peer, ethernet::TYPE_ARP, &request);
        let about = "an ARP request for the address of a VLAN's interface";
        sample.frame(interface.port, "the same without the tag", request.clone());
        sample.frame(interface.port, about, tagged(request, interface.vlan));
        let payload = datagram((40_000, 9), &text(20));
        let local = packet(sample.source(), ip.address, protocol::UDP, &payload);
        let local = frame(mac, peer, ethernet::TYPE_IPV4, &local);
        let about = "a packet to the address of a VLAN's interface";
        sample.frame(interface.port, about, tagged(local, interface.vlan));
    }
    // A neighbour behind it gets its frames with the tag, whatever they came by.
    let hop = NextHop {
        port: sample.config.name_of(interface.port),
        vlan: Some(interface.vlan),
        mac: Mac(peer),
        source: None,
        ip: None,
        ipv6: None,
        bfd: None,
        name: None,
    };
    sample.update(Update::SetNextHop { number: sample.last_hop(), next_hop: hop });
    for port in sample.config.numbers() {
        let own = sample.config.all_interfaces()[usize::from(port.0)];
        let whole = to_visitor(sample, &own);
        sample.frame(port, "a packet to a neighbour behind a VLAN", whole);
    }
    let visitor = sample.visitor(UPLINK);
    sample.update(Update::SetNextHop { number: sample.last_hop(), next_hop: visitor });
}

/// The visitor's network has another route, and then none, in another VRF.
fn in_vrf(sample: &mut Sample, vrf: u16, all: &[Resolved]) {
    let number = sample.last_hop() - 3;
    let next_hop = NextHop { mac: Mac(MacAddr([0x0a, 0, 0, 0, 4, 4])), ..sample.visitor(DOWNLINK) };
    sample.update(Update::SetNextHop { number, next_hop });
    let set = Update::SetRoute { prefix: sample.prefix(), next_hop: number, vrf };
    let remove = Update::RemoveRoute { prefix: sample.prefix(), vrf };
    let nowhere =
        Update::SetRoute { prefix: sample.prefix(), next_hop: number, vrf: sample.config.vrfs + 1 };
    for (change, about) in [
        (set, "a route of another VRF"),
        (nowhere, "after a route of a VRF that is not there"),
        (remove, "after a route of another VRF was removed"),
        (remove, "after it was removed again"),
    ] {
        sample.update(change);
        for interface in all.iter().filter(|one| [0, vrf].contains(&one.vrf)).take(3) {
            let whole = to_visitor(sample, interface);
            let whole = if interface.vlan > 0 { tagged(whole, interface.vlan) } else { whole };
            sample.frame(interface.port, about, whole);
        }
    }
    sample.update(Update::RemoveNextHop { number });
}

/// Sources behind the interface, behind another one, behind none, and the router itself.
fn sources(sample: &mut Sample, interface: &Resolved) {
    let link = interface.ip.map(|ip| ip.address);
    let near = link.map(|own| Ipv4Addr::from_bits(own.to_bits() ^ 1));
    let far = sample.config.ip(other(interface.port)).address;
    let hosts =
        SIDES.map(|port| Ipv4Addr::from_bits(catalogue::host_ipv4(catalogue::route_ipv4(port, 0))));
    let listed = sample.config.routes.iter().filter_map(|route| match route.prefix.address {
        IpAddr::V4(network) => Some(Ipv4Addr::from_bits(network.to_bits() | 1)),
        IpAddr::V6(_) => None,
    });
    let sources: Vec<Ipv4Addr> = [near, link, Some(far), Some(Ipv4Addr::new(192, 88, 99, 9))]
        .into_iter()
        .flatten()
        .chain(hosts)
        .chain(listed.take(4))
        .collect();
    let payload = datagram((40_000, 9), &text(20));
    for source in sources {
        let packet = packet(source, sample.host(), protocol::UDP, &payload);
        send(sample, interface, "a source, looked for", &packet);
    }
    if sample.config.ipv6 {
        let hosts = SIDES.map(|port| catalogue::host_ipv6(catalogue::route_ipv6(port, 0)));
        let own = interface.ipv6.map(|ip| ip.address);
        for source in hosts.map(Into::into).into_iter().chain(own).chain([SOURCE_IPV6]) {
            let packet = packet_ipv6(source, VISITED_HOST_IPV6, 60);
            send(sample, interface, "IPv6: a source, looked for", &packet);
        }
    }
}

fn send(sample: &mut Sample, interface: &Resolved, about: &'static str, packet: &[u8]) {
    let sender = MacAddr([0x0a, 0, 0, 0, 3, 3]);
    let whole = frame(interface.mac.0, sender, ether_type_of(packet), packet);
    let whole = if interface.vlan > 0 { tagged(whole, interface.vlan) } else { whole };
    sample.frame(interface.port, about, whole);
}

fn to_visitor(sample: &Sample, interface: &Resolved) -> Vec<u8> {
    let payload = datagram((40_000, 9), &text(40));
    let packet = packet(sample.source(), sample.host(), protocol::UDP, &payload);
    frame(interface.mac.0, MacAddr([0x0a, 0, 0, 0, 3, 3]), ethernet::TYPE_IPV4, &packet)
}

/// A frame with a tag.
pub(super) fn tagged(whole: Vec<u8>, tci: u16) -> Vec<u8> {
    let mut frame = [&[0; ethernet::TAG_LEN][..], &whole].concat();
    vlan::write(&mut frame, 0);
    put_u16(&mut frame, ethernet::HEADER_LEN, tci);
    frame
}

/// How many interfaces of a kind the sample tries.
const INTERFACES: usize = 4;
