//! What the keeper does for the controller: it applies its updates, keeps them in the journal,
//! takes its alarms in, and notices when it does not return.

use std::time::Duration;

use controller_kit::{Alarm, Severity};
use functions::AnyUpdate;
use machine::clock;
use serde_json::Value;

use crate::controller::{Journal, Order};
use crate::error::RunError;
use crate::keeper::Daemon;
use crate::unit::Refused;

impl Daemon {
    /// Does what the controller asks for.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub(crate) fn control(&mut self, order: Order) -> Result<(), RunError> {
        let lost =
            |refused: Refused| RunError::Setup { what: refused.what, remedy: refused.remedy };
        match order {
            Order::Updates { updates, is_kept, answer } => {
                if is_kept && self.journal.is_some() {
                    self.record(updates.iter().map(AnyUpdate::value).collect());
                }
                let settled = self.running.control(updates).map_err(lost)?;
                let _ = answer.try_send(settled);
                if self.journal.as_ref().is_some_and(Journal::is_long) {
                    drop(self.save());
                }
            }
            Order::State(answer) => {
                let _ = answer.try_send(self.running.changes().map_err(lost)?);
            }
            Order::Alarm(alarm) => self.alarms.take(alarm, self.wall.text(clock::now())),
        }
        Ok(())
    }

    /// Writes updates to the journal.
    pub(crate) fn record(&mut self, updates: Vec<Value>) {
        let Some(journal) = &mut self.journal else { return };
        if let Err(error) = journal.add(updates.into_iter()) {
            let text = format!("what the control plane changes does not outlive a kill: {error}");
            self.raise("journal", "journal-failed", Some(Severity::Major), text);
        }
    }

    /// Says when the controller does not return.
    pub(crate) fn watch_controller(&mut self) {
        let Some(controller) = &self.controller else { return };
        let silent = controller.silent(self.started);
        let severity = (silent > SILENT_MAX).then_some(Severity::Critical);
        let text = format!("it has not come back for {} s", silent.as_secs());
        self.raise("controller", "controller-hangs", severity, text);
    }

    fn raise(
        &mut self,
        source: &str,
        cause: &'static str,
        severity: Option<Severity>,
        text: String,
    ) {
        let alarm = Alarm { source: source.to_owned(), cause, severity, text: text.into() };
        self.alarms.take(alarm, self.wall.text(clock::now()));
    }
}

/// A controller whose thread was not seen for this long hangs.
const SILENT_MAX: Duration = Duration::from_secs(5);
