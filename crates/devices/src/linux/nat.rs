//! A translator of addresses and ports on the kernel: connection tracking, and source translation
//! by rules of nftables.
//!
//! ```text
//! inside   inside port > rule: out > filter > slot of the subscriber: address, ports > outside port
//! outside  outside port > connection, or dropped > filter > inside port
//! ```
//! The kernel chooses among a range of ports for each connection, and keeps to the choice of
//! another one from the same address and port (endpoint-independent mapping) as long as no port of
//! the range is said to be drawn at random. It sees to it that no two connections look alike from
//! outside, and to no more: one port may serve two subscribers towards different ends. So each
//! subscriber has a range of its own, its slot, by the last bits of its address. Packets from
//! outside that belong to no connection are the host's, which has the outside addresses and takes
//! nothing.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use function_kit::sections::function_key;
use keys::Invalid;
use model_kit::service::{Nat, Service};
use netns::Namespace;

use super::commands::{MAIN, Plan, identifier, line, nothing_else, own_addresses, route};
use crate::driver::{DriverError, Limitation, Unavailable};

/// Adds a NAT between these interfaces to the plan.
pub(super) fn plan(plan: &mut Plan, nat: &Nat, names: &[&str]) -> Result<(), DriverError> {
    let &[inside, outside] = names else {
        return Err(DriverError::new("a NAT has two ports", "report this"));
    };
    own_addresses(plan, &nat.router.interfaces, names);
    route(plan, &nat.router, names, MAIN)?;
    nothing_else(plan, MAIN);
    // What comes from subscribers leaves outside, whatever its destination.
    line(&mut plan.ipv4, format_args!("rule add iif {inside} lookup {OUT} pref 10"));
    let hop = identifier(OUTSIDE_HOP, 0);
    line(&mut plan.ipv4, format_args!("route add default nhid {hop} table {OUT}"));
    plan.expected.ipv4_routes += 1;
    for (address, len) in outside_networks(nat) {
        let network = format_args!("route add local {address}/{len} dev {outside} table local");
        line(&mut plan.ipv4, network);
        plan.expected.ipv4_routes += 1;
    }
    answers(&mut plan.nft, nat, [inside, outside]);
    rules(&mut plan.nft, nat, [inside, outside]);
    Ok(())
}

/// Returns every network of external addresses.
fn outside_networks(nat: &Nat) -> impl Iterator<Item = (Ipv4Addr, u8)> {
    let own = nat.one_to_one.iter().map(|&(_, outside, len)| (outside, len));
    nat.pools.iter().copied().chain(own).map(|(address, len)| (network(address, len), len))
}

fn network(address: Ipv4Addr, len: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(address.to_bits() & !host_bits(len))
}

fn host_bits(len: u8) -> u32 {
    u32::MAX.checked_shr(len.into()).unwrap_or(0)
}

/// Adds the addresses for which ARP requests are answered: each port's own, and on the external
/// side those of pools and rules.
fn answers(nft: &mut String, nat: &Nat, names: [&str; 2]) {
    let own = |port: usize| {
        let interface = nat.router.interfaces.get(port)?;
        interface.ipv4.map(|(address, _)| (address, 32))
    };
    let lists =
        [own(0).into_iter().collect(), own(1).into_iter().chain(outside_networks(nat)).collect()];
    let head = "table arp answers {\nchain in { type filter hook input priority 0; policy drop;";
    let _ = writeln!(nft, "{head}");
    for (name, list) in names.iter().zip(&lists) {
        let list: &Vec<(Ipv4Addr, u8)> = list;
        let accept = "arp operation request arp daddr ip";
        let _ = writeln!(nft, "iif \"{name}\" {accept} {{ {} }} accept", networks(list));
    }
    let _ = writeln!(nft, "}}\n}}");
}

fn networks(list: &[(Ipv4Addr, u8)]) -> String {
    let texts: Vec<String> =
        list.iter().map(|&(address, len)| format!("{}/{len}", network(address, len))).collect();
    texts.join(", ")
}

/// Adds the rules: who may open connections, valid connection states, and source translation.
fn rules(nft: &mut String, nat: &Nat, [inside, outside]: [&str; 2]) {
    // Without a pool only those have an outside address that have one for themselves.
    let own: Vec<(Ipv4Addr, u8)> =
        nat.one_to_one.iter().map(|&(inside, _, len)| (inside, len)).collect();
    let subscribers = if nat.pools.is_empty() { &own } else { &nat.inside };
    let _ = writeln!(
        nft,
        "table ip translation {{\n\
         set subscribers {{ type ipv4_addr; flags interval; auto-merge; elements = {{ {} }}; }}\n\
         counter fragment {{ }}\ncounter no_connection {{ }}\n\
         counter unsupported {{ }}\ncounter not_allowed {{ }}\n\
         chain whole {{ type filter hook prerouting priority {BEFORE_REASSEMBLY}; policy accept;\n\
         ip frag-off & 0x3fff != 0 counter name \"fragment\" drop\n}}\n\
         chain forward {{ type filter hook forward priority 0; policy drop;\n\
         ct state invalid counter name \"no_connection\" drop\n\
         ip protocol icmp icmp type != {{ {ICMP_TYPES} }} counter name \"unsupported\" drop\n\
         iif \"{inside}\" oif \"{outside}\" ct direction original ct state {{ established, related }} accept\n\
         iif \"{outside}\" oif \"{inside}\" ct direction reply ct state {{ established, related }} accept\n\
         iif \"{inside}\" oif \"{outside}\" ct state new ip saddr @subscribers \
         ip daddr != {{ {NO_HOSTS} }} ip protocol {{ tcp, udp, icmp }} accept\n\
         counter name \"not_allowed\"\n}}\n\
         chain host {{ type filter hook input priority 0; policy drop;\n}}",
        networks(subscribers)
    );
    let slots = Slots::new(nat);
    if let Some(slots) = &slots {
        let _ = writeln!(
            nft,
            "map slots {{ type ipv4_addr : interval ipv4_addr . inet_service; elements = {{ {} }}; }}",
            slots.elements()
        );
    }
    let _ = writeln!(nft, "chain out {{ type nat hook postrouting priority srcnat; policy accept;");
    if !nat.one_to_one.is_empty() {
        let pair = |&(inside, outside, len): &(Ipv4Addr, Ipv4Addr, u8)| {
            format!("{}/{len} : {}/{len}", network(inside, len), network(outside, len))
        };
        let pairs: Vec<String> = nat.one_to_one.iter().map(pair).collect();
        let pairs = pairs.join(", ");
        let _ = writeln!(nft, "oif \"{outside}\" snat ip prefix to ip saddr map {{ {pairs} }}");
    }
    if let Some(slots) = &slots {
        let mask = Ipv4Addr::from_bits(slots.count - 1);
        let to = format!("snat ip to ip saddr & {mask} map @slots");
        let _ = writeln!(nft, "oif \"{outside}\" ip protocol {{ tcp, udp, icmp }} {to}");
    }
    let _ = writeln!(nft, "}}\n}}");
}

/// Port ranges of external addresses, one for each value of the last bits of a subscriber's
/// address.
struct Slots {
    addresses: Vec<u32>,
    first_port: u32,
    /// Number of ranges, a power of two.
    count: u32,
    /// Number of ports per range.
    ports: u32,
}

impl Slots {
    /// Creates the ranges; `None` without a pool.
    fn new(nat: &Nat) -> Option<Slots> {
        let of = |&(address, len): &(Ipv4Addr, u8)| {
            let first = network(address, len).to_bits();
            first..=first | host_bits(len)
        };
        let addresses: Vec<u32> = nat.pools.iter().flat_map(of).take(SLOTS_MAX as usize).collect();
        let all = addresses.len() as u32;
        let ranges = SLOTS_MAX.checked_div(all)?.clamp(1, RANGES_MAX);
        let usable = 65_536 - u32::from(nat.first_port);
        let count = 1 << (all * ranges).ilog2();
        Some(Slots { addresses, first_port: nat.first_port.into(), count, ports: usable / ranges })
    }

    /// Returns the elements of the map; adjacent subscribers get different addresses.
    fn elements(&self) -> String {
        let mut text = String::with_capacity(self.count as usize * 48);
        let all = self.addresses.len() as u32;
        for slot in 0..self.count {
            let outside = Ipv4Addr::from_bits(self.addresses[(slot % all) as usize]);
            let first = self.first_port + slot / all * self.ports;
            let last = first + self.ports - 1;
            let slot = Ipv4Addr::from_bits(slot);
            let comma = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{comma}{slot} : {outside} . {first}-{last}");
        }
        text
    }
}

/// Returns the sysctls of connection tracking, set after the rules that enable it: timeouts, and no
/// validation of TCP checksums and windows, which is not the task of a router.
pub(super) fn sysctls(nat: &Nat) -> Vec<(String, String)> {
    let [udp, established, syn, transitory, icmp] =
        nat.timeouts_s.map(|seconds| seconds.ceil() as u64);
    let flag = u64::from;
    let mut all = vec![
        ("checksum", 0),
        ("tcp_be_liberal", 1),
        ("tcp_loose", flag(nat.tcp_pick_up)),
        ("udp_timeout", udp),
        ("udp_timeout_stream", udp),
        ("icmp_timeout", icmp),
    ];
    for state in ["established", "unacknowledged", "max_retrans"] {
        all.push((state, established));
    }
    for state in ["syn_sent", "syn_recv"] {
        all.push((state, syn));
    }
    for state in ["fin_wait", "close_wait", "last_ack", "time_wait", "close"] {
        all.push((state, transitory));
    }
    let path = |name: &str| match name {
        "checksum" | "tcp_be_liberal" | "tcp_loose" => name.to_owned(),
        _ if name.ends_with("timeout") || name.ends_with("stream") => name.to_owned(),
        state => format!("tcp_timeout_{state}"),
    };
    let key =
        |(name, value): (&str, u64)| (format!("{CONNTRACK}_{}", path(name)), value.to_string());
    all.into_iter().map(key).collect()
}

/// Returns the number of connections that are tracked in the namespace.
pub(super) fn connections(device: &Namespace) -> Option<u64> {
    number(device, "count")
}

/// Returns the limits of connections: the maximum of a namespace, and the size of the table that
/// all namespaces share.
pub(super) fn room(device: &Namespace) -> [Option<u64>; 2] {
    ["max", "buckets"].map(|name| number(device, name))
}

fn number(device: &Namespace, name: &str) -> Option<u64> {
    let path = format!("/proc/sys/{CONNTRACK}_{name}");
    let text = device.run(|| std::fs::read_to_string(path)).ok()?.ok()?;
    text.trim().parse().ok()
}

/// Checks in a temporary namespace that this kernel supports NAT.
pub(super) fn available() -> Result<(), Unavailable> {
    let missing = |what: String| {
        Unavailable {
        why: format!("this kernel does not support NAT: {what}"),
        remedy: "sudo modprobe -a nf_conntrack nf_nat nft_nat nft_ct nft_chain_nat, or use a kernel that \
                 has them"
            .to_owned(),
    }
    };
    let device = Namespace::new().map_err(|error| missing(error.to_string()))?;
    let rules = device.command("nft", &["-f", "-"], Some(PROBE));
    rules.map_err(|error| missing(error.to_string()))?;
    match connections(&device) {
        Some(_) => Ok(()),
        None => Err(missing("it tracks no connections".to_owned())),
    }
}

/// Returns what the kernel does differently.
pub(super) fn limitations(nat: &Nat) -> Result<Vec<Limitation>, Invalid> {
    if let Some(short) = nat.timeouts_s.iter().find(|seconds| **seconds < TIMEOUT_S_MIN) {
        let what = format!("a timeout of {short} s: the kernel rounds timeouts to whole seconds");
        let remedy = format!("set all of `timeouts` to {TIMEOUT_S_MIN} s or more");
        return Err(function_key("timeouts", what, &remedy));
    }
    let slots = Slots::new(nat).map_or(0, |slots| slots.count);
    let of = |what: String, verdicts: Vec<&'static str>, steps: Vec<&'static str>| Limitation {
        what,
        verdicts,
        steps,
    };
    let left_out = INVALID.join("', '");
    Ok(vec![
        of("neither UDP lengths nor ICMP checksums are checked".to_owned(), vec!["transport-malformed"], vec![]),
        of(
            "a full table ends connections that were not answered (RFC 6888 REQ-8 and RFC 5382 \
             forbid it); its capacity is nf_conntrack_max of this machine, not `sessions`"
                .to_owned(),
            vec!["sessions-full", "mappings-full", "subscribers-full"],
            vec![],
        ),
        of("packets from outside also refresh a connection".to_owned(), vec![], vec![]),
        of(
            format!(
                "subscribers whose addresses differ by a multiple of {slots} share a port range; \
                 one port may serve several of them towards different endpoints (RFC 4787 REQ-3 \
                 forbids it)"
            ),
            vec![],
            vec![],
        ),
        of(
            format!("segments that are invalid in the state of their TCP connection are dropped: \
                     '{left_out}'"),
            vec![],
            INVALID.to_vec(),
        ),
        of(
            "a connection whose first answer is RST ends at once (RFC 7857 section 2.2 requires a \
             lifetime of four minutes)"
                .to_owned(),
            vec![],
            vec!["TCP: a segment after a refusal"],
        ),
        of(
            "queries from outside reach no subscriber: an ICMP connection is identified by type as \
             well as identifier, so that only replies belong to it (RFC 6146 section 3.5.3 \
             differs)"
                .to_owned(),
            vec![],
            QUERIES.to_vec(),
        ),
        of(
            "packets to subscribers' own networks turn around, and sources from outside are not \
             judged"
                .to_owned(),
            vec!["to-inside", "bogon"],
            vec![],
        ),
        of(
            "pings are not answered: the kernel's replies have their own identifications and no \
             flags, which could not be compared"
                .to_owned(),
            vec![],
            PINGS.to_vec(),
        ),
    ])
}

/// Returns the NAT of a service if it is one.
pub(super) fn of(service: &Service) -> Option<&Nat> {
    match service {
        Service::Nat(nat) => Some(nat),
        _ => None,
    }
}

/// Steps of the sample with queries from outside, and the steps that depend on them.
const QUERIES: [&str; 3] = [
    "ICMP: a query from outside",
    "ICMP: the subscriber answers it",
    "ICMP: an error about that answer",
];

/// Steps of the sample whose segments the kernel treats as invalid.
const INVALID: [&str; 3] =
    ["TCP: SYN from the server", "TCP: RST from the subscriber", "one to one: which is taken"];

/// Steps of the sample that ping the NAT itself, which does not answer here.
const PINGS: [&str; 8] = [
    "a ping",
    "a ping at its last hop",
    "a ping with flags",
    "a ping with options",
    "a ping with a code",
    "a ping with padding",
    "a ping for the inside port",
    "a ping for the other port",
];

/// Minimal rules that need the required features, loaded into an unused namespace.
const PROBE: &str = "table ip probe { \
    map slots { type ipv4_addr : interval ipv4_addr . inet_service; \
    elements = { 0.0.0.0 : 192.0.2.1 . 1024-2047 }; }\n\
    chain forward { type filter hook forward priority 0; ct state invalid drop\n}\n\
    chain out { type nat hook postrouting priority srcnat; \
    ip protocol { tcp, udp, icmp } snat ip to ip saddr & 0.0.0.0 map @slots\n}\n}\n";

/// Priority before the reassembly by connection tracking (`NF_IP_PRI_CONNTRACK_DEFRAG`).
const BEFORE_REASSEMBLY: i32 = -450;

/// ICMP types of queries, replies and errors that a NAT supports.
const ICMP_TYPES: &str = "echo-request, echo-reply, timestamp-request, timestamp-reply, \
                          destination-unreachable, time-exceeded, parameter-problem";

/// Destinations that no external host has.
const NO_HOSTS: &str = "0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/3";

/// Routing table for packets from subscribers.
const OUT: &str = "20";

/// Index of the external next hop among those of the service.
const OUTSIDE_HOP: usize = 1;

/// Largest number of elements of the map of port ranges.
const SLOTS_MAX: u32 = 1 << 16;

/// Largest number of port ranges per address.
const RANGES_MAX: u32 = 64;

/// Smallest timeout in seconds: above the pauses of a check, which would otherwise show that the
/// kernel rounds timeouts.
const TIMEOUT_S_MIN: f64 = 3.0;

const CONNTRACK: &str = "net/netfilter/nf_conntrack";

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(pools: &[(&str, u8)]) -> Option<Slots> {
        let pools = pools.iter().map(|(address, len)| (address.parse().unwrap(), *len)).collect();
        Slots::new(&Nat {
            router: model_kit::service::Router::default(),
            inside: Vec::new(),
            pools,
            one_to_one: Vec::new(),
            first_port: 1024,
            sessions: 1,
            tcp_pick_up: false,
            timeouts_s: [300.0; 5],
        })
    }

    #[test]
    fn every_slot_has_ports_that_no_other_has() {
        for pools in [
            &[("198.18.0.0", 24)][..],
            &[("198.18.0.0", 30), ("198.19.0.7", 32)],
            &[("198.16.0.0", 16)],
        ] {
            let slots = slots(pools).expect("a pool");
            let elements = slots.elements();
            let mut seen: Vec<(&str, u32, u32)> = Vec::new();
            for (number, element) in elements.split(", ").enumerate() {
                let (key, value) = element.split_once(" : ").expect("a pair");
                assert_eq!(key.parse::<Ipv4Addr>().map(u32::from), Ok(number as u32));
                let (outside, range) = value.split_once(" . ").expect("address and ports");
                let (first, last) = range.split_once('-').expect("a range");
                let range = (first.parse::<u32>().unwrap(), last.parse::<u32>().unwrap());
                assert!(1024 <= range.0 && range.0 <= range.1 && range.1 <= 65_535, "{element}");
                seen.push((outside, range.0, range.1));
            }
            assert_eq!(seen.len(), slots.count as usize);
            assert!(slots.count.is_power_of_two() && slots.count <= SLOTS_MAX);
            seen.sort_unstable();
            let apart = |two: &[(&str, u32, u32)]| two[0].0 != two[1].0 || two[0].2 < two[1].1;
            assert!(seen.windows(2).all(apart), "{pools:?}");
        }
        assert!(slots(&[]).is_none());
    }
}
