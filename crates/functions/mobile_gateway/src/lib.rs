//! A mobile gateway's user plane: users behind base stations on one side, the Internet on the
//! other.
//!
//! ```text
//!            access port 0                                            core port 1
//!  base stations ==GTP-U==> checks > decapsulate > bearer > police > route > Internet
//!                <==GTP-U== route < encapsulate < police < bearer < checks <
//! ```
//! The files stand in the order in which a reader wants them: what is configured ([`config`]), the
//! gateway itself ([`gateway`]), the state of a worker ([`state`]), the packet's way through
//! ([`pipeline`], with `parse` for everything out of the ordinary), change ([`control`]) and which
//! worker has a user ([`steering`]). Not here: GTP-C, PFCP, charging, IPv6 transport of the tunnel.

pub mod config;

pub mod gateway;

pub mod state;

pub mod reasons;

pub mod pipeline;

mod way;

mod entrance;

mod handed;

mod reassembly;

mod mtus;

mod lengths;

mod limits;

mod host;

mod gtp;

mod exit;

mod crossing;

mod counts;

mod found;

mod plain;

mod neighbours;

mod parse;

mod answer;

pub mod control;

pub mod steering;

mod reload;

mod tables;

mod shown;

pub use self::config::Config;
pub use self::control::Update;
pub use self::pipeline::Pipeline;
use function_kit::{
    Condition, FrameSteering, Invalid, Neighbour, NetworkFunction, PortName, SetupError, Shard,
    Sought, TablePage, TableSize,
};
use machine::clock::{Clock, Ticks};
use packet::PortId;

/// The mobile gateway as a unit.
pub struct MobileGateway;

impl NetworkFunction for MobileGateway {
    const NAME: &'static str = "mobile-gateway";
    const ALIASES: &'static [&'static str] = &["mgw"];
    const SUMMARY: &'static str =
        "user plane of a mobile gateway: tunnels, bearers, policers, routes";

    const TABLES: &'static [&'static str] = tables::NAMES;
    const IS_SHARDED: bool = true;
    const CONDITIONS: &'static [Condition] = shown::CONDITIONS;
    const HANDS_OVER: bool = true;

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

    fn steering(config: &Config, update: &Update) -> Option<u32> {
        steering::of_update(config, update)
    }

    fn steers_frames(config: &Config) -> bool {
        steering::of_frames(config).is_some()
    }

    fn frame_steering(config: &Config, _: &Self::Function) -> Option<FrameSteering> {
        steering::of_frames(config)
    }

    fn memory(config: &Config, shard: Shard, function: &Pipeline, _: Ticks) -> Vec<Update> {
        reload::memory(config, shard, function.state())
    }

    fn table_sizes(function: &Pipeline) -> Vec<TableSize> {
        tables::sizes(function.state())
    }

    fn neighbours(function: &Pipeline, limit: usize) -> Vec<Neighbour> {
        shown::neighbours(function.neighbours(), limit)
    }

    fn table_found(
        function: &Pipeline,
        table: usize,
        sought: Sought,
        _: u64,
        _: usize,
        _: Ticks,
    ) -> Option<TablePage> {
        found::page(function.state(), table, sought)
    }

    fn table_page(
        function: &Pipeline,
        table: usize,
        from: u64,
        limit: usize,
        _: Ticks,
    ) -> TablePage {
        tables::page(function.state(), table, from, limit)
    }
}
