//! The open loop: a tester on its own core, joined to the workers by memory ports.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::{Function, Worker};
use function_kit::{NetworkFunction, SetupError, Shard};
use machine::clock;
use measure::{Load, MeasureError, SessionLoad, Trial, Watch};
use model_kit::{Model, PipelineOf};
use packet::BATCH_MAX;
use traffic::Changes as _;

use super::device::{Embedded, Host, Lane, drive};
use super::links::{Depth, Links, connect};
use super::restart::{self, Restarting};
use super::standby::TakingOver;
use super::wire::Wire;
use crate::room;
use crate::tester::changes::{Changes, NoControl};
use crate::tester::thread::{self, Seat, StopOnDrop, Usage, device_error};
use crate::tester::{Course, Task};

/// Offers `load` for `duration` under the device's conditions.
pub(super) fn run<N: Model>(
    device: &mut Embedded<N>,
    load: Load,
    duration: Duration,
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let before = device.counts();
    let ports = N::Unit::ports(&device.model.config).len();
    let workload = device.workload();
    let depth = Depth::of(load, room::frame_bytes_mean(&workload), device.lanes.len());
    let workers = device.lanes.iter_mut().map(|lane| &mut lane.worker);
    let links = connect((ports, N::Unit::hands_over(&device.model.config), depth), workers)?;
    let conditions = device.conditions;
    device.changed |= !workload.events().is_empty() && conditions.updates_per_s != Some(0.0);
    // The next trial begins with a session that is new at both ends.
    device.changed |= conditions.path_failing.is_some();
    let task = Task {
        subscribers_counted: conditions.subscribers_counted,
        floods: conditions.floods,
        path_failing: conditions.path_failing,
        bridged: depth.bridged,
        ..Task::plain(load, duration, true)
    };
    let (mut lanes, mut controllers) = (Vec::new(), Vec::new());
    for lane in &mut device.lanes {
        let Lane { worker, handle, core, .. } = lane;
        lanes.push((*core, worker));
        controllers.push(&mut handle.controller);
    }
    let clock = device.host.clock;
    let changes = Changes::new(&workload, controllers, conditions.updates_per_s, clock);
    let model = &device.model;
    let (count, room) = (lanes.len() as u32, room::room_for(&workload));
    let renewed = Mutex::new(Vec::new());
    let replace = |index, function: &mut PipelineOf<N>| {
        let mut anew = model.function(Shard { index, count }, clock, clock::now())?;
        let made = anew.make_room(room);
        made.map_err(|source| SetupError::Memory {
            what: "frames that the function generates",
            source,
        })?;
        let machines = drive::<N::Unit>(&mut anew)?;
        renewed.lock().unwrap_or_else(PoisonError::into_inner).push((index, machines));
        *function = anew;
        Ok(())
    };
    let at = |after: Duration| clock::now().saturating_add(clock.ticks(after));
    let restarting =
        conditions.restart_after.map(|after| Restarting { at: at(after), replace: &replace });
    let bed = Testbed { lanes, links, restarting };
    let mut trial = carry_out(&device.host, bed, |seat, links| {
        thread::carry_out(seat, workload, links, changes, task, watch)
    })?;
    for (index, machines) in renewed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        device.lanes[index as usize].machines = machines;
    }
    device.finish(&mut trial, &before, depth.bridged);
    Ok(trial)
}

/// Opens, uses or closes sessions; `wait` is the time limit for the last of them.
pub(super) fn run_sessions<N: Model>(
    device: &mut Embedded<N>,
    load: (SessionLoad, Duration),
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let before = device.counts();
    let ports = N::Unit::ports(&device.model.config).len();
    let workers = device.lanes.iter_mut().map(|lane| &mut lane.worker);
    let depth = Depth::usual();
    let links = connect((ports, N::Unit::hands_over(&device.model.config), depth), workers)?;
    let workload = device.workload();
    let taking_over = TakingOver::<N>::new(room::room_for(&workload));
    let replace = |_, function: &mut PipelineOf<N>| taking_over.replace(function);
    let clock = device.host.clock;
    let at = |after: Duration| clock::now().saturating_add(clock.ticks(after));
    let after = device.conditions.fail_over_after;
    let restarting = after.map(|after| Restarting { at: at(after), replace: &replace });
    let lanes = device.lanes.iter_mut().map(|lane| (lane.core, &mut lane.worker)).collect();
    let bed = Testbed { lanes, links, restarting };
    let mut trial = carry_out(&device.host, bed, |seat, links| {
        thread::carry_out_sessions(seat, workload, links, load, watch)
    })?;
    trial.takeover = trial.restart.take().map(|restart| taking_over.record(restart));
    device.finish(&mut trial, &before, Duration::ZERO);
    Ok(trial)
}

/// Offers `load` for `duration` to a wire on each worker's core, without changes.
pub(super) fn run_wire<N: Model>(
    device: &Embedded<N>,
    load: Load,
    duration: Duration,
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let mut wires = Vec::new();
    let room = room::room_for(&device.workload());
    for lane in &device.lanes {
        let (wire, _) = Worker::new(Wire, Vec::new(), BATCH_MAX, room).map_err(device_error)?;
        wires.push((lane.core, wire));
    }
    let ports = N::Unit::ports(&device.model.config).len();
    let workload = device.workload();
    let depth = Depth::of(load, room::frame_bytes_mean(&workload), device.lanes.len());
    let links = connect((ports, false, depth), wires.iter_mut().map(|(_, wire)| wire))?;
    let lanes = wires.iter_mut().map(|(core, wire)| (*core, wire)).collect();
    let changes = Changes::new(&workload, NoControl, Some(0.0), device.host.clock);
    let bed = Testbed { lanes, links, restarting: None };
    let task = Task { bridged: depth.bridged, ..Task::plain(load, duration, false) };
    carry_out(&device.host, bed, |seat, links| {
        thread::carry_out(seat, workload, links, changes, task, watch)
    })
}

/// Components of an open-loop trial.
struct Testbed<'a, F: Function> {
    /// Workers by core.
    lanes: Vec<(usize, &'a mut Worker<F>)>,
    /// The tester's ends of the workers' links.
    links: Vec<Links>,
    restarting: Option<Restarting<'a, F>>,
}

/// Runs the tester and the workers on their cores until the tester is done.
fn carry_out<F: Function>(
    host: &Host,
    Testbed { lanes, mut links, restarting }: Testbed<'_, F>,
    test: impl FnOnce(&Seat<'_>, &mut [Links]) -> Result<(Trial, Course), MeasureError>,
) -> Result<Trial, MeasureError> {
    let seat = Seat { core: host.tester_core, clock: host.clock, stop: &host.stop };
    seat.core()?;
    let workers_stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = StopOnDrop(&workers_stop);
        let mut threads = Vec::new();
        for (index, (core, worker)) in (0..).zip(lanes) {
            let (stop, restarting) = (&workers_stop, restarting.as_ref());
            threads.push(scope.spawn(move || {
                let mut span = None;
                let usage = Usage::of(core, || {
                    let (packets, restarted) = restart::run(worker, index, stop, restarting);
                    span = restarted;
                    packets
                });
                (usage, span)
            }));
        }
        let trial = test(&seat, &mut links);
        drop(stop);
        let (mut usages, mut spans) = (Vec::new(), Vec::new());
        for (index, thread) in threads.into_iter().enumerate() {
            let (usage, span) = thread.join().map_err(|_| device_error("a worker panicked"))?;
            usages.push(usage.record(index));
            spans.extend(span);
        }
        let (mut trial, course) = trial?;
        trial.restart = restart::record(spans, course, &host.clock).map_err(device_error)?;
        trial.workers = usages;
        trial.resident_bytes = Some(machine::memory::resident_bytes()).filter(|bytes| *bytes > 0);
        Ok(trial)
    })
}
