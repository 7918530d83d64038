//! What the bench knows of a function, without its types: what lists of models hold.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use function_kit::{Invalid, NetworkFunction, PortName, Shard};
use keys::typed;
use machine::clock::Clock;
use packet::PortId;
use schemars::Schema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use traffic::{Direction, Stamp, Workload};

use crate::check::{Expected, Oracle, Step};
use crate::replay::{Loaded, ReplayKeys};
use crate::service::Service;
use crate::unit::Model;

/// What can be measured, as a list has it: a function, or a control plane.
pub trait Listed: Sync {
    /// The function's name in scenarios, in kebab-case.
    fn name(&self) -> &'static str;
    /// Further names under which files know the function (`mgw` is TIPSY's name for
    /// `mobile-gateway`).
    fn aliases(&self) -> &'static [&'static str];
    /// See [`Model::meant_by`].
    fn meant_by(&self, alias: &str) -> Vec<(&'static str, Value)>;
    /// Summary for `plumbline list`, one line.
    fn summary(&self) -> &'static str;
    /// JSON Schema of the keys of the `function` section, without `name`. A key is swept if the
    /// file gives a list and this schema does not permit an array.
    fn config_schema(&self) -> Schema;
    /// JSON Schema of the `traffic` section. A key is swept under the same condition.
    fn traffic_schema(&self) -> Schema;
}

/// A model as a list has it.
pub trait Kind: Listed {
    /// Reads and checks both sections, without swept lists and without `name`; all defaults are
    /// filled in.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn read(
        &self,
        section: Map<String, Value>,
        traffic: Map<String, Value>,
    ) -> Result<Arc<dyn Configured>, Invalid>;
}

/// Validated sections of what is measured, before any state is allocated.
pub trait Sections: Any + Send + Sync {
    /// The function's name.
    fn name(&self) -> &'static str;
    /// The `function` section with all defaults, without `name`.
    fn section(&self) -> Map<String, Value>;
    /// The `traffic` section with all defaults.
    fn traffic(&self) -> Map<String, Value>;
    /// See [`Model::population`].
    fn population(&self) -> (&'static str, u64);
    /// See [`Model::seed`].
    fn seed(&self) -> u64;

    /// The model, for a function that forwards frames.
    fn forwarding(&self) -> Option<&dyn Configured> {
        None
    }

    /// The captures that are sent in place of made frames.
    fn captures(&self) -> Option<&Loaded> {
        None
    }

    /// Both sections, for the record, and what is known of captures.
    fn effective(&self) -> Value {
        let mut all = json!({ "function": self.section(), "traffic": self.traffic() });
        if let Some(captures) = self.captures() {
            all["captures"] = captures.facts();
        }
        all
    }
}

/// A model with its sections.
pub trait Configured: Sections {
    /// The function's configuration that the section means, without `name`.
    fn config(&self) -> Map<String, Value>;
    /// See [`NetworkFunction::ports`].
    fn ports(&self) -> Vec<PortName>;
    /// See [`Model::initial`].
    fn initial(&self) -> Box<dyn Iterator<Item = Value> + '_>;
    /// See [`Model::service`].
    fn service(&self) -> Service;
    /// See [`Model::beside`].
    fn beside(&self) -> Vec<(&'static str, Value)>;
    /// See [`Model::workload`].
    fn frames(&self, clock: Clock) -> Box<dyn Source>;
    /// See [`Model::oracle`].
    fn judge(&self, shard: Shard) -> Box<dyn Judge>;
    /// See [`Model::sample`].
    fn sample(&self) -> Vec<Step<Value>>;
    /// See [`Model::unreachable`].
    fn unreachable(&self) -> Vec<(&'static str, &'static str)>;
}

/// The frames of a workload; what a number decides is drawn anew each time.
pub trait Source: Send {
    /// See [`traffic::Frames::directions`].
    fn directions(&self) -> &[Direction];
    /// See [`traffic::Frames::frame_len`].
    fn frame_len(&self, frame: Frame) -> usize;
    /// See [`traffic::Frames::steering`].
    fn steering(&self, frame: Frame) -> u32;
    /// See [`traffic::Frames::write`].
    fn write(&self, frame: Frame, stamp: Stamp, bytes: &mut [u8]);
}

/// A frame by its number.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Index of its direction.
    pub direction: usize,
    /// Its number in this direction.
    pub number: u64,
}

/// An oracle.
pub trait Judge {
    /// See [`Oracle::expect`].
    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected;
    /// See [`Oracle::apply`].
    fn apply(&mut self, change: &Value, now: Duration) -> bool;
    /// See [`Oracle::made`].
    fn made(&mut self, now: Duration) -> Vec<Expected>;
}

/// The entry of a model in a list.
pub struct Unit<M>(PhantomData<fn() -> M>);

impl<M> Unit<M> {
    /// The entry of a model.
    pub const fn new() -> Unit<M> {
        Unit(PhantomData)
    }
}

impl<M> Default for Unit<M> {
    fn default() -> Unit<M> {
        Unit::new()
    }
}

impl<M: Model> Listed for Unit<M> {
    fn name(&self) -> &'static str {
        M::Unit::NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        M::Unit::ALIASES
    }

    fn meant_by(&self, alias: &str) -> Vec<(&'static str, Value)> {
        M::meant_by(alias)
    }

    fn summary(&self) -> &'static str {
        M::Unit::SUMMARY
    }

    fn config_schema(&self) -> Schema {
        schemars::schema_for!(M::Section)
    }

    fn traffic_schema(&self) -> Schema {
        let mut schema = schemars::schema_for!(M::Traffic);
        let replay = schemars::schema_for!(ReplayKeys);
        for part in ["properties", "$defs"] {
            let Some(Value::Object(more)) = replay.get(part) else { continue };
            let all = schema.ensure_object().entry(part).or_insert_with(|| json!({}));
            if let Some(all) = all.as_object_mut() {
                all.extend(more.clone());
            }
        }
        schema
    }
}

impl<M: Model> Kind for Unit<M> {
    fn read(
        &self,
        section: Map<String, Value>,
        mut traffic: Map<String, Value>,
    ) -> Result<Arc<dyn Configured>, Invalid> {
        let captures =
            ReplayKeys::take(&mut traffic, schemars::schema_for!(M::Traffic).as_value())?;
        let (section, traffic) = (typed("function", section)?, typed("traffic", traffic)?);
        let made = crate::Configured::<M>::new(section, traffic)?;
        Ok(Arc::new(match captures {
            None => made,
            Some(captures) => made.with_captures(captures)?,
        }))
    }
}

impl<M: Model> Sections for crate::Configured<M> {
    fn name(&self) -> &'static str {
        M::Unit::NAME
    }

    fn section(&self) -> Map<String, Value> {
        object(&self.section)
    }

    fn traffic(&self) -> Map<String, Value> {
        self.replay.as_ref().map_or_else(|| object(&self.traffic), |captures| captures.traffic())
    }

    fn population(&self) -> (&'static str, u64) {
        self.population()
    }

    fn seed(&self) -> u64 {
        self.seed()
    }

    fn captures(&self) -> Option<&Loaded> {
        self.replay.as_deref()
    }

    fn forwarding(&self) -> Option<&dyn Configured> {
        Some(self)
    }
}

impl<M: Model> Configured for crate::Configured<M> {
    fn config(&self) -> Map<String, Value> {
        object(&self.config)
    }

    fn ports(&self) -> Vec<PortName> {
        self.ports()
    }

    fn initial(&self) -> Box<dyn Iterator<Item = Value> + '_> {
        Box::new(self.initial().map(|update| value(&update)))
    }

    fn service(&self) -> Service {
        self.service()
    }

    fn beside(&self) -> Vec<(&'static str, Value)> {
        self.beside()
    }

    fn frames(&self, clock: Clock) -> Box<dyn Source> {
        Box::new(Frames(self.workload(clock)))
    }

    fn judge(&self, shard: Shard) -> Box<dyn Judge> {
        Box::new(Slow(self.oracle(shard)))
    }

    fn sample(&self) -> Vec<Step<Value>> {
        let erased = |step| match step {
            Step::Frame { port, frame, about } => Step::Frame { port, frame, about },
            Step::Answer { port, answer, about } => Step::Answer { port, answer, about },
            Step::Update(update) => Step::Update(value(&update)),
            Step::Wait(time) => Step::Wait(time),
        };
        self.sample().into_iter().map(erased).collect()
    }

    fn unreachable(&self) -> Vec<(&'static str, &'static str)> {
        self.unreachable()
    }
}

struct Frames<W>(W);

impl<W: Workload> Source for Frames<W> {
    fn directions(&self) -> &[Direction] {
        self.0.directions()
    }

    fn frame_len(&self, frame: Frame) -> usize {
        self.0.frame_len(&self.0.draw(frame.direction, frame.number))
    }

    fn steering(&self, frame: Frame) -> u32 {
        self.0.steering(&self.0.draw(frame.direction, frame.number))
    }

    fn write(&self, frame: Frame, stamp: Stamp, bytes: &mut [u8]) {
        self.0.write(&self.0.draw(frame.direction, frame.number), stamp, bytes);
    }
}

struct Slow<O>(O);

impl<O: Oracle<Update: DeserializeOwned>> Judge for Slow<O> {
    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        self.0.expect(port, frame, now)
    }

    fn apply(&mut self, change: &Value, now: Duration) -> bool {
        O::Update::deserialize(change).is_ok_and(|update| self.0.apply(&update, now))
    }

    fn made(&mut self, now: Duration) -> Vec<Expected> {
        self.0.made(now)
    }
}

fn value(data: &impl Serialize) -> Value {
    serde_json::to_value(data).unwrap_or_default()
}

fn object(data: &impl Serialize) -> Map<String, Value> {
    match value(data) {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
