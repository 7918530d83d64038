//! What every model provides, and a configured one.

use std::sync::Arc;

use engine::steering::worker_of;
use engine::{Function, Refusal};
use function_kit::{Invalid, NetworkFunction, PortName, SetupError, Shard};
use machine::clock::{Clock, Ticks};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use traffic::{Frames as _, Offered, Stamp, Workload};

use crate::check::{Oracle, Step};
use crate::replay::{Loaded, Receiver, ReplayKeys};
use crate::service::Service;

/// The configuration of a model's function.
pub type ConfigOf<M> = <<M as Model>::Unit as NetworkFunction>::Config;

/// A change of a model's function.
pub type UpdateOf<M> = <<M as Model>::Unit as NetworkFunction>::Update;

/// What a tester offers to a model's function.
pub type WorkloadOf<M> = Offered<<M as Model>::Workload>;

/// A model's running function.
pub type PipelineOf<M> = <<M as Model>::Unit as NetworkFunction>::Function;

/// What the bench knows of a function.
pub trait Model: Sized + Send + Sync + 'static {
    /// The function.
    type Unit: NetworkFunction;

    /// The `function` section of a scenario: what describes the function's configuration and the
    /// state that it has at the start.
    type Section: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static;
    /// The `traffic` section of a scenario.
    type Traffic: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static;
    /// What the tester sends.
    type Workload: Workload<Update = UpdateOf<Self>> + 'static;
    /// The slow, obviously right model.
    type Oracle: Oracle<Update = UpdateOf<Self>>;

    /// Keys of the `function` section that a file means by one of the function's other names where
    /// it does not state them: the other program's defaults and modes.
    fn meant_by(alias: &str) -> Vec<(&'static str, serde_json::Value)> {
        Self::Unit::meant_by(alias)
    }

    /// Checks both sections together, with the function's configuration that they mean, and fills
    /// in what follows from one another.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn validate(section: &mut Self::Section, traffic: &mut Self::Traffic) -> Result<(), Invalid>;

    /// The function's configuration that a validated section means.
    fn config(section: &Self::Section) -> ConfigOf<Self>;

    /// The changes by which a function with that configuration gets the state that the section
    /// describes, in their order.
    fn initial(_section: &Self::Section) -> Box<dyn Iterator<Item = UpdateOf<Self>> + '_> {
        Box::new(std::iter::empty())
    }

    /// How many subscribers, sessions or the like share the state, and what they are called.
    fn population(section: &Self::Section) -> (&'static str, u64);

    /// The seed of the traffic.
    fn seed(traffic: &Self::Traffic) -> u64;

    /// The workload of validated sections.
    fn workload(section: &Self::Section, traffic: &Self::Traffic, clock: Clock) -> Self::Workload;

    /// The oracle in the state that the section describes; times are nanoseconds.
    fn oracle(section: &Self::Section, shard: Shard) -> Self::Oracle;

    /// What the functional check does: frames that reach every verdict and every drop reason, and
    /// the changes between them.
    fn sample(section: &Self::Section, traffic: &Self::Traffic) -> Vec<Step<UpdateOf<Self>>>;

    /// The drop reasons that no frame can meet under this section, each with the cause. The check
    /// fails if the sample leaves out any other.
    fn unreachable(section: &Self::Section) -> Vec<(&'static str, &'static str)>;

    /// What the function does, for devices of another making.
    fn service(section: &Self::Section) -> Service;

    /// Sections of a daemon's file beside those of function and ports, by their names: a
    /// controller, where the tester's clients bring up what [`Model::initial`] then leaves out.
    fn beside(_section: &Self::Section) -> Vec<(&'static str, serde_json::Value)> {
        Vec::new()
    }

    /// The section that the functional check uses in place of one with something
    /// [`Model::beside`]: the same state, without who brings it up.
    fn alone(section: &Self::Section) -> Self::Section {
        section.clone()
    }
}

/// A model with validated sections and the function's configuration that they mean.
pub struct Configured<M: Model> {
    /// The `function` section.
    pub section: M::Section,
    /// The `traffic` section.
    pub traffic: M::Traffic,
    /// The function's configuration.
    pub config: ConfigOf<M>,
    /// Captures that are sent in place of the frames that the `traffic` section describes.
    pub replay: Option<Arc<Loaded>>,
}

impl<M: Model> Clone for Configured<M> {
    fn clone(&self) -> Configured<M> {
        let Configured { section, traffic, config, replay } = self;
        Configured {
            section: section.clone(),
            traffic: traffic.clone(),
            config: config.clone(),
            replay: replay.clone(),
        }
    }
}

impl<M: Model> Configured<M> {
    /// Checks the sections.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn new(mut section: M::Section, mut traffic: M::Traffic) -> Result<Configured<M>, Invalid> {
        keys::check("function", &section)?;
        keys::check("traffic", &traffic)?;
        M::validate(&mut section, &mut traffic)?;
        let config = M::config(&section);
        Ok(Configured { section, traffic, config, replay: None })
    }

    /// Reads captures, which are sent in place of the frames that the `traffic` section describes.
    ///
    /// # Errors
    /// When a capture cannot be used.
    pub fn with_captures(mut self, keys: ReplayKeys) -> Result<Configured<M>, Invalid> {
        let receiver = Receiver {
            is_parted: self.workers() > 1 && M::Unit::IS_SHARDED,
            is_bridge: matches!(self.service(), Service::Bridge(_)),
            ports: self.ports(),
            traffic: serde_json::to_value(&self.traffic).unwrap_or_default(),
        };
        let made = M::workload(&self.section, &self.traffic, Clock::with_rate(1e9));
        self.replay = Some(Arc::new(keys.load(&made, &receiver)?));
        Ok(self)
    }

    /// The first captured frames of all directions, in the order of their capture; none without a
    /// capture.
    pub fn captured_steps(&self, clock: Clock) -> Vec<Step<UpdateOf<M>>> {
        let Some(replay) = self.replay.as_ref().map(|loaded| loaded.replay()) else {
            return Vec::new();
        };
        let workload = self.workload(clock);
        let recordings = replay.recordings.iter().enumerate();
        let mut places: Vec<(u64, usize, u64)> = recordings
            .flat_map(|(direction, one)| {
                let first = one.at_ns().iter().take(CAPTURED_CHECKED).zip(0..);
                first.map(move |(at, number)| (*at, direction, number))
            })
            .collect();
        places.sort_unstable();
        let step = |(at, direction, number): (u64, usize, u64)| {
            let draw = workload.draw(direction, number);
            let mut frame = vec![0; workload.frame_len(&draw)];
            let stamp = Stamp { stream: direction as u16, sequence: number, time: at };
            workload.write(&draw, stamp, &mut frame);
            let port = workload.directions()[direction].from;
            Step::Frame { port, frame, about: "a captured frame" }
        };
        places.into_iter().take(CAPTURED_CHECKED).map(step).collect()
    }

    /// The function's state for one worker as it is at `now`, loaded.
    ///
    /// # Errors
    /// When the state does not fit into memory or a table.
    pub fn function(
        &self,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<PipelineOf<M>, SetupError> {
        load::<M>(&self.section, &self.config, shard, clock, now)
    }

    /// See [`Model::initial`].
    pub fn initial(&self) -> Box<dyn Iterator<Item = UpdateOf<M>> + '_> {
        M::initial(&self.section)
    }

    /// See [`Model::beside`].
    pub fn beside(&self) -> Vec<(&'static str, serde_json::Value)> {
        M::beside(&self.section)
    }

    /// The same without anything beside the function; see [`Model::alone`].
    pub fn alone(&self) -> Configured<M> {
        let section = M::alone(&self.section);
        let config = M::config(&section);
        Configured { section, config, ..self.clone() }
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        M::Unit::workers(&self.config)
    }

    /// The ports, in the order of their numbers.
    pub fn ports(&self) -> Vec<PortName> {
        M::Unit::ports(&self.config)
    }

    /// See [`Model::population`].
    pub fn population(&self) -> (&'static str, u64) {
        M::population(&self.section)
    }

    /// See [`Model::seed`].
    pub fn seed(&self) -> u64 {
        M::seed(&self.traffic)
    }

    /// What the tester sends: see [`Model::workload`], or captures in place of its frames.
    pub fn workload(&self, clock: Clock) -> WorkloadOf<M> {
        let replay = self.replay.as_ref().map(|loaded| loaded.replay().clone());
        Offered::new(M::workload(&self.section, &self.traffic, clock), replay)
    }

    /// See [`Model::oracle`].
    pub fn oracle(&self, shard: Shard) -> M::Oracle {
        M::oracle(&self.section, shard)
    }

    /// See [`Model::sample`].
    pub fn sample(&self) -> Vec<Step<UpdateOf<M>>> {
        M::sample(&self.section, &self.traffic)
    }

    /// See [`Model::unreachable`].
    pub fn unreachable(&self) -> Vec<(&'static str, &'static str)> {
        M::unreachable(&self.section)
    }

    /// See [`Model::service`].
    pub fn service(&self) -> Service {
        M::service(&self.section)
    }
}

/// A function with the state that a section describes, for one worker at `now`.
///
/// # Errors
/// When the state does not fit into memory or a table.
pub fn load<M: Model>(
    section: &M::Section,
    config: &ConfigOf<M>,
    shard: Shard,
    clock: Clock,
    now: Ticks,
) -> Result<PipelineOf<M>, SetupError> {
    let mut function = M::Unit::function(config, shard, clock, now)?;
    for update in M::initial(section) {
        let worker = M::Unit::steering(config, &update).map(|bits| worker_of(bits, shard.count));
        if worker.is_some_and(|worker| worker != shard.index) {
            continue;
        }
        let what = "the initial state";
        let refused = |why: Refusal| SetupError::Table { what, why: why.to_string() };
        function.apply(update, now).map_err(refused)?;
    }
    Ok(function)
}

/// Number of captured frames that are compared with the oracle.
const CAPTURED_CHECKED: usize = 1000;
