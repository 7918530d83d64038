//! What the daemon keeps for after its end: the state file, and the journal beside it.

use std::path::Path;
use std::time::Instant;

use controller_kit::Severity;
use serde_json::{Value, json};

use crate::controller::Base;
use crate::controller::journal::remove_beside;
use crate::keeper::Daemon;
use crate::state;
use crate::unit::Refused;

impl Daemon {
    /// Writes the state file.
    ///
    /// # Errors
    /// When there is none, a worker does not answer, or the file cannot be written.
    pub(crate) fn save(&mut self) -> Result<Value, Refused> {
        let Some(path) = self.configuration.state.clone() else {
            return Err(Refused::new(
                "the file has no `state`",
                "add `state: <file>` and start again",
            ));
        };
        let saved = self.write_state(&path);
        let (severity, text) = match &saved {
            Ok(_) => (None, String::new()),
            Err(refused) => (Some(Severity::Major), refused.what.clone()),
        };
        self.raise("state", "state-failed", severity, text);
        match (&saved, &mut self.journal) {
            (Ok(_), _) => self.raise("journal", "journal-failed", None, String::new()),
            (Err(_), Some(journal)) => journal.wait(Instant::now()),
            (Err(_), None) => {}
        }
        saved
    }

    fn write_state(&mut self, path: &Path) -> Result<Value, Refused> {
        let memory = self.running.memory()?;
        let (updates, function) = (memory.updates.len(), memory.function.clone());
        let written = state::write(path, self.configuration.function.kind.name(), memory)
            .map_err(|error| Refused::new(error.to_string(), error.remedy()))?;
        match &mut self.journal {
            Some(journal) => journal.begin_anew(Base { function, state: Some(written) }),
            // One of a time with controllers.
            None => remove_beside(path),
        }
        tracing::info!(updates, path = %path.display(), "state saved");
        Ok(json!({"file": path, "updates": updates}))
    }

    /// Writes the state file if the journal cannot go on without; an alarm says it if that fails.
    pub(crate) fn keep(&mut self) {
        if self.journal.as_ref().is_some_and(|journal| journal.wants_save(Instant::now())) {
            drop(self.save());
        }
    }

    /// Writes updates that have taken effect to the journal.
    pub(crate) fn record(&mut self, updates: impl Iterator<Item = Value>) {
        let Some(journal) = &mut self.journal else { return };
        if let Err(error) = journal.add(updates) {
            let text = format!("what the control plane changes does not outlive a kill: {error}");
            self.raise("journal", "journal-failed", Some(Severity::Major), text);
        }
    }
}
