//! A broadband network gateway's user plane: subscribers behind lines on one side, the Internet on
//! the other.
//!
//! ```text
//!            access port 0                                              core port 1
//!  lines ==tags, PPPoE==> checks > session > anti-spoofing > list > policers > route > Internet
//!        <==tags, PPPoE== queues < list < session < checks <
//! ```

pub mod config;

pub mod control;

pub mod gateway;

pub mod reasons;

pub mod pipeline;

mod way;

mod entrance;

mod parse;

mod found;

mod lists;

mod profiles;

mod services;

mod hops;

mod state;

mod leave;

mod line;

mod lengths;

mod host;

mod neighbours;

pub use self::config::Config;
pub use self::control::Update;
pub use self::pipeline::Pipeline;
use function_kit::{Invalid, NetworkFunction, PortName, SetupError, Shard, TablePage, TableSize};
use machine::clock::{Clock, Ticks};

/// The broadband network gateway as a unit.
pub struct BroadbandGateway;

impl NetworkFunction for BroadbandGateway {
    const NAME: &'static str = "bng";
    const ALIASES: &'static [&'static str] = &[];
    const SUMMARY: &'static str =
        "user plane of a broadband network gateway: sessions, lists, policers, queues, routes";

    const TABLES: &'static [&'static str] = &[];
    const IS_SHARDED: bool = true;

    type Config = Config;
    type Update = Update;
    type Said = Update;
    type Function = Pipeline;

    fn meant(_: &Config, said: Update) -> Result<Update, Invalid> {
        Ok(said)
    }

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        config::validate(config)
    }

    fn ports(_: &Config) -> Vec<PortName> {
        ["access", "core"].map(PortName::new).to_vec()
    }

    fn workers(config: &Config) -> usize {
        config.core as usize
    }

    fn function(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        Pipeline::new(config, shard, clock, now)
    }

    fn difference(_: &Config, _: &Config) -> Result<Vec<Update>, Invalid> {
        Ok(Vec::new())
    }

    fn undoing(_: &Config, _: &[Update]) -> Vec<Update> {
        Vec::new()
    }

    fn steering(_: &Config, _: &Update) -> Option<u32> {
        None
    }

    fn memory(_: &Config, _: Shard, _: &Pipeline, _: Ticks) -> Vec<Update> {
        Vec::new()
    }

    fn table_sizes(_: &Pipeline) -> Vec<TableSize> {
        Vec::new()
    }

    fn table_page(_: &Pipeline, _: usize, _: u64, _: usize, _: Ticks) -> TablePage {
        TablePage::default()
    }
}
