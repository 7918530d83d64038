//! Datagrams in fragments: in order and out of it, too late, over one another, too short.
use crate::ports::DOWNLINK;
use std::time::Duration;

use function_l3_router::config::{AclRule, Action, Config, EarlyFragments, List, Ports};
use function_l3_router::control::Update;
use model_kit::build::{datagram, packet, packet_ipv6, set_word, text};
use model_kit::check::Step;
use wire::protocol;

use super::steps::{SOURCE_IPV6, Sample, VISITED_HOST_IPV6};

/// Drop reasons of virtual reassembly that a configuration does not have.
pub(super) fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
    let all = [
        "fragment-early",
        "fragment-malformed",
        "fragment-tiny",
        "fragment-overlap",
        "fragment-scattered",
    ];
    if !config.virtual_reassembly {
        return all.map(|reason| (reason, "fragments are not looked at")).to_vec();
    }
    match config.early_fragments {
        EarlyFragments::Drop => Vec::new(),
        EarlyFragments::Pass => vec![(all[0], "early fragments pass")],
    }
}

/// Fragments of many datagrams, each in one way out of the ordinary.
pub(super) fn reassembly(sample: &mut Sample) {
    if !sample.config.virtual_reassembly {
        return;
    }
    let has_list = sample.config.rules_max(List::Ingress) >= 2;
    let rule = AclRule {
        destination_ports: Some(Ports { first: 100, last: 199 }),
        ..AclRule::for_all(Action::Deny)
    };
    if has_list {
        let permit = AclRule::for_all(Action::Permit);
        sample.update(Update::SetRule { list: List::Ingress, number: 5, rule: permit });
        sample.update(Update::SetRule { list: List::Ingress, number: 4, rule });
    }
    for kind in [Kind::V4(protocol::UDP), Kind::V4(protocol::TCP), Kind::V6(false), Kind::V6(true)]
    {
        if matches!(kind, Kind::V6(_)) && !sample.config.ipv6 {
            continue;
        }
        datagrams(sample, kind);
    }
    for number in [protocol::ICMP, 50] {
        for part in [(0, 16, true), (16, 8, false)] {
            part_of(sample, Kind::V4(number), 77, part, "a fragment of what has no ports");
        }
    }
    many(sample);
    if has_list {
        sample.update(Update::RemoveRule { list: List::Ingress, number: 4 });
        let is_open = !sample.config.all_rules(List::Ingress).is_empty();
        if !is_open {
            sample.update(Update::RemoveRule { list: List::Ingress, number: 5 });
        }
    }
}

/// What is fragmented: a transport protocol over IPv4, or over IPv6, there also behind a header.
#[derive(Clone, Copy)]
enum Kind {
    V4(u8),
    V6(bool),
}

/// Start, length, and whether others follow.
type Part = (u16, usize, bool);

fn datagrams(sample: &mut Sample, kind: Kind) {
    let cases: [(&'static str, &[Part]); 12] = [
        ("in order", &[(0, 24, true), (24, 24, true), (48, 5, false)]),
        ("the last before the middle", &[(0, 24, true), (48, 5, false), (24, 24, true)]),
        ("the first one last", &[(24, 24, true), (48, 5, false), (0, 24, true)]),
        ("a repetition", &[(0, 24, true), (24, 24, true), (24, 24, true), (0, 24, true)]),
        ("over the first", &[(0, 32, true), (24, 24, true), (48, 8, false), (32, 8, true)]),
        ("over the next", &[(0, 24, true), (32, 24, true), (24, 16, true), (56, 8, false)]),
        ("beyond the end", &[(0, 24, true), (24, 8, false), (40, 8, true)]),
        ("two ends", &[(0, 24, true), (40, 8, false), (32, 8, false)]),
        ("an end within", &[(0, 24, true), (64, 8, true), (32, 8, false)]),
        ("no whole units", &[(0, 27, true), (24, 9, true), (32, 0, false), (65_528, 9, false)]),
        ("short", &[(0, 8, true), (8, 24, false)]),
        ("TCP's flags", &[(0, 24, true), (8, 24, true), (24, 8, true)]),
    ];
    for (number, (about, parts)) in (0..).zip(cases) {
        for &part in parts {
            part_of(sample, kind, 1000 + number, part, about);
        }
    }
    for place in 0..10 {
        part_of(sample, kind, 1100, (32 * place, 24, true), "many gaps");
    }
    part_of(sample, kind, 1200, (0, 24, true), "a first fragment");
    let timeout = Duration::from_millis(sample.config.reassembly_timeout_ms.into());
    sample.steps.push(Step::Wait(timeout * 3 / 4));
    part_of(sample, kind, 1200, (24, 24, true), "within the time");
    sample.steps.push(Step::Wait(timeout / 2));
    part_of(sample, kind, 1200, (48, 24, true), "after the time");
    part_of(sample, kind, 1200, (0, 24, true), "and again from the start");
    part_of(sample, kind, 1200, (24, 24, false), "to the end");
}

/// More datagrams at once than a small table remembers, and then the rest of each.
fn many(sample: &mut Sample) {
    for identification in 0..12 {
        part_of(sample, Kind::V4(protocol::UDP), identification, (0, 24, true), "many at once");
    }
    for identification in 0..12 {
        part_of(sample, Kind::V4(protocol::UDP), identification, (24, 8, false), "and their rest");
    }
}

/// A fragment of a datagram whose number tells its ports, too.
fn part_of(
    sample: &mut Sample,
    kind: Kind,
    identification: u16,
    (start, len, more): Part,
    about: &'static str,
) {
    // Every second one has a port that the rule of the sample denies.
    let port = if identification.is_multiple_of(2) { 150 } else { 9 };
    let mut data = datagram((40_000, port), &text(64));
    data.resize(data.len().max(len), 0);
    // What lies further on would be other ports.
    let data = if start == 0 { &data[..len] } else { &text(64)[..len] };
    let sent = match kind {
        Kind::V4(number) => {
            let mut sent = packet(sample.source(), sample.host(), number, data);
            set_word(4, identification)(&mut sent);
            set_word(6, (start / 8) | if more { 0x2000 } else { 0 })(&mut sent);
            sent
        }
        Kind::V6(is_behind) => ipv6(is_behind, identification, (start, more), data),
    };
    sample.packet(DOWNLINK, about, &sent);
}

fn ipv6(is_behind: bool, identification: u16, (start, more): (u16, bool), data: &[u8]) -> Vec<u8> {
    let next = if is_behind { 60 } else { protocol::UDP };
    let [high, low] = (start | u16::from(more)).to_be_bytes();
    let [a, b] = identification.to_be_bytes();
    let fragment = [next, 0, high, low, 0, 0, a, b];
    let options = [protocol::UDP, 0, 1, 4, 0, 0, 0, 0];
    let behind: &[u8] = if is_behind && start == 0 { &options } else { &[] };
    // The header counts among the bytes of the first part.
    let data = data.get(..data.len().saturating_sub(behind.len())).unwrap_or_default();
    let plain = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, 60);
    let mut sent = [&plain[..40], &fragment, behind, data].concat();
    sent[6] = 44;
    let payload_len = sent.len() as u16 - 40;
    sent[4..6].copy_from_slice(&payload_len.to_be_bytes());
    sent
}
