//! For each rule of the configured lists a packet that matches it, and one right beside its ports.
//!
//! The rest of the sample changes the lists; these frames meet them as they are configured, also on
//! a device whose lists cannot be changed.
use crate::ports::{DOWNLINK, Numbered};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_l3_router::config::{AclRule, List, Part, Ports, Prefixed};
use model_kit::build::{mend, packet, packet_ipv6_with, text};
use wire::bytes::put_u16;
use wire::{ipv4, protocol};

use super::steps::{SOURCE, SOURCE_IPV6, Sample, VISITED_HOST_IPV6};
use crate::catalogue;
use crate::generated::routes_but_the_internets;

/// Packets for the rules of both lists; of long lists, for some of their rules.
pub(super) fn configured(sample: &mut Sample) {
    for list in [List::Ingress, List::Egress] {
        let rules = sample.config.all_rules(list);
        for (_, rule) in rules.iter().step_by(rules.len().div_ceil(RULES).max(1)) {
            packets(sample, rule);
        }
    }
}

fn packets(sample: &mut Sample, rule: &AclRule) {
    let port = rule.port.map_or(DOWNLINK, |name| sample.config.number_of(name));
    let (is_ipv4, _) = rule.versions();
    if !is_ipv4 && !sample.config.ipv6 {
        return;
    }
    let beside = |ports: Option<Ports>| {
        let above = ports.and_then(|ports| ports.last.checked_add(1));
        above.map(|one| Ports { first: one, last: one })
    };
    let mut all = vec![*rule];
    if let Some(above) = beside(rule.destination_ports) {
        all.push(AclRule { destination_ports: Some(above), ..*rule });
    }
    if let Some(above) = beside(rule.source_ports) {
        all.push(AclRule { source_ports: Some(above), ..*rule });
    }
    for rule in all {
        let sent = if is_ipv4 { of_ipv4(sample, &rule) } else { of_ipv6(sample, &rule) };
        sample.packet(port, "a packet for a rule", &sent);
    }
}

fn of_ipv4(sample: &Sample, rule: &AclRule) -> Vec<u8> {
    let only = |address: Option<IpAddr>| match address {
        Some(IpAddr::V4(address)) => Some(address),
        _ => None,
    };
    let from = only(host(rule.source)).unwrap_or(SOURCE);
    let to = only(host(rule.destination)).or_else(|| only(routed(sample, true)));
    let (number, payload) = payload(rule, protocol::ICMP);
    let mut sent = packet(from, to.unwrap_or_else(|| sample.host()), number, &payload);
    sent[1] = rule.dscp.unwrap_or(0) << 2;
    let part = match rule.fragment {
        None | Some(Part::None) => 0,
        Some(Part::Any | Part::First) => 0x2000,
        Some(Part::Later) => 20,
    };
    put_u16(&mut sent, ipv4::offset::FLAGS_FRAGMENT, part);
    mend(&mut sent);
    sent
}

fn of_ipv6(sample: &Sample, rule: &AclRule) -> Vec<u8> {
    let only = |address: Option<IpAddr>| match address {
        Some(IpAddr::V6(address)) => Some(address),
        _ => None,
    };
    let from = only(host(rule.source)).unwrap_or(SOURCE_IPV6);
    let to = only(host(rule.destination)).or_else(|| only(routed(sample, false)));
    let (number, payload) = payload(rule, protocol::ICMPV6);
    let part: Option<u16> = match rule.fragment {
        None | Some(Part::None) => None,
        Some(Part::Any | Part::First) => Some(1),
        Some(Part::Later) => Some(20 << 3),
    };
    let (number, payload) = match part {
        None => (number, payload),
        Some(part) => {
            let [high, low] = part.to_be_bytes();
            let header = [number, 0, high, low, 0, 0, 0, 1];
            (protocol::IPV6_FRAGMENT, [&header[..], &payload].concat())
        }
    };
    let mut sent = packet_ipv6_with(from, to.unwrap_or(VISITED_HOST_IPV6), number, &payload);
    let dscp = rule.dscp.unwrap_or(0);
    sent[0] |= dscp >> 2;
    sent[1] |= dscp << 6;
    sent
}

/// The protocol that a rule is for, and the beginning of a message of it.
fn payload(rule: &AclRule, icmp: u8) -> (u8, Vec<u8>) {
    let says_icmp = rule.icmp_type.is_some() || rule.icmp_code.is_some();
    let number = rule.protocol.unwrap_or(if says_icmp { icmp } else { protocol::UDP });
    let mut bytes = text(40);
    let first = |ports: Option<Ports>, other| ports.map_or(other, |ports| ports.first);
    put_u16(&mut bytes, 0, first(rule.source_ports, 40_000));
    put_u16(&mut bytes, 2, first(rule.destination_ports, 9));
    match number {
        // A header of 20 bytes, and an acknowledgement if nothing is said.
        protocol::TCP => {
            bytes[12] = 0x50;
            bytes[13] = rule.tcp_flags.map_or(0x10, |flags| flags.set);
        }
        // The length of a datagram, and no checksum.
        protocol::UDP => bytes[4..8].copy_from_slice(&[0, 40, 0, 0]),
        _ if says_icmp => {
            bytes[0] = rule.icmp_type.unwrap_or(8);
            bytes[1] = rule.icmp_code.unwrap_or(0);
        }
        _ => {}
    }
    (number, bytes)
}

/// A host of a network that somebody may have, if it is small enough to be one of hosts.
fn host(network: Option<Prefixed<IpAddr>>) -> Option<IpAddr> {
    let Prefixed { address, len } = network.filter(|network| network.len >= 8)?;
    Some(match catalogue::network(address, len) {
        IpAddr::V4(net) => Ipv4Addr::from_bits(net.to_bits() | u32::from(len < 31)).into(),
        IpAddr::V6(net) => Ipv6Addr::from_bits(net.to_bits() | u128::from(len < 127)).into(),
    })
}

/// A host to which a configured route of the main VRF leads.
fn routed(sample: &Sample, is_ipv4: bool) -> Option<IpAddr> {
    let mut routes = routes_but_the_internets(&sample.section);
    let is_its = |network: &function_l3_router::config::Network| {
        network.vrf == 0 && network.address.is_ipv4() == is_ipv4
    };
    routes.find_map(|(network, _)| is_its(&network).then(|| host(Some(network.prefix()))).flatten())
}

/// Most rules of a list for which there are packets.
const RULES: usize = 64;
