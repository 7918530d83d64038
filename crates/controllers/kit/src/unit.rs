//! What every controller's folder provides.

use std::path::Path;

use function_kit::Invalid;
use function_kit::erased::{AnyUpdate, Configured};
use protocol_kit::{Machine, Time};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::action::Action;
use crate::command::Command;
use crate::event::Event;
use crate::table::{Asked, Metric, Page, Table, Unanswered};

/// A controller as a unit.
pub trait Controller: Machine<Command = Event, Report = Action> + Send + Sized + 'static {
    /// The name in configurations, kebab-case.
    const NAME: &'static str;
    /// One line of help.
    const SUMMARY: &'static str;
    /// The tables whose entries operators can ask for.
    const TABLES: &'static [Table] = &[];
    /// What operators can tell it to do.
    const COMMANDS: &'static [Command] = &[];

    /// The configuration, as an operator writes it.
    type Config: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static;

    /// Checks the configuration and fills in what follows from one key for another.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn validate(config: &mut Self::Config) -> Result<(), Invalid>;

    /// Creates the controller.
    ///
    /// # Errors
    /// A key that does not fit to the function, or state for which there is no memory.
    fn new(config: &Self::Config, setup: Setup<'_>) -> Result<Self, Invalid>;

    /// The kinds of updates ([`AnyUpdate::kind`]) that this controller alone makes, beside
    /// operators: what of these the function has beyond its configuration is the controller's to
    /// take over or away. Two controllers that claim one kind do not go together.
    fn claims(config: &Self::Config) -> Vec<&'static str>;

    /// The punt reasons of the function, by their names, whose frames come to this controller
    /// ([`Event::Punted`]) and not to the host's interfaces. Two controllers that take one do not
    /// go together.
    fn takes(config: &Self::Config) -> Vec<&'static str> {
        let _ = config;
        Vec::new()
    }

    /// The file in which the controller keeps what outlives it and is not its function's, and which
    /// it writes as a socket ([`protocol_kit::Opening::File`]); none by default.
    fn file(config: &Self::Config) -> Option<&Path> {
        let _ = config;
        None
    }

    /// Takes what an earlier life has kept in the file, nothing if there is none: the first thing
    /// that a controller with a file hears.
    ///
    /// # Errors
    /// The file is none of the controller's, and is left as it is.
    fn restore(&mut self, kept: &[u8]) -> Result<(), Invalid> {
        let _ = kept;
        Ok(())
    }

    /// Takes other keys, or other ones of its function, while it runs, which fit. False if it is to
    /// be created again with them instead, from what the function has.
    fn reload(
        &mut self,
        config: &Self::Config,
        function: Option<&dyn Configured>,
        now: Time,
    ) -> bool;

    /// Returns what a person sees: neighbours, sessions, timers, counters.
    fn show(&self) -> Value;

    /// Returns how many entries each of [`Self::TABLES`] has, at once; none of one of which that is
    /// not known.
    fn table_sizes(&self) -> Vec<Option<u64>> {
        vec![None; Self::TABLES.len()]
    }

    /// Returns a page of a table. What it looks at is bounded: everything else of the controller
    /// waits meanwhile.
    ///
    /// # Errors
    /// What of the request cannot be answered, and what could be asked instead.
    fn table_page(&self, asked: &Asked<'_>, now: Time) -> Result<Page, Unanswered> {
        let _ = now;
        Err(Unanswered::unknown("table", asked.table, &[]))
    }

    /// Returns its metrics, a bounded number.
    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    /// Does what one of [`Self::COMMANDS`] says, or begins to, and returns what a person is told.
    /// What takes long is not waited for.
    ///
    /// # Errors
    /// Why it is not done.
    fn command(
        &mut self,
        name: &str,
        keys: &Map<String, Value>,
        now: Time,
    ) -> Result<Map<String, Value>, Unanswered> {
        let _ = (keys, now);
        Err(Unanswered::unknown("command", name, &[]))
    }
}

/// With what a controller is created.
pub struct Setup<'a> {
    /// The function that it controls, if there is one.
    pub function: Option<&'a dyn Configured>,
    /// What the function has beyond its configuration of the updates that the controller claims:
    /// the changes that an earlier life of it has made, and those of operators.
    pub state: Vec<AnyUpdate>,
    /// A seed that nobody else knows.
    pub seed: u64,
}
