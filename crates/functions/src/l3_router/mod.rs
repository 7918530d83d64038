//! A router for IPv4 and IPv6.
//!
//! ```text
//!         downlink port 0                                        uplink port 1
//!  users ------------------> check > route > rewrite ------------------> Internet
//!        <----------------- rewrite < route < check <------------------
//! ```
//! The files stand in the order in which a reader wants them: what is configured ([`config`]), what
//! routes and next hops that makes ([`catalogue`]), the state of a worker ([`state`]), the packet's
//! way through ([`pipeline`], with `parse` for the checks), change ([`control`]), what the tester sends
//! ([`workload`]) and what it must get back ([`oracle`], [`sample`]). Not here: routing protocols,
//! multicast, address translation.

pub mod config;

mod validate;

pub mod catalogue;

pub mod state;

pub mod reasons;

pub mod pipeline;

pub mod interfaces;

mod parse;

mod route;

pub mod groups;

mod flow;

mod transport;

mod reassembly;

mod reverse_path;

mod exit;

mod vxlan;

mod fragment;

mod host;

mod neighbours;

pub mod services;

pub mod control;

pub mod workload;

mod ends;

mod paths;

mod internet;

mod reload;

mod service;

mod tables;

pub mod oracle;

pub mod sample;

pub use self::config::{Config, Traffic};
pub use self::control::Update;
pub use self::oracle::Model;
pub use self::pipeline::Pipeline;
pub use self::workload::Routed;

use machine::clock::{Clock, Ticks};
use serde_json::{Value, json};

use crate::check::Step;
use crate::service::Service;
use crate::unit::{Invalid, NetworkFunction, SetupError, Shard, TablePage, TableSize};

/// The router as a unit.
pub struct L3Router;

impl NetworkFunction for L3Router {
    const NAME: &'static str = "l3-router";
    const ALIASES: &'static [&'static str] = &["l3-forward", "l3fwd"];
    const SUMMARY: &'static str = "router for IPv4 and IPv6: longest prefixes, next hops";
    const PORTS: &'static [&'static str] = &["downlink", "uplink"];
    const TABLES: &'static [&'static str] = tables::NAMES;
    const IS_SHARDED: bool = false;

    type Config = Config;
    type Traffic = Traffic;
    type Update = Update;
    type Function = Pipeline;
    type Workload = Routed;
    type Oracle = Model;

    /// TIPSY's router sends on what has no route, and its next hops have source addresses.
    fn meant_by(alias: &str) -> Vec<(&'static str, Value)> {
        match alias {
            "l3fwd" => vec![("fakedrop", json!(true)), ("source-mac", json!("next-hop"))],
            _ => Vec::new(),
        }
    }

    fn validate(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
        validate::validate(config, traffic)
    }

    fn workers(config: &Config) -> usize {
        config.core as usize
    }

    fn population(config: &Config) -> (&'static str, u64) {
        let generated = u64::from(config.upstream_l3_table_size + config.downstream_l3_table_size);
        let internet = u64::from(config.internet_routes + config.internet_routes_ipv6);
        let listed = (config.routes.len() + config.routes_read.len()) as u64;
        ("routes", generated + internet + listed)
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

    fn workload(config: &Config, traffic: &Traffic, _: Clock) -> Routed {
        Routed::new(config, traffic)
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
        let mut changes = reload::difference(running, wanted)?;
        changes.extend(services::reload::difference(running, wanted)?);
        Ok(changes)
    }

    fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
        let mut changes = reload::undoing(running, applied);
        changes.extend(services::reload::undoing(running, applied));
        changes
    }

    fn steering(_: &Config, _: &Update) -> Option<u32> {
        None
    }

    fn memory(config: &Config, _: Shard, function: &Pipeline, _: Ticks) -> Vec<Update> {
        let mut changes = reload::memory(config, function.state());
        changes.extend(services::reload::memory(config, function.services()));
        changes
    }

    fn table_sizes(function: &Pipeline) -> Vec<TableSize> {
        tables::sizes(function)
    }

    fn table_page(
        function: &Pipeline,
        table: usize,
        from: u64,
        limit: usize,
        _: Ticks,
    ) -> TablePage {
        tables::page(function, table, from, limit)
    }
}
