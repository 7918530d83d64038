//! A switch: a bridge with two ports in its simple form, a patch between them, or several ports with
//! bridge domains, VLANs, storm control and mirrors.
//!
//! ```text
//!         downlink port 0                                     uplink port 1
//!  users -------------> check > learn the source > find the destination -------------> Internet
//!        <------------- find the destination < learn the source < check <-------------
//! ```
//! The files stand in the order in which a reader wants them: what is configured ([`config`]), what
//! stations that makes ([`catalogue`]), the state of a worker ([`state`]), the frame's way through
//! ([`pipeline`]), change ([`control`]), what the tester sends ([`workload`]) and what it must get back
//! ([`oracle`], [`sample`]). Not here: spanning trees, link aggregation, snooping of groups.

pub mod config;

pub mod catalogue;

pub mod circuits;

pub mod acl;

pub mod storm;

pub mod mirror;

pub mod state;

pub mod reasons;

pub mod pipeline;

pub mod switch;

pub mod control;

pub mod workload;

mod reload;

mod service;

mod tables;

pub mod oracle;

pub mod sample;

pub use self::config::{Config, Traffic};
pub use self::control::Update;
pub use self::oracle::Model;
pub use self::pipeline::Pipeline;
pub use self::workload::Stations;

use machine::clock::{Clock, Ticks};
use serde_json::{Value, json};

use crate::check::Step;
use crate::service::Service;
use crate::unit::{Invalid, NetworkFunction, SetupError, Shard, TablePage, TableSize};

/// The bridge as a unit.
pub struct L2Switch;

impl NetworkFunction for L2Switch {
    const NAME: &'static str = "l2-switch";
    const ALIASES: &'static [&'static str] = &["l2-forward", "l2fwd", "portfwd"];
    const SUMMARY: &'static str =
        "switch: stations, bridge domains, VLANs, storm control, mirrors, access lists; or a patch";
    const PORTS: &'static [&'static str] = config::PORT_NAMES;
    const TABLES: &'static [&'static str] = tables::NAMES;
    const IS_SHARDED: bool = false;

    type Config = Config;
    type Traffic = Traffic;
    type Update = Update;
    type Function = Pipeline;
    type Workload = Stations;
    type Oracle = Model;

    /// TIPSY's switch has static tables and sends on what they do not have; its port forwarder looks
    /// at nothing.
    fn meant_by(alias: &str) -> Vec<(&'static str, Value)> {
        match alias {
            "l2fwd" => vec![("learning", json!(false))],
            "portfwd" => vec![("mode", json!("patch"))],
            _ => Vec::new(),
        }
    }

    fn validate(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
        config::validate(config, traffic)
    }

    fn ports(config: &Config) -> &'static [&'static str] {
        config::PORT_NAMES.get(..config.ports.into()).unwrap_or(config::PORT_NAMES)
    }

    fn workers(config: &Config) -> usize {
        config.core as usize
    }

    fn population(config: &Config) -> (&'static str, u64) {
        let generated = u64::from(config.upstream_table_size + config.downstream_table_size);
        ("stations", generated + config.stations.len() as u64)
    }

    fn seed(traffic: &Traffic) -> u64 {
        traffic.random_seed
    }

    fn function(
        config: &Config,
        _: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        Pipeline::new(config, clock, now)
    }

    fn workload(config: &Config, traffic: &Traffic, _: Clock) -> Stations {
        Stations::new(config, traffic)
    }

    fn oracle(config: &Config, _: Shard) -> Model {
        Model::new(config)
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

    fn steering(_: &Config, _: &Update) -> Option<u32> {
        None
    }

    fn memory(config: &Config, _: Shard, function: &Pipeline, now: Ticks) -> Vec<Update> {
        reload::memory(config, function, now)
    }

    fn table_sizes(function: &Pipeline) -> Vec<TableSize> {
        tables::sizes(function.state())
    }

    fn table_page(
        function: &Pipeline,
        table: usize,
        from: u64,
        limit: usize,
        now: Ticks,
    ) -> TablePage {
        tables::page(function.state(), table, from, limit, now)
    }
}
