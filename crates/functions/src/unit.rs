//! What every function's folder provides.

use engine::Function;
use machine::clock::{Clock, Ticks};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use traffic::Workload;

use crate::check::{Oracle, Step};

/// A network function as a unit: its names, its two sections of a scenario, and what is made of
/// them.
pub trait NetworkFunction: Sized + Send + Sync + 'static {
    /// The name in scenarios, kebab-case.
    const NAME: &'static str;
    /// Other names under which files know it.
    const ALIASES: &'static [&'static str];
    /// One line of help.
    const SUMMARY: &'static str;
    /// The ports in the order of their numbers.
    const PORTS: &'static [&'static str];

    /// The `function` section.
    type Config: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static;
    /// The `traffic` section.
    type Traffic: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static;
    /// A change at run time.
    type Update: Clone + Send + std::fmt::Debug + 'static;
    /// The running function.
    type Function: Function<Update = Self::Update> + 'static;
    /// What the tester sends.
    type Workload: Workload<Update = Self::Update> + 'static;
    /// The slow, obviously right model.
    type Oracle: Oracle<Update = Self::Update>;

    /// Checks both sections together and fills in what follows from one another.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn validate(config: &mut Self::Config, traffic: &mut Self::Traffic) -> Result<(), Invalid>;

    /// How many workers the configuration asks for.
    fn workers(config: &Self::Config) -> usize;

    /// How many subscribers, sessions or the like share the state, and what they are called.
    fn population(config: &Self::Config) -> (&'static str, u64);

    /// The seed of the traffic.
    fn seed(traffic: &Self::Traffic) -> u64;

    /// The function's state for one worker as it is at `now`, loaded.
    ///
    /// # Errors
    /// When the state does not fit into memory or a table.
    fn function(
        config: &Self::Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Self::Function, SetupError>;

    /// The workload for a validated configuration.
    fn workload(config: &Self::Config, traffic: &Self::Traffic, clock: Clock) -> Self::Workload;

    /// The oracle in the state that the configuration describes; times are nanoseconds.
    fn oracle(config: &Self::Config, shard: Shard) -> Self::Oracle;

    /// What the functional check does: frames that reach every verdict and every drop reason, and
    /// the changes between them.
    fn sample(config: &Self::Config, traffic: &Self::Traffic) -> Vec<Step<Self::Update>>;

    /// The drop reasons that no frame can meet under this configuration, each with the cause. The
    /// check fails if the sample leaves out any other.
    fn unreachable(config: &Self::Config) -> Vec<(&'static str, &'static str)>;
}

/// Which part of the state a worker owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// This worker, from 0.
    pub index: u32,
    /// Workers in all.
    pub count: u32,
}

impl Shard {
    /// Everything on one worker.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };
}

/// A key that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{section}.{key}: {what}")]
pub struct Invalid {
    /// `function` or `traffic`.
    pub section: &'static str,
    /// The key.
    pub key: &'static str,
    /// What is wrong with it, without a full stop.
    pub what: String,
    /// What to do, an imperative sentence without a full stop.
    pub remedy: String,
}

/// State that could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The machine has no memory for it.
    #[error("no memory for {what}: {source}")]
    Memory {
        /// Which table.
        what: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A table refused an entry of the configuration.
    #[error("{what} cannot be loaded: {why}")]
    Table {
        /// Which table.
        what: &'static str,
        /// Its reason.
        why: String,
    },
}
