//! The record of a run: what `run.json` holds, and the only thing an exporter sees.
//!
//! A record is complete in itself: scenario text, host facts, configuration with all defaults
//! filled in, seed, raw counts and histograms of every trial, verdicts and claims. Keys are
//! `snake_case`, so that `jq` and data frames take them unquoted; names that came from a scenario
//! keep its `kebab-case`. Units are the last part of a name (`latency` fields end in `_ns`), times
//! are RFC 3339 in UTC, frame sizes include the frame check sequence, loads and rates are per
//! interface unless a name says `aggregate`.
//!
//! Deliberately absent: any clock (the caller passes times) and any file (exporters write).

mod cell;
mod compare;
mod distribution;
mod host;
mod merge;
mod neighbours;
mod outcome;
mod paths;
mod run;
mod sessions;
mod tables;
mod trial;
mod validity;

pub use cell::*;
pub use compare::{Addition, BENCHMARKS, SAME_WITHIN, additions, compare_runs, compare_values};
pub use distribution::Distribution;
pub use host::*;
pub use merge::{Measured, merge};
pub use neighbours::point_out_of_line;
pub use outcome::*;
pub use paths::{KnownPath, OPERATORS, PATHS};
pub use run::*;
pub use sessions::*;
pub use tables::*;
pub use trial::*;
pub use validity::*;

#[cfg(test)]
mod tests;
