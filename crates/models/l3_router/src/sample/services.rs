//! Frames that meet rules and policers, and changes of both.
use crate::ports::{DOWNLINK, Numbered, UPLINK};
use std::net::IpAddr;
use std::time::Duration;

use function_l3_router::config::{
    AclRule, Action, Algorithm, Config, List, Part, PoliceBy, Policer, Ports, Prefixed, TcpFlags,
};
use function_l3_router::control::Update;
use function_l3_router::services::police::hash_of;
use model_kit::build::{datagram, packet, packet_ipv6, text};
use model_kit::check::Step;
use wire::{ipv4, protocol};

use super::headers;
use super::steps::{SOURCE, SOURCE_IPV6, Sample, VISITED_HOST_IPV6};

/// Lists with rules permit everything, so that the rest of the sample goes as without them.
pub(super) fn open(sample: &mut Sample) {
    for list in LISTS {
        let rules = sample.config.all_rules(list);
        if rules.len() == sample.config.rules_max(list) as usize
            && let Some(&(number, _)) = rules.last()
        {
            sample.update(Update::RemoveRule { list, number });
        }
        if !rules.is_empty() {
            let rule = AclRule::for_all(Action::Permit);
            sample.update(Update::SetRule { list, number: OPEN, rule });
        }
    }
    for number in policers_of(sample) {
        let policer = Policer { committed_rate: 1 << 50, committed_burst: 1 << 40, ..SMALL };
        sample.update(Update::SetPolicer { number, policer });
    }
}

/// Lists and policers are again as configured.
pub(super) fn close(sample: &mut Sample) {
    for list in LISTS {
        let rules = sample.config.all_rules(list);
        if !rules.is_empty() {
            sample.update(Update::RemoveRule { list, number: OPEN });
        }
        if rules.len() == sample.config.rules_max(list) as usize
            && let Some(&(number, rule)) = rules.last()
        {
            sample.update(Update::SetRule { list, number, rule });
        }
    }
    for number in policers_of(sample) {
        restore(sample, number);
    }
}

/// Drop reasons that no list and no policer of a configuration has, each with the cause.
pub(super) fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
    let mut reasons = Vec::new();
    for (list, reason) in [(List::Ingress, "acl-ingress"), (List::Egress, "acl-egress")] {
        if config.rules_max(list) < 2 {
            reasons.push((reason, "there is no such access list"));
        }
    }
    if !reads(config) {
        reasons.push(("acl-unreadable", "no list looks behind the header of IP"));
    }
    if config.remark.red.is_some() {
        reasons.push(("policed", "red packets are marked and not dropped"));
    } else if policer_of(config).is_none() {
        reasons.push(("policed", "no policer is the sample's alone"));
    }
    reasons
}

/// Whether a rule of the sample or of the configuration looks behind the header of IP.
fn reads(config: &Config) -> bool {
    let looks = |list| config.all_rules(list).iter().any(|(_, rule)| rule.looks_behind());
    LISTS.into_iter().any(|list| config.rules_max(list) >= 2 || looks(list))
}

/// Rules of every kind in both lists, and packets that meet them and do not.
pub(super) fn lists(sample: &mut Sample) {
    for list in LISTS {
        if sample.config.rules_max(list) < 2 {
            continue;
        }
        // Each rule denies, before one that permits all.
        let all = AclRule::for_all(Action::Permit);
        sample.update(Update::SetRule { list, number: OPEN, rule: all });
        for rule in rules(sample, list) {
            sample.update(Update::SetRule { list, number: OPEN - 1, rule });
            packets(sample, "a packet before a rule");
        }
        let port = Some(Ports { first: 80, last: 80 });
        let rule = AclRule {
            protocol: Some(protocol::UDP),
            destination_ports: port,
            ..AclRule::for_all(Action::Deny)
        };
        sample.update(Update::SetRule { list, number: OPEN - 1, rule });
        headers::packets(sample);
        let unsound = Some(Ports { first: 2, last: 1 });
        let unsound = AclRule { source_ports: unsound, ..AclRule::for_all(Action::Deny) };
        sample.update(Update::SetRule { list, number: OPEN - 1, rule: unsound });
        packets(sample, "after a rule that cannot be");
        sample.update(Update::RemoveRule { list, number: OPEN - 1 });
        sample.update(Update::RemoveRule { list, number: OPEN - 1 });
        packets(sample, "without the rule again");
        if sample.config.all_rules(list).is_empty() {
            sample.update(Update::RemoveRule { list, number: OPEN });
            packets(sample, "without any rule");
        }
    }
}

/// A policer, alone and under a parent, until it says red; and again after a while.
pub(super) fn policers(sample: &mut Sample) {
    let Some(number) = policer_of(&sample.config) else { return };
    let parent = sample.config.policers_max() - 1;
    let copies = sample.section.generated.policers_generated;
    let has_room = parent >= sample.config.policers.len() as u32 + copies;
    if sample.config.police_by == PoliceBy::Acl {
        let rule = AclRule { policer: Some(number), ..AclRule::for_all(Action::Permit) };
        sample.update(Update::SetRule { list: List::Ingress, number: OPEN - 1, rule });
    }
    for algorithm in [Algorithm::Rfc2697, Algorithm::Rfc2698, Algorithm::Rfc4115] {
        for colour_aware in [false, true] {
            let policer = Policer { algorithm, colour_aware, ..SMALL };
            sample.update(Update::SetPolicer { number, policer });
            policed(sample);
            if has_room {
                let above = Policer { committed_burst: 500, excess_burst: 250, ..policer };
                sample.update(Update::SetPolicer { number: parent, policer: above });
                let child = Policer { parent: Some(parent), ..policer };
                sample.update(Update::SetPolicer { number, policer: child });
                policed(sample);
                sample.update(Update::RemovePolicer { number: parent });
                sample.update(Update::SetPolicer { number, policer });
                sample.update(Update::RemovePolicer { number: parent });
            }
        }
    }
    sample
        .update(Update::SetPolicer { number, policer: Policer { parent: Some(number), ..SMALL } });
    third_level(sample, number);
    if sample.config.police_by == PoliceBy::Acl {
        sample.update(Update::RemoveRule { list: List::Ingress, number: OPEN - 1 });
    }
    restore(sample, number);
}

/// No policer has a grandparent: neither one whose parent has a parent, nor one whose child is a
/// parent. What is refused changes no colour.
fn third_level(sample: &mut Sample, number: u32) {
    let copies = sample.section.generated.policers_generated;
    let configured = sample.config.policers.len() as u32 + copies;
    let [parent, other] = [1, 2].map(|from_end| sample.config.policers_max().checked_sub(from_end));
    let (Some(parent), Some(other)) = (parent, other.filter(|other| *other >= configured)) else {
        return;
    };
    if other <= number {
        return;
    }
    // Of the policers that the refused ones would have above them, one lets pass less than the
    // others: it would be seen.
    let tight = Policer { committed_burst: 200, excess_burst: 100, ..SMALL };
    let under = |policer, parent| Policer { parent: Some(parent), ..policer };
    sample.update(Update::SetPolicer { number: parent, policer: SMALL });
    sample.update(Update::SetPolicer { number, policer: under(SMALL, parent) });
    sample.update(Update::SetPolicer { number: other, policer: tight });
    sample.update(Update::SetPolicer { number: parent, policer: under(SMALL, other) });
    sample.update(Update::SetPolicer { number: other, policer: under(tight, number) });
    policed(sample);
    sample.update(Update::RemovePolicer { number: other });
    sample.update(Update::SetPolicer { number, policer: SMALL });
    sample.update(Update::RemovePolicer { number: parent });
}

/// Packets of each colour until all are red, a pause in which some tokens come, and more. What is
/// in a bucket then is no whole number of packets, so that no clock's rounding decides.
fn policed(sample: &mut Sample) {
    for pause in [Duration::from_millis(1550), Duration::ZERO] {
        for dscp in [0u8, 12, 14, 0, 10, 0, 12, 0, 0] {
            // By the code point, only packets of one meet the policer.
            let dscp = if sample.config.police_by == PoliceBy::Dscp { 0 } else { dscp };
            let mut sent = packet(sample.source(), sample.host(), protocol::UDP, &PAYLOAD);
            mark(&mut sent, dscp);
            sample.packet(UPLINK, "a packet for the policer", &sent);
        }
        sample.steps.push(Step::Wait(pause));
    }
}

/// The policer that the visitor's packets meet; none that is a parent, which is not the visitor's
/// alone.
fn policer_of(config: &Config) -> Option<u32> {
    let number = match config.police_by {
        PoliceBy::None => return None,
        PoliceBy::Acl if config.rules_max(List::Ingress) < 2 => return None,
        PoliceBy::Acl | PoliceBy::Dscp => 0,
        PoliceBy::Port => 1,
        PoliceBy::Source => {
            let among = config.policers_by_source?;
            among.first + hash_of(SOURCE.to_bits(), among.count)
        }
    };
    let is_parent = config.policers.iter().any(|policer| policer.parent == Some(number));
    (!is_parent).then_some(number)
}

/// The policers that packets of the sample meet which are not about policers.
fn policers_of(sample: &Sample) -> Vec<u32> {
    let numbers: &[u32] = match sample.config.police_by {
        PoliceBy::None | PoliceBy::Acl | PoliceBy::Source => &[],
        PoliceBy::Dscp => &[0],
        PoliceBy::Port => &[0, 1],
    };
    let is_parent =
        |number: &u32| sample.config.policers.iter().any(|policer| policer.parent == Some(*number));
    numbers.iter().copied().filter(|number| !is_parent(number)).collect()
}

/// A policer as the configuration has it.
fn restore(sample: &mut Sample, number: u32) {
    let listed = &sample.config.policers;
    let copies = sample.section.generated.policers_generated;
    let is_copy = (number as usize) < listed.len() + copies as usize;
    let policer = listed.get(number as usize).or(listed.last().filter(|_| is_copy)).copied();
    sample.update(match policer {
        Some(policer) => Update::SetPolicer { number, policer },
        None => Update::RemovePolicer { number },
    });
}

/// Rules that look at one thing each, and at several.
fn rules(sample: &Sample, list: List) -> Vec<AclRule> {
    let deny = AclRule::for_all(Action::Deny);
    let tcp = AclRule { protocol: Some(protocol::TCP), ..deny };
    let host = |address: IpAddr, len| Some(Prefixed { address, len });
    let ports = |first, last| Some(Ports { first, last });
    let (source, destination) = (IpAddr::from(sample.source()), IpAddr::from(sample.host()));
    vec![
        deny,
        AclRule { source: host(source, 32), ..deny },
        AclRule { source: host(source, 9), destination: host(destination, 32), ..deny },
        AclRule { destination: host(SOURCE_IPV6.into(), 32), ..deny },
        AclRule { destination: host(VISITED_HOST_IPV6.into(), 128), ..deny },
        AclRule { protocol: Some(protocol::TCP), ..deny },
        AclRule { source_ports: ports(39_999, 40_000), ..deny },
        AclRule { destination_ports: ports(9, 300), protocol: Some(protocol::UDP), ..deny },
        AclRule { destination_ports: ports(0, 65_535), ..deny },
        AclRule { dscp: Some(46), ..deny },
        AclRule { port: Some(sample.config.name_of(UPLINK)), ..deny },
        AclRule { port: Some(sample.config.name_of(DOWNLINK)), vlan: Some(0), ..deny },
        AclRule { vlan: Some(100), ..deny },
        AclRule {
            protocol: Some(protocol::ICMP),
            icmp_type: Some(40_000u16.to_be_bytes()[0]),
            ..deny
        },
        AclRule { protocol: Some(protocol::ICMP), icmp_code: Some(3), ..deny },
        AclRule { tcp_flags: Some(TcpFlags { set: 4, clear: 2 }), ..tcp },
        AclRule { tcp_flags: Some(TcpFlags { set: 0, clear: 4 }), ..tcp },
        AclRule { fragment: Some(Part::None), ..deny },
        AclRule { fragment: Some(Part::First), protocol: Some(protocol::UDP), ..deny },
        AclRule { fragment: Some(Part::Later), ..deny },
        AclRule { fragment: Some(Part::Any), ..tcp },
        AclRule {
            destination: host(destination, 24),
            destination_ports: ports(9, 9),
            protocol: Some(protocol::UDP),
            vlan: Some(if list == List::Ingress { 0 } else { 1 }),
            ..deny
        },
    ]
}

/// Packets with and without ports, options, extension headers, fragments among them.
fn packets(sample: &mut Sample, about: &'static str) {
    let (source, host) = (sample.source(), sample.host());
    for (number, ports) in [
        (protocol::UDP, (40_000, 9)),
        (protocol::UDP, (40_001, 301)),
        (protocol::TCP, (40_000, 256)),
        (protocol::ICMP, (40_000, 9)),
    ] {
        let mut sent = packet(source, host, number, &datagram(ports, &text(20)));
        if number == protocol::TCP {
            // A header of 20 bytes, without which some devices read none.
            sent[ipv4::HEADER_LEN + 12] = 0x50;
        }
        for port in sample.config.numbers() {
            sample.packet(port, about, &sent);
        }
        mark(&mut sent, 46);
        sample.packet(DOWNLINK, about, &sent);
        // A later fragment, and the first one.
        for offset in [1u16, 0x2000] {
            sent[6..8].copy_from_slice(&offset.to_be_bytes());
            sum(&mut sent);
            sample.packet(DOWNLINK, about, &sent);
        }
    }
    let short = packet(source, host, protocol::UDP, &[1, 2, 3]);
    sample.packet(DOWNLINK, about, &short);
    if !sample.config.ipv6 {
        return;
    }
    let plain = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, 60);
    sample.packet(DOWNLINK, about, &plain);
    for (kind, fragment) in [(0u8, 0u16), (60, 0), (44, 0), (44, 8), (44, 1), (43, 0), (51, 0)] {
        let [high, low] = fragment.to_be_bytes();
        let extension = [plain[6], 0, high, low, 0, 0, 0, 0];
        let about = if kind == protocol::AUTHENTICATION { AUTHENTICATED } else { about };
        for cut in [None, Some(44), Some(50)] {
            let mut sent = [&plain[..40], &extension, &plain[40..]].concat();
            sent.truncate(cut.unwrap_or(sent.len()));
            sent[6] = kind;
            let payload_len = sent.len() as u16 - 40;
            sent[4..6].copy_from_slice(&payload_len.to_be_bytes());
            sample.packet(DOWNLINK, about, &sent);
        }
    }
}

/// Gives a packet of IPv4 a code point.
fn mark(packet: &mut [u8], dscp: u8) {
    packet[1] = dscp << 2 | 1;
    sum(packet);
}

/// Writes the checksum of an IPv4 header without options.
fn sum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let sum = wire::checksum::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Not every device looks behind such a header.
const AUTHENTICATED: &str = "behind an authentication header";

const LISTS: [List; 2] = [List::Ingress, List::Egress];

/// A rule's number before all configured ones.
const OPEN: u32 = 5;

/// A datagram of 100 bytes of IP with its header.
const PAYLOAD: [u8; 80] = [0x77; 80];

/// Three such datagrams of each kind, and one more every second.
const SMALL: Policer = Policer {
    algorithm: Algorithm::Rfc4115,
    committed_rate: 800,
    committed_burst: 350,
    excess_rate: 800,
    excess_burst: 350,
    colour_aware: false,
    parent: None,
};
