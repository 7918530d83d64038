//! What the daemon has used and counted: the kernel's word for the time, its own for the rest.

use daemon::client::Client;
use daemon::protocol::{Ask, View};
use measure::{Stage, StageRole, Stalls};
use serde_json::Value;

use crate::driver::Usage;

/// Returns the usage of a daemon, from its control socket and the kernel.
pub(super) fn of(client: &mut Client, process: u32) -> Usage {
    let (cpu_ns, threads) = worker_time(process).unzip();
    let show = |client: &mut Client, view| client.ask(Ask::Show(view)).unwrap_or_default();
    let (drops, stages) = (show(client, View::Drops), show(client, View::Stages));
    let workers = show(client, View::Workers);
    Usage {
        cpu_ns,
        cpu_of: format!("{} polling workers", threads.unwrap_or_default()),
        resident_bytes: resident_bytes(process),
        drops: drops_of(&drops["drops"]),
        stages: stages_of(&stages["stages"]),
        stalls: stalls_of(&workers["workers"]),
    }
}

/// Returns the sum of the usage of several daemons; drops and stages of the same name are added up.
pub(super) fn sum(all: Vec<Usage>) -> Usage {
    let mut all = all.into_iter();
    let Some(mut sum) = all.next() else { return Usage::default() };
    for other in all {
        sum.cpu_ns = sum.cpu_ns.zip(other.cpu_ns).map(|(a, b)| a + b);
        sum.cpu_of = format!("{} and {}", sum.cpu_of, other.cpu_of);
        sum.resident_bytes = sum.resident_bytes.zip(other.resident_bytes).map(|(a, b)| a + b);
        for (name, count) in other.drops {
            match sum.drops.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known += count,
                None => sum.drops.push((name, count)),
            }
        }
        for stalls in other.stalls {
            let thread = format!("worker {}", sum.stalls.len());
            sum.stalls.push(Stalls { thread, ..stalls });
        }
        for stage in other.stages {
            match sum.stages.iter_mut().find(|known| known.name == stage.name) {
                Some(known) => {
                    known.packets += stage.packets;
                    known.ticks += stage.ticks;
                }
                None => sum.stages.push(stage),
            }
        }
    }
    sum
}

/// Returns the CPU time of a daemon's workers in nanoseconds, and their number.
fn worker_time(process: u32) -> Option<(u64, usize)> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let of = |task: std::fs::DirEntry| -> Option<u64> {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let schedstat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let used = schedstat.split_whitespace().next()?.parse().ok()?;
        name.starts_with("worker-").then_some(used)
    };
    let used: Vec<u64> = tasks.flatten().filter_map(of).collect();
    (!used.is_empty()).then(|| (used.iter().sum(), used.len()))
}

fn resident_bytes(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

/// Returns the gaps in the time of each worker.
fn stalls_of(shown: &Value) -> Vec<Stalls> {
    let of = |(index, worker): (usize, &Value)| {
        let number = |name: &str| worker[name].as_u64().unwrap_or_default();
        Stalls {
            thread: format!("worker {index}"),
            count: number("gaps"),
            total_ns: number("gaps_ns"),
            longest_ns: number("gap_ns_max"),
            ..Stalls::default()
        }
    };
    shown.as_array().into_iter().flatten().enumerate().map(of).collect()
}

/// Returns the drops: those of the function by reason, those of the ports with the port's name as
/// prefix.
fn drops_of(shown: &Value) -> Vec<(String, u64)> {
    let mut drops = counts(&shown["function"], "");
    for (port, ways) in shown["ports"].as_object().into_iter().flatten() {
        for (way, reasons) in ways.as_object().into_iter().flatten() {
            drops.extend(counts(reasons, &format!("{port}-{way}-")));
        }
    }
    drops
}

fn counts(shown: &Value, lead: &str) -> Vec<(String, u64)> {
    let all = shown.as_object().into_iter().flatten();
    all.filter_map(|(name, count)| Some((format!("{lead}{name}"), count.as_u64()?))).collect()
}

/// Returns the stages; receiving and transmitting are named like the bench's.
fn stages_of(shown: &Value) -> Vec<Stage> {
    let all = shown.as_object().map(|stages| stages.iter().collect::<Vec<_>>()).unwrap_or_default();
    let stage = |(name, stage): &(&String, &Value)| Stage {
        name: (*name).clone(),
        role: match name.as_str() {
            "receive" | "transmit" => StageRole::Bench,
            _ => StageRole::Function,
        },
        packets: stage["packets"].as_u64().unwrap_or(0),
        ticks: stage["cycles"].as_u64().unwrap_or(0),
    };
    all.iter().map(stage).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_daemons_are_summed_by_name() {
        let one = |count| Usage {
            cpu_ns: Some(count),
            drops: vec![("no-route".into(), count), (format!("own-{count}"), 1)],
            stages: stages_of(&json!({"lookup": {"cycles": count, "packets": 1}})),
            ..Usage::default()
        };
        let both = sum(vec![one(3), one(4)]);
        assert_eq!((both.cpu_ns, both.resident_bytes), (Some(7), None));
        assert_eq!(both.drops[0], ("no-route".into(), 7));
        assert_eq!((both.drops.len(), both.stages.len()), (3, 1));
        assert_eq!((both.stages[0].ticks, both.stages[0].packets), (7, 2));
        assert_eq!(sum(Vec::new()), Usage::default());
    }

    #[test]
    fn the_gaps_of_workers_are_told_and_those_of_several_daemons_one_behind_the_other() {
        let shown = json!([{"gaps": 3, "gaps_ns": 900_000, "gap_ns_max": 500_000}, {"gaps": 0}]);
        let stalls = stalls_of(&shown);
        assert_eq!((stalls.len(), stalls[0].count, stalls[0].longest_ns), (2, 3, 500_000));
        assert_eq!(stalls[1].thread, "worker 1");
        let usage = || Usage { stalls: stalls.clone(), ..Usage::default() };
        let both = sum(vec![usage(), usage()]);
        let threads: Vec<&str> = both.stalls.iter().map(|one| one.thread.as_str()).collect();
        assert_eq!(threads, ["worker 0", "worker 1", "worker 2", "worker 3"]);
        assert!(stalls_of(&Value::Null).is_empty());
    }

    #[test]
    fn what_a_daemon_shows_becomes_drops_and_stages() {
        let drops = drops_of(&json!({
            "function": {"no-route": 3},
            "ports": {"left": {"receive": {"ring-full": 2}, "transmit": {}}},
        }));
        assert_eq!(drops, [("no-route".into(), 3), ("left-receive-ring-full".into(), 2)]);
        let stages = stages_of(&json!({
            "receive": {"cycles": 10, "packets": 1},
            "lookup": {"cycles": 70, "packets": 2},
            "transmit": {"cycles": 5, "packets": 1},
        }));
        let roles: Vec<StageRole> = stages.iter().map(|stage| stage.role).collect();
        assert_eq!(roles, [StageRole::Bench, StageRole::Function, StageRole::Bench]);
        assert_eq!((stages[1].ticks, stages[1].packets), (70, 2));
        assert!(stages_of(&Value::Null).is_empty() && drops_of(&Value::Null).is_empty());
    }
}
