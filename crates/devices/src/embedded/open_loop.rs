//! The open loop: a tester on its own core, joined to the workers by memory ports.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use engine::{Function, Port, Worker};
use functions::NetworkFunction;
use measure::{Load, MeasureError, Trial, Watch};
use packet::{BATCH_MAX, PortId, Room};
use traffic::Workload;

use super::events::Changes;
use super::tester::{Findings, Links, Progress, Task, Tester};
use super::wire::Wire;
use super::{Embedded, Host, Lane, StopOnDrop, Usage, WATCH_INTERVAL, device_error, stalls, tell};

/// Offers `load` for `duration` under the device's conditions.
pub(super) fn run<N: NetworkFunction>(
    device: &mut Embedded<N>,
    load: Load,
    duration: Duration,
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let before = device.counts();
    let ports = device.lanes.iter_mut().map(|lane| &mut lane.worker);
    let links = connect::<N, _>(ports)?;
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
    let links = connect::<N, _>(wires.iter_mut().map(|(_, wire)| wire))?;
    let lanes = wires.iter_mut().map(|(core, wire)| (*core, wire)).collect();
    let workload = device.workload();
    let changes = Changes::new(&workload, Vec::new(), Some(0.0), device.host.clock);
    let task = Task { load, duration, subscribers_counted: 0, is_judging: false };
    carry_out(&device.host, (workload, changes), (lanes, links), task, watch)
}

/// Workers by core, and the tester's ends of their links.
type Testbed<'a, F> = (Vec<(usize, &'a mut Worker<F>)>, Vec<Links>);

/// Runs the tester and the workers on their cores until the task is done.
fn carry_out<W: Workload, F: Function>(
    host: &Host,
    (workload, changes): (W, Changes<'_, W::Update>),
    (lanes, links): Testbed<'_, F>,
    task: Task,
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let Some(tester_core) = host.tester_core else {
        return Err(MeasureError::Unsupported("an open loop needs a second core for the tester"));
    };
    let clock = host.clock;
    let mut trial = Trial::new(task.load, task.duration, clock.ticks_per_second());
    let workers_stop = AtomicBool::new(false);
    let progress = Progress::default();
    let begun = Instant::now();
    let found: Result<(Findings, Usage), MeasureError> = std::thread::scope(|scope| {
        let _stop = StopOnDrop(&workers_stop);
        let mut threads = Vec::new();
        for (core, worker) in lanes {
            let stop = &workers_stop;
            threads.push(scope.spawn(move || Usage::of(core, || worker.run(stop))));
        }
        let (done, result) = mpsc::channel();
        let (progress_of, stop_of) = (&progress, &*host.stop);
        let tester = scope.spawn(move || {
            let mut tester = None;
            let usage = Usage::of(tester_core, || {
                let mut new = Tester::new(workload, links, changes, task, clock);
                new.run(progress_of, &[stop_of]);
                let handled = new.sent() + new.received();
                tester = Some(new);
                handled
            });
            let _ = done.send(tester.map(|tester| (tester.finish(), usage)));
        });
        let found = wait(&result, || {
            let sent = progress.sent.load(Ordering::Relaxed);
            tell(watch, begun, sent, progress.received.load(Ordering::Relaxed));
        });
        workers_stop.store(true, Ordering::Relaxed);
        for (index, thread) in threads.into_iter().enumerate() {
            let usage = thread.join().map_err(|_| device_error("a worker panicked"))?;
            trial.workers.push(usage.record(index));
        }
        tester.join().map_err(|_| device_error("the tester panicked"))?;
        found.flatten().ok_or_else(|| device_error("the tester ended early"))
    });

    let (findings, usage) = found?;
    trial.effective = findings.effective;
    trial.directions = findings.directions;
    trial.events = findings.events;
    trial.policed = findings.policed;
    trial.tester = Some(usage.record(0));
    trial.resident_bytes = Some(machine::memory::resident_bytes()).filter(|bytes| *bytes > 0);
    trial.stalls.push(stalls("tester".to_owned(), findings.gaps, &clock));
    Ok(trial)
}

/// Links each worker's ports by rings; the tester's ends by worker and port.
pub(super) fn connect<'a, N: NetworkFunction, F: Function + 'a>(
    workers: impl Iterator<Item = &'a mut Worker<F>>,
) -> Result<Vec<Links>, MeasureError> {
    let mut all = Vec::new();
    for worker in workers {
        let mut links = Links::new();
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        for index in 0..N::PORTS.len() {
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

/// Waits for the tester and calls `watch` meanwhile; None if it ended without a result.
fn wait<T>(result: &mpsc::Receiver<T>, mut watch: impl FnMut()) -> Option<T> {
    loop {
        match result.recv_timeout(WATCH_INTERVAL) {
            Ok(result) => return Some(result),
            Err(mpsc::RecvTimeoutError::Timeout) => watch(),
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Bytes of each ring: some 40,000 of the shortest frames, 8 ms at 5 million a second.
pub(super) const RING_BYTES: usize = 4 << 20;
