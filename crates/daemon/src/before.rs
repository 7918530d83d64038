//! What a daemon knew before it started: the changes of the state file, and behind them those of
//! the journal, one after the other, so that a long journal needs no memory.

use std::path::Path;
use std::vec;

use functions::{AnyUpdate, Configured};
use serde_json::Value;

use crate::controller::{Base, Journal, Replay};
use crate::error::RunError;
use crate::read::Configuration;
use crate::state;

/// State file and journal as they are read.
pub(crate) struct Before {
    /// Section of the function to which the changes apply.
    function: Value,
    /// When the state file was written.
    written: Option<String>,
    /// Those of the state file that are left.
    updates: vec::IntoIter<Value>,
    replay: Option<Replay>,
    /// Whether the last change was one of the journal.
    is_of_journal: bool,
    /// Changes of the journal that were refused, and why the first one was.
    refused: u64,
    first: String,
}

impl Before {
    /// Opens a state file and the journal beside it; `None` if there is neither.
    ///
    /// # Errors
    /// When one of them is damaged, or belongs to another function.
    pub fn open(path: &Path, function_name: &str) -> Result<Option<Before>, RunError> {
        let saved = state::read(path, function_name)?;
        let written = saved.as_ref().map(|saved| saved.written.clone());
        let replay = Replay::open(path, function_name, written.as_deref())?;
        let (function, updates) = match (saved, &replay) {
            (Some(saved), _) => (saved.memory.function, saved.memory.updates),
            (None, Some(replay)) => (replay.function().clone(), Vec::new()),
            (None, None) => return Ok(None),
        };
        let (updates, first) = (updates.into_iter(), String::new());
        let (is_of_journal, refused) = (false, 0);
        Ok(Some(Before { function, written, updates, replay, is_of_journal, refused, first }))
    }

    /// Section of the function to which the changes apply.
    pub fn function(&self) -> &Value {
        &self.function
    }

    /// Returns the next change, in order; `None` behind the last. A line of the journal that is no
    /// change of this function is refused, and left out.
    ///
    /// # Errors
    /// When it cannot be read, or one of the state file is no change of this function.
    pub fn next(&mut self, function: &dyn Configured) -> Result<Option<AnyUpdate>, RunError> {
        if let Some(update) = self.updates.next() {
            let bad = |bad: functions::Invalid| format!("one of its updates: {}", bad.what);
            return function.update(&update).map(Some).map_err(|error| unusable(bad(error)));
        }
        self.is_of_journal = true;
        loop {
            let Some(replay) = &mut self.replay else { return Ok(None) };
            match replay.next(function)? {
                None => return Ok(None),
                Some(Ok(update)) => return Ok(Some(update)),
                Some(Err(bad)) => self.refuse(bad.what)?,
            }
        }
    }

    /// The last change was refused: one of the journal is counted, for the daemon is to forward
    /// after a kill with what fits.
    ///
    /// # Errors
    /// When it is one of the state file, which was written as a whole.
    pub fn refuse(&mut self, why: String) -> Result<(), RunError> {
        if !self.is_of_journal {
            return Err(unusable(why));
        }
        if self.refused == 0 {
            self.first = why;
        }
        self.refused += 1;
        Ok(())
    }

    /// Says behind the last change what was refused, and whether the journal ends too early.
    ///
    /// # Errors
    /// When the disk does not tell.
    pub fn tell(&self) -> Result<(), RunError> {
        let (refused, first) = (self.refused, &self.first);
        if refused > 0 {
            tracing::warn!(refused, first, "changes of the journal were refused, and left out");
        }
        let Some(replay) = &self.replay else { return Ok(()) };
        let (at, bytes) = (replay.bytes(), replay.left_bytes()?);
        if bytes > 0 {
            tracing::warn!(at, bytes, "the journal is damaged, and was cut short there");
        }
        Ok(())
    }
}

/// The journal of a daemon with a controller and a state file, behind what was read of it or anew.
pub(crate) fn journal_of(
    configuration: &Configuration,
    before: Option<&Before>,
) -> Option<Journal> {
    let path = configuration.state.as_ref().filter(|_| !configuration.controllers.is_empty())?;
    let function = Value::Object(configuration.function.configured.keys());
    // A state file that was not read is to go, too.
    let is_stale = before.map_or_else(|| path.exists(), |before| before.function != function);
    let bytes = before.and_then(|before| before.replay.as_ref()).map_or(0, Replay::bytes);
    let base = Base { function, state: before.and_then(|before| before.written.clone()) };
    let mut journal = Journal::new(path, configuration.function.kind.name(), base, bytes);
    if is_stale {
        journal.outdate();
    }
    Some(journal)
}

/// Says what does not fit to the configuration.
pub(crate) fn unusable(what: String) -> RunError {
    RunError::setup(
        format!("the state file does not fit: {what}"),
        "start with `--without-state` (the file is replaced at the latest when the daemon stops), \
         or restore the configuration under which it was saved",
    )
}
