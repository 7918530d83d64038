//! What processes and threads use, by the kernel's word.

use std::path::Path;

/// Returns the CPU time of a thread in nanoseconds, by its folder below `/proc`.
pub(super) fn thread_ns(task: &Path) -> Option<u64> {
    // The first number is the time on a processor (`Documentation/scheduler/sched-stats.rst`).
    let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Returns the CPU time of all threads of processes in nanoseconds, and their number.
pub(super) fn cpu_ns(processes: &[u32]) -> Option<(u64, usize)> {
    let threads = processes.iter().flat_map(|process| {
        std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten()
    });
    let times: Vec<u64> = threads.filter_map(|thread| thread_ns(&thread.path())).collect();
    (!times.is_empty()).then(|| (times.iter().sum(), times.len()))
}

/// Returns the resident memory of processes in bytes. What two of them share counts twice: that is
/// the program's own file, as none of the daemons forks once it has data.
pub(super) fn resident_bytes(processes: &[u32]) -> Option<u64> {
    let of = |process: &u32| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib << 10)
    };
    let sizes: Vec<u64> = processes.iter().filter_map(of).collect();
    (!sizes.is_empty()).then(|| sizes.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_threads_and_memory_and_one_that_is_none_has_nothing() {
        let own = [std::process::id()];
        assert!(cpu_ns(&own).is_some_and(|(time, count)| time > 0 && count > 0));
        let one = resident_bytes(&own).expect("it has memory");
        let two = resident_bytes(&[own[0], own[0]]).expect("it has memory");
        assert!(two > one, "{two} {one}");
        assert_eq!((cpu_ns(&[]), resident_bytes(&[0])), (None, None));
    }
}
