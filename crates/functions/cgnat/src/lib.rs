//! Carrier-grade NAT: subscribers with addresses of their own share the addresses of an operator.
//!
//! ```text
//!           inside port 0                                     outside port 1
//!  subscribers -----> check > find > translate (source) ----------------> Internet
//!              <----- translate (destination) < find < check <-----------
//!                        | no session: open | over: sweep |
//! ```
//! Each folder is a room that a reader can leave out. A room has its section of the configuration
//! (`config.rs`, `validate.rs`), what it keeps, and its part of the pipeline (`stage.rs`); it needs
//! [`sessions`], the [`types`] that all share, and no room that needs it.
//!
//! They stand in the order in which a reader wants them: what is configured and changed
//! ([`config`], [`control`]), how packets name sessions ([`types::flow`]), sessions with what they
//! take ([`sessions`]), which worker has a packet ([`workers`]), rules and ways beside plain NAT44,
//! what follows sessions ([`alg`], [`log`], [`pcp`], [`standby`]), and what puts all together: the
//! state of a worker ([`state`]) and the packet's way through ([`pipeline`]).

pub mod config;
pub mod control;
pub mod reasons;
mod reload;
mod rule_set;
mod ruling;
mod terms;
mod validate;

pub mod types;

pub mod sessions;

pub mod workers;

pub mod deterministic;
pub mod port_forwarding;

mod bypass;
mod cutting;
pub mod ds_lite;
pub mod fragments;
mod further;
mod hosting;
mod icmp;
mod mtu;
pub mod nat64;
mod neighbours;
pub mod siit;
pub mod translation;
pub mod vrfs;

pub mod alg;
pub mod log;
pub mod pcp;
pub mod standby;

pub mod interfaces;
pub mod parse;
pub mod pipeline;
mod shown;
pub mod state;

pub use self::config::Config;
pub use self::control::Update;
pub use self::pipeline::Pipeline;
use std::sync::Arc;

use engine::Refusal;
use function_kit::{
    Companion, Condition, FrameSteering, HostInterface, Invalid, Measured, Neighbour,
    NetworkFunction, PortName, SetupError, Shard, Sought, Standby, TablePage, TableSize,
};
use machine::clock::{Clock, Ticks};

use self::config::{Replication, Role};
use self::state::tables;
use self::workers::steering::Steering;

/// The carrier-grade NAT as a unit.
pub struct Cgnat;

impl NetworkFunction for Cgnat {
    const NAME: &'static str = "cgnat";
    const ALIASES: &'static [&'static str] = &["nat44"];
    const SUMMARY: &'static str =
        "carrier-grade NAT: sessions, mappings, port blocks, outside address pools";

    const TABLES: &'static [&'static str] = tables::NAMES;
    const IS_SHARDED: bool = true;
    const CONDITIONS: &'static [Condition] = shown::CONDITIONS;
    const MEASURED: &'static [Measured] = tables::MEASURED;
    const HANDS_OVER: bool = true;

    type Config = Config;
    type Update = Update;
    type Said = Update;
    type Function = Pipeline;

    fn meant(_: &Config, said: Update) -> Result<Update, Invalid> {
        Ok(said)
    }

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        validate::validate(config)
    }

    fn advice(_: &Config, update: &Update, why: Refusal) -> String {
        rule_set::advice(update, why).to_owned()
    }

    fn take_secrets(config: &mut Config, from: &Config) {
        config.replication.key.clone_from(&from.replication.key);
    }

    fn ports(config: &Config) -> Vec<PortName> {
        further::port_names(config)
    }

    fn host_interfaces(config: &Config) -> Vec<HostInterface> {
        hosting::host_interfaces(config)
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

    fn wind_down(function: &mut Pipeline) -> u64 {
        function.wind_down()
    }

    fn machines(function: &mut Pipeline) -> Vec<Companion> {
        function.machines()
    }

    fn join(function: &mut Pipeline, first: &mut Pipeline, _: usize) {
        function.icmp_host.join(&mut first.icmp_host);
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

    /// Nobody cuts what is in a tunnel; gateways read packets, and other families of addresses and
    /// applications change more of them than their addresses and ports.
    fn takes_long(config: &Config) -> bool {
        let Config { nat64, ds_lite, siit, alg, .. } = config;
        nat64.is_none() && ds_lite.is_none() && siit.is_none() && alg.is_off()
    }

    fn steers_frames(_: &Config) -> bool {
        true
    }

    fn frame_steering(config: &Config, first: &Pipeline) -> Option<FrameSteering> {
        let published = Arc::clone(first.state().allocation.published()?);
        let config = config.clone();
        Some(Arc::new(move || {
            let mut steering = Steering::following(&config, Arc::clone(&published));
            Box::new(move |port, frame| steering.of_frame(port, frame))
        }))
    }

    fn memory(config: &Config, _: Shard, function: &Pipeline, _: Ticks) -> Vec<Update> {
        reload::memory(config, function)
    }

    fn pair(config: &Config) -> Option<[Config; 2]> {
        (config.replication.role == Role::Rehearsal).then(|| {
            [Role::Active, Role::Standby].map(|role| {
                let replication = Replication { role, ..config.replication.clone() };
                // Processes of their own draw numbers of their own.
                let steering_key = Some(config.steering_number());
                Config { replication, steering_key, ..config.clone() }
            })
        })
    }

    fn standby(function: &Pipeline) -> Option<Standby> {
        function.standby()
    }

    fn fail_over(function: &mut Pipeline) -> Option<Pipeline> {
        function.fail_over()
    }

    fn table_sizes(function: &Pipeline) -> Vec<TableSize> {
        tables::sizes(function.state())
    }

    fn neighbours(function: &Pipeline, limit: usize) -> Vec<Neighbour> {
        shown::neighbours((function.neighbours.as_deref(), &function.conflicts), limit)
    }

    fn table_found(
        function: &Pipeline,
        table: usize,
        sought: Sought,
        from: u64,
        limit: usize,
        now: Ticks,
    ) -> Option<TablePage> {
        let state = function.state();
        tables::found(state, table, sought, (from, limit), state.times.moment(now))
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
