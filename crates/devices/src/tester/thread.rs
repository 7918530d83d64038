//! The tester on a core of its own, watched while it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use engine::Gaps;
use machine::clock::Clock;
use measure::validity::STALL_NS_HARMLESS;
use measure::{Load, MeasureError, SessionLoad, Stalls, Trial, TrialProgress, Watch, WorkerTime};
use traffic::Workload;

use super::changes::{Changes, Control};
use super::link::Link;
use super::sessions::SessionTester;
use super::{Course, Findings, Progress, Task, Tester};

/// Core, clock and stop flag of a tester.
pub(crate) struct Seat<'a> {
    /// Core of the tester; `None` if the machine has no second core.
    pub core: Option<usize>,
    /// Calibrated time-stamp clock.
    pub clock: Clock,
    /// Becomes true when the user asks to stop.
    pub stop: &'a AtomicBool,
}

impl Seat<'_> {
    /// Returns the core.
    ///
    /// # Errors
    /// When there is no core for the tester.
    pub fn core(&self) -> Result<usize, MeasureError> {
        self.core
            .ok_or(MeasureError::Unsupported("an open loop needs a second core for the tester"))
    }
}

/// Runs a tester until its task is done; returns the trial with its findings and its course.
///
/// # Errors
/// Without a core for the tester, or when it panics.
pub(crate) fn carry_out<W: Workload, L: Link, C: Control<W::Update> + Send>(
    seat: &Seat<'_>,
    workload: W,
    links: &mut [Vec<L>],
    changes: Changes<C>,
    task: Task,
    watch: &mut dyn Watch,
) -> Result<(Trial, Course), MeasureError> {
    let clock = seat.clock;
    let (findings, usage) = beside(seat, watch, |progress, stop| {
        let mut tester = Tester::new(workload, links, changes, task, clock);
        tester.run(progress, &[stop]);
        let handled = tester.sent() + tester.received();
        (handled, move || tester.finish())
    })?;
    let course = findings.course;
    Ok((trial(findings, &usage, task, &clock), course))
}

/// Opens, uses or closes sessions as [`carry_out`] sends frames; `wait` is the time limit for the
/// last of them.
///
/// # Errors
/// Without a core for the tester, or when it panics.
pub(crate) fn carry_out_sessions<W: Workload, L: Link>(
    seat: &Seat<'_>,
    workload: W,
    links: &mut [Vec<L>],
    (load, wait): (SessionLoad, Duration),
    watch: &mut dyn Watch,
) -> Result<(Trial, Course), MeasureError> {
    let clock = seat.clock;
    let (found, usage) = beside(seat, watch, |progress, stop| {
        let mut tester = SessionTester::new(workload, links, (load, wait), clock);
        tester.run(progress, &[stop]);
        let handled = tester.sent() + tester.received();
        (handled, move || tester.finish())
    })?;
    let mut trial = Trial::new(Load::Sessions(load), wait, clock.ticks_per_second());
    trial.effective = found.effective;
    trial.directions = found.directions;
    trial.sessions = Some(found.counts);
    trial.foreign = found.foreign;
    trial.tester = Some(usage.record(0));
    trial.stalls.push(stalls("tester".to_owned(), found.gaps, Duration::ZERO, &clock));
    Ok((trial, found.course))
}

/// Runs a tester's work on its core while this thread reports the progress. The work returns the
/// number of frames that it handled, and the rest of the work, which is no longer accounted for.
fn beside<T: Send, F: FnOnce() -> T>(
    seat: &Seat<'_>,
    watch: &mut dyn Watch,
    work: impl FnOnce(&Progress, &AtomicBool) -> (u64, F) + Send,
) -> Result<(T, Usage), MeasureError> {
    let core = seat.core()?;
    let progress = Progress::default();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let (done, result) = mpsc::channel();
        let (progress_of, stop) = (&progress, seat.stop);
        let tester = scope.spawn(move || {
            let mut rest = None;
            let usage = Usage::of(core, || {
                let (handled, finish) = work(progress_of, stop);
                rest = Some(finish);
                handled
            });
            let _ = done.send(rest.map(|finish| (finish(), usage)));
        });
        let found = wait(&result, || {
            let sent = progress.sent.load(Ordering::Relaxed);
            tell(watch, begun, sent, progress.received.load(Ordering::Relaxed));
        });
        tester.join().map_err(|_| device_error("the tester panicked"))?;
        found.flatten().ok_or_else(|| device_error("the tester ended early"))
    })
}

fn trial(findings: Findings, usage: &Usage, task: Task, clock: &Clock) -> Trial {
    let mut trial = Trial::new(task.load, task.duration, clock.ticks_per_second());
    trial.effective = findings.effective;
    trial.directions = findings.directions;
    trial.events = findings.events;
    trial.policed = findings.policed;
    trial.foreign = findings.foreign;
    trial.reports = findings.reports;
    trial.floods = findings.floods;
    trial.path_failure = findings.path_failure;
    trial.tester = Some(usage.record(0));
    trial.stalls.push(stalls("tester".to_owned(), findings.gaps, task.bridged, clock));
    trial
}

/// Waits for the tester and calls `watch` meanwhile; `None` if it ended without a result.
fn wait<T>(result: &mpsc::Receiver<T>, mut watch: impl FnMut()) -> Option<T> {
    loop {
        match result.recv_timeout(WATCH_INTERVAL) {
            Ok(result) => return Some(result),
            Err(mpsc::RecvTimeoutError::Timeout) => watch(),
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Usage of a core by one thread.
pub(crate) struct Usage {
    pub cpu_ns: u64,
    pub wall: Duration,
    pub packets: u64,
    pub core: Option<usize>,
}

impl Usage {
    /// Runs `work` on a core and measures its usage.
    pub fn of(core: usize, work: impl FnOnce() -> u64) -> Usage {
        let pinned = machine::cpu::pin_current_thread(core);
        let (cpu, wall) = (machine::cpu::thread_cpu_time_ns(), Instant::now());
        let packets = work();
        Usage {
            cpu_ns: machine::cpu::thread_cpu_time_ns() - cpu,
            wall: wall.elapsed(),
            packets,
            core: pinned.then_some(core),
        }
    }

    pub fn record(&self, worker: usize) -> WorkerTime {
        WorkerTime {
            worker,
            core: self.core,
            cpu_ns: self.cpu_ns,
            wall_ns: self.wall.as_nanos() as u64,
            packets: self.packets,
        }
    }
}

/// Sets a flag when it is dropped, also by a panic, so that no thread continues to poll.
pub(crate) struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the stalls of a thread in the form of a trial record. `bridged` is the gap that the
/// rings of a trial bridge at its rate, or zero if that is not known; a few shorter ones in
/// succession fill them as well.
pub(crate) fn stalls(thread: String, gaps: Gaps, bridged: Duration, clock: &Clock) -> Stalls {
    let harmless = Duration::from_nanos(STALL_NS_HARMLESS);
    let long = clock.ticks(harmless.max(bridged / GAPS_THAT_FILL));
    Stalls {
        thread,
        count: gaps.count,
        total_ns: clock.nanos(gaps.total_ticks),
        longest_ns: clock.nanos(gaps.longest_ticks),
        threshold_ns: clock.nanos(engine::gaps::GAP_TICKS_MIN),
        long_ns: clock.nanos(gaps.sum_from(long)),
    }
}

/// Number of gaps in close succession that are taken to fill a ring together.
const GAPS_THAT_FILL: u32 = 4;

pub(crate) fn device_error(error: impl std::fmt::Display) -> MeasureError {
    MeasureError::Device(error.to_string())
}

/// Interval of progress reports.
pub(crate) const WATCH_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn tell(watch: &mut dyn Watch, start: Instant, sent: u64, received: u64) {
    watch.at(TrialProgress { elapsed: start.elapsed(), sent, received });
}
