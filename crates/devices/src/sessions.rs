//! The sessions of a device: those that are open in it, and what the tester knows of them.
//!
//! Ordinary trials of a function that keeps sessions run over sessions that are open. Each device opens those
//! that the traffic asks for before its first ordinary trial, and again after it has forgotten them.

use std::time::Duration;

use measure::{MeasureError, SessionAction, SessionCounts, SessionLoad, SessionsThere, Trial};
use traffic::{Sessions, Workload};

/// What is open in a device, and the workload that knows how it is translated.
#[derive(Debug)]
pub(crate) struct Opened<W> {
    /// None where the traffic has no sessions.
    workload: Option<(W, Sessions)>,
    /// Whether those are open that ordinary trials want.
    are_open: bool,
}

impl<W: Workload> Opened<W> {
    /// A device that has none open; the workload is kept if it has sessions.
    pub fn new(workload: W) -> Opened<W> {
        let sessions = workload.sessions();
        Opened { workload: sessions.map(|sessions| (workload, sessions)), are_open: false }
    }

    /// The kept workload once more, with all that was learned.
    pub fn twin(&self) -> Option<W> {
        self.workload.as_ref()?.0.twin()
    }

    /// The sessions that there can be.
    pub fn there(&self) -> Option<SessionsThere> {
        let &(_, Sessions { open, most, closes, .. }) = self.workload.as_ref()?;
        Some(SessionsThere { open, most, closes })
    }

    /// What is to be opened before an ordinary trial, if it is not yet.
    pub fn missing(&self) -> Option<SessionLoad> {
        let (_, sessions) = self.workload.as_ref()?;
        (sessions.open > 0 && !self.are_open)
            .then(|| SessionLoad::all(SessionAction::Open, sessions.open))
    }

    /// Whether a load can be made of the sessions that there are.
    ///
    /// # Errors
    /// Why not.
    pub fn accept(&self, load: &SessionLoad) -> Result<(), MeasureError> {
        let Some((_, sessions)) = &self.workload else {
            return Err(MeasureError::Unsupported("this function keeps no sessions"));
        };
        let nothing = |text: String| Err(MeasureError::NothingToMeasure(text));
        if load.action == SessionAction::Close && !sessions.closes {
            return nothing(
                "no frame closes these sessions; give TCP a share of the traffic".into(),
            );
        }
        let end = load.first.saturating_add(load.count);
        if load.count == 0 || end > sessions.most {
            return nothing(format!(
                "sessions {} to {end} of {} different ones; give the traffic more clients, servers or \
                 ports",
                load.first, sessions.most
            ));
        }
        Ok(())
    }

    /// Notes what became of a load.
    pub fn note(&mut self, load: &SessionLoad, counts: &SessionCounts) {
        let Some((_, sessions)) = &self.workload else { return };
        let covers = load.first == 0 && load.count >= sessions.open;
        match load.action {
            SessionAction::Open => self.are_open |= covers && counts.is_whole(),
            SessionAction::Close => self.are_open &= load.first >= sessions.open,
            SessionAction::Use | SessionAction::Keep => {}
        }
    }

    /// Whether ordinary trials leave sessions behind, so that the next one needs a new state.
    pub fn are_others_behind_a_trial(&self) -> bool {
        self.workload.as_ref().is_some_and(|(_, sessions)| sessions.opens_more)
    }

    /// Notes whether the device was restarted and has forgotten all.
    pub fn restarted(&mut self, is_restarted: bool) {
        self.are_open &= !is_restarted;
    }
}

/// That all sessions are open that ordinary trials want.
///
/// # Errors
/// How many are not: frames of sessions that are not there would be lost by the scenario's fault.
pub(crate) fn all_open(trial: &Trial) -> Result<(), MeasureError> {
    let Some(counts) = trial.sessions.as_ref().filter(|counts| !counts.is_whole()) else {
        return Ok(());
    };
    let SessionCounts { asked, attempted, succeeded, wrong, .. } = counts;
    Err(MeasureError::Device(format!(
        "of {asked} sessions to be open before frames are sent, {attempted} were begun, {succeeded} \
         succeeded and {wrong} were translated wrongly; lower `sessions` in `traffic`, or give the \
         function more room"
    )))
}

/// The clients of a workload, as methods know them.
pub(crate) fn population(clients: traffic::Population) -> measure::Population {
    let traffic::Population { clients, frames_per_s } = clients;
    measure::Population { clients, frames_per_s }
}

/// How long an answer is waited for.
pub(crate) const WAIT: Duration = Duration::from_secs(1);
