//! Cores: which there are, and how a thread stays on one.
//!
//! A pinned thread is still preempted by whatever else the machine runs; that is measured
//! (`plumbline doctor`), not prevented.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores this process may run on, in ascending order.
pub fn available_cores() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect(),
        Err(_) => vec![0],
    }
}

/// Keeps the calling thread on one core; false where the system refuses.
pub fn pin_current_thread(core: usize) -> bool {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).is_ok()
}

/// CPU time the calling thread has used so far, in nanoseconds.
pub fn thread_cpu_time_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_is_pinned() {
        let core = *available_cores().last().expect("at least one core");
        std::thread::spawn(move || {
            assert!(pin_current_thread(core));
            assert_eq!(available_cores(), vec![core]);
        })
        .join()
        .expect("the pinned thread ends well");
    }
}
