//! Several functions in one device, one behind the other.
//!
//! ```text
//!         downlink port 0                                              uplink port 1
//!  users -------------> function 1 <-------> function 2 <-------> … <------------- Internet
//! ```
//! Each function has two sides; what leaves one by its uplink port enters the next by its downlink
//! port, and the other way round. Packets stay where they are: a function sees a batch of those that
//! are its turn ([`packet::Batch::with_only`]). Functions are known here by what every function
//! provides (`part`), never by name. Not here: branches, and functions with more than two ports.

pub mod config;

mod part;

mod names;

pub mod pipeline;

pub mod control;

pub mod workload;

mod reload;

pub mod oracle;

mod sample;

pub use self::config::{Config, Traffic};
pub use self::control::Update;
pub use self::oracle::Model;
pub use self::pipeline::Pipeline;
pub use self::workload::Frames;

use engine::Names;
use machine::clock::{Clock, Ticks};

use crate::check::Step;
use crate::service::Service;
use crate::unit::{Invalid, NetworkFunction, SetupError, Shard, TablePage, TableSize};

/// The chain as a unit.
pub struct Chain;

impl NetworkFunction for Chain {
    const NAME: &'static str = "chain";
    const ALIASES: &'static [&'static str] = &[];
    const SUMMARY: &'static str = "several functions in one device, one behind the other";
    const PORTS: &'static [&'static str] = &["downlink", "uplink"];
    const TABLES: &'static [&'static str] = &[];
    const IS_SHARDED: bool = false;

    type Config = Config;
    type Traffic = Traffic;
    type Update = Update;
    type Function = Pipeline;
    type Workload = Frames;
    type Oracle = Model;

    fn validate(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
        config::validate(config, traffic)
    }

    fn names(config: &Config) -> Names {
        names::of(config.members())
    }

    fn workers(config: &Config) -> usize {
        config.members().first().map_or(1, |member| member.workers())
    }

    fn population(config: &Config) -> (&'static str, u64) {
        config.source().map_or(("functions", 0), |member| member.population())
    }

    fn seed(traffic: &Traffic) -> u64 {
        traffic.seed()
    }

    fn function(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        Pipeline::new(config, shard, clock, now)
    }

    fn workload(config: &Config, _: &Traffic, clock: Clock) -> Frames {
        Frames::new(config, clock)
    }

    fn oracle(config: &Config, shard: Shard) -> Model {
        Model::new(config, shard)
    }

    fn sample(config: &Config, _: &Traffic) -> Vec<Step<Update>> {
        sample::sample(config)
    }

    fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
        sample::unreachable(config)
    }

    fn service(config: &Config) -> Service {
        Service::Chain(config.members().iter().map(|member| member.service()).collect())
    }

    fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
        reload::difference(running, wanted)
    }

    fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
        reload::undoing(running, applied)
    }

    fn steering(_: &Config, _: &Update) -> Option<u32> {
        None
    }

    fn memory(_: &Config, shard: Shard, function: &Pipeline, now: Ticks) -> Vec<Update> {
        function.memory(shard, now)
    }

    fn table_sizes(_: &Pipeline) -> Vec<TableSize> {
        Vec::new()
    }

    fn table_page(_: &Pipeline, _: usize, _: u64, _: usize, _: Ticks) -> TablePage {
        TablePage::default()
    }
}
