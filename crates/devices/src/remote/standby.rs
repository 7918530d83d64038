//! A standby of the device that takes over in the middle of a trial of sessions: the one that forwards ends as by a
//! crash, and the other one gets its frames, while the tester goes on.

use std::time::{Duration, Instant};

use functions::{NetworkFunction, Standby};
use machine::clock::Clock;
use measure::{MeasureError, SessionLoad, Takeover, Trial, Watch};

use super::restart::{Done, beside};
use super::{NO_STANDBY, Remote, Rig, Seat, drain, lost, note_own_loss};
use crate::driver::TakenOver;
use crate::tester::Course;
use crate::tester::thread::carry_out_sessions;

impl<N: NetworkFunction> Remote<N> {
    /// How its standby stands, where it has one.
    pub(super) fn standby(&mut self) -> Result<Option<Standby>, MeasureError> {
        Ok(self.rig()?.running.standby())
    }

    /// Waits until its standby has acknowledged everything.
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

    /// Opens, uses or closes sessions while the standby takes over. What the device used is not told: its counters are
    /// those of another one at the end. The standby stays in its place until sessions are cleared.
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

/// The take-over as a trial tells it. What was opened after the last that the ended one said is not acknowledged
/// either, at most: so many a second, and what a tester was late with.
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

/// Between two looks at a standby.
const POLL: Duration = Duration::from_millis(5);
