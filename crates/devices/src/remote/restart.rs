//! A restart of the device in the middle of a trial: what forwards ends as by a crash and starts
//! again, while the tester goes on sending.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

use machine::clock::{self, Clock, Ticks};
use measure::{MeasureError, Restart, Trial, Watch};
use model_kit::Model;

use super::{Remote, Rig, Seat, Task, drain, driver_error, lost, note_own_loss};
use crate::driver::DriverError;
use crate::tester::Course;
use crate::tester::changes::{Changes, NoControl};
use crate::tester::thread::{StopOnDrop, carry_out, device_error};

impl<N: Model> Remote<N> {
    /// Runs a trial with a restart. There are no changes, and the device's usage is not recorded
    /// because its counters restart.
    pub(super) fn restarting(
        &mut self,
        task: Task,
        after: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        let (host, workload) = (self.host.clone(), self.workload());
        let Rig { links, running } = self.rig()?;
        drain(links);
        let lost_before = lost(links);
        let what = running.restarts().unwrap_or_default().to_owned();
        let seat = Seat { core: host.tester_core, clock: host.clock, stop: &host.stop };
        let changes = Changes::new(&workload, NoControl, Some(0.0), host.clock);
        let carry_out = || carry_out(&seat, workload, links, changes, task, watch);
        let (mut trial, course, done) =
            beside(&host.clock, after, || running.restart(), carry_out)?;
        if let Some(Done { asked, ready, .. }) = done {
            trial.restart = Some(Restart {
                asked_ns: host.clock.nanos(asked.saturating_sub(course.first_sent)),
                ready_after_ns: host.clock.nanos(ready.saturating_sub(asked)),
                silence_ns: host.clock.nanos(course.silence),
                what,
            });
        }
        note_own_loss(&mut trial, links, lost_before);
        self.healthy()?;
        Ok(trial)
    }
}

/// Result of an action on a device during a trial.
pub(super) struct Done<T> {
    /// Time of the request.
    pub asked: Ticks,
    /// The device's answer.
    pub said: T,
    /// Time of the answer.
    pub ready: Ticks,
}

/// Runs a trial and an action on the device some time after its start, unless the trial is over by
/// then.
///
/// # Errors
/// The error of the trial or of the action.
pub(super) fn beside<T: Send>(
    clock: &Clock,
    after: Duration,
    act: impl FnOnce() -> Result<T, DriverError> + Send,
    carry_out: impl FnOnce() -> Result<(Trial, Course), MeasureError>,
) -> Result<(Trial, Course, Option<Done<T>>), MeasureError> {
    let at = clock::now().saturating_add(clock.ticks(after));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_over = StopOnDrop(&over);
        let acting = scope.spawn(|| act_at(at, clock, &over, act));
        let trial = carry_out();
        drop(is_over);
        Thread::unpark(acting.thread());
        let done = acting.join().map_err(|_| device_error("the action on the device panicked"))?;
        let (trial, course) = trial?;
        Ok((trial, course, done.map_err(driver_error)?))
    })
}

/// Runs the action at a time, unless the trial is over by then.
fn act_at<T>(
    at: Ticks,
    clock: &Clock,
    over: &AtomicBool,
    act: impl FnOnce() -> Result<T, DriverError>,
) -> Result<Option<Done<T>>, DriverError> {
    loop {
        let left = clock.duration(at.saturating_sub(clock::now()));
        if over.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if left.is_zero() {
            break;
        }
        std::thread::park_timeout(left);
    }
    let asked = clock::now();
    let said = act()?;
    Ok(Some(Done { asked, said, ready: clock::now() }))
}
