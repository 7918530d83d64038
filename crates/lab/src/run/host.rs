//! Where and by what a run is done.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use machine::clock::Clock;
use measure::record::Tool;

use crate::scenario::DeviceChoice;
use crate::unit::OpenOptions;

/// Environment of a run.
#[derive(Clone, Debug)]
pub struct Host {
    /// The measuring program, for the record.
    pub tool: Tool,
    /// The calibrated clock.
    pub clock: Clock,
    /// Becomes true when the user asks to stop.
    pub stop: Arc<AtomicBool>,
    /// Name and tags of the run.
    pub naming: Naming,
}

/// Name and tags of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// Name of the run's folder; empty if there is none.
    pub id: String,
    /// Tags of the run.
    pub tags: Vec<String>,
}

/// Options for opening a device: its cores, and further facts of the host.
///
/// The tester gets the first core, where most of the kernel's own work runs: a disturbed tester is
/// visible in its own log, a disturbed worker only in the figures.
pub fn options(device: &DeviceChoice, host: &Host) -> OpenOptions {
    let available = machine::cpu::available_cores();
    let taken = device.worker_cores.clone().unwrap_or_default();
    let tester_core = device.tester_core.or_else(|| {
        available.iter().copied().find(|core| !taken.contains(core)).filter(|_| available.len() > 1)
    });
    let worker_cores = device.worker_cores.clone().unwrap_or_else(|| {
        let others: Vec<usize> =
            available.iter().copied().filter(|&core| Some(core) != tester_core).collect();
        if others.is_empty() { available } else { others }
    });
    OpenOptions { tester_core, worker_cores, clock: host.clock, stop: Arc::clone(&host.stop) }
}
