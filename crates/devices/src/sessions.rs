//! The sessions of a device: those that are open in it, and what the tester knows of them.
//!
//! Ordinary trials of a function that keeps sessions run over sessions that are open. Each device
//! opens those that the traffic asks for before its first ordinary trial, and again after it has
//! forgotten them.

use std::time::Duration;

use measure::{MeasureError, SessionAction, SessionCounts, SessionLoad, SessionsThere, Trial};
use traffic::{Sessions, Workload};

/// Sessions that are open in a device, and the workload that knows their translations.
#[derive(Debug)]
pub(crate) struct Opened<W> {
    /// Workload with its sessions; `None` if the traffic has no sessions.
    workload: Option<(W, Sessions)>,
    /// True if the sessions that ordinary trials need are open.
    are_open: bool,
}

impl<W: Workload> Opened<W> {
    /// Creates the state of a device without open sessions; the workload is kept if it has
    /// sessions.
    pub fn new(workload: W) -> Opened<W> {
        let sessions = workload.sessions();
        Opened { workload: sessions.map(|sessions| (workload, sessions)), are_open: false }
    }

    /// Returns a copy of the workload with all learned translations.
    pub fn twin(&self) -> Option<W> {
        self.workload.as_ref()?.0.twin()
    }

    /// Returns the possible sessions.
    pub fn there(&self) -> Option<SessionsThere> {
        let &(_, Sessions { open, most, closes, .. }) = self.workload.as_ref()?;
        Some(SessionsThere { open, most, closes })
    }

    /// Returns the sessions that must be opened before an ordinary trial; `None` if they are open.
    pub fn missing(&self) -> Option<SessionLoad> {
        let (_, sessions) = self.workload.as_ref()?;
        (sessions.open > 0 && !self.are_open)
            .then(|| SessionLoad::all(SessionAction::Open, sessions.open))
    }

    /// Checks that a load fits the existing sessions.
    ///
    /// # Errors
    /// Why it does not.
    pub fn accept(&self, load: &SessionLoad) -> Result<(), MeasureError> {
        let Some((_, sessions)) = &self.workload else {
            return Err(MeasureError::Unsupported("this function has no sessions"));
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
                "sessions {} to {end} of {} possible ones; configure more clients, servers or \
                 ports in the traffic",
                load.first, sessions.most
            ));
        }
        Ok(())
    }

    /// Records the results of a load.
    pub fn note(&mut self, load: &SessionLoad, counts: &SessionCounts) {
        let Some((_, sessions)) = &self.workload else { return };
        let covers = load.first == 0 && load.count >= sessions.open;
        match load.action {
            SessionAction::Open => self.are_open |= covers && counts.is_whole(),
            SessionAction::Close => self.are_open &= load.first >= sessions.open,
            SessionAction::Use | SessionAction::Keep => {}
        }
    }

    /// Returns true if ordinary trials leave additional sessions behind, so that the next trial
    /// needs a new state.
    pub fn are_others_behind_a_trial(&self) -> bool {
        self.workload.as_ref().is_some_and(|(_, sessions)| sessions.opens_more)
    }

    /// Records whether the device was restarted and has lost all sessions.
    pub fn restarted(&mut self, is_restarted: bool) {
        self.are_open &= !is_restarted;
    }
}

/// Checks that all sessions that ordinary trials need are open.
///
/// # Errors
/// How many are not; frames of missing sessions would be lost because of the scenario.
pub(crate) fn all_open(trial: &Trial) -> Result<(), MeasureError> {
    let Some(counts) = trial.sessions.as_ref().filter(|counts| !counts.is_whole()) else {
        return Ok(());
    };
    let SessionCounts { asked, attempted, succeeded, wrong, .. } = counts;
    Err(MeasureError::Device(format!(
        "of {asked} sessions that must be open before frames are sent, {attempted} were started, \
         {succeeded} succeeded and {wrong} were translated incorrectly; lower `sessions` in \
         `traffic`, or raise the capacity of the function"
    )))
}

/// Returns the clients of a workload in the type that methods use.
pub(crate) fn population(clients: traffic::Population) -> measure::Population {
    let traffic::Population { clients, frames_per_s } = clients;
    measure::Population { clients, frames_per_s }
}

/// Time limit for a session. A quarter of it passes until one is begun anew, as with hosts, whose
/// first timeouts are seconds.
pub(crate) const WAIT: Duration = Duration::from_secs(10);
