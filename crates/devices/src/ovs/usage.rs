//! What the switch uses and counts.

use std::collections::BTreeMap;

use netns::Namespace;

use super::daemons::Daemons;

/// Returns the CPU time of the switch's threads in nanoseconds, and a description of what it
/// covers.
pub(super) fn cpu(process: u32) -> (Option<u64>, String) {
    let folder = format!("/proc/{process}/task");
    let (mut sum, mut polling, mut others) = (None::<u64>, 0, 0);
    for thread in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let read =
            |name: &str| std::fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        // The first number is the time on a processor (`Documentation/scheduler/sched-stats.rst`).
        let schedstat = read("schedstat");
        let time = schedstat.split_whitespace().next().map(str::parse::<u64>);
        let Some(Ok(time)) = time else { continue };
        sum = Some(sum.unwrap_or(0) + time);
        if read("comm").starts_with("pmd-") { polling += 1 } else { others += 1 }
    }
    (sum, format!("{} threads of ovs-vswitchd, {polling} of them polling", polling + others))
}

/// Returns the memory of the switch in bytes.
pub(super) fn resident_bytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Returns the frames dropped so far, by the switch's own names, without those at zero.
pub(super) fn drops(
    daemons: &Daemons,
    device: &Namespace,
    bridges: &[&'static str],
) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let coverage = daemons.appctl(device, &["coverage/show"]).unwrap_or_default();
    found.extend(coverage.lines().filter_map(coverage_drop));
    for bridge in bridges {
        let ports = daemons.ofctl(device, &["dump-ports"], bridge, &[], None).unwrap_or_default();
        port_drops(&ports, &mut found);
    }
    found.retain(|_, count| *count > 0);
    found
}

/// Reads `datapath_drop_meter 0.0/sec 0.000/sec 0.0000/sec total: 17`.
fn coverage_drop(line: &str) -> Option<(String, u64)> {
    let name = line.split_whitespace().next().filter(|name| name.contains("drop"))?;
    let count = line.rsplit_once("total:")?.1.trim().parse().ok()?;
    Some((name.to_owned(), count))
}

/// Reads ` port "d1x0": rx pkts=5, bytes=300, drop=1, errs=0, frame=0, over=0, crc=0` and the line
/// for the transmit direction after it.
fn port_drops(text: &str, found: &mut BTreeMap<String, u64>) {
    let mut name = "";
    for line in text.lines() {
        let line = line.trim();
        let rest = match line.strip_prefix("port ") {
            Some(rest) => {
                let Some((port, rest)) = rest.split_once(':') else { continue };
                name = port.trim().trim_matches('"');
                rest
            }
            None => line,
        };
        let Some((way, counts)) = rest.trim().split_once(' ') else { continue };
        if !matches!(way, "rx" | "tx") {
            continue;
        }
        for (why, count) in counts.split(',').filter_map(|pair| pair.trim().split_once('=')) {
            if let (true, Ok(count)) = (matches!(why, "drop" | "errs"), count.parse::<u64>()) {
                found.insert(format!("{name} {way} {why}"), count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::counted_since;

    #[test]
    fn counters_are_read_as_the_switch_writes_them() {
        let line = "datapath_drop_meter        0.0/sec     0.000/sec        0.0000/sec   total: 17";
        assert_eq!(coverage_drop(line), Some(("datapath_drop_meter".to_owned(), 17)));
        assert_eq!(coverage_drop("util_xalloc 1.0/sec 2.0/sec 3.0/sec total: 17"), None);
        assert_eq!(coverage_drop("106 events never hit"), None);
        let text = "OFPST_PORT reply (OF1.5) (xid=0x2): 2 ports\n  \
            port  \"d7x0\": rx pkts=5, bytes=300, drop=1, errs=0, frame=0, over=0, crc=0\n           \
            tx pkts=?, bytes=9, drop=?, errs=4, coll=0\n  port LOCAL: rx pkts=0, bytes=0, drop=2, errs=0\n";
        let mut found = BTreeMap::new();
        port_drops(text, &mut found);
        found.retain(|_, count| *count > 0);
        let expected = [("LOCAL rx drop", 2), ("d7x0 rx drop", 1), ("d7x0 tx errs", 4)];
        assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)).into());
        let before = BTreeMap::from([("LOCAL rx drop".to_owned(), 2)]);
        assert_eq!(counted_since(&before, found).len(), 2);
    }

    #[test]
    fn this_process_has_threads_and_memory() {
        let (time, of) = cpu(std::process::id());
        assert!(time.is_some() && of.contains("threads"), "{time:?} {of}");
        assert!(resident_bytes(std::process::id()).is_some_and(|bytes| bytes > 0));
    }
}
