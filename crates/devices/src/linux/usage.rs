//! What the kernel counts: frames dropped, and memory of tables.

use std::collections::BTreeMap;

use netns::Namespace;
use serde_json::Value;

use crate::wires::Wires;

/// Returns the frames dropped so far, by the kernel's own names, without those at zero.
pub(super) fn drops(device: &Namespace, wires: &Wires, has_nft: bool) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let names = wires.near();
    links(device, &names, &LINK_DROPS, "port", &mut found);
    // A full queue of the device's end counts at the sender.
    links(wires.tester(), &wires.far(), &[("tx", "dropped")], "tester", &mut found);
    let files = ["snmp", "netstat", "snmp6"].map(|name| format!("/proc/thread-self/net/{name}"));
    let read = || files.each_ref().map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let [snmp, netstat, snmp6] = device.run(read).unwrap_or_default();
    protocols(&snmp, &mut found);
    protocols(&netstat, &mut found);
    for line in snmp6.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(Ok(count))) = (words.next(), words.next().map(str::parse::<u64>))
            && IPV6_DROPS.contains(&name)
        {
            found.insert(name.to_owned(), count);
        }
    }
    if has_nft {
        counters(device, &mut found);
    }
    found.retain(|_, count| *count > 0);
    found
}

/// Reads `ip -s -s -j link`.
fn links(
    namespace: &Namespace,
    names: &[&str],
    wanted: &[(&str, &str)],
    what: &str,
    found: &mut BTreeMap<String, u64>,
) {
    let Ok(text) = namespace.command("ip", &["-s", "-s", "-j", "link"], None) else { return };
    let interfaces: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    for interface in &interfaces {
        let name = interface["ifname"].as_str().unwrap_or_default();
        let Some(number) = names.iter().position(|known| *known == name) else { continue };
        let statistics = &interface["stats64"];
        for (way, why) in wanted {
            if let Some(count) = statistics[way][why].as_u64() {
                found.insert(format!("{what}-{number} {way} {why}"), count);
            }
        }
    }
}

/// Reads pairs of lines with names and numbers (`/proc/net/snmp`, RFC 4293).
fn protocols(text: &str, found: &mut BTreeMap<String, u64>) {
    let mut lines = text.lines();
    while let (Some(names), Some(counts)) = (lines.next(), lines.next()) {
        let protocol = names.split(':').next().unwrap_or_default();
        for (name, count) in names.split_whitespace().zip(counts.split_whitespace()).skip(1) {
            let name = format!("{protocol}{name}");
            if let (true, Ok(count)) = (IPV4_DROPS.contains(&name.as_str()), count.parse::<u64>()) {
                found.insert(name, count);
            }
        }
    }
}

/// Reads the named counters of this device's nftables rules.
fn counters(device: &Namespace, found: &mut BTreeMap<String, u64>) {
    let Ok(text) = device.command("nft", &["-j", "list", "counters"], None) else { return };
    let Ok(listing) = serde_json::from_str::<Value>(&text) else { return };
    for entry in listing["nftables"].as_array().into_iter().flatten() {
        let counter = &entry["counter"];
        if let (Some(name), Some(count)) = (counter["name"].as_str(), counter["packets"].as_u64()) {
            found.insert(format!("nftables {name}"), count);
        }
    }
}

/// Contents of the namespace's routing tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tables {
    /// Number of IPv4 prefixes in all tables.
    pub ipv4: usize,
    /// Number of IPv6 routes in all tables.
    pub ipv6: usize,
    /// Size of the IPv4 tables in bytes, as the kernel reports it; it reports no size for IPv6.
    pub ipv4_bytes: u64,
}

/// Counts routes; `has_rules` is true if the namespace has routing rules of its own, without which
/// the local table is the main table under another name (`/proc/net/fib_triestat`,
/// `/proc/net/rt6_stats`).
pub(super) fn tables(device: &Namespace, has_rules: bool) -> Tables {
    let read = || {
        ["fib_triestat", "rt6_stats"].map(|name| {
            std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default()
        })
    };
    let [ipv4, ipv6] = device.run(read).unwrap_or_default();
    let entries = ipv6.split_whitespace().nth(RT6_ENTRIES);
    let entries = entries.and_then(|count| usize::from_str_radix(count, 16).ok());
    let (prefixes, bytes) = tries(&ipv4, has_rules);
    Tables { ipv4: prefixes, ipv6: entries.unwrap_or_default(), ipv4_bytes: bytes }
}

fn tries(text: &str, has_rules: bool) -> (usize, u64) {
    let tables = if has_rules { usize::MAX } else { 1 };
    let sum = |name: &str| -> u64 {
        let values = text.lines().filter_map(|line| line.trim().strip_prefix(name));
        let words = values.filter_map(|rest| rest.split_whitespace().next());
        words.filter_map(|word| word.parse::<u64>().ok()).take(tables).sum()
    };
    let (prefixes, kilobytes) = (sum("Prefixes:"), sum("Total size:"));
    (prefixes as usize, kilobytes << 10)
}

/// Names of the counters of an interface's drops.
const LINK_DROPS: [(&str, &str); 5] = [
    ("rx", "dropped"),
    ("rx", "errors"),
    ("rx", "otherhost"),
    ("tx", "dropped"),
    ("tx", "carrier_errors"),
];

/// Names of drop counters of RFC 4293, and the kernel's own.
const IPV4_DROPS: [&str; 15] = [
    "IpInHdrErrors",
    "IpInAddrErrors",
    "IpInUnknownProtos",
    "IpInDiscards",
    "IpOutDiscards",
    "IpOutNoRoutes",
    "IpReasmFails",
    "IpFragFails",
    "IpExtInNoRoutes",
    "IpExtInTruncatedPkts",
    "IpExtInCsumErrors",
    "UdpNoPorts",
    "UdpInErrors",
    "UdpRcvbufErrors",
    "UdpInCsumErrors",
];

const IPV6_DROPS: [&str; 10] = [
    "Ip6InHdrErrors",
    "Ip6InTooBigErrors",
    "Ip6InNoRoutes",
    "Ip6InAddrErrors",
    "Ip6InUnknownProtos",
    "Ip6InTruncatedPkts",
    "Ip6InDiscards",
    "Ip6OutDiscards",
    "Ip6OutNoRoutes",
    "Ip6FragFails",
];

/// Index in `fib_nodes fib_route_nodes fib_rt_alloc fib_rt_entries …`, hexadecimal numbers.
const RT6_ENTRIES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::counted_since;

    #[test]
    fn counters_of_protocols_are_named_as_nstat_names_them() {
        let text = "Ip: Forwarding DefaultTTL InHdrErrors OutNoRoutes\nIp: 1 64 3 7\n\
                    Udp: InDatagrams NoPorts\nUdp: 5 2\n";
        let mut found = BTreeMap::new();
        protocols(text, &mut found);
        let expected = [("IpInHdrErrors", 3), ("IpOutNoRoutes", 7), ("UdpNoPorts", 2)];
        assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)).into());
        let later = BTreeMap::from([("IpOutNoRoutes".to_owned(), 9)]);
        assert_eq!(counted_since(&found, later), [("IpOutNoRoutes".to_owned(), 2)]);
    }

    #[test]
    fn a_table_under_two_names_is_counted_once() {
        let text = "Main:\n\tPrefixes:       7\nTotal size: 100  kB\n\
                    Local:\n\tPrefixes:       7\nTotal size: 100  kB\n";
        assert_eq!(tries(text, false), (7, 100 << 10));
        assert_eq!(tries(text, true), (14, 200 << 10));
        assert_eq!(tries("", true), (0, 0));
    }
}
