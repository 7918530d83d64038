//! Frames that a host sees on an interface that it has, too, and others like them.
use std::net::{Ipv4Addr, Ipv6Addr};

use function_l3_router::config::Resolved;
use model_kit::build::{datagram, frame, packet, text};
use packet::PortId;
use wire::{MacAddr, ethernet, icmp, protocol};

use super::host::{carry, message_ipv6};
use super::steps::{SOURCE_IPV6, Sample};
use crate::ports::Numbered;

/// To the groups of a link, to link-local addresses, and to groups beyond, at each port.
pub(super) fn hosted(sample: &mut Sample) {
    let all = sample.config.all_interfaces();
    if !all.iter().any(|one| one.is_hosted) {
        return;
    }
    for port in sample.config.numbers() {
        let Some(own) = all.iter().find(|one| one.port == port && one.vlan == 0) else { continue };
        groups(sample, port, own);
        ipv6(sample, port, own);
    }
}

fn groups(sample: &mut Sample, port: PortId, own: &Resolved) {
    let sender = sample.sender(port);
    let from = sample.source();
    let payload = datagram((520, 520), &text(30));
    let near = MacAddr([1, 0, 0x5e, 0, 0, 5]);
    for (to, destination, about) in [
        (near, [224, 0, 0, 5], "to the routers of a link"),
        (near, [224, 0, 1, 5], "to a group beyond the link"),
        (MacAddr([1, 0, 0x5e, 0, 1, 5]), [224, 0, 1, 5], "to a group beyond the link"),
        (MacAddr::BROADCAST, [255; 4], "to all of a link"),
    ] {
        for protocol in [protocol::UDP, protocol::OSPF] {
            let one = packet(from, Ipv4Addr::from(destination), protocol, &payload);
            sample.frame(port, about, frame(to, sender, ethernet::TYPE_IPV4, &one));
        }
    }
    for to in [
        own.mac.0,
        MacAddr([1, 0x80, 0xc2, 0, 0, 0x14]),
        MacAddr([1, 0x80, 0xc2, 0, 0, 0x15]),
        MacAddr([9, 0, 0x2b, 0, 0, 5]),
        MacAddr([1, 0x80, 0xc2, 0, 0, 0]),
    ] {
        for length in [60, 0x05ff, 0x0600] {
            let one = frame(to, sender, length, &text(60));
            sample.frame(port, "a frame with a length", one);
        }
    }
}

fn ipv6(sample: &mut Sample, port: PortId, own: &Resolved) {
    let sender = sample.sender(port);
    let near = |last| Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last);
    let group = |second: u16, last| Ipv6Addr::new(0xff00 | second, 0, 0, 0, 0, 0, 0, last);
    let mac_of = |last| MacAddr([0x33, 0x33, 0, 0, 0, last]);
    let global = own.ipv6.map_or(near(1), |ip| ip.address);
    for (to, source, destination) in [
        (mac_of(1), near(9), group(2, 1)),
        (mac_of(5), near(9), group(2, 5)),
        (mac_of(5), SOURCE_IPV6, group(5, 5)),
        (own.mac.0, SOURCE_IPV6, group(2, 5)),
        (own.mac.0, near(9), near(1)),
        (own.mac.0, SOURCE_IPV6, near(1)),
        (sender, near(9), near(1)),
        (own.mac.0, near(9), global),
        (own.mac.0, Ipv6Addr::UNSPECIFIED, global),
        (own.mac.0, near(9), SOURCE_IPV6),
        (own.mac.0, SOURCE_IPV6, global),
    ] {
        for kind in [icmp::v6::ECHO_REQUEST, icmp::v6::NEIGHBOR_SOLICITATION, 134] {
            let one = message_ipv6(source, destination, kind, &text(24));
            let about = "IPv6: a message on the link";
            sample.frame(port, about, frame(to, sender, ethernet::TYPE_IPV6, &one));
        }
        let one = carry(source, destination, protocol::OSPF, &text(40));
        sample.frame(
            port,
            "IPv6: a routing protocol on the link",
            frame(to, sender, ethernet::TYPE_IPV6, &one),
        );
    }
}
