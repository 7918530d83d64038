//! The template of a function: a patch between two ports that control can close.

pub mod config;

pub mod control;

pub mod pipeline;

use function_kit::{Invalid, NetworkFunction, PortName, SetupError, Shard, TablePage, TableSize};
use machine::clock::{Clock, Ticks};

pub use self::config::Config;
pub use self::control::Update;
pub use self::pipeline::Pipeline;

/// The patch as a unit.
pub struct Template;

impl NetworkFunction for Template {
    const NAME: &'static str = "template";
    const ALIASES: &'static [&'static str] = &[];
    const SUMMARY: &'static str = "patch between two ports that can be closed";
    const TABLES: &'static [&'static str] = &[];
    const IS_SHARDED: bool = false;

    type Config = Config;
    type Update = Update;
    type Said = Update;
    type Function = Pipeline;

    fn meant(_: &Config, said: Update) -> Result<Update, Invalid> {
        Ok(said)
    }

    fn validate(_: &mut Config) -> Result<(), Invalid> {
        Ok(())
    }

    fn ports(_: &Config) -> Vec<PortName> {
        vec![PortName::new("downlink"), PortName::new("uplink")]
    }

    fn workers(_: &Config) -> usize {
        1
    }

    fn function(
        config: &Config,
        _: Shard,
        _: Clock,
        _: Ticks,
    ) -> Result<Pipeline, SetupError> {
        Ok(Pipeline { is_closed: config.closed })
    }

    fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
        let is_same = running.closed == wanted.closed;
        Ok(if is_same { Vec::new() } else { vec![Update::SetClosed(wanted.closed)] })
    }

    fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
        applied.iter().map(|_| Update::SetClosed(running.closed)).collect()
    }

    fn steering(_: &Config, _: &Update) -> Option<u32> {
        None
    }

    fn memory(config: &Config, _: Shard, function: &Pipeline, _: Ticks) -> Vec<Update> {
        let is_same = function.is_closed == config.closed;
        if is_same { Vec::new() } else { vec![Update::SetClosed(function.is_closed)] }
    }

    fn table_sizes(_: &Pipeline) -> Vec<TableSize> {
        Vec::new()
    }

    fn table_page(_: &Pipeline, _: usize, _: u64, _: usize, _: Ticks) -> TablePage {
        TablePage { entries: Vec::new(), next: None }
    }
}
