//! The closed loop: as fast as the workers go, including generator and sink on their own cores.
//! Changes, where they are asked for, are requested by one more thread, on the tester's core.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use engine::{Function, Port, Worker};
use function_kit::NetworkFunction;
use machine::clock::{self, Clock};
use measure::{Direction, Events, Load, MeasureError, Trial, Watch};
use model_kit::{Model, WorkloadOf};
use packet::PortId;
use traffic::{Frames, Workload};

use super::device::{Embedded, Host, Lane, deadline};
use super::generator::{Generator, Made};
use crate::tester::changes::{Changes, Control};
use crate::tester::latency_histogram;
use crate::tester::thread::{StopOnDrop, Usage, WATCH_INTERVAL, device_error, tell};

/// Runs all workers for `duration`.
pub(super) fn run<N: Model>(
    device: &mut Embedded<N>,
    duration: Duration,
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let before = device.counts();
    let workload = device.workload();
    let directions = workload.directions().to_vec();
    // Where captured frames leave is known of the device alone; of one direction, all that leave
    // belong to it.
    let all_leave_by_any = device.model.replay.is_some() && directions.len() == 1;
    let made = connect(device, workload);
    let mut trial = Trial::new(Load::ClosedLoop, duration, device.host.clock.ticks_per_second());
    let begun = Instant::now();
    // Without a rate nothing changes here, whatever the configuration has for the open loop.
    let rate = device.conditions.updates_per_s.unwrap_or(0.0);
    device.changed |= rate > 0.0;
    let changing = device.workload();
    let host = device.host.clone();
    let (mut workers, mut controllers) = (Vec::new(), Vec::new());
    for lane in &mut device.lanes {
        let Lane { worker, handle, .. } = lane;
        workers.push(worker);
        controllers.push(&mut handle.controller);
    }
    let changes = Changes::new(&changing, controllers, Some(rate), host.clock).never_shown();
    let watch = || {
        let sum = |of: fn(&Made) -> u64| made.iter().flatten().map(|m| of(m)).sum::<u64>();
        tell(watch, begun, sum(sent), sum(taken));
    };
    let (usages, events) = run_workers(&host, workers, (changing, changes), duration, watch)?;
    trial.events = events;

    trial.effective = usages.iter().map(|usage| usage.wall).max().unwrap_or_default();
    trial.workers = usages.iter().enumerate().map(|(index, usage)| usage.record(index)).collect();
    for direction in directions {
        let at = |port: PortId, of: fn(&Made) -> u64| -> u64 {
            made.iter().map(|ports| of(&ports[usize::from(port.0)])).sum()
        };
        let offered = at(direction.from, sent);
        let delivered = match all_leave_by_any {
            true => made.iter().flatten().map(|port| taken(port)).sum(),
            false => at(direction.to, taken),
        };
        let received = delivered.min(offered);
        trial.directions.push(Direction {
            name: direction.name.to_owned(),
            intended: offered,
            sent: offered,
            received,
            lost: offered - received,
            ring_full: 0,
            duplicated: 0,
            reordered: 0,
            misdelivered: 0,
            sent_bytes: at(direction.from, |made| made.bytes.load(Ordering::Relaxed)),
            latency_ns: latency_histogram(),
            last_lost_ns: None,
        });
    }
    device.finish(&mut trial, &before, Duration::ZERO);
    Ok(trial)
}

/// Gives each worker a generator for each port, and returns the generators' counters, by worker and
/// port. A large workload takes time to create, so that the first sending generator gets the
/// existing one.
fn connect<N: Model>(device: &mut Embedded<N>, workload: WorkloadOf<N>) -> Vec<Vec<Arc<Made>>> {
    let workers = device.shards();
    let is_cold = device.conditions.cold_frames;
    let ports = N::Unit::ports(&device.model.config);
    let directions = workload.directions().to_vec();
    let mut first = Some(workload);
    (0..workers)
        .map(|worker| {
            let made: Vec<Arc<Made>> = ports.iter().map(|_| Arc::default()).collect();
            let ports = made.iter().enumerate().map(|(port, made)| {
                let enters = |d: &traffic::Direction| usize::from(d.from.0) == port;
                let source = directions.iter().position(enters).map(|direction| {
                    (first.take().unwrap_or_else(|| device.workload()), direction)
                });
                let generator = Generator::new(source, (worker, workers), is_cold, made.clone());
                Box::new(generator) as Box<dyn Port>
            });
            let ports = ports.collect();
            device.lanes[worker as usize].worker.connect(ports);
            made
        })
        .collect()
}

fn run_workers<F: Function, W: Workload, C: Control<W::Update> + Send>(
    host: &Host,
    workers: Vec<&mut Worker<F>>,
    (workload, changes): (W, Changes<C>),
    duration: Duration,
    mut watch: impl FnMut(),
) -> Result<(Vec<Usage>, Vec<Events>), MeasureError> {
    let (clock, stop) = (host.clock, &*host.stop);
    let cores = cores(host, workers.len());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_over = StopOnDrop(&over);
        let changer = (!changes.is_empty()).then(|| {
            let (over, core) = (&over, host.tester_core);
            scope.spawn(move || {
                core.map(machine::cpu::pin_current_thread);
                change(workload, changes, &clock, &[over, stop])
            })
        });
        let (done, results) = mpsc::channel();
        for (index, worker) in workers.into_iter().enumerate() {
            let (done, over) = (done.clone(), &over);
            let core = cores[index % cores.len()];
            scope.spawn(move || {
                let usage = Usage::of(core, || {
                    let end = deadline(&clock, clock::now(), duration);
                    run_worker(worker, end, &[stop, over])
                });
                let _ = done.send((index, usage));
            });
        }
        drop(done);
        let mut usages = Vec::new();
        loop {
            match results.recv_timeout(WATCH_INTERVAL) {
                Ok(result) => usages.push(result),
                Err(mpsc::RecvTimeoutError::Timeout) => watch(),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        drop(is_over);
        let events = match changer {
            Some(changer) => changer.join().map_err(|_| device_error("the changes panicked"))?,
            None => Vec::new(),
        };
        usages.sort_by_key(|&(index, _)| index);
        Ok((usages.into_iter().map(|(_, usage)| usage).collect(), events))
    })
}

/// Requests changes at their rate and collects the acknowledgements of the workers, until told to
/// stop.
fn change<W: Workload, C: Control<W::Update>>(
    mut workload: W,
    mut changes: Changes<C>,
    clock: &Clock,
    stops: &[&AtomicBool],
) -> Vec<Events> {
    changes.start(clock::now(), clock.ticks_per_second());
    while !stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
        changes.request(clock::now(), &mut workload);
        changes.settle(&mut workload);
        std::hint::spin_loop();
    }
    changes.finish()
}

/// Returns the cores of the workers, including the tester's core if there are too few: the tester
/// does not run in a closed loop.
fn cores(host: &Host, workers: usize) -> Vec<usize> {
    let mut cores = host.worker_cores.clone();
    cores.extend(host.tester_core.filter(|core| workers > cores.len() && !cores.contains(core)));
    cores
}

/// Polls until the end; returns the number of processed packets.
fn run_worker<F: Function>(worker: &mut Worker<F>, end: u64, stops: &[&AtomicBool]) -> u64 {
    let mut packets = 0;
    loop {
        let (now, handled) = worker.round();
        packets += handled as u64;
        if now >= end || stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
            return packets;
        }
    }
}

fn sent(made: &Made) -> u64 {
    made.frames.load(Ordering::Relaxed)
}

fn taken(made: &Made) -> u64 {
    made.taken.load(Ordering::Relaxed)
}
