//! Access lists and policers as rules of nftables.
//!
//! ```text
//! ingress  prerouting > chain of the list > chain of the policer > routing
//! egress   forward, when the route is known > chain of the list
//! ```
//! Each version of IP has a chain of its own for each list, whose rules stand in the order of the
//! list and count what they decide. The chain before it drops what cannot be read as far as the
//! list looks, as [`Rule::looks_behind`] tells. Deliberately absent: sets and maps in place of
//! rules, which would need rules without an order.

use std::fmt::Write as _;

use function_kit::sections::function_key;
use keys::Invalid;
use model_kit::service::{Access, Bucket, Part, PoliceBy, Router, Rule, network};

use super::commands::Plan;
use crate::driver::Limitation;

/// Adds lists and policers of a router to the plan.
pub(super) fn plan(plan: &mut Plan, router: &Router, names: &[&str]) {
    let Access { ingress, egress, police_by, policers } = &router.access;
    let has_none = ingress.is_empty() && egress.is_empty() && police_by.is_none();
    if !has_none || router.routes.iter().any(|route| route.len < SHORT) {
        // The kernel routes them, the first network since its release 5.3.
        plan.nft += "table inet martians {\n\
                     chain enter { type filter hook prerouting priority raw; policy accept;\n\
                     ip saddr { 0.0.0.0/8, 240.0.0.0/4 } drop\n\
                     ip daddr { 0.0.0.0/8, 240.0.0.0/4 } drop\n\
                     ip6 daddr ::/127 drop\n}\n}\n";
    }
    if has_none {
        return;
    }
    let mut chains = String::new();
    for (number, buckets) in policers {
        policer(&mut chains, *number, buckets);
    }
    let next = match police_by {
        // Rules do not choose policers here: `limits` refuses that.
        None | Some(PoliceBy::Rule) => "accept",
        Some(by) => {
            for is_ipv4 in [true, false] {
                police(&mut chains, *by, router, names, is_ipv4);
            }
            "goto police"
        }
    };
    let mut enter = exempt(router);
    let mut leave = String::new();
    for (version, is_ipv4) in [(4, true), (6, false)] {
        let passes = if next == "accept" { next.to_owned() } else { format!("{next}{version}") };
        let wanted = format!("meta nfproto ipv{version}");
        let ingress = List { name: "ingress", rules: ingress, way: "iifname", passes };
        let passes = "accept".to_owned();
        let egress = List { name: "egress", rules: egress, way: "oifname", passes };
        for (list, from) in [(ingress, &mut enter), (egress, &mut leave)] {
            let first = list.chains(&mut chains, names, is_ipv4);
            let _ = writeln!(from, "{wanted} {first}");
        }
    }
    let _ = write!(
        plan.nft,
        "table inet services {{\n{}{chains}\
         chain enter {{ type filter hook prerouting priority mangle; policy accept;\n{enter}}}\n\
         chain leave {{ type filter hook forward priority filter; policy accept;\n{leave}}}\n}}\n",
        COUNTERS.map(|name| format!("counter {name} {{ }}\n")).concat()
    );
}

/// Returns rules for packets that meet no list: Neighbor Discovery, and those that are dropped in
/// any case, for which no policer may be charged.
fn exempt(router: &Router) -> String {
    let mut rules = "ip6 saddr { ::/127, fe80::/10, ff00::/8 } accept\n\
                     ip6 daddr { ::/127, fe80::/10, ff00::/8 } accept\n"
        .to_owned();
    let own: Vec<String> = (router.interfaces.iter())
        .filter_map(|own| own.ipv6.map(|(address, _)| address.to_string()))
        .collect();
    if !own.is_empty() {
        let _ = writeln!(
            rules,
            "ip6 daddr {{ {} }} ip6 nexthdr ipv6-icmp ip6 hoplimit 255 @th,0,8 133-136 accept",
            own.join(", ")
        );
    }
    if router.access.police_by.is_some() {
        let nobodys = "{ 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/3 }";
        let _ = write!(
            rules,
            "meta pkttype != host accept\n\
             ip saddr {nobodys} accept\nip daddr {nobodys} accept\n\
             ip ttl < 2 accept\nip6 hoplimit < 2 accept\n"
        );
    }
    rules
}

/// One of the two access lists.
struct List<'a> {
    name: &'static str,
    rules: &'a [Rule],
    /// The words by which a rule names an interface.
    way: &'static str,
    /// What becomes of packets that it permits.
    passes: String,
}

impl List<'_> {
    /// Adds the chains of the list for a version of IP; returns the verdict that leads to them.
    fn chains(&self, chains: &mut String, names: &[&str], is_ipv4: bool) -> String {
        let List { name, rules, way, passes } = self;
        if rules.is_empty() {
            return passes.clone();
        }
        let version = if is_ipv4 { 4 } else { 6 };
        let looks = rules.iter().any(|rule| rule.is_of(is_ipv4) && rule.looks_behind());
        let all: &[(&str, bool)] =
            if looks { &[("", false), ("_later", true)] } else { &[("", false)] };
        let denies = format!("counter name \"acl_{name}\" drop");
        for (end, is_later) in all {
            let _ = writeln!(chains, "chain {name}{version}{end} {{");
            for rule in rules.iter().filter(|rule| rule.is_of(is_ipv4)) {
                let verdict = if rule.permits { passes } else { &denies };
                for wanted in matching(rule, (is_ipv4, *is_later), way, names) {
                    let _ = writeln!(chains, "{wanted}counter {verdict}");
                }
            }
            let _ = writeln!(chains, "{denies}\n}}");
        }
        if !looks {
            return format!("goto {name}{version}");
        }
        readable(chains, &format!("{name}{version}"), is_ipv4);
        format!("goto {name}{version}_read")
    }
}

/// Adds the chain in front of a list that drops what cannot be read so far (RFC 1858 section 3,
/// RFC 7112 section 5). A rule that asks for a byte does not match where there is none. Later
/// fragments have a chain of their own, because the kernel reads ports of them, too.
fn readable(chains: &mut String, list: &str, is_ipv4: bool) {
    let (goto, later) = (format!("goto {list}"), format!("goto {list}_later"));
    let unreadable = "counter name \"acl_unreadable\" drop";
    // A later fragment must not overwrite the flags of TCP, and its header has to be whole.
    let (of_parts, unread) = if is_ipv4 {
        let of_parts = format!(
            "ip frag-off & 0x1fff > 1 {later}\n\
             ip frag-off & 0x1fff == 1 ip protocol != 6 {later}\n\
             ip frag-off & 0x1fff == 1 {unreadable}\n"
        );
        (of_parts, "")
    } else {
        let of_parts = format!(
            "frag frag-off > 1 frag id >= 0 meta l4proto >= 0 {later}\n\
             frag frag-off 1 frag id >= 0 meta l4proto != 6 {later}\n\
             frag frag-off > 0 {unreadable}\n"
        );
        (of_parts, UNREAD)
    };
    let shows = |last_byte: u32| format!("@th,{},8 & 1 != 2", 8 * last_byte);
    let _ = write!(
        chains,
        "chain {list}_read {{\n{of_parts}\
         meta l4proto 6 {} {goto}\n\
         meta l4proto {{ 1, 17, 33, 58, 132, 136 }} {} {goto}\n\
         meta l4proto != {{ 1, 6, 17, 33, 58, 132, 136{unread} }} {goto}\n\
         {unreadable}\n}}\n",
        shows(15),
        shows(7)
    );
}

/// Returns the words of nftables for the packets that a rule matches, each with a final space; of
/// several any matches. None where the rule cannot match, as one for ports cannot where the packets
/// are later fragments.
fn matching(
    rule: &Rule,
    (is_ipv4, is_later): (bool, bool),
    way: &str,
    names: &[&str],
) -> Vec<String> {
    let ip = if is_ipv4 { "ip" } else { "ip6" };
    let mut words = String::new();
    let mut say = |word: std::fmt::Arguments<'_>| {
        let _ = write!(words, "{word} ");
    };
    // No interface has a tag.
    if rule.vlan.is_some_and(|vlan| vlan > 0)
        || is_later
            && (asks_of_transport(rule) || matches!(rule.part, Some(Part::Whole | Part::First)))
    {
        return Vec::new();
    }
    if let Some(port) = rule.port {
        match names.get(usize::from(port.0)) {
            Some(name) => say(format_args!("{way} \"{name}\"")),
            None => return Vec::new(),
        }
    }
    for (word, prefix) in [("saddr", rule.source), ("daddr", rule.destination)] {
        if let Some((address, len)) = prefix.filter(|(_, len)| *len > 0) {
            say(format_args!("{ip} {word} {}/{len}", network(address, len)));
        }
    }
    if let Some(dscp) = rule.dscp {
        say(format_args!("{ip} dscp {dscp}"));
    }
    let ports = [("sport", rule.source_ports), ("dport", rule.destination_ports)];
    match rule.protocol {
        Some(protocol) => say(format_args!("meta l4proto {protocol}")),
        None if ports.iter().any(|(_, ports)| ports.is_some()) => {
            say(format_args!("meta l4proto {{ {WITH_PORTS} }}"));
        }
        None => {}
    }
    for (word, ports) in ports.into_iter().filter_map(|(word, ports)| Some((word, ports?))) {
        let has_ports = |protocol| WITH_PORTS.split(", ").any(|one| one == format!("{protocol}"));
        if !rule.protocol.is_none_or(has_ports) {
            return Vec::new();
        }
        match ports {
            // Whatever has ports has one of these.
            (0, u16::MAX) => {}
            (first, last) if first == last => say(format_args!("th {word} {first}")),
            (first, last) => say(format_args!("th {word} {first}-{last}")),
        }
    }
    if let Some(kind) = rule.icmp_type {
        say(format_args!("@th,0,8 {kind}"));
    }
    if let Some(code) = rule.icmp_code {
        say(format_args!("@th,8,8 {code}"));
    }
    if let Some((set, clear)) = rule.tcp_flags {
        say(format_args!("@th,104,8 & {} == {set}", set | clear));
    }
    let parts: &[&str] = match (rule.part, is_ipv4) {
        // What is no later fragment is whole or the first one.
        (None, _) => &[""],
        _ if is_later => &[""],
        (Some(Part::Later), _) => &[],
        (Some(Part::Whole), true) => &["ip frag-off & 0x2000 == 0 "],
        (Some(Part::Any | Part::First), true) => &["ip frag-off & 0x2000 != 0 "],
        // RFC 6946: a datagram in one part is a whole one.
        (Some(Part::Whole), false) => &["exthdr frag missing ", "frag more-fragments 0 "],
        (Some(Part::Any | Part::First), false) => &["frag more-fragments 1 "],
    };
    parts.iter().map(|part| format!("{words}{part}")).collect()
}

/// Returns true if a rule asks for what no later fragment has.
fn asks_of_transport(rule: &Rule) -> bool {
    let ports = rule.source_ports.or(rule.destination_ports).is_some();
    ports || rule.icmp_type.or(rule.icmp_code).is_some() || rule.tcp_flags.is_some()
}

/// Adds a policer: its buckets in turn, common to both versions of IP.
fn policer(chains: &mut String, number: u32, buckets: &[Bucket]) {
    let mut rules = String::new();
    for (place, bucket) in buckets.iter().enumerate() {
        let Ok((rate, burst)) = limit(*bucket) else { continue };
        let name = format!("policer{number}_{place}");
        let _ = writeln!(chains, "limit {name} {{ rate {rate} bytes/second burst {burst} bytes }}");
        let _ = writeln!(rules, "limit name \"{name}\" accept");
    }
    let _ = write!(chains, "chain policer{number} {{\n{rules}counter name \"policed\" drop\n}}\n");
}

/// Adds the chain that finds a packet's policer, where no rule tells it.
fn police(chains: &mut String, by: PoliceBy, router: &Router, names: &[&str], is_ipv4: bool) {
    let (version, ip) = if is_ipv4 { (4, "ip") } else { (6, "ip6") };
    let numbers = router.access.policers.keys();
    let (key, pairs): (_, Vec<String>) = match by {
        PoliceBy::Dscp => {
            let is_one = |number: &&u32| **number <= DSCP_MAX;
            let pair = |number| format!("{number} : goto policer{number}");
            (format!("{ip} dscp"), numbers.filter(is_one).map(pair).collect())
        }
        PoliceBy::Rule | PoliceBy::Port => {
            let pair = |number: &u32| {
                let name = names.get(*number as usize)?;
                Some(format!("\"{name}\" : goto policer{number}"))
            };
            ("iifname".to_owned(), numbers.filter_map(pair).collect())
        }
    };
    let rule = match pairs.as_slice() {
        [] => String::new(),
        some => format!("{key} vmap {{ {} }}\n", some.join(", ")),
    };
    let _ = write!(chains, "chain police{version} {{\n{rule}accept\n}}\n");
}

/// Returns rate and burst of a bucket as nftables counts them, in bytes; else why there are none.
/// What `limit` holds is one second of its rate in addition to its burst.
fn limit(bucket: Bucket) -> Result<(u64, u64), (String, String)> {
    let Bucket { rate_bits_per_s, burst_bytes } = bucket;
    let rate = rate_bits_per_s / 8;
    if rate == 0 || rate_bits_per_s % 8 > 0 {
        return Err((
            format!("has a rate of {rate_bits_per_s} bit/s, which nftables has in whole byte/s"),
            "give a multiple of 8 bit/s".to_owned(),
        ));
    }
    if burst_bytes > HELD_MAX {
        let what = format!("holds {burst_bytes} bytes, more than nftables can count");
        return Err((what, format!("give a burst of at most {HELD_MAX} bytes")));
    }
    let burst = burst_bytes.checked_sub(rate).ok_or_else(|| {
        let what = format!(
            "holds {burst_bytes} bytes, while a meter of nftables holds at least what its rate of \
             {rate_bits_per_s} bit/s yields in a second"
        );
        let remedy = format!("give its bucket {rate} bytes or more, or a lower rate");
        (what, remedy)
    })?;
    Ok((rate, burst))
}

/// Returns what the kernel does differently of lists and policers.
///
/// # Errors
/// When nftables has no meter for a policer.
pub(super) fn limitations(router: &Router) -> Result<Vec<Limitation>, Invalid> {
    let Access { ingress, egress, policers, .. } = &router.access;
    for (number, buckets) in policers {
        for bucket in buckets {
            limit(*bucket).map_err(|(what, remedy)| {
                let remedy = format!("{remedy}, or use the device embedded, process or ovs");
                function_key("policers", format!("linux: policer {number} {what}"), &remedy)
            })?;
        }
    }
    let mut found = Vec::new();
    if !policers.is_empty() {
        found.push(Limitation {
            what: "policers charge for packets with faulty options, which the kernel drops later"
                .to_owned(),
            steps: OPTIONS.to_vec(),
            ..Limitation::default()
        });
    }
    let looks = |rule: &Rule| rule.is_of(false) && rule.looks_behind();
    if ingress.iter().chain(egress).any(looks) {
        found.push(Limitation {
            what: "lists read IPv6 as the kernel does: any number of extension headers, nothing \
                   behind those of authentication, mobility, HIP and experiments, and of \
                   fragments the first header alone"
                .to_owned(),
            steps: HEADERS.to_vec(),
            ..Limitation::default()
        });
    }
    Ok(found)
}

/// Steps of the sample with options that are none.
const OPTIONS: [&str; 9] = [
    "a header with options that are no options",
    "an option shorter than itself",
    "an option longer than the header",
    "an option without a length",
    "IPv6: one that says: discard",
    "IPv6: one that says: tell",
    "IPv6: one that says: tell, but of no group",
    "IPv6: an option that is longer than its header",
    "IPv6: an option without a length",
];

/// Steps of the sample with headers of IPv6 that the kernel reads otherwise.
const HEADERS: [&str; 7] = [
    "behind an authentication header",
    "behind many headers",
    "behind a header of each kind",
    "nothing behind a header",
    "a header longer than its packet",
    "parts of datagrams",
    "parts that end with their headers",
];

/// Counters of what is dropped, by the reasons of the function.
const COUNTERS: [&str; 4] = ["acl_ingress", "acl_egress", "acl_unreadable", "policed"];

/// Extension headers behind which the kernel does not look, as further elements of a set.
const UNREAD: &str = ", 51, 135, 139, 140, 253, 254";

/// Protocols with two ports at their beginning: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: &str = "6, 17, 33, 132, 136";

/// Length of a prefix below which a route may lead to addresses that no packet may have.
const SHORT: u8 = 8;

/// The largest code point.
const DSCP_MAX: u32 = 63;

/// Most bytes of a bucket: the kernel counts them as nanoseconds times bytes, in 64 bits.
const HELD_MAX: u64 = 10_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_below_a_second_of_its_rate_has_no_meter() {
        let bucket = |rate_bits_per_s, burst_bytes| limit(Bucket { rate_bits_per_s, burst_bytes });
        assert_eq!(bucket(800, 350), Ok((100, 250)), "the second that it holds is not added");
        assert_eq!(bucket(800, 100), Ok((100, 0)));
        let (what, remedy) = bucket(1_000_000_000, 100_000).expect_err("too little");
        assert!(what.contains("in a second") && remedy.contains("125000000 bytes"), "{remedy}");
        assert!(bucket(801, 350).is_err() && bucket(0, 350).is_err());
        assert!(bucket(8, HELD_MAX + 1).is_err());
    }

    #[test]
    fn a_rule_is_said_in_words_of_nftables() {
        let rule = Rule {
            source: Some(("10.1.2.3".parse().expect("an address"), 16)),
            destination_ports: Some((80, 443)),
            part: Some(Part::First),
            port: Some(packet::PortId(1)),
            dscp: Some(46),
            ..Rule::default()
        };
        let first = (true, false);
        let said = matching(&rule, first, "iifname", &["a", "b"]);
        assert_eq!(
            said,
            ["iifname \"b\" ip saddr 10.1.0.0/16 ip dscp 46 meta l4proto { 6, 17, 33, 132, 136 } \
              th dport 80-443 ip frag-off & 0x2000 != 0 "]
        );
        let tagged = Rule { vlan: Some(7), ..Rule::default() };
        assert_eq!(matching(&tagged, first, "iifname", &["a"]), Vec::<String>::new());
        let of_icmp = Rule { protocol: Some(1), source_ports: Some((1, 2)), ..Rule::default() };
        assert_eq!(matching(&of_icmp, (false, false), "iifname", &["a"]), Vec::<String>::new());
        let whole = Rule { part: Some(Part::Whole), ..Rule::default() };
        assert_eq!(matching(&whole, (false, false), "iifname", &["a"]).len(), 2);
        assert_eq!(matching(&Rule::default(), (false, false), "iifname", &[]), [""]);
        for none in [rule, whole] {
            assert_eq!(matching(&none, (true, true), "iifname", &["a", "b"]), Vec::<String>::new());
        }
        let later = Rule { part: Some(Part::Later), ..Rule::default() };
        assert_eq!(matching(&later, (true, true), "iifname", &[]), [""]);
        assert_eq!(matching(&later, first, "iifname", &[]), Vec::<String>::new());
    }
}
