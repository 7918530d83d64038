//! The closed loop: as fast as the workers go, with source and sink on their own cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use engine::Port;
use functions::NetworkFunction;
use machine::clock;
use measure::{Direction, Load, MeasureError, Trial, Watch};
use packet::PortId;
use traffic::Workload;

use super::generator::{Generator, Made};
use super::{Embedded, Host, Lane, deadline};
use crate::tester::latency_histogram;
use crate::tester::thread::{StopOnDrop, Usage, WATCH_INTERVAL, tell};

/// Runs all workers for `duration`.
pub(super) fn run<N: NetworkFunction>(
    device: &mut Embedded<N>,
    duration: Duration,
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let before = device.counts();
    let made = connect(device);
    let mut trial = Trial::new(Load::ClosedLoop, duration, device.host.clock.ticks_per_second());
    let begun = Instant::now();
    let usages = run_workers(device, duration, || {
        let sum = |of: fn(&Made) -> u64| made.iter().flatten().map(|m| of(m)).sum::<u64>();
        tell(watch, begun, sum(sent), sum(taken));
    });

    trial.effective = usages.iter().map(|usage| usage.wall).max().unwrap_or_default();
    trial.workers = usages.iter().enumerate().map(|(index, usage)| usage.record(index)).collect();
    let workload = device.workload();
    for direction in workload.directions() {
        let at = |port: PortId, of: fn(&Made) -> u64| -> u64 {
            made.iter().map(|ports| of(&ports[usize::from(port.0)])).sum()
        };
        let (offered, delivered) = (at(direction.from, sent), at(direction.to, taken));
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
    device.finish(&mut trial, &before);
    Ok(trial)
}

/// Gives each worker a generator for each port, and tells what they count, by worker and port.
fn connect<N: NetworkFunction>(device: &mut Embedded<N>) -> Vec<Vec<Arc<Made>>> {
    let workers = device.shards();
    let ports = N::ports(&device.config);
    let directions = device.workload().directions().to_vec();
    (0..workers)
        .map(|worker| {
            let made: Vec<Arc<Made>> = ports.iter().map(|_| Arc::default()).collect();
            let ports = made.iter().enumerate().map(|(port, made)| {
                let enters = |d: &traffic::Direction| usize::from(d.from.0) == port;
                let direction = directions.iter().position(enters);
                let workload = device.workload();
                let generator =
                    Generator::new(workload, direction, (worker, workers), made.clone());
                Box::new(generator) as Box<dyn Port>
            });
            let ports = ports.collect();
            device.lanes[worker as usize].worker.connect(ports);
            made
        })
        .collect()
}

fn run_workers<N: NetworkFunction>(
    device: &mut Embedded<N>,
    duration: Duration,
    mut watch: impl FnMut(),
) -> Vec<Usage> {
    let (clock, stop) = (device.host.clock, &*device.host.stop);
    let cores = cores(&device.host, device.lanes.len());
    let abort = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _abort = StopOnDrop(&abort);
        let (done, results) = mpsc::channel();
        for (index, lane) in device.lanes.iter_mut().enumerate() {
            let (done, abort) = (done.clone(), &abort);
            let core = cores[index % cores.len()];
            scope.spawn(move || {
                let usage = Usage::of(core, || {
                    let end = deadline(&clock, clock::now(), duration);
                    run_worker(lane, end, &[stop, abort])
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
        usages.sort_by_key(|&(index, _)| index);
        usages.into_iter().map(|(_, usage)| usage).collect()
    })
}

/// The cores of the workers, and the tester's too where they are short: it does not run here.
fn cores(host: &Host, workers: usize) -> Vec<usize> {
    let mut cores = host.worker_cores.clone();
    cores.extend(host.tester_core.filter(|core| workers > cores.len() && !cores.contains(core)));
    cores
}

/// Polls until the end; tells how many packets went through.
fn run_worker<N: NetworkFunction>(lane: &mut Lane<N>, end: u64, stops: &[&AtomicBool]) -> u64 {
    let mut packets = 0;
    loop {
        let (now, handled) = lane.worker.round();
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
