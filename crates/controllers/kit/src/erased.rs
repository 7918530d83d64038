//! A controller without its types: what lists of controllers hold, and what a daemon runs.

use std::any::Any;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use function_kit::Invalid;
use function_kit::erased as function;
use keys::read;
use protocol_kit::{Input, Machine, Neighbour, Output, Socket, Time, Trace};
use schemars::Schema;
use serde_json::{Map, Value};

use crate::action::Action;
use crate::command::Command;
use crate::event::Event;
use crate::table::{Asked, Metric, Page, Table, Unanswered};
use crate::unit::{Controller, Setup};

/// A controller as a list has it.
pub trait Kind: Sync {
    /// The name in configurations.
    fn name(&self) -> &'static str;
    /// One line of help.
    fn summary(&self) -> &'static str;
    /// JSON Schema of the keys, without `name`.
    fn schema(&self) -> Schema;
    /// See [`Controller::COMMANDS`].
    fn commands(&self) -> &'static [Command];
    /// Reads and checks the keys, without `name`; all defaults are filled in.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn read(&self, keys: Map<String, Value>) -> Result<Arc<dyn Configured>, Invalid>;
}

/// A configured controller without state.
pub trait Configured: Any + Send + Sync {
    /// The controller's name.
    fn name(&self) -> &'static str;
    /// Its keys with all defaults, without `name`.
    fn keys(&self) -> Map<String, Value>;
    /// See [`Controller::new`].
    ///
    /// # Errors
    /// What does not fit.
    fn create(&self, setup: Setup<'_>) -> Result<Box<dyn Running>, Invalid>;
    /// See [`Controller::claims`].
    fn claims(&self) -> Vec<&'static str>;
    /// See [`Controller::takes`].
    fn takes(&self) -> Vec<&'static str>;
    /// See [`Controller::file`].
    fn file(&self) -> Option<&Path>;
    /// See [`Controller::TABLES`].
    fn tables(&self) -> &'static [Table];
    /// See [`Controller::COMMANDS`].
    fn commands(&self) -> &'static [Command];
}

/// A controller that runs.
pub trait Running: Machine<Command = Event, Report = Action> + Send {
    /// See [`Controller::show`].
    fn show(&self) -> Value;
    /// See [`Controller::table_sizes`].
    fn table_sizes(&self) -> Vec<Option<u64>>;
    /// See [`Controller::table_page`]; the name of the table and the filters are checked before.
    ///
    /// # Errors
    /// What of the request cannot be answered.
    fn table_page(&self, asked: &Asked<'_>, now: Time) -> Result<Page, Unanswered>;
    /// See [`Controller::metrics`].
    fn metrics(&self) -> Vec<Metric>;
    /// See [`Controller::command`]; the name of the command and of its keys are checked before.
    ///
    /// # Errors
    /// Why it is not done.
    fn command(
        &mut self,
        name: &str,
        keys: &Map<String, Value>,
        now: Time,
    ) -> Result<Map<String, Value>, Unanswered>;
    /// See [`Controller::restore`].
    ///
    /// # Errors
    /// The file is none of the controller's.
    fn restore(&mut self, kept: &[u8]) -> Result<(), Invalid>;
    /// See [`Controller::reload`]; false for the configuration of another controller.
    fn reload(
        &mut self,
        config: &dyn Configured,
        function: Option<&dyn function::Configured>,
        now: Time,
    ) -> bool;
}

impl<C: Controller> Running for C {
    fn show(&self) -> Value {
        Controller::show(self)
    }

    fn table_sizes(&self) -> Vec<Option<u64>> {
        Controller::table_sizes(self)
    }

    fn table_page(&self, asked: &Asked<'_>, now: Time) -> Result<Page, Unanswered> {
        let Some(table) = C::TABLES.iter().find(|table| table.name == asked.table) else {
            let names: Vec<&str> = C::TABLES.iter().map(|table| table.name).collect();
            return Err(Unanswered::unknown("table", asked.table, &names));
        };
        table.check(asked.filters)?;
        Controller::table_page(self, asked, now)
    }

    fn metrics(&self) -> Vec<Metric> {
        Controller::metrics(self)
    }

    fn command(
        &mut self,
        name: &str,
        keys: &Map<String, Value>,
        now: Time,
    ) -> Result<Map<String, Value>, Unanswered> {
        let Some(command) = C::COMMANDS.iter().find(|command| command.name == name) else {
            let names: Vec<&str> = C::COMMANDS.iter().map(|command| command.name).collect();
            return Err(Unanswered::unknown("command", name, &names));
        };
        command.check(keys)?;
        Controller::command(self, name, keys, now)
    }

    fn restore(&mut self, kept: &[u8]) -> Result<(), Invalid> {
        Controller::restore(self, kept)
    }

    fn reload(
        &mut self,
        config: &dyn Configured,
        function: Option<&dyn function::Configured>,
        now: Time,
    ) -> bool {
        let any: &dyn Any = config;
        let config = any.downcast_ref::<OfKind<C>>();
        config.is_some_and(|config| Controller::reload(self, &config.0, function, now))
    }
}

impl Machine for Box<dyn Running> {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, now: Time, input: Input<'_, Event>) {
        (**self).input(now, input);
    }

    fn poll(&mut self, now: Time) -> Option<Output<Action>> {
        (**self).poll(now)
    }

    fn deadline(&self) -> Option<Time> {
        (**self).deadline()
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        (**self).neighbours(now)
    }

    fn trace(&self, socket: Socket) -> Option<Trace> {
        (**self).trace(socket)
    }
}

/// The entry of a controller in a list.
pub struct Unit<C>(PhantomData<fn() -> C>);

impl<C> Unit<C> {
    /// The entry of a controller.
    pub const fn new() -> Unit<C> {
        Unit(PhantomData)
    }
}

impl<C> Default for Unit<C> {
    fn default() -> Unit<C> {
        Unit::new()
    }
}

impl<C: Controller> Kind for Unit<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn summary(&self) -> &'static str {
        C::SUMMARY
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(C::Config)
    }

    fn commands(&self) -> &'static [Command] {
        C::COMMANDS
    }

    fn read(&self, keys: Map<String, Value>) -> Result<Arc<dyn Configured>, Invalid> {
        let mut config: C::Config = read("controller", keys)?;
        C::validate(&mut config)?;
        Ok(Arc::new(OfKind::<C>(config)))
    }
}

struct OfKind<C: Controller>(C::Config);

impl<C: Controller> Configured for OfKind<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn keys(&self) -> Map<String, Value> {
        match serde_json::to_value(&self.0) {
            Ok(Value::Object(keys)) => keys,
            _ => Map::new(),
        }
    }

    fn create(&self, setup: Setup<'_>) -> Result<Box<dyn Running>, Invalid> {
        Ok(Box::new(C::new(&self.0, setup)?))
    }

    fn claims(&self) -> Vec<&'static str> {
        C::claims(&self.0)
    }

    fn takes(&self) -> Vec<&'static str> {
        C::takes(&self.0)
    }

    fn file(&self) -> Option<&Path> {
        C::file(&self.0)
    }

    fn tables(&self) -> &'static [Table] {
        C::TABLES
    }

    fn commands(&self) -> &'static [Command] {
        C::COMMANDS
    }
}
