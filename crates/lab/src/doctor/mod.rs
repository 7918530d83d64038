//! What this machine can do, and its noise floor.
//!
//! Each probe is in its own file and takes about the time it is given. [`examine`] runs them all
//! and draws the conclusions a person needs; [`glance`] is the short form that every run records
//! beside its figures. Nothing is changed on the machine, and nothing needs root; what other
//! devices and ports need, it tells.

mod cores;
mod findings;
mod memory;
mod stalls;
mod usable;
mod verdict;

use std::time::{Duration, Instant};

use machine::clock::{self, Clock};
use measure::record::{HostFacts, StallProbe};

pub use findings::{ClockCosts, Findings, Level, Verdict};
pub use stalls::{BUCKET_LIMITS_NS, CoreStalls};
pub use usable::{Hindrance, Usable};

/// Runs all probes: about `stall_time` per core and a few seconds more. `progress` receives the
/// name of each probe.
pub fn examine(stall_time: Duration, progress: &mut dyn FnMut(&str)) -> Findings {
    progress("calibrating the clock");
    let clock = Clock::calibrate(Duration::from_millis(100));
    let cores = machine::cpu::available_cores();
    let memory_available_bytes = machine::memory::available().bytes;
    let mut host = crate::host::facts(&clock);
    let mut all_stalls = Vec::new();
    for &core in &cores {
        progress(&format!("watching core {core} for stalls"));
        all_stalls.push(stalls::watch(core, stall_time, &clock));
    }
    host.stall_probe = all_stalls.iter().map(|one| one.probe).max_by_key(|probe| probe.total_ns);
    if let [first, .., last] = cores[..] {
        progress("sending a cache line between two cores");
        host.core_to_core_probe = cores::round_trip([first, last], ROUND_TRIP_LIMIT, &clock);
    }
    progress("reading memory at random");
    let time = Duration::from_millis(60);
    host.random_access_probe = memory::random_access(&memory::sizes(memory_available_bytes), time);
    let mut findings = Findings {
        host,
        memory_available_bytes,
        clock_costs: clock_costs(),
        stalls: all_stalls,
        devices: Vec::new(),
        ports: Vec::new(),
        verdicts: Vec::new(),
    };
    progress("checking which devices and ports can be used");
    findings.devices = usable::devices();
    findings.ports = usable::ports();
    findings.verdicts = verdict::of(&findings);
    findings
}

/// The facts and short probes that a run records, in about half a second: stalls of `core`, the
/// round trip to `other`, and memory access at a few sizes.
pub fn glance(clock: &Clock, core: usize, other: Option<usize>) -> HostFacts {
    let mut host = crate::host::facts(clock);
    let stalls: StallProbe = stalls::watch(core, Duration::from_millis(200), clock).probe;
    host.stall_probe = Some(stalls);
    host.core_to_core_probe =
        other.and_then(|other| cores::round_trip([core, other], ROUND_TRIP_LIMIT / 10, clock));
    let mut sizes = memory::sizes(machine::memory::available().bytes);
    sizes.retain(|&bytes| bytes <= GLANCE_BYTES_MAX);
    host.random_access_probe = memory::random_access(&sizes, Duration::from_millis(15));
    host
}

fn clock_costs() -> ClockCosts {
    fn cost(mut read: impl FnMut()) -> f64 {
        let start = Instant::now();
        (0..CLOCK_READS).for_each(|_| read());
        start.elapsed().as_nanos() as f64 / f64::from(CLOCK_READS)
    }
    ClockCosts {
        tsc_ns: cost(|| {
            std::hint::black_box(clock::now());
        }),
        monotonic_ns: cost(|| {
            std::hint::black_box(Instant::now());
        }),
    }
}

const ROUND_TRIP_LIMIT: Duration = Duration::from_millis(500);
const GLANCE_BYTES_MAX: u64 = 64 << 20;
const CLOCK_READS: u32 = 200_000;
