//! Access lists, policers and VRFs as flows.
//!
//! ```text
//! checks > ingress list > policer > routes, with the VRF > egress list > out of the port
//! ```
//! A rule's place in its list is its priority. A range of ports is as many flows as it takes
//! prefixes of bits. Registers carry what a packet's later tables ask for: the VRF, the port by
//! which it came in, the one by which it leaves, and the VLAN of either.

use function_kit::sections::function_key;
use keys::Invalid;
use model_kit::service::{Access, Bucket, Part, PoliceBy, Router, Rule};

use super::bridges::{Bridge, matching as network, number as number_of};
use super::openflow::Meter;
use crate::driver::Limitation;

/// Adds the tables of lists and policers between checks and routes.
pub(super) fn plan(bridge: &mut Bridge, router: &Router) {
    let Access { ingress, egress, police_by, policers } = &router.access;
    if !ingress.is_empty() || !egress.is_empty() {
        // Else a first fragment would have no ports.
        bridge.reads_first_fragments = true;
    }
    if police_by.is_some() {
        bridge.meters = policers
            .iter()
            .filter_map(|(number, buckets)| meter(*number, *buckets.first()?).ok())
            .collect();
    }
    let metered = |number: u32, then: &str| match policers.get(&number) {
        Some(buckets) if buckets.is_empty() => "drop".to_owned(),
        Some(_) => format!("meter:{},{then}", number + 1),
        None => then.to_owned(),
    };
    let to_routes = format!("goto_table:{ROUTES}");
    let next =
        if by_number(*police_by) { format!("goto_table:{POLICE}") } else { to_routes.clone() };
    list(bridge, INGRESS, ingress, CAME_IN, |rule| match rule.policer {
        Some(number) if *police_by == Some(PoliceBy::Rule) => metered(number, &to_routes),
        _ => next.clone(),
    });
    list(bridge, EGRESS, egress, LEAVES, |_| format!("output:{LEAVES}[]"));
    if by_number(*police_by) {
        for number in policers.keys() {
            let actions = metered(*number, &to_routes);
            let wanted = match police_by {
                Some(PoliceBy::Dscp) if *number < 64 => {
                    ["ip", "ipv6"].map(|kind| format!("{kind},nw_tos={}", number << 2)).to_vec()
                }
                Some(PoliceBy::Port) => {
                    vec![format!("{CAME_IN}={}", number_of(*number as usize))]
                }
                _ => Vec::new(),
            };
            for wanted in wanted {
                bridge.flow(format_args!("table={POLICE},priority=10,{wanted},actions={actions}"));
            }
        }
        bridge.flow(format_args!("table={POLICE},priority=1,actions={to_routes}"));
    }
}

/// Returns the table behind the checks.
pub(super) fn first_table(router: &Router) -> u8 {
    match (router.access.ingress.is_empty(), by_number(router.access.police_by)) {
        (false, _) => INGRESS,
        (true, true) => POLICE,
        (true, false) => ROUTES,
    }
}

/// Returns the actions that note what later tables ask for of a packet that came in by a port.
pub(super) fn note(router: &Router, port: usize, vlan: u16, vrf: u16) -> String {
    let mut actions = String::new();
    let names_port = router.access.ingress.iter().any(|rule| rule.port.is_some());
    if names_port || router.access.police_by == Some(PoliceBy::Port) {
        actions += &format!("load:{}->{CAME_IN}[],", number_of(port));
    }
    if vlan > 0 && router.access.ingress.iter().any(|rule| rule.vlan.is_some()) {
        actions += &format!("load:{vlan}->{VLAN}[],");
    }
    if vrf > 0 {
        actions += &format!("load:{vrf}->{VRF}[],");
    }
    actions
}

/// Returns the match of a VRF, where there are several.
pub(super) fn in_vrf(router: &Router, vrf: u16) -> String {
    if router.vrfs().len() > 1 { format!("{VRF}={vrf},") } else { String::new() }
}

/// Returns the actions that let a packet out by a port: the egress list decides, if there is one.
pub(super) fn leave(router: &Router, port: u32, vlan: Option<u16>) -> String {
    let vlan = vlan.unwrap_or(0);
    match router.access.egress.is_empty() {
        true => format!("output:{port}"),
        false => format!("load:{port}->{LEAVES}[],load:{vlan}->{VLAN}[],goto_table:{EGRESS}"),
    }
}

/// Returns true if a table finds the policer of a packet, and not a rule.
fn by_number(police_by: Option<PoliceBy>) -> bool {
    matches!(police_by, Some(PoliceBy::Port | PoliceBy::Dscp))
}

/// Adds the table of a list. What none of its flows matches is dropped.
fn list(
    bridge: &mut Bridge,
    table: u8,
    rules: &[Rule],
    register: &str,
    passes: impl Fn(&Rule) -> String,
) {
    for (rule, place) in rules.iter().zip(1u16..) {
        let priority = u16::MAX - place;
        let actions = if rule.permits { passes(rule) } else { "drop".to_owned() };
        for wanted in matching(rule, register) {
            bridge
                .flow(format_args!("table={table},priority={priority},{wanted},actions={actions}"));
        }
    }
}

/// Returns the matches of a rule, any of which may match; none where the rule cannot match.
fn matching(rule: &Rule, register: &str) -> Vec<String> {
    let mut found = Vec::new();
    for is_ipv4 in [true, false].into_iter().filter(|&is_ipv4| rule.is_of(is_ipv4)) {
        let mut words = vec![if is_ipv4 { "ip" } else { "ipv6" }.to_owned()];
        for (word, prefix) in [("src", rule.source), ("dst", rule.destination)] {
            words.extend(prefix.map(|(address, len)| {
                let text = network(address, len, word);
                text.split_once(',').map_or(text.clone(), |(_, rest)| rest.to_owned())
            }));
        }
        words.extend(rule.dscp.map(|dscp| format!("nw_tos={}", u32::from(dscp) << 2)));
        words
            .extend(rule.port.map(|port| format!("{register}={}", number_of(usize::from(port.0)))));
        words.extend(rule.vlan.map(|vlan| format!("{VLAN}={vlan}")));
        let Some(part) = part(rule) else { continue };
        words.extend(part.map(str::to_owned));
        let words = words.join(",");
        found.extend(transport(rule, is_ipv4).iter().map(|end| format!("{words}{end}")));
    }
    found
}

/// Returns the match of a fragment; `Some(None)` for any packet, `None` where nothing matches.
/// What a rule says of ports, ICMP or flags is not in a later fragment.
fn part(rule: &Rule) -> Option<Option<&'static str>> {
    match (rule.part, asks_of_transport(rule)) {
        (None, false) => Some(None),
        (None, true) => Some(Some("nw_frag=not_later")),
        (Some(Part::Whole), _) => Some(Some("nw_frag=no")),
        (Some(Part::Any), false) => Some(Some("nw_frag=yes")),
        (Some(Part::First), _) | (Some(Part::Any), true) => Some(Some("nw_frag=first")),
        (Some(Part::Later), false) => Some(Some("nw_frag=later")),
        (Some(Part::Later), true) => None,
    }
}

fn asks_of_transport(rule: &Rule) -> bool {
    rule.source_ports.is_some()
        || rule.destination_ports.is_some()
        || rule.icmp_type.is_some()
        || rule.icmp_code.is_some()
        || rule.tcp_flags.is_some()
}

/// Returns the ends of matches with protocol, ports, type and flags, each with its commas.
fn transport(rule: &Rule, is_ipv4: bool) -> Vec<String> {
    let has_ports = rule.source_ports.is_some() || rule.destination_ports.is_some();
    if has_ports {
        let protocols: Vec<u8> = match rule.protocol {
            None => WITH_PORTS.to_vec(),
            Some(one) => WITH_PORTS.iter().copied().filter(|&known| known == one).collect(),
        };
        let sources = masks("tp_src", rule.source_ports);
        let destinations = masks("tp_dst", rule.destination_ports);
        let flags = tcp_flags(rule);
        let pairs = sources.iter().flat_map(|source| {
            destinations.iter().map(move |destination| format!("{source}{destination}"))
        });
        let pairs: Vec<String> = pairs.collect();
        return protocols
            .iter()
            .flat_map(|protocol| {
                let flags = &flags;
                pairs.iter().map(move |pair| format!(",nw_proto={protocol}{pair}{flags}"))
            })
            .collect();
    }
    let Some(protocol) = rule.protocol else { return vec![String::new()] };
    if rule.icmp_type.is_some() || rule.icmp_code.is_some() {
        if protocol != if is_ipv4 { 1 } else { 58 } {
            return Vec::new();
        }
        let icmp = if is_ipv4 { "icmp" } else { "icmpv6" };
        let word = |word: &str, value: Option<u8>| {
            value.map_or(String::new(), |value| format!(",{icmp}_{word}={value}"))
        };
        let (kind, code) = (word("type", rule.icmp_type), word("code", rule.icmp_code));
        return vec![format!(",nw_proto={protocol}{kind}{code}")];
    }
    vec![format!(",nw_proto={protocol}{}", tcp_flags(rule))]
}

fn tcp_flags(rule: &Rule) -> String {
    let flags = rule.tcp_flags.filter(|(set, clear)| set | clear > 0);
    flags.map_or(String::new(), |(set, clear)| format!(",tcp_flags={set:#x}/{:#x}", set | clear))
}

/// Returns the matches of a range of ports, the fewest values with masks that make it up.
fn masks(word: &str, ports: Option<(u16, u16)>) -> Vec<String> {
    let Some((first, last)) = ports else { return vec![String::new()] };
    let mut found = Vec::new();
    let mut from = u32::from(first);
    while from <= u32::from(last) {
        let left = u32::from(last) - from + 1;
        // As many as the lowest set bit of the first and what is left allow.
        let count = (1 << from.trailing_zeros().min(16)).min(1 << left.ilog2());
        found.push(match count {
            1 => format!(",{word}={from}"),
            65_536 => String::new(),
            count => format!(",{word}={from:#x}/{:#x}", 65_536 - count),
        });
        from += count;
    }
    found
}

/// Returns the meter of a bucket in kbit/s and kbit; the burst has room for the Ethernet headers,
/// which meters count, of the shortest packets that fit into it.
fn meter(number: u32, bucket: Bucket) -> Result<Meter, String> {
    let Bucket { rate_bits_per_s, burst_bytes } = bucket;
    if rate_bits_per_s == 0 || rate_bits_per_s % 1000 > 0 {
        return Err(format!(
            "has a rate of {rate_bits_per_s} bit/s, which meters have in whole kbit/s"
        ));
    }
    let kilobits = |bits: u64| u32::try_from(bits).ok().filter(|&one| one <= u32::MAX >> 1);
    let headers = burst_bytes.saturating_mul(wire::ethernet::HEADER_LEN as u64) / SHORTEST;
    let burst = burst_bytes.saturating_add(headers).saturating_mul(8).div_ceil(1000);
    match (kilobits(rate_bits_per_s / 1000), kilobits(burst)) {
        (Some(rate_kbps), Some(burst_kbit)) => Ok(Meter { id: number + 1, rate_kbps, burst_kbit }),
        _ => Err("has a rate or a burst above that of meters".to_owned()),
    }
}

/// Returns what the switch does differently of lists and policers.
///
/// # Errors
/// When flows or meters cannot express them; the error names the key.
pub(super) fn limitations(router: &Router) -> Result<Vec<Limitation>, Invalid> {
    let Access { ingress, egress, policers, police_by } = &router.access;
    for (key, rules) in [("ingress-acl", ingress), ("egress-acl", egress)] {
        of_list(key, rules)?;
    }
    let elsewhere = "or use the device embedded or process";
    for (number, buckets) in policers {
        let refuse = |what: &str, remedy: &str| {
            let what = format!("ovs: policer {number} {what}");
            Err(function_key("policers", what, &format!("{remedy}, {elsewhere}")))
        };
        if buckets.len() > 1 {
            let what = "has two buckets, while a meter has one";
            return refuse(what, "give `excess-burst: 0`");
        }
        if *number >= METERS_MAX {
            return refuse("is beyond the last meter", "give fewer policers");
        }
        for bucket in buckets {
            if let Err(what) = meter(*number, *bucket) {
                return refuse(&what, "give a multiple of 1000 bit/s");
            }
        }
    }
    let mut found = Vec::new();
    if ingress.iter().chain(egress).any(Rule::looks_behind) {
        found.push(Limitation {
            what: "a list does not drop what it cannot read, knows ports of TCP, UDP and SCTP \
                   alone, of TCP with a sound header, and of IPv6 neither protocols of later \
                   fragments nor headers of mobility, HIP and experiments"
                .to_owned(),
            verdicts: vec!["acl-unreadable"],
            steps: HEADERS.to_vec(),
        });
    }
    if police_by.is_some() {
        found.push(Limitation {
            what: "meters count frames with their Ethernet headers instead of packets, with a \
                   time resolution of one millisecond"
                .to_owned(),
            verdicts: vec!["policed"],
            ..Limitation::default()
        });
    }
    Ok(found)
}

fn of_list(key: &str, rules: &[Rule]) -> Result<(), Invalid> {
    let elsewhere = "or use the device embedded or process";
    if rules.len() > RULES_MAX {
        let what = format!("{} rules are more than flows have priorities", rules.len());
        let remedy = format!("use at most {RULES_MAX} rules, {elsewhere}");
        return Err(function_key(key, what, &remedy));
    }
    let is_unread = |rule: &Rule| {
        let names_ports = rule.source_ports.is_some() || rule.destination_ports.is_some();
        names_ports && rule.protocol.is_some_and(|protocol| [33, 136].contains(&protocol))
    };
    if let Some(place) = rules.iter().position(is_unread) {
        let what = format!(
            "ovs: number {place} looks at ports of DCCP or UDP-Lite, which flows cannot match"
        );
        let remedy = format!("remove the ports, {elsewhere}");
        return Err(function_key(key, what, &remedy));
    }
    let flows: usize = rules.iter().map(|rule| matching(rule, LEAVES).len()).sum();
    if flows > FLOWS_MAX {
        let what = format!("ovs: its ranges of ports are {flows} flows, more than are added");
        let remedy = format!("use narrower or aligned ranges or fewer rules, {elsewhere}");
        return Err(function_key(key, what, &remedy));
    }
    Ok(())
}

/// Steps of the sample with headers of IPv6 that the switch reads otherwise, or with TCP that has
/// no header of its length.
const HEADERS: [&str; 13] = [
    "behind an authentication header",
    "behind many headers",
    "behind a header of each kind",
    "nothing behind a header",
    "a header longer than its packet",
    "parts of datagrams",
    "parts that end with their headers",
    "TCP",
    "IPv6: TCP",
    // Among these are later fragments of IPv6.
    "a packet before a rule",
    "after a rule that cannot be",
    "without the rule again",
    "without any rule",
];

/// Protocols whose ports the switch reads: TCP, UDP, SCTP.
const WITH_PORTS: [u8; 3] = [6, 17, 132];

/// Bytes of the shortest packet in a frame of Ethernet.
const SHORTEST: u64 = 46;

const VRF: &str = "reg0";
const CAME_IN: &str = "reg1";
const LEAVES: &str = "reg2";
const VLAN: &str = "reg3";

pub(super) const INGRESS: u8 = 2;
const POLICE: u8 = 3;
pub(super) const ROUTES: u8 = 4;
const EGRESS: u8 = 5;

/// Rules of a list: each has a priority of its own, of 16 bits.
const RULES_MAX: usize = 65_000;

/// Flows of a list, of about a kilobyte each.
const FLOWS_MAX: usize = 1_000_000;

/// Meters that the switch's own datapath has.
const METERS_MAX: u32 = 262_143;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_ports_is_made_up_of_masks_without_gap_or_overlap() {
        let value = |text: &str| {
            let text = text.trim_start_matches("0x");
            u16::from_str_radix(text, 16).expect("a number")
        };
        for (first, last) in [(0, 65_535), (1, 65_534), (80, 80), (1000, 2999), (65_535, 65_535)] {
            let all = masks("tp_src", Some((first, last)));
            assert!(all.len() <= 30, "{all:?}");
            let covers = |one: &String, port: u16| match one.trim_start_matches(",tp_src=") {
                "" => true,
                one => match one.split_once('/') {
                    Some((base, mask)) => port & value(mask) == value(base),
                    None => one.parse() == Ok(port),
                },
            };
            for port in 0..=65_535 {
                let count = all.iter().filter(|one| covers(one, port)).count();
                assert_eq!(count, usize::from((first..=last).contains(&port)), "{port}: {all:?}");
            }
        }
    }

    #[test]
    fn what_no_flow_can_say_is_refused_by_its_key() {
        let refused = |access| {
            let router = Router { access, ..Router::default() };
            let error = limitations(&router).expect_err("flows cannot say it");
            (error.key.clone(), format!("{}; {}", error.what, error.remedy))
        };
        let list = |rule| Access { ingress: vec![rule], ..Access::default() };
        let lite = Rule { protocol: Some(136), source_ports: Some((1, 2)), ..Rule::default() };
        let (key, text) = refused(list(lite));
        assert!(key == "ingress-acl" && text.contains("UDP-Lite"), "{key}: {text}");
        let policer = |buckets: &[(u64, u64)]| Access {
            police_by: Some(PoliceBy::Port),
            policers: [(
                0,
                buckets
                    .iter()
                    .map(|&(rate_bits_per_s, burst_bytes)| Bucket { rate_bits_per_s, burst_bytes })
                    .collect(),
            )]
            .into(),
            ..Access::default()
        };
        let (key, text) = refused(policer(&[(1000, 100), (1000, 100)]));
        assert!(key == "policers" && text.contains("`excess-burst: 0`"), "{key}: {text}");
        assert!(refused(policer(&[(800, 100)])).1.contains("whole kbit/s"));
        let many = Access { egress: vec![Rule::default(); RULES_MAX + 1], ..Access::default() };
        assert_eq!(refused(many).0, "egress-acl");
    }
}
