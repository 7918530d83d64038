//! What the keeper does for the controllers and for clients with many changes: it applies their
//! updates, keeps them in the journal, takes alarms in, and notices when one does not return.

use std::iter::repeat_n;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::{Alarm, Severity, Unanswered};
use functions::AnyUpdate;
use machine::clock;
use serde_json::{Map, Value, json};

use crate::controller::questions::Question;
use crate::controller::thread::{Keys, create};
use crate::controller::{ControllerThread, Order, Settled};
use crate::error::RunError;
use crate::keeper::Daemon;
use crate::nothing::is_nothing;
use crate::piece::{Piece, Told};
use crate::protocol::Ask;
use crate::read::Configuration;
use crate::unit::Refused;

impl Daemon {
    /// Does what a controller asks for.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub(crate) fn control(&mut self, order: Order) -> Result<(), RunError> {
        let lost =
            |refused: Refused| RunError::Setup { what: refused.what, remedy: refused.remedy };
        match order {
            Order::Updates { updates, is_kept, answer } => {
                let kept = is_kept && self.journal.is_some();
                let kept = kept.then(|| updates.clone());
                let settled = self.running.control(updates).map_err(lost)?;
                self.record(applied(kept.unwrap_or_default(), &settled));
                let _ = answer.try_send(settled);
            }
            Order::State(answer) => {
                let _ = answer.try_send(self.running.changes().map_err(lost)?);
            }
            Order::Forget(name) => self.alarms.forget(name, &self.wall.text(clock::now())),
            Order::Alarm(alarm) => self.alarms.take(alarm, self.wall.text(clock::now())),
        }
        Ok(())
    }

    /// Finds the controller that knows a command, and what it is asked by that; none of anything
    /// else.
    ///
    /// # Errors
    /// When the keys of a command are none, or nobody knows the word.
    pub(crate) fn command_of(
        &self,
        ask: &Ask,
    ) -> Result<Option<(&ControllerThread, Question)>, Refused> {
        let (name, keys) = match ask {
            Ask::Set(Value::String(name)) => (name, Some(Map::new())),
            Ask::Set(Value::Object(one)) if one.len() == 1 => {
                let Some((name, keys)) = one.iter().next() else { return Ok(None) };
                (name, keys.as_object().cloned())
            }
            _ => return Ok(None),
        };
        let commands = |one: &ControllerThread| one.controller.commands();
        let found = self.controllers.iter().find_map(|one| {
            Some((one, commands(one).iter().find(|command| command.name == name)?))
        });
        match (found, keys) {
            (Some((one, command)), Some(keys)) => {
                Ok(Some((one, Question::Command { name: command.name, keys })))
            }
            (Some(_), None) => {
                let what = format!("what stands behind `{name}` are no keys");
                Err(Refused::new(what, "write KEY=VALUE, or a mapping of JSON"))
            }
            (None, _) if is_nothing(self.configuration.function.configured.name()) => {
                let all = self.controllers.iter().flat_map(commands).map(|command| command.name);
                Err(Unanswered::unknown("command", name, &all.collect::<Vec<_>>()).into())
            }
            (None, _) => Ok(None),
        }
    }

    /// Says when a controller does not return.
    pub(crate) fn watch_controllers(&mut self) {
        let silence = |one: &ControllerThread| (one.controller.name(), one.silent(self.started));
        let all: Vec<_> = self.controllers.iter().map(silence).collect();
        for (name, silent) in all {
            let severity = (silent > SILENT_MAX).then_some(Severity::Critical);
            let text = format!("it has not come back for {} s", silent.as_secs());
            self.raise(name, "controller-hangs", severity, text);
        }
    }

    /// What each controller shows, by its name.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn protocols(&self) -> Result<Value, Refused> {
        if self.controllers.is_empty() {
            return Err(Refused::new("there is no controller", "add a `controllers` section"));
        }
        let view =
            |one: &ControllerThread| (one.controller.name().to_owned(), one.view(self.started));
        Ok(json!({"protocols": self.controllers.iter().map(view).collect::<Map<_, _>>()}))
    }

    /// What is told as metrics of the function's tables, and which controllers have metrics.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub(crate) fn measured(&mut self) -> Result<Value, Refused> {
        let names: Vec<&str> = self.controllers.iter().map(|one| one.controller.name()).collect();
        Ok(json!({"measured": self.running.measured()?, "controllers": names}))
    }

    /// Checks that controllers fit that are to go on with other keys, of their own or of the
    /// function, and returns them.
    ///
    /// # Errors
    /// What does not fit.
    pub(crate) fn changed_controllers(&self, wanted: &Configuration) -> Result<Vec<Keys>, Refused> {
        let function = &wanted.function.configured;
        let is_same = self.configuration.function.configured.keys() == function.keys();
        let mut changed = Vec::new();
        for (one, controller) in self.controllers.iter().zip(&wanted.controllers) {
            if is_same && one.controller.keys() == controller.keys() {
                continue;
            }
            let (controller, function) = (Arc::clone(controller), Arc::clone(function));
            let keys = Keys { controller, function };
            // It is created once and dropped, before anything has changed.
            create(&keys, Vec::new())
                .map_err(|error| Refused::new(error.to_string(), error.remedy()))?;
            changed.push(keys);
        }
        Ok(changed)
    }

    /// Lets controllers go on with other keys.
    pub(crate) fn change_controllers(&mut self, changed: Vec<Keys>) {
        for keys in changed {
            let name = keys.controller.name();
            let is_it = |one: &&mut ControllerThread| one.controller.name() == name;
            if let Some(one) = self.controllers.iter_mut().find(is_it) {
                one.reload(keys);
            }
        }
    }

    /// Raises or clears an alarm.
    pub(crate) fn raise(
        &mut self,
        source: &str,
        cause: &'static str,
        severity: Option<Severity>,
        text: String,
    ) {
        let alarm = Alarm { source: source.to_owned(), cause, severity, text: text.into() };
        self.alarms.take(alarm, self.wall.text(clock::now()));
    }

    /// Applies a piece of a stream of changes.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub(crate) fn apply_piece(&mut self, piece: &Piece) -> Result<Told, Refused> {
        let mut told = Told::default();
        let (mut updates, mut lines) = (Vec::new(), Vec::new());
        let all = piece.text.split(|byte| *byte == b'\n');
        for (line, text) in (piece.first..).zip(all) {
            let text = text.trim_ascii();
            if text.is_empty() || text.starts_with(b"#") {
                continue;
            }
            match self.running.read(text) {
                Ok(update) => {
                    updates.push(update);
                    lines.push((line, text));
                }
                Err(why) => told.refuse(line, why),
            }
        }
        let kept = self.journal.is_some().then(|| updates.clone());
        let settled = self.running.control(updates)?;
        self.record(applied(kept.unwrap_or_default(), &settled));
        let mut lines = lines.into_iter();
        for one in settled {
            match one {
                Settled::Applied { count, at } => {
                    told.applied += count;
                    told.applied_at = Some(at);
                    lines.by_ref().take(count as usize).for_each(drop);
                }
                Settled::Refused(refusal) => {
                    let (line, text) = lines.next().unwrap_or_default();
                    let advice = match told.is_said_in_words() {
                        true => self.running.advice(text, refusal),
                        false => String::new(),
                    };
                    let why = match &*advice {
                        "" => refusal.to_string(),
                        advice => format!("{refusal}; {advice}"),
                    };
                    told.refuse(line, why);
                }
            }
        }
        told.errors.sort_unstable_by_key(|(line, _)| *line);
        Ok(told)
    }
}

/// Of updates, those that have taken effect; the outcomes are in the order of the updates.
fn applied(updates: Vec<AnyUpdate>, settled: &[Settled]) -> impl Iterator<Item = Value> {
    let outcomes = settled.iter().flat_map(|one| match one {
        Settled::Applied { count, .. } => repeat_n(true, *count as usize),
        Settled::Refused(_) => repeat_n(false, 1),
    });
    let pairs = updates.into_iter().zip(outcomes);
    pairs.filter(|(_, has_applied)| *has_applied).map(|(update, _)| update.value())
}

/// A controller whose thread was not seen for this long hangs.
pub(crate) const SILENT_MAX: Duration = Duration::from_secs(5);
