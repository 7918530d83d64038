//! The function of a daemon that has none: controllers alone, which speak with others and change no
//! worker. It has no key, no port and no worker, and no file names it.

use engine::{Drops, Function, Refusal, StageClock};
use function_kit::erased::Unit;
use function_kit::{NetworkFunction, PortName, SetupError, Shard, TablePage, TableSize};
use functions::{Invalid, Kind};
use machine::clock::{Clock, Ticks};
use packet::Batch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No function, as a kind of function.
pub(crate) const NOTHING: &dyn Kind = &Unit::<Nothing>::new();

/// Whether there is no function.
pub(crate) fn is_nothing(name: &str) -> bool {
    name == Nothing::NAME
}

/// No function.
struct Nothing;

/// No keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Keys {}

impl NetworkFunction for Nothing {
    const NAME: &'static str = "none";
    const ALIASES: &'static [&'static str] = &[];
    const SUMMARY: &'static str = "no function";
    const TABLES: &'static [&'static str] = &[];
    const IS_SHARDED: bool = false;

    type Config = Keys;
    type Update = ();
    type Said = ();
    type Function = Nothing;

    fn meant(_: &Keys, (): ()) -> Result<(), Invalid> {
        Ok(())
    }

    fn validate(_: &mut Keys) -> Result<(), Invalid> {
        Ok(())
    }

    fn ports(_: &Keys) -> Vec<PortName> {
        Vec::new()
    }

    fn workers(_: &Keys) -> usize {
        0
    }

    fn function(_: &Keys, _: Shard, _: Clock, _: Ticks) -> Result<Nothing, SetupError> {
        Ok(Nothing)
    }

    fn difference(_: &Keys, _: &Keys) -> Result<Vec<()>, Invalid> {
        Ok(Vec::new())
    }

    fn undoing(_: &Keys, applied: &[()]) -> Vec<()> {
        applied.to_vec()
    }

    fn steering(_: &Keys, (): &()) -> Option<u32> {
        None
    }

    fn memory(_: &Keys, _: Shard, _: &Nothing, _: Ticks) -> Vec<()> {
        Vec::new()
    }

    fn table_sizes(_: &Nothing) -> Vec<TableSize> {
        Vec::new()
    }

    fn table_page(_: &Nothing, _: usize, _: u64, _: usize, _: Ticks) -> TablePage {
        TablePage { entries: Vec::new(), next: None }
    }
}

impl Function for Nothing {
    type Update = ();
    const STAGES: &'static [&'static str] = &[];
    const DROPS: Drops = Drops(&[]);
    const TALLIES: &'static [&'static str] = &[];

    fn process(&mut self, _: &mut Batch, _: Ticks, _: &mut StageClock<'_>) {}

    fn apply(&mut self, (): (), _: Ticks) -> Result<(), Refusal> {
        Err(Refusal::Invalid)
    }

    fn tallies(&self) -> &[u64] {
        &[]
    }

    fn state_bytes(&self) -> usize {
        0
    }
}
