//! Sessions of a device of another making: opened, used and closed over its links.

use std::time::Duration;

use measure::{MeasureError, SessionLoad, Trial, Watch};
use model_kit::Model;
use traffic::Workload;

use super::{Remote, Rig, Seat, account, drain, lost, note_own_loss};
use crate::embedded::Host;
use crate::sessions::{WAIT, all_open};
use crate::tester::thread::carry_out_sessions;

impl<N: Model> Remote<N> {
    /// Opens, uses or closes sessions of the traffic.
    pub(super) fn run_sessions(
        &mut self,
        load: SessionLoad,
        wait: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        self.sessions.accept(&load)?;
        let mut trial = match self.conditions.fail_over_after {
            Some(after) => self.taking_over((load, wait), after, watch)?,
            None => self.going_on((load, wait), watch)?,
        };
        let held = self.rig()?.running.sessions();
        self.healthy()?;
        if let Some(counts) = &mut trial.sessions {
            counts.held = held;
            self.sessions.note(&load, counts);
        }
        Ok(trial)
    }

    /// Opens, uses or closes sessions on a device that continues to run.
    fn going_on(
        &mut self,
        load: (SessionLoad, Duration),
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        let (host, workload) = (self.host.clone(), self.workload());
        let rig = self.rig()?;
        let before = rig.running.usage();
        let mut trial = rig.sessions(&host, workload, load, watch)?;
        let after = rig.running.usage();
        account(&mut trial, &before, after);
        Ok(trial)
    }

    /// Opens the sessions that ordinary trials need, if they are not open yet.
    pub(super) fn open_sessions(&mut self, watch: &mut dyn Watch) -> Result<(), MeasureError> {
        let Some(load) = self.sessions.missing() else { return Ok(()) };
        let trial = self.run_sessions(load, WAIT, watch)?;
        if self.is_interrupted() {
            return Err(MeasureError::Interrupted);
        }
        all_open(&trial)
    }
}

impl Rig {
    /// Opens, uses or closes sessions over the links.
    fn sessions<W: Workload>(
        &mut self,
        host: &Host,
        workload: W,
        load: (SessionLoad, Duration),
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        drain(&mut self.links);
        let lost = lost(&self.links);
        let seat = Seat { core: host.tester_core, clock: host.clock, stop: &host.stop };
        let (mut trial, _) = carry_out_sessions(&seat, workload, &mut self.links, load, watch)?;
        note_own_loss(&mut trial, &self.links, lost);
        Ok(trial)
    }
}
