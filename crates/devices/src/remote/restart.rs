//! A restart of the device in the middle of a trial: what forwards ends as by a crash and starts
//! again, while the tester goes on sending.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

use functions::NetworkFunction;
use machine::clock::{self, Ticks};
use measure::{MeasureError, Restart, Trial, Watch};

use super::{Remote, Rig, Seat, Task, drain, driver_error, lost, note_own_loss};
use crate::driver::{DriverError, Running};
use crate::tester::changes::{Changes, NoControl};
use crate::tester::thread::{StopOnDrop, carry_out, device_error};

impl<N: NetworkFunction> Remote<N> {
    /// A trial with a restart in it. Nothing changes meanwhile, and what the device used is not told:
    /// its counters begin anew.
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
        let at = clock::now().saturating_add(host.clock.ticks(after));
        let over = AtomicBool::new(false);
        let seat = Seat { core: host.tester_core, clock: host.clock, stop: &host.stop };
        let changes = Changes::new(&workload, NoControl, Some(0.0), host.clock);
        let (trial, span) = std::thread::scope(|scope| {
            let is_over = StopOnDrop(&over);
            let restart = scope.spawn(|| restart(running.as_mut(), at, &host.clock, &over));
            let trial = carry_out(&seat, workload, links, changes, task, watch);
            drop(is_over);
            Thread::unpark(restart.thread());
            let span = restart.join().map_err(|_| device_error("the restart panicked"))?;
            Ok::<_, MeasureError>((trial, span))
        })?;
        let (mut trial, course) = trial?;
        if let Some((asked, ready)) = span.map_err(driver_error)? {
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

/// Restarts at a time, unless the trial is over by then; when it was asked for and done.
fn restart(
    running: &mut dyn Running,
    at: Ticks,
    clock: &clock::Clock,
    over: &AtomicBool,
) -> Result<Option<(Ticks, Ticks)>, DriverError> {
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
    running.restart()?;
    Ok(Some((asked, clock::now())))
}
