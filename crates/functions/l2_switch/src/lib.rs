//! A switch: a bridge with two ports in its simple form, a patch between them, or several ports
//! with bridge domains, VLANs, storm control and mirrors.
//!
//! ```text
//!         downlink port 0                                     uplink port 1
//!  users -------------> check > learn the source > find the destination -------------> Internet
//!        <------------- find the destination < learn the source < check <-------------
//! ```
//! The files stand in the order in which a reader wants them: what is configured ([`config`]), the
//! state of a worker ([`state`]), the frame's way through ([`pipeline`]), and change ([`control`]).
//! Not here: spanning trees, link aggregation, snooping of groups.

pub mod config;

mod validate;

pub mod circuits;

pub mod acl;

pub mod storm;

pub mod mirror;

pub mod state;

pub mod reasons;

pub mod pipeline;

pub mod services;
pub mod switch;

pub mod control;

mod reload;

mod tables;

mod shown;

pub use self::config::Config;
pub use self::control::Update;
pub use self::pipeline::Pipeline;
use function_kit::{
    Condition, Invalid, NetworkFunction, PortName, SetupError, Shard, TablePage, TableSize,
};
use machine::clock::{Clock, Ticks};
use serde_json::{Value, json};

/// The bridge as a unit.
pub struct L2Switch;

impl NetworkFunction for L2Switch {
    const NAME: &'static str = "l2-switch";
    const ALIASES: &'static [&'static str] = &["l2-forward", "l2fwd", "portfwd"];
    const SUMMARY: &'static str =
        "switch: stations, bridge domains, VLANs, storm control, mirrors, access lists; or a patch";
    const TABLES: &'static [&'static str] = tables::NAMES;
    const IS_SHARDED: bool = false;
    const CONDITIONS: &'static [Condition] = shown::CONDITIONS;

    type Config = Config;
    type Update = Update;
    type Said = Update;
    type Function = Pipeline;

    fn meant(_: &Config, said: Update) -> Result<Update, Invalid> {
        Ok(said)
    }

    /// TIPSY's switch has static tables and sends on what they do not have; its port forwarder
    /// looks at nothing.
    fn meant_by(alias: &str) -> Vec<(&'static str, Value)> {
        match alias {
            "l2fwd" => vec![("learning", json!(false))],
            "portfwd" => vec![("mode", json!("patch"))],
            _ => Vec::new(),
        }
    }

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        validate::validate(config)
    }

    fn remarks(config: &Config) -> Vec<String> {
        config.remarks().to_vec()
    }

    fn ports(config: &Config) -> Vec<PortName> {
        config::Port::first(config.ports).map(PortName::from).collect()
    }

    fn workers(config: &Config) -> usize {
        config.core as usize
    }

    fn takes_long(_: &Config) -> bool {
        true
    }

    fn function(
        config: &Config,
        _: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        Pipeline::new(config, clock, now)
    }

    fn join(function: &mut Pipeline, first: &mut Pipeline, _: usize) {
        function.join(first);
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
