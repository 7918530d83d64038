//! The open loop: a tester on its own core, joined to the workers by memory ports.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use engine::Port;
use functions::NetworkFunction;
use measure::{Load, MeasureError, Pps, Trial, Watch};
use packet::PortId;
use traffic::Workload;

use super::events::Changes;
use super::tester::{Findings, Links, Progress, Tester};
use super::{Embedded, Lane, StopOnDrop, Usage, WATCH_INTERVAL, device_error, stalls, tell};

/// Offers `rate` in each direction for `duration`.
pub(super) fn run<N: NetworkFunction>(
    device: &mut Embedded<N>,
    rate: Pps,
    duration: Duration,
    watch: &mut dyn Watch,
) -> Result<Trial, MeasureError> {
    let Some(tester_core) = device.host.tester_core else {
        return Err(MeasureError::Unsupported("an open loop needs a second core for the tester"));
    };
    let before = device.counts();
    let links = connect(device)?;
    let workload = device.workload();
    device.changed |= !workload.events().is_empty();
    let load = Load::PerInterface(rate);
    let mut trial = Trial::new(load, duration, device.host.clock.ticks_per_second());

    let (clock, user_stop) = (device.host.clock, device.host.stop.clone());
    let workers_stop = AtomicBool::new(false);
    let progress = Progress::default();
    let begun = Instant::now();
    let findings: Result<Findings, MeasureError> = std::thread::scope(|scope| {
        let _stop = StopOnDrop(&workers_stop);
        let mut controllers = Vec::new();
        let mut threads = Vec::new();
        for lane in &mut device.lanes {
            let Lane { worker, handle, core } = lane;
            let (core, stop) = (*core, &workers_stop);
            controllers.push(&mut handle.controller);
            threads.push(scope.spawn(move || Usage::of(core, || worker.run(stop))));
        }
        let (done, result) = mpsc::channel();
        let (progress_of, stop_of) = (&progress, &*user_stop);
        let tester = scope.spawn(move || {
            machine::cpu::pin_current_thread(tester_core);
            let changes = Changes::new(&workload, controllers, clock);
            let mut tester = Tester::new(workload, links, changes, (rate.0, duration), clock);
            tester.run(progress_of, &[stop_of]);
            let _ = done.send(tester.finish());
        });
        let findings = wait(&result, || {
            let sent = progress.sent.load(Ordering::Relaxed);
            tell(watch, begun, sent, progress.received.load(Ordering::Relaxed));
        });
        workers_stop.store(true, Ordering::Relaxed);
        for (index, thread) in threads.into_iter().enumerate() {
            let usage = thread.join().map_err(|_| device_error("a worker panicked"))?;
            trial.workers.push(usage.record(index));
        }
        tester.join().map_err(|_| device_error("the tester panicked"))?;
        findings.ok_or_else(|| device_error("the tester ended early"))
    });

    let findings = findings?;
    trial.effective = findings.effective;
    trial.directions = findings.directions;
    trial.events = findings.events;
    trial.stalls.push(stalls("tester".to_owned(), findings.gaps, &clock));
    device.finish(&mut trial, &before);
    Ok(trial)
}

/// Links each worker's ports by rings; the tester's ends by worker and port.
pub(super) fn connect<N: NetworkFunction>(
    device: &mut Embedded<N>,
) -> Result<Vec<Links>, MeasureError> {
    let mut all = Vec::new();
    for lane in &mut device.lanes {
        let mut links = Links::new();
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        for index in 0..N::PORTS.len() {
            let (near, port) =
                port_memory::link(PortId(index as u8), RING_BYTES).map_err(device_error)?;
            links.push(near);
            ports.push(Box::new(port));
        }
        lane.worker.connect(ports);
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
