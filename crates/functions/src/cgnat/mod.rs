//! Carrier-grade NAT: subscribers with addresses of their own share the addresses of an operator.
//!
//! ```text
//!           inside port 0                                     outside port 1
//!  subscribers -----> check > find > translate (source) ----------------> Internet
//!              <----- translate (destination) < find < check <-----------
//!                        | no session: open | over: sweep |
//! ```
//! The files stand in the order in which a reader wants them: what is configured ([`config`]), how packets
//! name sessions ([`flow`]), a session ([`session`]) and all of them ([`sessions`]), subscribers, outside
//! addresses and ports ([`subscribers`], [`addresses`], [`ports`], [`allocation`]), which worker has a packet
//! ([`steering`]), the state of a worker ([`state`]), the packet's way through ([`pipeline`], with [`parse`], `nat64`,
//! [`rewrite`], `icmp` and `fragments`), change ([`control`]), and what the tester sends ([`workload`]).

pub mod alg;
pub mod config;
pub mod deterministic;
pub mod one_to_many;

pub mod flow;

pub mod times;

pub mod session;

pub mod sessions;

pub mod subscribers;

pub mod addresses;

pub mod ports;

mod dice;

pub mod allocation;

pub mod steering;

mod calls;

pub mod gateways;

pub mod state;

mod sweep;

mod way;

pub mod reasons;

pub mod interfaces;

pub mod vrfs;

mod bypass;

pub mod pipeline;

pub mod parse;

mod ds_lite;
mod nat64;

mod stateless;

pub mod rewrite;

mod icmp;

mod fragments;

pub mod control;

pub mod replication;

pub mod workload;

mod reload;

mod service;

mod tables;

pub mod oracle;

pub mod sample;

pub mod log;

pub mod eam;
pub mod translation;

pub use self::config::{Config, Traffic};
pub use self::control::Update;
pub use self::oracle::Model;
pub use self::pipeline::Pipeline;
pub use self::workload::{Clients, Packet};

use std::sync::Arc;

use machine::clock::{Clock, Ticks};

use self::config::{Replication, Role};
use self::steering::Steering;
use crate::check::Step;
use crate::service::Service;
use crate::unit::{
    FrameSteering, Invalid, NetworkFunction, SetupError, Shard, Standby, TablePage, TableSize,
};

/// The carrier-grade NAT as a unit.
pub struct Cgnat;

impl NetworkFunction for Cgnat {
    const NAME: &'static str = "cgnat";
    const ALIASES: &'static [&'static str] = &["nat44"];
    const SUMMARY: &'static str =
        "carrier-grade NAT: sessions, mappings, port blocks, outside address pools";
    const PORTS: &'static [&'static str] = &["inside", "outside"];

    const TABLES: &'static [&'static str] = tables::NAMES;
    const IS_SHARDED: bool = true;
    const HANDS_OVER: bool = true;

    type Config = Config;
    type Traffic = Traffic;
    type Update = Update;
    type Function = Pipeline;
    type Workload = Clients;
    type Oracle = Model;

    fn validate(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
        config::validate(config, traffic)
    }

    fn workers(config: &Config) -> usize {
        config.core as usize
    }

    fn population(config: &Config) -> (&'static str, u64) {
        ("sessions", u64::from(config.sessions))
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

    fn workload(config: &Config, traffic: &Traffic, _: Clock) -> Clients {
        Clients::new(config, traffic)
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

    fn steering(config: &Config, update: &Update) -> Option<u32> {
        reload::steering(config, update)
    }

    fn frame_steering(config: &Config) -> Option<FrameSteering> {
        let steering = Steering::new(config);
        Some(Arc::new(move |port, frame| steering.of_frame(port, frame)))
    }

    fn memory(config: &Config, _: Shard, function: &Pipeline, _: Ticks) -> Vec<Update> {
        reload::memory(config, function)
    }

    fn pair(config: &Config) -> Option<[Config; 2]> {
        (config.replication.role == Role::Rehearsal).then(|| {
            [Role::Active, Role::Standby].map(|role| {
                let replication = Replication { role, ..config.replication };
                Config { replication, ..config.clone() }
            })
        })
    }

    fn standby(function: &Pipeline) -> Option<Standby> {
        function.state().journal.is_some().then(|| {
            let status = function.replication();
            Standby {
                is_here: function.has_rehearsal(),
                is_synchronised: status.is_synchronised,
                unacknowledged: status.unacknowledged + status.waiting,
            }
        })
    }

    fn fail_over(function: &mut Pipeline) -> Option<Pipeline> {
        function.fail_over()
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
        let state = function.state();
        tables::page(state, table, from, limit, state.times.moment(now))
    }
}
