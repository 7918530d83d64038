//! On which cores the kernel forwards, and what CPU time that took.

use std::fs;
use std::time::{Duration, Instant};

use netns::Namespace;

use super::options::Forwarding;
use crate::driver::DriverError;
use crate::wires::Wires;

/// The context in which frames are forwarded.
pub(super) struct Place {
    forwarding: Forwarding,
    /// Identifiers of the kernel's threads, one per port.
    threads: Vec<u32>,
    /// Cores of the threads or soft interrupts.
    cores: Vec<usize>,
    /// CPU time of the soft interrupts at the start, in nanoseconds.
    before_ns: u64,
}

impl Place {
    /// Sets up the context in which the device forwards.
    pub fn settle(
        device: &Namespace,
        wires: &Wires,
        forwarding: Forwarding,
        cores: &[usize],
    ) -> Result<Place, DriverError> {
        let mut place =
            Place { forwarding, threads: Vec::new(), cores: cores.to_vec(), before_ns: 0 };
        match forwarding {
            Forwarding::Threaded => place.start_threads(device, wires)?,
            Forwarding::Rps => {
                for name in wires.near() {
                    device.set_attribute(name, "queues/rx-0/rps_cpus", &mask(cores))?;
                }
            }
            Forwarding::Softirq => place.cores = machine::cpu::available_cores(),
        }
        place.before_ns = softirq_ns(&place.cores).unwrap_or_default();
        Ok(place)
    }

    /// Starts a thread for each port and pins the threads to the device's cores in turn.
    fn start_threads(&mut self, device: &Namespace, wires: &Wires) -> Result<(), DriverError> {
        for (index, (near, far)) in wires.near().into_iter().zip(wires.far()).enumerate() {
            // A veth polls, and so can have a thread, when it may merge packets; and it takes that
            // way only for frames of a peer that does not leave segmentation to it.
            device.command("ethtool", &["-K", near, "gro", "on"], None)?;
            let off = ["-K", far, "tso", "off", "gso", "off"];
            wires.tester().command("ethtool", &off, None)?;
            device.set_attribute(near, "threaded", "1").map_err(|error| {
                let what = format!("the kernel does not create a thread for {near}: {error}");
                let remedy = "needs Linux 5.12; or set `forwarding: rps` in the device section";
                DriverError::new(what, remedy)
            })?;
            let id = thread_of(near)?;
            if let Some(&core) = self.cores.get(index % self.cores.len().max(1))
                && !machine::cpu::pin_thread(id, core)
            {
                let what = format!("the thread of {near} cannot be pinned to core {core}");
                return Err(DriverError::new(what, "run with sudo"));
            }
            self.threads.push(id);
        }
        Ok(())
    }

    /// Returns the CPU time since the start in nanoseconds, and a description of what it covers.
    pub fn cpu(&self) -> (Option<u64>, String) {
        let cores = self.cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        if self.forwarding == Forwarding::Threaded {
            let used = self.threads.iter().map(|&id| thread_ns(id)).sum();
            let what = format!(
                "{} kernel threads on core {cores}, to the tester's receive queue",
                self.threads.len()
            );
            return (used, what);
        }
        let used = softirq_ns(&self.cores).map(|now| now.saturating_sub(self.before_ns));
        (used, format!("all soft interrupts on core {cores}"))
    }
}

/// Finds the kernel's thread of an interface by its unique name; it appears shortly after it was
/// requested.
fn thread_of(interface: &str) -> Result<u32, DriverError> {
    let deadline = Instant::now() + PATIENCE;
    let prefix = format!("napi/{interface}-");
    loop {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_it = |id: &u32| {
            fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| {
                // Older kernels cut it.
                name.starts_with(&prefix)
                    || (name.trim_end().len() == COMM_LEN_MAX
                        && prefix.starts_with(name.trim_end()))
            })
        };
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        if let Some(id) = ids.into_iter().find(is_it) {
            return Ok(id);
        }
        if Instant::now() > deadline {
            let what = format!("the kernel's thread {prefix}… is not in /proc");
            return Err(DriverError::new(what, "set `forwarding: rps` in the device section"));
        }
        std::thread::park_timeout(POLL);
    }
}

/// Returns the CPU time of a thread (`/proc/PID/schedstat`,
/// Documentation/scheduler/sched-stats.rst).
fn thread_ns(id: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Returns the CPU time in soft interrupts of some cores since the machine started (`/proc/stat`,
/// proc(5)).
fn softirq_ns(cores: &[usize]) -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let of = |core: &usize| -> Option<u64> {
        let name = format!("cpu{core}");
        let line = text.lines().find(|line| line.split(' ').next() == Some(&name))?;
        line.split_whitespace().nth(SOFTIRQ_FIELD)?.parse().ok()
    };
    let ticks: Option<u64> = cores.iter().map(of).sum();
    Some(ticks? * TICK_NS)
}

/// Returns the kernel's CPU mask of cores: hexadecimal words of 32 bits, the highest first.
fn mask(cores: &[usize]) -> String {
    let words = cores.iter().max().map_or(1, |core| core / 32 + 1);
    let word = |number: usize| {
        let mine = cores.iter().filter(|&&core| core / 32 == number);
        mine.fold(0_u32, |word, core| word | 1 << (core % 32))
    };
    let words: Vec<String> =
        (0..words).rev().map(|number| format!("{:08x}", word(number))).collect();
    words.join(",")
}

/// Time limit for a thread to appear.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);

/// Longest name of a thread: the kernel's TASK_COMM_LEN without the final zero.
const COMM_LEN_MAX: usize = 15;

/// Index of the soft interrupt time after the CPU's name: user, nice, system, idle, iowait, irq,
/// softirq.
const SOFTIRQ_FIELD: usize = 7;

/// Unit of `/proc/stat` in nanoseconds: hundredths of a second (USER_HZ).
const TICK_NS: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_words_of_32_bits() {
        assert_eq!(mask(&[]), "00000000");
        assert_eq!(mask(&[0, 1]), "00000003");
        assert_eq!(mask(&[33, 5]), "00000002,00000020");
    }

    #[test]
    fn soft_interrupts_of_this_machine_are_counted() {
        let cores = machine::cpu::available_cores();
        assert!(softirq_ns(&cores).is_some());
        assert_eq!(softirq_ns(&[4095]), None);
    }
}
