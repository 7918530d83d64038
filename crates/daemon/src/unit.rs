//! What the daemon knows of a function: how to read its keys, and how to let it run.
//!
//! The traits are object-safe, so that the registry is a plain list and nothing here names a function.

use std::marker::PhantomData;

use engine::Port;
use functions::{FrameSteering, NetworkFunction, Standby, TablePage, TableSize};
use machine::clock::{Clock, Ticks};
use packet::Room;
use schemars::Schema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::config::Rest;
use crate::error::RunError;
use crate::state::Memory;
use crate::team::Prepared as Team;

/// The functions that can run, in the order of the help text.
pub const FUNCTIONS: &[&dyn FunctionKind] = functions::with_all!(Unit);

/// A function, as the list has it.
pub trait FunctionKind: Sync {
    /// The name in a file.
    fn name(&self) -> &'static str;

    /// Other names.
    fn aliases(&self) -> &'static [&'static str];

    /// Keys that a file means by one of the other names where it does not state them.
    fn meant_by(&self, alias: &str) -> Vec<(&'static str, Value)>;

    /// One line of help.
    fn summary(&self) -> &'static str;

    /// The names of its ports, in the order of their numbers.
    fn ports(&self) -> &'static [&'static str];

    /// Whether a frame must reach the worker that has its part of the state.
    fn is_sharded(&self) -> bool;

    /// JSON Schema of its keys beside `name`.
    fn schema(&self) -> Schema;

    /// JSON Schema of a change at run time.
    fn update_schema(&self) -> Schema;

    /// Reads and checks its keys; all defaults are filled in.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn read(&self, keys: Value) -> Result<Box<dyn Configured>, BadKey>;
}

/// A function with its keys, not yet holding any state.
pub trait Configured: Send {
    /// All keys with their defaults.
    fn effective(&self) -> Value;

    /// The ports that the keys ask for, in their order.
    fn ports(&self) -> &'static [&'static str];

    /// How many workers the keys ask for.
    fn workers(&self) -> usize;

    /// How a frame finds the worker that has its part of the state; none where all have all of it, or nothing tells.
    fn frame_steering(&self) -> Option<FrameSteering>;

    /// Builds the state of so many workers, with what it remembers.
    ///
    /// # Errors
    /// No memory, or a memory that does not fit.
    fn prepare(
        &self,
        workers: usize,
        clock: Clock,
        memory: Option<&Memory>,
    ) -> Result<Box<dyn Prepared>, RunError>;
}

/// The state of all workers, not yet forwarding.
pub trait Prepared {
    /// Starts a worker for each list of queues.
    ///
    /// # Errors
    /// When a thread or the memory of a batch is not to be had.
    fn launch(
        self: Box<Self>,
        queues: Vec<Vec<Box<dyn Port>>>,
        launch: &Launch,
    ) -> Result<Box<dyn Running>, RunError>;
}

/// How workers run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The core of each.
    pub cores: Vec<usize>,
    /// What they do while no packet comes.
    pub rest: Rest,
    /// Most packets in a batch.
    pub batch: usize,
    /// How much room a frame has.
    pub room: Room,
}

/// A function that forwards. Dropping it ends its workers.
pub trait Running: Send {
    /// The names of what it counts.
    fn words(&self) -> Words;

    /// What each worker has counted and what its time went into.
    fn work(&self) -> Vec<Work>;

    /// The first worker whose thread is gone.
    fn lost(&self) -> Option<usize>;

    /// Applies one change, written as the function's control has it, and tells when it took effect.
    ///
    /// # Errors
    /// Why not; nothing has changed then.
    fn update(&mut self, update: Value) -> Result<Ticks, Refused>;

    /// Leads to other keys: applies the difference as a whole, and tells how many changes it took.
    ///
    /// # Errors
    /// A key that needs a restart, or a change that was refused; nothing has changed then.
    fn reconfigure(&mut self, wanted: &Value) -> Result<usize, Refused>;

    /// How many changes [`Running::reconfigure`] would take.
    ///
    /// # Errors
    /// A key that needs a restart.
    fn difference(&self, wanted: &Value) -> Result<usize, Refused>;

    /// Gives the port of this number other queues, one for each worker; the old ones are dropped.
    ///
    /// # Errors
    /// When a worker does not answer.
    fn swap(&mut self, port: usize, queues: Vec<Box<dyn Port>>) -> Result<(), Refused>;

    /// Sets a tap on each worker, or takes it away.
    ///
    /// # Errors
    /// When a worker does not answer.
    fn tap(&mut self, taps: Vec<Option<Box<dyn engine::Tap>>>) -> Result<(), Refused>;

    /// How full each table is, by worker; and bytes of state, by worker.
    ///
    /// # Errors
    /// When a worker does not answer.
    fn sizes(&mut self) -> Result<Vec<Sizes>, Refused>;

    /// Some entries of a table of one worker.
    ///
    /// # Errors
    /// When a worker does not answer.
    fn page(
        &mut self,
        worker: usize,
        table: usize,
        from: u64,
        limit: usize,
    ) -> Result<TablePage, Refused>;

    /// What came by control or was learned.
    ///
    /// # Errors
    /// When a worker does not answer.
    fn memory(&mut self) -> Result<Memory, Refused>;
}

/// The names of what a function counts.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Its stages, without receiving and transmitting.
    pub stages: &'static [&'static str],
    /// Its reasons for dropping.
    pub drops: &'static [&'static str],
    /// What else it counts.
    pub tallies: &'static [&'static str],
    /// Its tables.
    pub tables: &'static [&'static str],
}

/// What a worker has counted, and what its time went into.
#[derive(Clone, Debug)]
pub struct Work {
    /// Its core.
    pub core: usize,
    /// Whether it could be pinned to it.
    pub pinned: bool,
    /// Its counters.
    pub counts: engine::Counts,
    /// Ticks and packets by stage, receiving first and transmitting last.
    pub stages: Vec<(u64, u64)>,
    /// Gaps in its time.
    pub gaps: engine::Gaps,
}

/// What a worker holds.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// How full each table is.
    pub tables: Vec<TableSize>,
    /// Bytes of state.
    pub state_bytes: usize,
    /// How its standby stands, where it tells one.
    pub standby: Option<Standby>,
}

/// How the standbys of workers stand, all together; none where there are none.
pub(crate) fn standby(workers: &[Sizes]) -> Option<Value> {
    let all: Vec<Standby> = workers.iter().filter_map(|one| one.standby).collect();
    (!all.is_empty()).then(|| {
        json!({
            "synchronised": all.iter().all(|one| one.is_synchronised),
            "unacknowledged": all.iter().map(|one| one.unacknowledged).sum::<u64>(),
        })
    })
}

/// A key of a function that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadKey {
    /// Which, dotted; empty for the section as a whole.
    pub key: String,
    /// What is wrong, without a full stop.
    pub what: String,
    /// What to do; may be empty.
    pub remedy: String,
}

/// Something that was asked for and not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize, thiserror::Error)]
#[error("{what}")]
pub struct Refused {
    /// What is wrong, without a full stop.
    pub what: String,
    /// What to do, an imperative sentence without a full stop; may be empty.
    pub remedy: String,
}

impl Refused {
    /// A refusal and what to do about it.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Refused {
        Refused { what: what.into(), remedy: remedy.into() }
    }
}

/// A function as an entry of the list.
pub struct Unit<N>(PhantomData<fn() -> N>);

impl<N> Unit<N> {
    /// The entry of a function.
    pub const fn new() -> Unit<N> {
        Unit(PhantomData)
    }
}

impl<N> Default for Unit<N> {
    fn default() -> Unit<N> {
        Unit::new()
    }
}

impl<N: NetworkFunction> FunctionKind for Unit<N> {
    fn name(&self) -> &'static str {
        N::NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        N::ALIASES
    }

    fn meant_by(&self, alias: &str) -> Vec<(&'static str, Value)> {
        N::meant_by(alias)
    }

    fn summary(&self) -> &'static str {
        N::SUMMARY
    }

    fn ports(&self) -> &'static [&'static str] {
        N::PORTS
    }

    fn is_sharded(&self) -> bool {
        N::IS_SHARDED
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(N::Config)
    }

    fn update_schema(&self) -> Schema {
        schemars::schema_for!(N::Update)
    }

    fn read(&self, keys: Value) -> Result<Box<dyn Configured>, BadKey> {
        Ok(Box::new(OfKind::<N> { config: validated::<N>(keys)? }))
    }
}

struct OfKind<N: NetworkFunction> {
    config: N::Config,
}

impl<N: NetworkFunction> Configured for OfKind<N> {
    fn effective(&self) -> Value {
        serde_json::to_value(&self.config).unwrap_or_default()
    }

    fn ports(&self) -> &'static [&'static str] {
        N::ports(&self.config)
    }

    fn workers(&self) -> usize {
        N::workers(&self.config)
    }

    fn frame_steering(&self) -> Option<FrameSteering> {
        N::frame_steering(&self.config)
    }

    fn prepare(
        &self,
        workers: usize,
        clock: Clock,
        memory: Option<&Memory>,
    ) -> Result<Box<dyn Prepared>, RunError> {
        Ok(Box::new(Team::<N>::build(&self.config, workers, clock, memory)?))
    }
}

/// The keys of a function, parsed and checked as those of a scenario without traffic.
pub(crate) fn validated<N: NetworkFunction>(keys: Value) -> Result<N::Config, BadKey> {
    let mut config: N::Config = parsed(keys)?;
    let mut traffic: N::Traffic = parsed(Value::Object(serde_json::Map::new()))?;
    N::validate(&mut config, &mut traffic).map_err(|invalid| BadKey {
        key: invalid.key.to_owned(),
        what: invalid.what,
        remedy: invalid.remedy,
    })?;
    Ok(config)
}

/// Keys as their type.
pub(crate) fn parsed<T: DeserializeOwned>(keys: Value) -> Result<T, BadKey> {
    serde_path_to_error::deserialize(keys).map_err(|error| {
        let path = error.path().to_string();
        let key = if path == "." { String::new() } else { path };
        let what = document::in_plain_words(&error.inner().to_string());
        BadKey { key, what, remedy: String::new() }
    })
}
