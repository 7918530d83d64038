//! What VPP shows by its CLI: its version, its runtime by node, its errors and interfaces.
//!
//! The tables are those that VPP prints for people (`vlib/node_cli.c`, `vlib/error.c`,
//! `vnet/interface_format.c`); lines in another form are passed over.

use std::collections::BTreeMap;

/// A thread of `show runtime`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Thread {
    /// Name of the thread: `vpp_wk_0`; empty if VPP has a single one.
    pub name: String,
    /// Nodes that were called.
    pub nodes: Vec<Node>,
}

/// A node of the packet graph, with its counters since they were cleared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// Name of the node: `ip4-lookup`.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of packets in all calls.
    pub vectors: u64,
    /// Mean TSC cycles per packet, or per call of a node without packets, to three digits.
    pub clocks: f64,
}

impl Node {
    /// Returns the ticks of all calls.
    pub fn ticks(&self) -> u64 {
        let times = if self.vectors > 0 { self.vectors } else { self.calls };
        (self.clocks * times as f64).round() as u64
    }
}

/// Reads `show runtime`.
pub(super) fn runtime(text: &str) -> Vec<Thread> {
    let mut threads = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Thread ") {
            let name = rest.split_whitespace().nth(1).unwrap_or_default().to_owned();
            threads.push(Thread { name, nodes: Vec::new() });
        } else if let Some(node) = node(line) {
            if threads.is_empty() {
                threads.push(Thread::default());
            }
            threads.last_mut().into_iter().for_each(|thread| thread.nodes.push(node.clone()));
        }
    }
    threads
}

/// Reads `NAME STATE CALLS VECTORS SUSPENDS CLOCKS VECTORS/CALL`; a state may be two words.
fn node(line: &str) -> Option<Node> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (&name, rest) = words.split_first()?;
    let [.., calls, vectors, suspends, clocks, per_call] = rest else { return None };
    let (_, _): (u64, f64) = (suspends.parse().ok()?, per_call.parse().ok()?);
    let clocks: f64 = clocks.parse().ok()?;
    (rest.len() > 5 && clocks.is_finite() && clocks >= 0.0).then_some(Node {
        name: name.to_owned(),
        calls: calls.parse().ok()?,
        vectors: vectors.parse().ok()?,
        clocks,
    })
}

/// Reads `show errors`: the counts of errors by node and reason, without those of other severities
/// and without the counters of a bridge domain that are no errors. Versions before 21.01 show no
/// severity.
pub(super) fn errors(text: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [count, node, reason @ ..] = words.as_slice() else { continue };
        let Ok(count) = count.parse::<u64>() else { continue };
        let reason = match reason {
            [.., "warn" | "info"] => continue,
            [reason @ .., "error"] => reason,
            all => all,
        };
        let reason = reason.join(" ");
        if !reason.is_empty() && !NO_ERRORS.contains(&reason.as_str()) {
            *found.entry(format!("{node}: {reason}")).or_default() += count;
        }
    }
    found
}

/// Counters of an interface by name: `rx packets`, `tx packets`, `drops` …
pub(super) type Counters = BTreeMap<String, u64>;

/// Reads `show interface`: the counters of each interface, and whether it is up.
pub(super) fn interfaces(text: &str) -> BTreeMap<String, (bool, Counters)> {
    let mut found = BTreeMap::<String, (bool, Counters)>::new();
    let mut current = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_continued = line.starts_with(char::is_whitespace);
        let counter = match words.as_slice() {
            all if is_continued => all,
            // NAME, index, state, MTUs, and a counter if there is one.
            [name, index, state, _, counter @ ..] if index.parse::<u32>().is_ok() => {
                let name: &str = name;
                found.insert(name.to_owned(), (*state == "up", Counters::new()));
                current = Some(name.to_owned());
                counter
            }
            _ => continue,
        };
        let Some((_, counters)) = current.as_ref().and_then(|name| found.get_mut(name)) else {
            continue;
        };
        if let [name @ .., count] = counter
            && let Ok(count) = count.parse::<u64>()
        {
            counters.insert(name.join(" "), count);
        }
    }
    found
}

/// Reads `show ip fib summary` or `show ip6 fib summary`: the number of prefixes in all tables.
pub(super) fn prefixes(text: &str) -> usize {
    let count = |line: &str| -> Option<usize> {
        let mut words = line.split_whitespace();
        let (_, count): (u8, usize) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        words.next().is_none().then_some(count)
    };
    text.lines().filter_map(count).sum()
}

/// Reads `show version`: `vpp v24.06-release built by …`.
pub(super) fn version(text: &str) -> String {
    let mut words = text.split_whitespace().skip_while(|word| *word != "vpp");
    words.nth(1).map_or_else(|| "VPP".to_owned(), |version| format!("VPP {version}"))
}

/// What nodes of a bridge domain count among their errors (`vnet/l2`) although it is none.
const NO_ERRORS: [&str; 12] = [
    "L2 input packets",
    "L2 learn packets",
    "L2 learn misses",
    "L2 learn hits",
    "L2 learn hit updates",
    "L2 mac moves",
    "L2 forward packets",
    "L2 forward hits",
    "L2 forward misses",
    "L2 flood packets",
    "L2 replication complete",
    "L2 output packets",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::counted_since;

    /// What VPP 24.06 printed for 8,890,624 packets through a router.
    const RUNTIME: &str = "\
Thread 0 vpp_main (lcore 0)
Time 1.7, 10 sec internal node vector rate 0.00 loops/sec 618302.69
  vector rates in 0.0000e0, out 0.0000e0, drop 0.0000e0, punt 0.0000e0
             Name                 State         Calls          Vectors        Suspends         Clocks       Vectors/Call  
ip4-full-reassembly-expire-wal  any wait                 0               0              29          1.33e4            0.00
unix-cli-process-0               active                  5               0              11          2.47e8            0.00
unix-epoll-input                 polling             43027               0               0          7.55e4            0.00
---------------
Thread 1 vpp_wk_0 (lcore 1)
Time 1.7, 10 sec internal node vector rate 256.00 loops/sec 21907634.32
  vector rates in 5.2654e6, out 5.2654e6, drop 0.0000e0, punt 0.0000e0
             Name                 State         Calls          Vectors        Suspends         Clocks       Vectors/Call  
ethernet-input                   active              34729         8890624               0          1.64e1          256.00
ip4-input                        active              34729         8890624               0          5.26e1          256.00
pg-input                        disabled             34729         8890624               0          1.30e2          256.00
port1-tx                         active              34729         8890624               0          3.76e1          256.00
unix-epoll-input                 polling              2369               0               0          9.07e2            0.00
";

    #[test]
    fn threads_and_nodes_are_read_from_the_runtime() {
        let threads = runtime(RUNTIME);
        let names: Vec<&str> = threads.iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!(names, ["vpp_main", "vpp_wk_0"]);
        assert_eq!(threads[0].nodes.len(), 3, "those of two words for their state, too");
        let worker: Vec<&str> = threads[1].nodes.iter().map(|node| node.name.as_str()).collect();
        let wanted = ["ethernet-input", "ip4-input", "pg-input", "port1-tx", "unix-epoll-input"];
        assert_eq!(worker, wanted);
        let node = &threads[1].nodes[1];
        assert_eq!((node.calls, node.vectors, node.clocks), (34_729, 8_890_624, 52.6));
        assert_eq!(node.ticks(), 467_646_822);
        assert_eq!(threads[1].nodes[4].ticks(), 2_148_683, "of its calls, since it has no packets");
        // A single thread has no name.
        let alone: String =
            RUNTIME.lines().skip(1).take(4).map(|line| format!("{line}\n")).collect();
        let threads = runtime(&alone);
        assert_eq!((threads.len(), threads[0].nodes.len()), (1, 1));
        assert!(runtime("").is_empty() && runtime("nonsense 1 2 3 nan 5\n").is_empty());
    }

    #[test]
    fn counters_are_read_from_the_interfaces() {
        let text = "\
              Name               Idx    State  MTU (L3/IP4/IP6/MPLS)     Counter          Count     
local0                            0     down          0/0/0/0       
port0                             1      up          9000/0/0/0     rx packets               8890624
                                                                    rx bytes               533437440
                                                                    ip4                      8890624
port1                             2      up          9000/0/0/0     tx packets               8890624
                                                                    tx bytes               533437440
";
        let found = interfaces(text);
        assert_eq!(found.len(), 3);
        assert!(!found["local0"].0 && found["local0"].1.is_empty());
        assert!(found["port0"].0);
        assert_eq!(found["port0"].1["rx packets"], 8_890_624);
        assert_eq!(found["port0"].1["ip4"], 8_890_624);
        assert_eq!(found["port1"].1["tx packets"], 8_890_624);
        assert!(!found["port1"].1.contains_key("rx packets"));
    }

    #[test]
    fn errors_are_those_that_a_packet_meets() {
        let text = "\
   Count                  Node                              Reason               Severity 
         6              l2-learn                       L2 learn packets            error  
         1              l2-learn                       L2 learn misses             error  
        10               l2-fwd                        Reflection Drop             error  
         6              l2-flood                       L2 flood packets            error  
         1             null-node                      blackholed packets           error  
         3             ip4-input                       bad ip4 checksum            error  
         2             ip4-input                       bad ip4 checksum            error  
         1           ethernet-input                    l3 mac mismatch             error  
         7             ip4-local                    unknown ip protocol             info  
";
        let found = errors(text);
        let wanted = [
            ("ethernet-input: l3 mac mismatch", 1),
            ("ip4-input: bad ip4 checksum", 5),
            ("l2-fwd: Reflection Drop", 10),
            ("null-node: blackholed packets", 1),
        ];
        assert_eq!(found, wanted.map(|(name, count)| (name.to_owned(), count)).into());
        let later = BTreeMap::from([("ip4-input: bad ip4 checksum".to_owned(), 9)]);
        assert_eq!(counted_since(&found, later), [("ip4-input: bad ip4 checksum".to_owned(), 4)]);
        // Threads have lines of their own, and old versions no severity.
        let old = errors("         3             ip4-input                bad ip4 checksum\n");
        assert_eq!(old["ip4-input: bad ip4 checksum"], 3);
    }

    #[test]
    fn prefixes_of_all_tables_are_counted() {
        let text = "\
ipv4-VRF:0, fib_index:0, flow hash:[src dst sport dport proto flowlabel ] epoch:0 flags:none locks:[adjacency:1, default-route:1, ]
    Prefix length         Count     
                   0               1
                   4               2
                  24               2
                  32               9
";
        assert_eq!(prefixes(text), 14);
        let text = "\
ipv6-VRF:0, fib_index:0, flow hash:[src dst sport dport proto flowlabel ] epoch:0 flags:none locks:[default-route:1, ]
    Prefix length         Count     
         32                 1       
        128                 4       
";
        assert_eq!(prefixes(text), 5);
    }

    #[test]
    fn the_version_is_its_first_word() {
        let text = "vpp v24.06-release built by root on vm at 2026-11-29T18:56:45\n";
        assert_eq!(version(text), "VPP v24.06-release");
        assert_eq!(version("what?"), "VPP");
    }
}
