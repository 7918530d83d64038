//! The full device: filled to what it holds, proven, asked for more, and proven again.

use measure::MeasureError;

use super::filling::Filling;
use crate::Step;
use crate::method::Session;
use crate::sessions::Verified;

/// Behaviour of a device that is filled to its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Full {
    /// Index of the trial that filled it.
    pub(super) index: usize,
    /// Number of sessions that did not open this time.
    pub(super) refused: u64,
    /// Verification of all sessions that the device holds.
    pub(super) verified: Verified,
    /// Result of trying more sessions; none if none were tried.
    pub(super) beyond: Option<Beyond>,
}

/// Result of trying more sessions than fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Beyond {
    /// Number of sessions that opened nevertheless.
    pub(super) opened: u64,
    /// Number of sessions that did not open.
    pub(super) refused: u64,
    /// Verification of the sessions that were open before.
    pub(super) verified: Verified,
}

impl Filling<'_> {
    /// Fills the device to `capacity`, verifies that, and tries more sessions if more were seen to
    /// fail.
    pub(super) fn fill(
        &mut self,
        session: &mut Session<'_>,
        capacity: u64,
    ) -> Result<Full, MeasureError> {
        let (wait, share) = (self.config.wait.duration(), self.config.verify_final);
        let step = self.step(session, "confirmation");
        let mut full = Full::default();
        if self.open == Some(capacity) {
            let last = self.steps.iter().rfind(|tried| tried.count == capacity);
            full.index = last.map_or(0, |tried| tried.index);
        } else {
            session.clear()?;
            let load = self.opening(0, capacity);
            let (_, counts) = session.sessions(load, wait, step.clone())?;
            full.index = session.records.len() - 1;
            full.refused = capacity - counts.succeeded.min(capacity);
        }
        full.verified = session.verify(capacity, share, wait, &step)?;
        full.beyond = self.beyond(session, capacity, &step)?;
        Ok(full)
    }

    /// Number of sessions to try in addition: those between the bounds, plus `beyond`.
    fn beyond(
        &self,
        session: &mut Session<'_>,
        capacity: u64,
        step: &Step,
    ) -> Result<Option<Beyond>, MeasureError> {
        let (wait, share) = (self.config.wait.duration(), self.config.verify_final);
        let Some(upper) = self.search.upper().filter(|_| self.config.beyond > 0) else {
            return Ok(None);
        };
        let wanted = (upper - capacity).saturating_add(self.config.beyond);
        let count = wanted.min(self.there.most - capacity);
        let step = Step { purpose: EXHAUSTION.into(), ..step.clone() };
        let (_, counts) = session.sessions(self.opening(capacity, count), wait, step.clone())?;
        let verified = session.verify(capacity, share, wait, &step)?;
        let opened = counts.succeeded.min(count);
        Ok(Some(Beyond { opened, refused: count - opened, verified }))
    }
}

/// Purpose of the trial that requests more sessions from a full device.
const EXHAUSTION: &str = "exhaustion";
