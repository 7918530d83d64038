//! The device itself: a function, its workers, and what of the host it has.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{Worker, WorkerHandle};
use function_kit::{NetworkFunction, SetupError};
use host::Machines;
use machine::clock::{Clock, Ticks};
use measure::Conditions;
use model_kit::{Configured, Model, PipelineOf, UpdateOf, WorkloadOf};

use crate::sessions::Opened;

/// Resources of the host for the embedded device.
#[derive(Clone, Debug)]
pub struct Host {
    /// Core for the tester's thread; `None` if there is no second core.
    pub tester_core: Option<usize>,
    /// Cores for the workers, assigned in turn.
    pub worker_cores: Vec<usize>,
    /// Calibrated time-stamp clock.
    pub clock: Clock,
    /// Becomes true when the user asks to stop.
    pub stop: Arc<AtomicBool>,
}

/// A function with its workers, ready to be checked and measured.
pub struct Embedded<N: Model> {
    pub(super) model: Configured<N>,
    pub(super) host: Host,
    pub(super) lanes: Vec<Lane<N>>,
    pub(super) setup: Duration,
    pub(super) conditions: Conditions,
    /// True if changes were applied, so that the state is no longer the configured one.
    pub(super) changed: bool,
    pub(super) sessions: Opened<WorkloadOf<N>>,
}

/// A worker and its control handle.
pub(super) struct Lane<N: Model> {
    pub(super) worker: Worker<PipelineOf<N>>,
    pub(super) handle: WorkerHandle<UpdateOf<N>>,
    pub(super) core: usize,
    /// What is beside its function.
    pub(super) machines: Machines,
}

/// Drives the machines beside a function that was just made.
pub(super) fn drive<N: NetworkFunction>(
    function: &mut N::Function,
) -> Result<Machines, SetupError> {
    // What goes wrong with sockets, the function itself tells by what it counts.
    let machines = Machines::start(N::machines(function), (&Arc::default(), ""), |_| ());
    let of_table = |error: host::SocketError| SetupError::Table {
        what: "what is beside a worker",
        why: error.to_string(),
    };
    machines.map_err(of_table)
}

/// Returns the end of a trial that starts now.
pub(super) fn deadline(clock: &Clock, start: Ticks, duration: Duration) -> Ticks {
    start.saturating_add(clock.ticks(duration))
}
