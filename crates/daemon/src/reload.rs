//! A changed file, applied as a difference: what did not change keeps forwarding and keeps its
//! state.
//!
//! The file is read and checked as a whole first; then ports that changed are opened anew, then the
//! function is led to its new keys. What was done is undone where a step fails, so that nothing has
//! changed then. A changed port that would use the same interface, file or socket as the one before
//! is closed before it is opened, and frames are lost at that port meanwhile; others change hands
//! between two batches. Controllers whose keys or function have changed go on with the new ones.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::error::RunError;
use crate::keeper::Daemon;
use crate::links::{Closed, OpenPort};
use crate::manager;
use crate::read::{Configuration, PortChoice};
use crate::unit::Refused;

/// A replaced port, with what is needed to restore it.
struct Replaced {
    number: usize,
    before: OpenPort,
}

impl Daemon {
    /// Reloads the file and applies the differences.
    ///
    /// # Errors
    /// An error in the file, a key that needs a restart, or a port that cannot be opened;
    /// the daemon is then unchanged.
    pub(crate) fn reload(&mut self) -> Result<Value, Refused> {
        manager::reloading();
        let done = self.try_reload();
        match &done {
            Ok(what) => tracing::info!(changes = %what, "reloaded"),
            Err(refused) => {
                tracing::error!(why = refused.what, "reload refused; nothing has changed");
            }
        }
        manager::reloaded(done.as_ref().err().map_or("", |refused| &refused.what));
        done
    }

    fn try_reload(&mut self) -> Result<Value, Refused> {
        let wanted =
            Configuration::read(&self.source.file, self.source.parts).map_err(|error| {
                let remedy = error.remedy.clone();
                let what = document::DocumentError { remedy: String::new(), ..error };
                Refused::new(what.to_string(), remedy)
            })?;
        self.needs_no_restart(&wanted)?;
        let function = &wanted.function.configured;
        let count = self.running.difference(&**function)?;
        let controllers = self.changed_controllers(&wanted)?;
        let differs = |(number, choice): (usize, &PortChoice)| {
            let present = &self.ports[number];
            let same =
                present.kind == choice.kind && present.effective == choice.configured.effective();
            (!same).then_some(number)
        };
        let changed: Vec<usize> = wanted.ports.iter().enumerate().filter_map(differs).collect();

        let mut replaced = Vec::new();
        for &number in &changed {
            match self.replace(number, &wanted.ports[number]) {
                Ok(before) => replaced.push(Replaced { number, before }),
                Err(refused) => return Err(self.bring_back(replaced, refused)),
            }
        }
        if let Err(refused) = self.running.reconfigure(Arc::clone(function)) {
            return Err(self.bring_back(replaced, refused));
        }
        let has_other_keys = self.configuration.function.configured.keys() != function.keys();
        let names: Vec<&str> = changed.iter().map(|&number| &*self.ports[number].name).collect();
        self.configuration = wanted;
        self.configuration.tell_remarks();
        let changed: Vec<&str> = controllers.iter().map(|keys| keys.controller.name()).collect();
        let told = json!({"updates": count, "ports": names, "controllers": changed});
        if let Some(journal) = self.journal.as_mut().filter(|_| has_other_keys) {
            journal.outdate();
            self.keep();
        }
        self.change_controllers(controllers);
        Ok(told)
    }

    /// Refuses differences that need a restart.
    fn needs_no_restart(&self, wanted: &Configuration) -> Result<(), Refused> {
        let present = &self.configuration;
        let differs = [
            ("name", present.name != wanted.name),
            ("function.name", present.function.kind.name() != wanted.function.kind.name()),
            ("workers", (&present.workers, &present.cores) != (&wanted.workers, &wanted.cores)),
            ("punt", present.punt != wanted.punt),
            ("controllers", names_of(present) != names_of(wanted)),
            ("state", !present.controllers.is_empty() && present.state != wanted.state),
            ("control", present.control != wanted.control),
            ("metrics", present.metrics != wanted.metrics),
            ("log", present.log != wanted.log),
        ];
        match differs.iter().find(|(_, differs)| *differs) {
            None => Ok(()),
            Some((key, _)) => Err(Refused::new(
                format!("{}: {key} cannot be changed while the daemon runs", self.file()),
                "restart it, or revert the change",
            )),
        }
    }

    fn file(&self) -> String {
        self.source.file.display().to_string()
    }

    /// Replaces a port; returns the old one, closed.
    fn replace(&mut self, number: usize, choice: &PortChoice) -> Result<OpenPort, Refused> {
        let shares = self.ports.iter().any(|port| port.shares_with(choice));
        if shares {
            self.close(number)?;
        }
        let opened =
            OpenPort::open(choice, number, &self.needs).map_err(|error| as_refused(&error));
        let (port, queues) = match opened {
            Ok(opened) => opened,
            Err(refused) if shares => return Err(self.reopened(number, refused)),
            Err(refused) => return Err(refused),
        };
        self.running.swap(number, queues)?;
        self.ports[number].retire();
        let before = std::mem::replace(&mut self.ports[number], port);
        self.ports[number].count_on_from(&before);
        Ok(before)
    }

    /// Removes the queues of a port from the workers.
    fn close(&mut self, number: usize) -> Result<(), Refused> {
        let closed = || Box::new(Closed) as Box<dyn engine::Port>;
        self.running.swap(number, (0..self.needs.queues).map(|_| closed()).collect())?;
        self.ports[number].retire();
        Ok(())
    }

    /// Reopens a closed port; returns the original refusal, extended by further errors.
    fn reopened(&mut self, number: usize, refused: Refused) -> Refused {
        let queues = match self.ports[number].reopen(number, &self.needs) {
            Ok(queues) => queues,
            Err(error) => {
                let what = format!(
                    "{}; and the previous port could not be reopened: {error}",
                    refused.what
                );
                return Refused { what, ..refused };
            }
        };
        match self.running.swap(number, queues) {
            Ok(()) => refused,
            Err(error) => Refused { what: format!("{}; {}", refused.what, error.what), ..refused },
        }
    }

    /// Undoes replacements in reverse order.
    fn bring_back(&mut self, replaced: Vec<Replaced>, mut refused: Refused) -> Refused {
        for Replaced { number, mut before } in replaced.into_iter().rev() {
            if let Err(error) = self.close(number) {
                refused.what = format!("{}; {}", refused.what, error.what);
                continue;
            }
            // Its counters hold what the port in between has counted, too.
            before.count_on_from(&self.ports[number]);
            self.ports[number] = before;
            refused = self.reopened(number, refused);
        }
        refused
    }
}

/// The names of the controllers of a configuration.
fn names_of(configuration: &Configuration) -> Vec<&'static str> {
    configuration.controllers.iter().map(|one| one.name()).collect()
}

fn as_refused(error: &RunError) -> Refused {
    Refused::new(error.to_string(), error.remedy())
}
