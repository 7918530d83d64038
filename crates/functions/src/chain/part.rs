//! A function as a link of a chain: everything that every function provides, without its types.
//!
//! What crosses this seam in the data path is a whole batch; changes cross it as JSON, because a chain
//! has no type for the changes of all functions.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use engine::{Function, Names, Refusal, StageTotals};
use machine::clock::{Clock, Ticks};
use packet::{Batch, PortId, Room};
use schemars::Schema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::config::{chain_key, open_key};
use super::workload::{self, Source};
use crate::check::{Expected, Oracle, Step};
use crate::service::Service;
use crate::unit::{Invalid, NetworkFunction, SetupError, Shard};

/// A function that was read, with its keys.
pub(super) trait Member: Send + Sync {
    fn name(&self) -> &'static str;
    fn names(&self) -> Names;
    fn ports(&self) -> usize;
    fn workers(&self) -> usize;
    fn is_sharded(&self) -> bool;
    fn population(&self) -> (&'static str, u64);
    /// Its section with all defaults, and that of its traffic.
    fn section(&self) -> Map<String, Value>;
    fn traffic(&self) -> Map<String, Value>;
    fn service(&self) -> Service;
    fn running(
        &self,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Box<dyn Running>, SetupError>;
    fn frames(&self, clock: Clock) -> Box<dyn Source>;
    fn judge(&self, shard: Shard) -> Box<dyn Judge>;
    fn sample(&self) -> Vec<Step<Value>>;
    fn unreachable(&self) -> Vec<(&'static str, &'static str)>;
    /// The changes that lead to another section of the same function.
    fn difference(&self, wanted: &Map<String, Value>) -> Result<Vec<Value>, Invalid>;
    fn undoing(&self, applied: &[Value]) -> Vec<Value>;
}

/// A running function.
pub(super) trait Running: Send {
    fn process(&mut self, batch: &mut Batch, now: Ticks);
    fn apply(&mut self, change: &Value, now: Ticks) -> Result<(), Refusal>;
    fn tallies(&self) -> &[u64];
    fn state_bytes(&self) -> usize;
    fn memory(&self, shard: Shard, now: Ticks) -> Vec<Value>;
    fn make_room(&mut self, room: Room) -> io::Result<()>;
    fn made(&mut self, now: Ticks) -> Option<&mut Batch>;
}

/// An oracle.
pub(super) trait Judge {
    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected;
    fn apply(&mut self, change: &Value, now: Duration) -> bool;
    fn made(&mut self, now: Duration) -> Vec<Expected>;
}

/// What is wrong with a section.
pub(super) struct BadSection {
    name: String,
    key: String,
    what: String,
    remedy: String,
    is_of_traffic: bool,
}

impl BadSection {
    /// The same, said of the chain in which the section has this place.
    pub(super) fn at(self, place: usize) -> Invalid {
        let BadSection { name, key, what, remedy, is_of_traffic } = self;
        let key = if key.is_empty() { key } else { format!("{key}: ") };
        let what = format!("{} ({name}): {key}{what}", place + 1);
        if is_of_traffic {
            return Invalid { section: "traffic", key: "of the chain", what, remedy };
        }
        chain_key(what, &remedy)
    }
}

/// Reads a section and its traffic.
pub(super) fn read(
    mut section: Map<String, Value>,
    traffic: Map<String, Value>,
) -> Result<Arc<dyn Member>, BadSection> {
    let name = section.remove("name").and_then(|name| name.as_str().map(str::to_owned));
    let bad = |what: String, remedy: String| BadSection {
        name: name.clone().unwrap_or_else(|| "no name".to_owned()),
        key: String::new(),
        what,
        remedy,
        is_of_traffic: false,
    };
    let known = || kinds().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    let Some(wanted) = &name else {
        return Err(bad("it has no `name`".into(), format!("Name one of: {}", known())));
    };
    let is_meant = |kind: &&dyn Kind| kind.name() == wanted || kind.aliases().contains(&&**wanted);
    let Some(kind) = kinds().find(is_meant) else {
        return Err(bad("there is no such function".into(), format!("Name one of: {}", known())));
    };
    for (key, value) in kind.meant_by(wanted) {
        section.entry(key).or_insert(value);
    }
    kind.read(section, traffic)
}

/// The keys of the traffic of all functions, as properties of a schema.
pub(super) fn traffic_keys() -> Map<String, Value> {
    let mut keys = Map::new();
    for kind in kinds() {
        let schema = kind.traffic_schema();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flatten() {
            let text = property["description"].as_str().unwrap_or_default();
            let is_list = property.to_string().contains("\"array\"");
            keys.entry(key.clone()).or_insert_with(|| open_key(is_list, text));
        }
    }
    keys
}

/// A function as the list has it.
trait Kind: Sync {
    fn name(&self) -> &'static str;
    fn aliases(&self) -> &'static [&'static str];
    fn meant_by(&self, alias: &str) -> Vec<(&'static str, Value)>;
    fn traffic_schema(&self) -> Schema;
    fn read(
        &self,
        section: Map<String, Value>,
        traffic: Map<String, Value>,
    ) -> Result<Arc<dyn Member>, BadSection>;
}

/// All functions but chains.
fn kinds() -> impl Iterator<Item = &'static dyn Kind> {
    const ALL: &[&dyn Kind] = crate::with_all!(Unit);
    ALL.iter().copied().filter(|kind| kind.name() != super::Chain::NAME)
}

struct Unit<N>(std::marker::PhantomData<N>);

impl<N> Unit<N> {
    const fn new() -> Unit<N> {
        Unit(std::marker::PhantomData)
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

    fn traffic_schema(&self) -> Schema {
        schemars::schema_for!(N::Traffic)
    }

    fn read(
        &self,
        section: Map<String, Value>,
        traffic: Map<String, Value>,
    ) -> Result<Arc<dyn Member>, BadSection> {
        let bad = |key: &str, what: String, remedy: String, is_of_traffic| BadSection {
            name: N::NAME.to_owned(),
            key: key.to_owned(),
            what,
            remedy,
            is_of_traffic,
        };
        let help = || "See the keys of this function in docs/scenarios.md".to_owned();
        let mut config: N::Config = serde_json::from_value(Value::Object(section))
            .map_err(|error| bad("", error.to_string(), help(), false))?;
        let mut traffic: N::Traffic = serde_json::from_value(Value::Object(traffic))
            .map_err(|error| bad("", error.to_string(), help(), true))?;
        N::validate(&mut config, &mut traffic).map_err(|invalid| {
            let Invalid { section, key, what, remedy } = invalid;
            bad(key, what, remedy, section == "traffic")
        })?;
        Ok(Arc::new(Configured::<N> { config, traffic }))
    }
}

struct Configured<N: NetworkFunction> {
    config: N::Config,
    traffic: N::Traffic,
}

impl<N: NetworkFunction> Member for Configured<N> {
    fn name(&self) -> &'static str {
        N::NAME
    }

    fn names(&self) -> Names {
        N::names(&self.config)
    }

    fn ports(&self) -> usize {
        N::ports(&self.config).len()
    }

    fn workers(&self) -> usize {
        N::workers(&self.config)
    }

    fn is_sharded(&self) -> bool {
        N::IS_SHARDED
    }

    fn population(&self) -> (&'static str, u64) {
        N::population(&self.config)
    }

    fn section(&self) -> Map<String, Value> {
        let mut section = Map::from_iter([("name".to_owned(), N::NAME.into())]);
        section.extend(object(&self.config));
        section
    }

    fn traffic(&self) -> Map<String, Value> {
        object(&self.traffic)
    }

    fn service(&self) -> Service {
        N::service(&self.config)
    }

    fn running(
        &self,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Box<dyn Running>, SetupError> {
        let function = N::function(&self.config, shard, clock, now)?;
        let config = self.config.clone();
        Ok(Box::new(OfKind::<N> { function, config, inner_stages: StageTotals::default() }))
    }

    fn frames(&self, clock: Clock) -> Box<dyn Source> {
        workload::source(N::workload(&self.config, &self.traffic, clock))
    }

    fn judge(&self, shard: Shard) -> Box<dyn Judge> {
        Box::new(Slow(N::oracle(&self.config, shard)))
    }

    fn sample(&self) -> Vec<Step<Value>> {
        let erased = |step| match step {
            Step::Frame { port, frame, about } => Step::Frame { port, frame, about },
            Step::Answer { port, answer, about } => Step::Answer { port, answer, about },
            Step::Update(update) => Step::Update(value(&update)),
            Step::Wait(time) => Step::Wait(time),
        };
        N::sample(&self.config, &self.traffic).into_iter().map(erased).collect()
    }

    fn unreachable(&self) -> Vec<(&'static str, &'static str)> {
        N::unreachable(&self.config)
    }

    fn difference(&self, wanted: &Map<String, Value>) -> Result<Vec<Value>, Invalid> {
        let mut wanted = wanted.clone();
        wanted.remove("name");
        let wanted: N::Config = serde_json::from_value(Value::Object(wanted))
            .map_err(|error| chain_key(error.to_string(), ""))?;
        Ok(N::difference(&self.config, &wanted)?.iter().map(value).collect())
    }

    fn undoing(&self, applied: &[Value]) -> Vec<Value> {
        let applied: Vec<N::Update> = applied.iter().filter_map(typed).collect();
        N::undoing(&self.config, &applied).iter().map(value).collect()
    }
}

struct OfKind<N: NetworkFunction> {
    function: N::Function,
    config: N::Config,
    /// What goes into its stages is not told: the chain tells what each function costs as a whole.
    inner_stages: StageTotals,
}

impl<N: NetworkFunction> Running for OfKind<N> {
    fn process(&mut self, batch: &mut Batch, now: Ticks) {
        self.function.process(batch, now, &mut self.inner_stages.start(now));
    }

    fn apply(&mut self, change: &Value, now: Ticks) -> Result<(), Refusal> {
        self.function.apply(typed(change).ok_or(Refusal::Invalid)?, now)
    }

    fn tallies(&self) -> &[u64] {
        self.function.tallies()
    }

    fn state_bytes(&self) -> usize {
        self.function.state_bytes()
    }

    fn memory(&self, shard: Shard, now: Ticks) -> Vec<Value> {
        N::memory(&self.config, shard, &self.function, now).iter().map(value).collect()
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        self.function.make_room(room)
    }

    fn made(&mut self, now: Ticks) -> Option<&mut Batch> {
        self.function.made(now)
    }
}

struct Slow<O>(O);

impl<O: Oracle<Update: DeserializeOwned>> Judge for Slow<O> {
    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        self.0.expect(port, frame, now)
    }

    fn apply(&mut self, change: &Value, now: Duration) -> bool {
        typed(change).is_some_and(|update| self.0.apply(&update, now))
    }

    fn made(&mut self, now: Duration) -> Vec<Expected> {
        self.0.made(now)
    }
}

fn value(data: &impl serde::Serialize) -> Value {
    serde_json::to_value(data).unwrap_or_default()
}

fn object(data: &impl serde::Serialize) -> Map<String, Value> {
    match value(data) {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn typed<T: DeserializeOwned>(change: &Value) -> Option<T> {
    T::deserialize(change).ok()
}
