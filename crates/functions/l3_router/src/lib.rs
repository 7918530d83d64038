//! A router for IPv4 and IPv6.
//!
//! ```text
//!         downlink port 0                                        uplink port 1
//!  users ------------------> check > route > rewrite ------------------> Internet
//!        <----------------- rewrite < route < check <------------------
//! ```
//! The files stand in the order in which a reader wants them: what is configured ([`config`]), the
//! state of a worker ([`state`]), the packet's way through ([`pipeline`], with `parse` for the
//! checks), change ([`control`]). Not here: routing protocols, multicast, address translation.

pub mod config;

mod validate;

mod bulk;

pub mod entries;

pub mod state;

pub mod reasons;

pub mod pipeline;

mod scratch;

mod rewrite;

pub mod addresses;

pub mod interfaces;

pub mod parse;

pub mod happened;

mod events;

mod liveness;

mod sessions;

mod asked;

mod advertise;

mod solicited;

mod workers;

mod told;

mod watched;

mod route;

pub mod groups;

pub mod flow;

mod known;

mod reassembly;

mod reverse_path;

mod exit;

mod vxlan;

mod far_ends;

mod host;

mod neighbours;

mod owners;

pub mod routes;

pub mod services;

pub mod control;

mod changes;

mod options;
mod own;

mod passing;
mod reload;

mod tables;

mod found;

mod shown;

pub use self::bulk::read as read_files;
pub use self::config::Config;
pub use self::control::{Said, Update};
pub use self::pipeline::Pipeline;
use engine::Refusal;
use function_kit::{
    Condition, HostInterface, Invalid, Neighbour, NetworkFunction, PortName, SetupError, Shard,
    Sought, Spoken, Summed, TablePage, TableSize,
};
use machine::clock::{Clock, Ticks};
use packet::PortId;
use serde_json::{Value, json};

/// The router as a unit.
pub struct L3Router;

impl NetworkFunction for L3Router {
    const NAME: &'static str = "l3-router";
    const ALIASES: &'static [&'static str] = &["l3-forward", "l3fwd"];
    const SUMMARY: &'static str = "router for IPv4 and IPv6: longest prefixes, next hops";
    const TABLES: &'static [&'static str] = tables::NAMES;
    const IS_SHARDED: bool = false;
    const HANDS_OVER: bool = true;
    const CONDITIONS: &'static [Condition] = shown::CONDITIONS;
    const SPEAKS: &'static [Spoken] = shown::SPEAKS;
    const SUMMED: &'static [Summed] = tables::SUMMED;
    const LINES_TOLD_BY: Option<&'static str> = Some("rules-logged");

    type Config = Config;
    type Update = Said;
    type Said = Said;
    type Function = Pipeline;

    /// TIPSY's router sends on what has no route.
    fn meant_by(alias: &str) -> Vec<(&'static str, Value)> {
        match alias {
            "l3fwd" => vec![("fakedrop", json!(true))],
            _ => Vec::new(),
        }
    }

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        validate::validate(config)
    }

    fn remarks(config: &Config) -> Vec<String> {
        config.from_files.remarks.to_vec()
    }

    /// Names are those that the router has when it comes to the change.
    fn meant(_: &Config, said: Said) -> Result<Said, Invalid> {
        Ok(said)
    }

    fn advice(config: &Config, update: &Said, why: Refusal) -> String {
        control::advice(config, update, why)
    }

    fn take_secrets(config: &mut Config, from: &Config) {
        for (own, from) in config.bfd_keys.iter_mut().zip(&from.bfd_keys) {
            own.key.clone_from(&from.key);
        }
    }

    fn ports(config: &Config) -> Vec<PortName> {
        config.port_names()
    }

    fn host_interfaces(config: &Config) -> Vec<HostInterface> {
        config.host_interfaces()
    }

    fn workers(config: &Config) -> usize {
        config.core as usize
    }

    fn hands_over(config: &Config) -> bool {
        config.hands_over()
    }

    /// Nobody cuts what is in a tunnel.
    fn takes_long(config: &Config) -> bool {
        config.interfaces.iter().all(|one| one.vxlan.is_none())
    }

    fn function(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        Pipeline::of_worker(config, shard, clock, now)
    }

    fn join(function: &mut Pipeline, first: &mut Pipeline, workers: usize) {
        function.join(first, workers);
    }

    fn wind_down(function: &mut Pipeline) -> u64 {
        function.wind_down()
    }

    fn lines(function: &mut Pipeline) -> Vec<String> {
        function.lines()
    }

    fn set_mtu(function: &mut Pipeline, port: PortId, mtu: u16) {
        function.set_mtu(port, mtu);
    }

    fn difference(running: &Config, wanted: &Config) -> Result<Vec<Said>, Invalid> {
        let mut changes = reload::difference(running, wanted)?;
        changes.extend(services::reload::difference(running, wanted)?);
        Ok(said(changes))
    }

    fn undoing(running: &Config, applied: &[Said]) -> Vec<Said> {
        let applied = numbered(applied);
        let mut changes = reload::undoing(running, &applied);
        changes.extend(services::reload::undoing(running, &applied));
        said(changes)
    }

    fn steering(_: &Config, _: &Said) -> Option<u32> {
        None
    }

    fn memory(config: &Config, shard: Shard, function: &Pipeline, now: Ticks) -> Vec<Said> {
        let mut parts = Vec::new();
        loop {
            let more = Self::memory_part(config, shard, function, now, parts.last());
            if more.is_empty() {
                return Self::remembered(config, parts);
            }
            parts.extend(more);
        }
    }

    fn memory_part(
        config: &Config,
        _: Shard,
        function: &Pipeline,
        _: Ticks,
        last: Option<&Said>,
    ) -> Vec<Said> {
        let mut part = Vec::new();
        if last.is_none() {
            part.extend(own::memory(config, function));
            part.extend(services::reload::memory(config, function.services()));
        }
        // Routes come last, for it is behind the last one that the next part goes on.
        let last = last.map(|last| last.numbered());
        part.extend(reload::part(function.state(), last.as_ref()));
        said(part)
    }

    /// What the host has comes first: next hops are watched from its addresses.
    fn remembered(config: &Config, parts: Vec<Said>) -> Vec<Said> {
        let (tables, mut all): (Vec<Update>, Vec<Update>) =
            numbered(&parts).into_iter().partition(reload::is_its);
        all.extend(reload::remembered(config, &tables));
        said(all)
    }

    fn neighbours(function: &Pipeline, limit: usize) -> Vec<Neighbour> {
        shown::neighbours(function, limit)
    }

    fn neighbours_in(function: &Pipeline, of: (&str, &str), limit: usize) -> Vec<Neighbour> {
        shown::neighbours_in(function, of, limit)
    }

    fn table_sizes(function: &Pipeline) -> Vec<TableSize> {
        tables::sizes(function)
    }

    fn table_found(
        function: &Pipeline,
        table: usize,
        sought: Sought,
        _: u64,
        _: usize,
        _: Ticks,
    ) -> Option<TablePage> {
        found::page(function, table, sought)
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

/// Changes as they are said, by numbers alone.
fn said(changes: Vec<Update>) -> Vec<Said> {
    changes.into_iter().map(Update::said).collect()
}

/// Changes that the router itself has said.
fn numbered(changes: &[Said]) -> Vec<Update> {
    changes.iter().map(|change| change.numbered()).collect()
}
