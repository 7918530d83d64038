//! The open loop: a tester on its own core, joined to the workers by memory ports.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{Function, Port, Worker};
use functions::NetworkFunction;
use measure::{Load, MeasureError, Trial, Watch};
use packet::{BATCH_MAX, PortId, Room};
use port_memory::{Receiver, Sender};
use traffic::Workload;

use super::wire::Wire;
use super::{Embedded, Host, Lane};
use crate::tester::Task;
use crate::tester::changes::{Changes, Control, NoControl};
use crate::tester::thread::{self, Seat, StopOnDrop, Usage, device_error};

/// The tester's ends of the links to one worker, by port.
pub(super) type Links = Vec<(Sender, Receiver)>;

/// Offers `load` for `duration` under the device's conditions.
pub(super) fn run<N: NetworkFunction>(
    device: &mut Embedded<N>,
    load: Load,
    duration: Duration,
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let before = device.counts();
    let ports = N::ports(&device.config).len();
    let links = connect(ports, device.lanes.iter_mut().map(|lane| &mut lane.worker))?;
    let workload = device.workload();
    let conditions = device.conditions;
    device.changed |= !workload.events().is_empty() && conditions.updates_per_s != Some(0.0);
    let subscribers_counted = conditions.subscribers_counted;
    let task = Task { load, duration, subscribers_counted, is_judging: true };
    let (mut lanes, mut controllers) = (Vec::new(), Vec::new());
    for lane in &mut device.lanes {
        let Lane { worker, handle, core } = lane;
        lanes.push((*core, worker));
        controllers.push(&mut handle.controller);
    }
    let clock = device.host.clock;
    let changes = Changes::new(&workload, controllers, conditions.updates_per_s, clock);
    let mut trial = carry_out(&device.host, (workload, changes), (lanes, links), task, watch)?;
    device.finish(&mut trial, &before);
    Ok(trial)
}

/// The same with a wire on each worker's core; nothing changes meanwhile.
pub(super) fn run_wire<N: NetworkFunction>(
    device: &Embedded<N>,
    load: Load,
    duration: Duration,
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let mut wires = Vec::new();
    for lane in &device.lanes {
        let (wire, _) =
            Worker::new(Wire, Vec::new(), BATCH_MAX, Room::default()).map_err(device_error)?;
        wires.push((lane.core, wire));
    }
    let ports = N::ports(&device.config).len();
    let links = connect(ports, wires.iter_mut().map(|(_, wire)| wire))?;
    let lanes = wires.iter_mut().map(|(core, wire)| (*core, wire)).collect();
    let workload = device.workload();
    let changes = Changes::new(&workload, NoControl, Some(0.0), device.host.clock);
    let task = Task { load, duration, subscribers_counted: 0, is_judging: false };
    carry_out(&device.host, (workload, changes), (lanes, links), task, watch)
}

/// Workers by core, and the tester's ends of their links.
type Testbed<'a, F> = (Vec<(usize, &'a mut Worker<F>)>, Vec<Links>);

/// Runs the tester and the workers on their cores until the task is done.
fn carry_out<W: Workload, F: Function, C: Control<W::Update> + Send>(
    host: &Host,
    (workload, changes): (W, Changes<C>),
    (lanes, mut links): Testbed<'_, F>,
    task: Task,
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let seat = Seat { core: host.tester_core, clock: host.clock, stop: &host.stop };
    seat.core()?;
    let workers_stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = StopOnDrop(&workers_stop);
        let mut threads = Vec::new();
        for (core, worker) in lanes {
            let stop = &workers_stop;
            threads.push(scope.spawn(move || Usage::of(core, || worker.run(stop))));
        }
        let trial = thread::carry_out(&seat, workload, &mut links, changes, task, watch);
        drop(stop);
        let mut usages = Vec::new();
        for (index, thread) in threads.into_iter().enumerate() {
            let usage = thread.join().map_err(|_| device_error("a worker panicked"))?;
            usages.push(usage.record(index));
        }
        let mut trial = trial?;
        trial.workers = usages;
        trial.resident_bytes = Some(machine::memory::resident_bytes()).filter(|bytes| *bytes > 0);
        Ok(trial)
    })
}

/// Links so many ports of each worker by rings; the tester's ends by worker and port.
pub(super) fn connect<'a, F: Function + 'a>(
    count: usize,
    workers: impl Iterator<Item = &'a mut Worker<F>>,
) -> Result<Vec<Links>, MeasureError> {
    let mut all = Vec::new();
    for worker in workers {
        let mut links = Links::new();
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        for index in 0..count {
            let (near, port) =
                port_memory::link(PortId(index as u8), RING_BYTES).map_err(device_error)?;
            links.push(near);
            ports.push(Box::new(port));
        }
        worker.connect(ports);
        all.push(links);
    }
    Ok(all)
}

/// Bytes of each ring: some 40,000 of the shortest frames, 8 ms at 5 million a second.
pub(super) const RING_BYTES: usize = 4 << 20;
