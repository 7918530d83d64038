//! Several functions in one device, one behind the other.
//!
//! ```text
//!         downlink port 0                                              uplink port 1
//!  users -------------> function 1 <-------> function 2 <-------> … <------------- Internet
//! ```
//! Each function has two sides; what leaves one by its uplink port enters the next by its downlink
//! port, and the other way round. Packets stay where they are: a function sees a batch of those
//! that are its turn ([`packet::Batch::with_only`]). Functions are known here by what every
//! function provides (`part`), never by name. Further ports of a function
//! are ports of the chain ([`ports`]). Not here: branches within the chain.

pub mod config;

pub mod part;

pub mod ports;

pub mod names;

pub mod pipeline;

pub mod control;

mod reload;

pub use self::config::Config;
pub use self::control::Update;
pub use self::part::Members;
pub use self::pipeline::Pipeline;
use engine::Names;
use function_kit::{
    Companion, Invalid, Neighbour, NetworkFunction, PortName, SetupError, Shard, TablePage,
    TableSize,
};
use machine::clock::{Clock, Ticks};

/// A chain of such functions as a unit.
pub struct Chain<L>(std::marker::PhantomData<fn() -> L>);

impl<L: Members> NetworkFunction for Chain<L> {
    const NAME: &'static str = "chain";
    const ALIASES: &'static [&'static str] = &[];
    const SUMMARY: &'static str = "several functions in one device, one behind the other";
    const TABLES: &'static [&'static str] = &[];
    const IS_SHARDED: bool = false;

    type Config = Config;
    type Update = Update;
    type Said = Update;
    type Function = Pipeline;

    fn meant(_: &Config, said: Update) -> Result<Update, Invalid> {
        Ok(said)
    }

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        config::validate(config, L::KINDS)
    }

    fn remarks(config: &Config) -> Vec<String> {
        config.members().iter().flat_map(|member| member.remarks()).collect()
    }

    fn take_secrets(config: &mut Config, from: &Config) {
        config.take_secrets(from);
    }

    fn names(config: &Config) -> Names {
        names::of(config.members())
    }

    fn ports(config: &Config) -> Vec<PortName> {
        // A configuration whose names are too long is not valid.
        ports::names(config.members()).unwrap_or_default()
    }

    fn workers(config: &Config) -> usize {
        config.members().first().map_or(1, |member| member.workers())
    }

    fn function(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        Pipeline::new(config, shard, clock, now)
    }

    fn machines(function: &mut Pipeline) -> Vec<Companion> {
        function.machines()
    }

    fn join(function: &mut Pipeline, first: &mut Pipeline, workers: usize) {
        function.join(first, workers);
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

    fn memory(config: &Config, shard: Shard, function: &Pipeline, now: Ticks) -> Vec<Update> {
        function.memory(config, shard, now)
    }

    fn table_sizes(_: &Pipeline) -> Vec<TableSize> {
        Vec::new()
    }

    fn neighbours(function: &Pipeline, limit: usize) -> Vec<Neighbour> {
        function.neighbours(limit)
    }

    fn table_page(_: &Pipeline, _: usize, _: u64, _: usize, _: Ticks) -> TablePage {
        TablePage::default()
    }
}
