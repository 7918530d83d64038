//! Cores: which there are, and how a thread stays on one.
//!
//! A pinned thread is still preempted by whatever else the machine runs; that is measured
//! (`plumbline doctor`), not prevented.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns the cores that this process may use, in ascending order.
pub fn available_cores() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect(),
        Err(_) => vec![0],
    }
}

/// Pins the calling thread to one core; returns false if the system refuses.
pub fn pin_current_thread(core: usize) -> bool {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).is_ok()
}

/// Pins another thread of this machine, by its kernel identifier, to one core; returns false if the
/// system refuses or the thread does not exist.
pub fn pin_thread(id: u32, core: usize) -> bool {
    let mut set = CpuSet::new();
    set.set(core);
    let id = i32::try_from(id).ok().and_then(rustix::thread::Pid::from_raw);
    id.is_some() && sched_setaffinity(id, &set).is_ok()
}

/// Returns the CPU time that the calling thread has used so far, in nanoseconds.
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

    #[test]
    fn another_thread_is_pinned_by_its_number() {
        let core = *available_cores().last().expect("at least one core");
        std::thread::spawn(move || {
            let id = rustix::thread::gettid().as_raw_nonzero().get();
            let id = u32::try_from(id).expect("threads count from 1");
            std::thread::scope(|scope| {
                scope.spawn(|| assert!(pin_thread(id, core)));
            });
            assert_eq!(available_cores(), vec![core]);
        })
        .join()
        .expect("the pinned thread ends well");
        assert!(!pin_thread(0, core));
    }
}
