//! A mobile gateway's user plane: users behind base stations on one side, the Internet on the other.
//!
//! ```text
//!            access port 0                                            core port 1
//!  base stations ==GTP-U==> checks > decapsulate > bearer > police > route > Internet
//!                <==GTP-U== route < encapsulate < police < bearer < checks <
//! ```
//! The files stand in the order in which a reader wants them: what is configured ([`config`]), what
//! objects that makes ([`catalogue`]), the state of a worker ([`state`]), the packet's way through
//! ([`pipeline`], with `parse` for everything out of the ordinary), change ([`control`]), what the
//! tester sends ([`workload`]) and what it must get back ([`oracle`], [`sample`]). Not here: GTP-C,
//! PFCP, charging, IPv6 transport of the tunnel, reassembly, IPv6 neighbour discovery.

pub mod config;

pub mod catalogue;

pub mod state;

pub mod reasons;

pub mod pipeline;

mod plain;

mod parse;

mod answer;

pub mod control;

pub mod workload;

mod reload;

mod service;

mod tables;

mod frames;

pub mod oracle;

pub mod sample;

pub use self::config::{Config, Traffic};
pub use self::control::Update;
pub use self::oracle::Model;
pub use self::pipeline::Pipeline;
pub use self::workload::Users;

use machine::clock::{Clock, Ticks};

use crate::check::Step;
use crate::service::Service;
use crate::unit::{Invalid, NetworkFunction, SetupError, Shard, TablePage, TableSize};

/// The mobile gateway as a unit.
pub struct MobileGateway;

impl NetworkFunction for MobileGateway {
    const NAME: &'static str = "mobile-gateway";
    const ALIASES: &'static [&'static str] = &["mgw"];
    const SUMMARY: &'static str =
        "user plane of a mobile gateway: tunnels, bearers, policers, routes";
    const PORTS: &'static [&'static str] = &["access", "core"];

    const TABLES: &'static [&'static str] = tables::NAMES;
    const IS_SHARDED: bool = true;

    type Config = Config;
    type Traffic = Traffic;
    type Update = Update;
    type Function = Pipeline;
    type Workload = Users;
    type Oracle = Model;

    fn validate(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
        config::validate(config, traffic)
    }

    fn workers(config: &Config) -> usize {
        config.core as usize
    }

    fn population(config: &Config) -> (&'static str, u64) {
        ("users", u64::from(config.user))
    }

    fn seed(traffic: &Traffic) -> u64 {
        traffic.random_seed
    }

    fn function(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        Pipeline::new(config, shard, clock, now)
    }

    fn workload(config: &Config, traffic: &Traffic, _: Clock) -> Users {
        Users::new(config, traffic)
    }

    fn oracle(config: &Config, shard: Shard) -> Model {
        Model::new(config, shard)
    }

    fn sample(config: &Config, traffic: &Traffic) -> Vec<Step<Update>> {
        sample::sample(config, traffic)
    }

    fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
        sample::unreachable(config)
    }

    fn service(config: &Config) -> Service {
        service::service(config)
    }

    fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
        reload::difference(running, wanted)
    }

    fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
        reload::undoing(running, applied)
    }

    fn steering(_: &Config, update: &Update) -> Option<u32> {
        reload::steering(update)
    }

    fn memory(config: &Config, shard: Shard, function: &Pipeline, _: Ticks) -> Vec<Update> {
        reload::memory(config, shard, function.state())
    }

    fn table_sizes(function: &Pipeline) -> Vec<TableSize> {
        tables::sizes(function.state())
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
