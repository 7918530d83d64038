//! A function without its types: what lists of functions hold, and what a daemon or a chain runs.
//!
//! What crosses this seam in the data path is a whole batch; changes cross it boxed.

use std::any::Any;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use engine::{Context, Event, Function, Names, Refusal, StageClock};
use keys::{Invalid, parsed, read};
use machine::clock::{Clock, Ticks};
use packet::{Batch, PortId, Room, Slot};
use protocol_kit::{Companion, Neighbour};
use schemars::Schema;
use serde_json::{Map, Value};

use crate::host_interface::HostInterface;
use crate::port_name::PortName;
pub use crate::running::Running;
use crate::shown::{Condition, Measured, Spoken, Summed};
use crate::sought::Sought;
use crate::unit::{
    FrameSteering, NetworkFunction, SetupError, Shard, Standby, TablePage, TableSize,
};
pub use crate::update::AnyUpdate;

/// A function as a list has it.
pub trait Kind: Sync {
    /// The name in configurations.
    fn name(&self) -> &'static str;
    /// Other names.
    fn aliases(&self) -> &'static [&'static str];
    /// See [`NetworkFunction::meant_by`].
    fn meant_by(&self, alias: &str) -> Vec<(&'static str, Value)>;
    /// One line of help.
    fn summary(&self) -> &'static str;
    /// JSON Schema of the keys, without `name`.
    fn schema(&self) -> Schema;
    /// JSON Schema of a change at run time.
    fn update_schema(&self) -> Schema;
    /// Reads and checks the keys, without `name`; all defaults are filled in.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn read(&self, keys: Map<String, Value>) -> Result<Arc<dyn Configured>, Invalid>;
}

/// A configured function without state.
pub trait Configured: Any + Send + Sync {
    /// The function's name.
    fn name(&self) -> &'static str;
    /// Its keys with all defaults, without `name`.
    fn keys(&self) -> Map<String, Value>;
    /// See [`NetworkFunction::names`].
    fn names(&self) -> Names;
    /// See [`NetworkFunction::TABLES`].
    fn tables(&self) -> &'static [&'static str];
    /// See [`NetworkFunction::CONDITIONS`].
    fn conditions(&self) -> &'static [Condition];
    /// See [`NetworkFunction::SPEAKS`].
    fn speaks(&self) -> &'static [Spoken];
    /// See [`NetworkFunction::SUMMED`].
    fn summed(&self) -> &'static [Summed];
    /// See [`NetworkFunction::LINES_TOLD_BY`].
    fn lines_told_by(&self) -> Option<&'static str>;
    /// See [`NetworkFunction::MEASURED`].
    fn measured(&self) -> &'static [Measured];
    /// See [`NetworkFunction::ports`].
    fn ports(&self) -> Vec<PortName>;
    /// See [`NetworkFunction::host_interfaces`].
    fn host_interfaces(&self) -> Vec<HostInterface>;
    /// See [`NetworkFunction::workers`].
    fn workers(&self) -> usize;
    /// See [`NetworkFunction::IS_SHARDED`].
    fn is_sharded(&self) -> bool;
    /// See [`NetworkFunction::hands_over`].
    fn hands_over(&self) -> bool;
    /// See [`NetworkFunction::takes_long`].
    fn takes_long(&self) -> bool;
    /// See [`NetworkFunction::steers_frames`].
    fn steers_frames(&self) -> bool;
    /// See [`NetworkFunction::frame_steering`].
    fn frame_steering(&self, first: &dyn Running) -> Option<FrameSteering>;
    /// See [`NetworkFunction::function`].
    ///
    /// # Errors
    /// When the state does not fit into memory or a table.
    fn function(
        &self,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Box<dyn Running>, SetupError>;
    /// See [`NetworkFunction::advice`].
    fn advice(&self, update: &AnyUpdate, why: Refusal) -> String;
    /// See [`NetworkFunction::remarks`].
    fn remarks(&self) -> Vec<String>;
    /// See [`NetworkFunction::take_secrets`].
    fn with_secrets_of(&self, from: &dyn Configured) -> Arc<dyn Configured>;
    /// Reads a change.
    ///
    /// # Errors
    /// What cannot be read of it.
    fn update(&self, update: &Value) -> Result<AnyUpdate, Invalid>;
    /// Reads a change from the text of its JSON; none if that is no JSON.
    ///
    /// # Errors
    /// What cannot be read of it.
    fn update_of(&self, text: &[u8]) -> Option<Result<AnyUpdate, Invalid>>;
    /// See [`NetworkFunction::difference`].
    ///
    /// # Errors
    /// The first key whose change needs a restart.
    fn difference(&self, wanted: &dyn Configured) -> Result<Vec<AnyUpdate>, Invalid>;
    /// See [`NetworkFunction::undoing`].
    fn undoing(&self, applied: &[AnyUpdate]) -> Vec<AnyUpdate>;
    /// See [`NetworkFunction::steering`].
    fn steering(&self, update: &AnyUpdate) -> Option<u32>;
    /// See [`NetworkFunction::memory`].
    fn memory(&self, shard: Shard, function: &dyn Running, now: Ticks) -> Vec<AnyUpdate>;
    /// See [`NetworkFunction::memory_part`].
    fn memory_part(
        &self,
        shard: Shard,
        function: &dyn Running,
        now: Ticks,
        last: Option<&AnyUpdate>,
    ) -> Vec<AnyUpdate>;
    /// See [`NetworkFunction::remembered`].
    fn remembered(&self, parts: Vec<AnyUpdate>) -> Vec<AnyUpdate>;

    /// Its keys with all defaults, as a section has them.
    fn section(&self) -> Map<String, Value> {
        let mut section = Map::from_iter([("name".to_owned(), self.name().into())]);
        section.extend(self.keys());
        section
    }
}

/// The entry of a function in a list.
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

impl<N: NetworkFunction> Kind for Unit<N> {
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

    fn schema(&self) -> Schema {
        schemars::schema_for!(N::Config)
    }

    fn update_schema(&self) -> Schema {
        schemars::schema_for!(N::Said)
    }

    fn read(&self, keys: Map<String, Value>) -> Result<Arc<dyn Configured>, Invalid> {
        let mut config: N::Config = read("function", keys)?;
        N::validate(&mut config)?;
        Ok(configured::<N>(config))
    }
}

/// The configuration of a function; none if it is another one.
pub fn config_of<N: NetworkFunction>(configured: &dyn Configured) -> Option<&N::Config> {
    let any: &dyn Any = configured;
    any.downcast_ref::<OfKind<N>>().map(|of_kind| &of_kind.0)
}

/// A function with a validated configuration.
pub fn configured<N: NetworkFunction>(config: N::Config) -> Arc<dyn Configured> {
    Arc::new(OfKind::<N>(config))
}

struct OfKind<N: NetworkFunction>(N::Config);

impl<N: NetworkFunction> Configured for OfKind<N> {
    fn name(&self) -> &'static str {
        N::NAME
    }

    fn keys(&self) -> Map<String, Value> {
        match serde_json::to_value(&self.0) {
            Ok(Value::Object(keys)) => keys,
            _ => Map::new(),
        }
    }

    fn names(&self) -> Names {
        N::names(&self.0)
    }

    fn tables(&self) -> &'static [&'static str] {
        N::TABLES
    }

    fn conditions(&self) -> &'static [Condition] {
        N::CONDITIONS
    }

    fn speaks(&self) -> &'static [Spoken] {
        N::SPEAKS
    }

    fn summed(&self) -> &'static [Summed] {
        N::SUMMED
    }

    fn lines_told_by(&self) -> Option<&'static str> {
        N::LINES_TOLD_BY
    }

    fn measured(&self) -> &'static [Measured] {
        N::MEASURED
    }

    fn ports(&self) -> Vec<PortName> {
        N::ports(&self.0)
    }

    fn host_interfaces(&self) -> Vec<HostInterface> {
        N::host_interfaces(&self.0)
    }

    fn workers(&self) -> usize {
        N::workers(&self.0)
    }

    fn is_sharded(&self) -> bool {
        N::IS_SHARDED
    }

    fn hands_over(&self) -> bool {
        N::hands_over(&self.0)
    }

    fn takes_long(&self) -> bool {
        N::takes_long(&self.0)
    }

    fn steers_frames(&self) -> bool {
        N::steers_frames(&self.0)
    }

    fn frame_steering(&self, first: &dyn Running) -> Option<FrameSteering> {
        let first: &dyn Any = first;
        N::frame_steering(&self.0, &first.downcast_ref::<State<N>>()?.0)
    }

    fn function(
        &self,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Box<dyn Running>, SetupError> {
        Ok(Box::new(State::<N>(N::function(&self.0, shard, clock, now)?)))
    }

    fn advice(&self, update: &AnyUpdate, why: Refusal) -> String {
        update.typed().map_or_else(String::new, |update| N::advice(&self.0, update, why))
    }

    fn remarks(&self) -> Vec<String> {
        N::remarks(&self.0)
    }

    fn with_secrets_of(&self, from: &dyn Configured) -> Arc<dyn Configured> {
        let (mut config, from): (_, &dyn Any) = (self.0.clone(), from);
        if let Some(from) = from.downcast_ref::<OfKind<N>>() {
            N::take_secrets(&mut config, &from.0);
        }
        configured::<N>(config)
    }

    fn update(&self, update: &Value) -> Result<AnyUpdate, Invalid> {
        let said = parsed::<N::Said>("update", update.clone())?;
        N::meant(&self.0, said).map(AnyUpdate::of)
    }

    fn update_of(&self, text: &[u8]) -> Option<Result<AnyUpdate, Invalid>> {
        // The way by a value is ten times as long; it says what is wrong.
        match serde_json::from_slice::<N::Said>(text) {
            Ok(said) => Some(N::meant(&self.0, said).map(AnyUpdate::of)),
            Err(_) => serde_json::from_slice(text).ok().map(|value| self.update(&value)),
        }
    }

    fn difference(&self, wanted: &dyn Configured) -> Result<Vec<AnyUpdate>, Invalid> {
        let any: &dyn Any = wanted;
        let Some(wanted) = any.downcast_ref::<OfKind<N>>() else {
            let what = format!("{} cannot become {} while it runs", N::NAME, wanted.name());
            return Err(crate::sections::function_key("name", what, "Restart it"));
        };
        let changes = N::difference(&self.0, &wanted.0)?;
        Ok(changes.into_iter().map(AnyUpdate::of).collect())
    }

    fn undoing(&self, applied: &[AnyUpdate]) -> Vec<AnyUpdate> {
        let applied: Vec<N::Update> =
            applied.iter().filter_map(|update| update.typed().cloned()).collect();
        N::undoing(&self.0, &applied).into_iter().map(AnyUpdate::of).collect()
    }

    fn steering(&self, update: &AnyUpdate) -> Option<u32> {
        N::steering(&self.0, update.typed()?)
    }

    fn memory(&self, shard: Shard, function: &dyn Running, now: Ticks) -> Vec<AnyUpdate> {
        let function: &dyn Any = function;
        let function = function.downcast_ref::<State<N>>();
        let updates = function.map(|function| N::memory(&self.0, shard, &function.0, now));
        updates.into_iter().flatten().map(AnyUpdate::of).collect()
    }

    fn memory_part(
        &self,
        shard: Shard,
        function: &dyn Running,
        now: Ticks,
        last: Option<&AnyUpdate>,
    ) -> Vec<AnyUpdate> {
        let function: &dyn Any = function;
        let function = function.downcast_ref::<State<N>>();
        let last = last.and_then(AnyUpdate::typed);
        let part = |function: &State<N>| N::memory_part(&self.0, shard, &function.0, now, last);
        function.map(part).into_iter().flatten().map(AnyUpdate::of).collect()
    }

    fn remembered(&self, parts: Vec<AnyUpdate>) -> Vec<AnyUpdate> {
        let typed = parts.iter().filter_map(|update| update.typed().cloned()).collect();
        N::remembered(&self.0, typed).into_iter().map(AnyUpdate::of).collect()
    }
}

struct State<N: NetworkFunction>(N::Function);

impl<N: NetworkFunction> Running for State<N> {
    fn names(&self) -> Names {
        self.0.names()
    }

    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>) {
        self.0.process(batch, now, stages);
    }

    fn apply(&mut self, update: AnyUpdate, now: Ticks) -> Result<(), Refusal> {
        let update = update.into_any();
        self.0.apply(*update.downcast().map_err(|_| Refusal::Invalid)?, now)
    }

    fn tallies(&self) -> &[u64] {
        self.0.tallies()
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }

    fn reads_datagrams(&self) -> &'static [u16] {
        self.0.reads_datagrams()
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        self.0.make_room(room)
    }

    fn context(&self, batch: &Batch, slot: Slot) -> Context {
        self.0.context(batch, slot)
    }

    fn tick(&mut self, now: Ticks) {
        self.0.tick(now);
    }

    fn event(&mut self) -> Option<Event> {
        self.0.event()
    }

    fn link(&mut self, port: PortId, is_up: bool) {
        self.0.link(port, is_up);
    }

    fn made(&mut self, now: Ticks) -> Option<&mut Batch> {
        self.0.made(now)
    }

    fn table_sizes(&self) -> Vec<TableSize> {
        N::table_sizes(&self.0)
    }

    fn table_page(&self, table: usize, from: u64, limit: usize, now: Ticks) -> TablePage {
        N::table_page(&self.0, table, from, limit, now)
    }

    fn table_found(
        &self,
        table: usize,
        sought: Sought,
        from: u64,
        limit: usize,
        now: Ticks,
    ) -> Option<TablePage> {
        N::table_found(&self.0, table, sought, from, limit, now)
    }

    fn neighbours(&self, limit: usize) -> Vec<Neighbour> {
        N::neighbours(&self.0, limit)
    }

    fn neighbours_in(&self, of: (&str, &str), limit: usize) -> Vec<Neighbour> {
        N::neighbours_in(&self.0, of, limit)
    }

    fn standby(&self) -> Option<Standby> {
        N::standby(&self.0)
    }

    fn machines(&mut self) -> Vec<Companion> {
        N::machines(&mut self.0)
    }

    fn wind_down(&mut self) -> u64 {
        N::wind_down(&mut self.0)
    }

    fn lines(&mut self) -> Vec<String> {
        N::lines(&mut self.0)
    }

    fn set_mtu(&mut self, port: PortId, mtu: u16) {
        N::set_mtu(&mut self.0, port, mtu);
    }

    fn join(&mut self, first: &mut dyn Running, workers: usize) {
        let first: &mut dyn Any = first;
        if let Some(first) = first.downcast_mut::<State<N>>() {
            N::join(&mut self.0, &mut first.0, workers);
        }
    }
}
