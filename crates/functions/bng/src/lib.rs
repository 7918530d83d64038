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

mod sessions;

mod lists;

mod profiles;

mod services;

mod hops;

mod state;

mod leave;

mod line;

mod lengths;

mod host;

mod limits;

mod mtus;

mod neighbours;

mod mirror;

mod copies;

mod reload;

mod tables;

mod usage;

mod found;

mod shown;

pub use self::config::Config;
pub use self::control::Update;
pub use self::pipeline::Pipeline;
use function_kit::{
    Condition, Invalid, Neighbour, NetworkFunction, PortName, SetupError, Shard, Sought, TablePage,
    TableSize,
};
use machine::clock::{Clock, Ticks};
use packet::PortId;

/// The broadband network gateway as a unit.
pub struct BroadbandGateway;

impl NetworkFunction for BroadbandGateway {
    const NAME: &'static str = "bng";
    const ALIASES: &'static [&'static str] = &[];
    const SUMMARY: &'static str =
        "user plane of a broadband network gateway: sessions, lists, policers, queues, routes";

    const TABLES: &'static [&'static str] = tables::NAMES;
    const IS_SHARDED: bool = true;
    const CONDITIONS: &'static [Condition] = shown::CONDITIONS;

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
        shown::PORTS.map(PortName::new).to_vec()
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

    fn set_mtu(function: &mut Pipeline, port: PortId, mtu: u16) {
        function.set_mtu(port, mtu);
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

    fn memory(config: &Config, _: Shard, function: &Pipeline, _: Ticks) -> Vec<Update> {
        reload::memory(config, &function.state)
    }

    fn neighbours(function: &Pipeline, limit: usize) -> Vec<Neighbour> {
        shown::neighbours(&function.neighbours, limit)
    }

    fn table_sizes(function: &Pipeline) -> Vec<TableSize> {
        tables::sizes(&function.state)
    }

    fn table_found(
        function: &Pipeline,
        table: usize,
        sought: Sought,
        _: u64,
        _: usize,
        now: Ticks,
    ) -> Option<TablePage> {
        found::page(&function.state, table, sought, now)
    }

    fn table_page(
        function: &Pipeline,
        table: usize,
        from: u64,
        limit: usize,
        _: Ticks,
    ) -> TablePage {
        tables::page(&function.state, table, from, limit)
    }
}
