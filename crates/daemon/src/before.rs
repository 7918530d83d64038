//! What a daemon knew before it started: the changes of the state file, and behind them those of
//! the journal, one after the other, so that a long journal needs no memory.

use std::path::Path;
use std::vec;

use functions::{AnyUpdate, Configured};
use serde_json::Value;

use crate::controller::Replay;
use crate::error::RunError;
use crate::state;

/// State file and journal as they are read.
pub(crate) struct Before {
    /// Section of the function to which the changes apply.
    function: Value,
    /// Those of the state file that are left.
    updates: vec::IntoIter<Value>,
    replay: Option<Replay>,
}

impl Before {
    /// Opens a state file and the journal beside it; `None` if there is neither.
    ///
    /// # Errors
    /// When one of them is damaged, or belongs to another function.
    pub fn open(path: &Path, function_name: &str) -> Result<Option<Before>, RunError> {
        let memory = state::read(path, function_name)?;
        let replay = Replay::open(path, function_name)?;
        let (function, updates) = match (memory, &replay) {
            (Some(memory), _) => (memory.function, memory.updates),
            (None, Some(replay)) => (replay.function().clone(), Vec::new()),
            (None, None) => return Ok(None),
        };
        Ok(Some(Before { function, updates: updates.into_iter(), replay }))
    }

    /// Section of the function to which the changes apply.
    pub fn function(&self) -> &Value {
        &self.function
    }

    /// Returns the next change, in order; `None` behind the last.
    ///
    /// # Errors
    /// When it cannot be read, or is no change of this function.
    pub fn next(&mut self, function: &dyn Configured) -> Result<Option<AnyUpdate>, RunError> {
        if let Some(update) = self.updates.next() {
            let bad = |bad: functions::Invalid| format!("one of its updates: {}", bad.what);
            return function.update(&update).map(Some).map_err(|error| unusable(bad(error)));
        }
        match &mut self.replay {
            Some(replay) => replay.next(function),
            None => Ok(None),
        }
    }
}

/// Says what does not fit to the configuration.
pub(crate) fn unusable(what: String) -> RunError {
    RunError::setup(
        format!("the state file does not fit: {what}"),
        "start with `--without-state` (the file is replaced when the daemon stops), or restore the \
         configuration under which it was saved",
    )
}
