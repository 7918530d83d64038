//! Changes, each with the frames that show it before, while and after it holds.
use crate::ports::{DOWNLINK, Numbered, UPLINK};
use std::net::{IpAddr, Ipv4Addr};

use function_l3_router::config::{Mac, Network, NextHop, Prefixed};
use function_l3_router::control::Update;
use model_kit::build::{datagram, packet, packet_ipv6, text};
use wire::{MacAddr, protocol};

use crate::catalogue;
use crate::generated::all_routes;

use super::steps::{SOURCE_IPV6, Sample, VISITED_HOST_IPV6};

/// Routes appear, lead elsewhere and disappear, longer ones before shorter ones.
pub(super) fn routes(sample: &mut Sample) {
    let second = sample.last_hop() - 1;
    sample.update(Update::SetNextHop { number: second, next_hop: other(sample) });
    for len in [25, 28, 32] {
        let network = catalogue::network(sample.host().into(), len);
        let prefix = Prefixed { address: network, len };
        sample.update(Update::SetRoute { prefix, next_hop: second, vrf: 0 });
        to_visitor(sample, "a longer route");
    }
    for len in [28, 32, 25] {
        let network = catalogue::network(sample.host().into(), len);
        sample.update(Update::RemoveRoute { prefix: Prefixed { address: network, len }, vrf: 0 });
        to_visitor(sample, "after a longer route was removed");
    }
    let prefix = sample.prefix();
    sample.update(Update::SetRoute { prefix, next_hop: second, vrf: 0 });
    to_visitor(sample, "a route that leads elsewhere");
    sample.update(Update::SetRoute { prefix, next_hop: sample.last_hop(), vrf: 0 });
    refused(sample);
    to_visitor(sample, "after changes that were impossible");
    if sample.config.ipv6 {
        let (prefix, longer) =
            (sample.prefix_ipv6(), Prefixed { address: IpAddr::V6(VISITED_HOST_IPV6), len: 128 });
        sample.update(Update::SetRoute { prefix: longer, next_hop: second, vrf: 0 });
        to_visitor_ipv6(sample, "IPv6: a longer route");
        sample.update(Update::RemoveRoute { prefix: longer, vrf: 0 });
        to_visitor_ipv6(sample, "IPv6: after a longer route was removed");
        sample.update(Update::RemoveRoute { prefix, vrf: 0 });
        to_visitor_ipv6(sample, "IPv6: after its route was removed");
        sample.update(Update::SetRoute { prefix, next_hop: sample.last_hop(), vrf: 0 });
    }
    sample.update(Update::RemoveNextHop { number: second });
}

/// Next hops change and disappear, and their routes wait for them.
pub(super) fn next_hops(sample: &mut Sample) {
    let uplink = sample.visitor(UPLINK);
    for next_hop in [
        sample.visitor(DOWNLINK),
        NextHop { source: Some(Mac(MacAddr([0x0a, 0, 0, 0, 0, 7]))), ..uplink },
        NextHop { mac: Mac(MacAddr([0x0a, 0, 0, 0, 0, 8])), ..uplink },
    ] {
        sample.update(Update::SetNextHop { number: sample.last_hop(), next_hop });
        to_visitor(sample, "a next hop that is another now");
    }
    let [ip, moved] = [3, 4].map(|host| Ipv4Addr::new(203, 0, 113, 200 + host));
    for address in [ip, moved] {
        let next_hop = NextHop { ip: Some(address), ..uplink };
        sample.update(Update::SetNextHop { number: sample.last_hop(), next_hop });
        for host in [ip, moved] {
            to(sample, "a next hop's own address", host);
        }
    }
    sample.update(Update::RemoveNextHop { number: sample.last_hop() });
    to(sample, "the address of a next hop that is gone", moved);
    to_visitor(sample, "a route whose next hop is gone");
    to_visitor_ipv6(sample, "IPv6: a route whose next hop is gone");
    sample.update(Update::RemoveNextHop { number: sample.last_hop() });
    sample.update(Update::SetNextHop { number: sample.last_hop(), next_hop: uplink });
    to_visitor(sample, "a route whose next hop is back");
    shared_address(sample, ip);
    configured(sample);
}

/// Next hops of two interfaces have the same address, and of the same one they cannot.
fn shared_address(sample: &mut Sample, ip: Ipv4Addr) {
    let (low, high) = (sample.last_hop() - 1, sample.last_hop());
    let [up, down] =
        [UPLINK, DOWNLINK].map(|port| NextHop { ip: Some(ip), ..sample.visitor(port) });
    for (number, next_hop) in
        [(high, Some(up)), (low, Some(down)), (low, Some(up)), (high, Some(down)), (low, None)]
            .into_iter()
            .chain([(low, Some(down)), (high, None), (low, None), (high, Some(up))])
            .chain([(high, Some(sample.visitor(UPLINK)))])
    {
        sample.update(match next_hop {
            Some(next_hop) => Update::SetNextHop { number, next_hop },
            None => Update::RemoveNextHop { number },
        });
        to(sample, "an address of next hops at two interfaces", ip);
    }
}

/// A configured route and its next hop disappear and return.
fn configured(sample: &mut Sample) {
    let first = all_routes(&sample.section)
        .find(|(network, _)| network.address.is_ipv4() && network.vrf == 0);
    let Some((Network { address: address @ IpAddr::V4(network), len, .. }, number)) = first else {
        return;
    };
    let host = Ipv4Addr::from_bits(catalogue::host_ipv4(network));
    let prefix = Prefixed { address, len };
    sample.update(Update::RemoveRoute { prefix, vrf: 0 });
    to(sample, "a configured route that was removed", host);
    sample.update(Update::SetRoute { prefix, next_hop: number, vrf: 0 });
    to(sample, "a configured route that returned", host);
    let found = sample.config.all_next_hops().find(|(other, _)| *other == number);
    let found = found.filter(|(_, hop)| hop.bfd.is_none());
    let Some((_, next_hop)) = found else { return };
    sample.update(Update::RemoveNextHop { number });
    to(sample, "a configured next hop that was removed", host);
    sample.update(Update::SetNextHop { number, next_hop });
    to(sample, "a configured next hop that returned", host);
}

fn refused(sample: &mut Sample) {
    let own = IpAddr::from(sample.config.ip(DOWNLINK).address);
    let own_host = Prefixed { address: own, len: 32 };
    let crooked = Prefixed { address: IpAddr::from(sample.host()), len: 24 };
    let unknown = Prefixed { address: Ipv4Addr::new(203, 0, 112, 0).into(), len: 23 };
    let visitor = sample.visitor(UPLINK);
    let mut impossible = vec![
        Update::SetRoute { prefix: sample.prefix(), next_hop: sample.last_hop() - 2, vrf: 0 },
        Update::SetRoute { prefix: sample.prefix(), next_hop: u32::MAX, vrf: 0 },
        Update::SetRoute { prefix: crooked, next_hop: sample.last_hop(), vrf: 0 },
        Update::SetRoute { prefix: own_host, next_hop: sample.last_hop(), vrf: 0 },
        Update::SetRoute {
            prefix: Prefixed { len: 33, ..crooked },
            next_hop: sample.last_hop(),
            vrf: 0,
        },
        Update::RemoveRoute { prefix: own_host, vrf: 0 },
        Update::RemoveRoute { prefix: unknown, vrf: 0 },
        Update::RemoveRoute { prefix: crooked, vrf: 0 },
        Update::SetNextHop { number: sample.config.next_hops_max(), next_hop: visitor },
        Update::SetNextHop {
            number: sample.last_hop(),
            next_hop: NextHop { mac: Mac(GROUP), ..visitor },
        },
        Update::RemoveNextHop { number: sample.last_hop() - 2 },
        Update::RemoveNextHop { number: u32::MAX },
    ];
    if let IpAddr::V4(own) = own {
        let next_hop = NextHop { ip: Some(own), ..visitor };
        impossible.push(Update::SetNextHop { number: sample.last_hop(), next_hop });
    }
    if !sample.config.ipv6 {
        impossible.push(Update::SetRoute {
            prefix: sample.prefix_ipv6(),
            next_hop: sample.last_hop(),
            vrf: 0,
        });
    }
    impossible.into_iter().for_each(|update| sample.update(update));
}

/// A next hop on the other side than the visitor.
fn other(sample: &Sample) -> NextHop {
    NextHop { mac: Mac(MacAddr([0x0a, 0, 0, 0, 0, 6])), ..sample.visitor(DOWNLINK) }
}

fn to_visitor(sample: &mut Sample, about: &'static str) {
    to(sample, about, sample.host());
}

fn to(sample: &mut Sample, about: &'static str, host: Ipv4Addr) {
    let datagram = datagram((40_000, 9), &text(30));
    let packet = packet(sample.source(), host, protocol::UDP, &datagram);
    for port in sample.config.numbers() {
        sample.packet(port, about, &packet);
    }
}

fn to_visitor_ipv6(sample: &mut Sample, about: &'static str) {
    let packet = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, 60);
    sample.packet(DOWNLINK, about, &packet);
}

/// All routers' group, which is no neighbour.
const GROUP: MacAddr = MacAddr([0x01, 0, 0x5e, 0, 0, 2]);
