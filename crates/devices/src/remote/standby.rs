//! A standby of the device that takes over in the middle of a trial of sessions: the one that
//! forwards ends as by a crash, and the other one gets its frames, while the tester goes on.

use std::time::{Duration, Instant};

use function_kit::Standby;
use machine::clock::Clock;
use measure::{MeasureError, SessionLoad, Takeover, Trial, Watch};
use model_kit::Model;

use super::restart::{Done, beside};
use super::{NO_STANDBY, Remote, Rig, Seat, drain, lost, note_own_loss};
use crate::driver::TakenOver;
use crate::tester::Course;
use crate::tester::thread::carry_out_sessions;

impl<N: Model> Remote<N> {
    /// Returns the state of the device's standby; `None` without one.
    pub(super) fn standby(&mut self) -> Result<Option<Standby>, MeasureError> {
        Ok(self.rig()?.running.standby())
    }

    /// Waits until the standby has acknowledged all changes; returns false after `patience`.
    pub(super) fn follow(&mut self, patience: Duration) -> Result<bool, MeasureError> {
        let deadline = Instant::now() + patience;
        loop {
            let standby = self.standby()?.ok_or(MeasureError::Unsupported(NO_STANDBY))?;
            if self.is_interrupted() {
                return Err(MeasureError::Interrupted);
            }
            if standby.is_synchronised || Instant::now() > deadline {
                return Ok(standby.is_synchronised);
            }
            self.healthy()?;
            std::thread::park_timeout(POLL);
        }
    }

    /// Opens, uses or closes sessions while the standby takes over. The device's usage is not
    /// recorded, because the counters at the end are those of another process. The standby stays
    /// active until the sessions are cleared.
    pub(super) fn taking_over(
        &mut self,
        (load, wait): (SessionLoad, Duration),
        after: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        let (host, workload) = (self.host.clone(), self.workload());
        let Rig { links, running } = self.rig()?;
        drain(links);
        let lost_before = lost(links);
        let seat = Seat { core: host.tester_core, clock: host.clock, stop: &host.stop };
        let carry_out = || carry_out_sessions(&seat, workload, links, (load, wait), watch);
        let (mut trial, course, done) =
            beside(&host.clock, after, || running.fail_over(), carry_out)?;
        let late = trial.stalls.iter().map(|one| one.longest_ns).max().unwrap_or_default();
        let rate = (load.rate.unwrap_or_default(), Duration::from_nanos(late));
        trial.takeover = done.map(|done| takeover(&done, course, rate, &host.clock));
        note_own_loss(&mut trial, links, lost_before);
        Ok(trial)
    }
}

/// Returns the take-over for the record. Sessions that were opened after the last report of the
/// ended device also count as unacknowledged, as an upper bound: the rate of opening multiplied by
/// the time, plus the tester's lag.
fn takeover(
    done: &Done<TakenOver>,
    course: Course,
    (rate, late): (f64, Duration),
    clock: &Clock,
) -> Takeover {
    let Done { asked, said, ready } = *done;
    let took = ready.saturating_sub(asked);
    let unsaid = (rate * (clock.duration(took) + late).as_secs_f64()).ceil() as u64;
    Takeover {
        asked_ns: clock.nanos(asked.saturating_sub(course.first_sent)),
        ready_after_ns: clock.nanos(took),
        silence_ns: clock.nanos(course.silence),
        unacknowledged: said.unacknowledged.saturating_add(unsaid),
        what: said.what.to_owned(),
    }
}

/// Interval between two polls of a standby.
const POLL: Duration = Duration::from_millis(5);
