//! How often to measure, in which order, and what side by side.

use measure::record::BENCHMARKS;
use serde_json::Value;

use super::benchmark::Benchmark;
use super::kind;
use super::{Document, ScenarioError};
use keys::nearest;

/// Reads `repetitions`, `seed` and `compare`.
///
/// # Errors
/// A number out of range, more measurements than a run may have, or a key that is not swept.
pub(super) fn read(document: &Document, benchmarks: &[Benchmark]) -> Result<Plan, ScenarioError> {
    let defaults = Plan::default();
    let repetitions = match whole(document, "repetitions")? {
        None => defaults.repetitions,
        Some(n) => match u32::try_from(n).ok().filter(|n| (1..=REPETITIONS_MAX).contains(n)) {
            Some(n) => n,
            None => {
                let what = format!("must be from 1 to {REPETITIONS_MAX}, not {n}");
                let remedy = "ten show the spread; use several runs for more";
                return Err(document.error("repetitions", what, remedy));
            }
        },
    };
    let seed = whole(document, "seed")?.unwrap_or(defaults.seed);
    let once: usize = benchmarks.iter().map(|one| one.cells.len() * one.methods.len()).sum();
    let all = once.saturating_mul(repetitions as usize);
    if all > MEASUREMENTS_MAX {
        let what = format!("{all} measurements ({once} × {repetitions}) are too many");
        let remedy =
            format!("a run has at most {MEASUREMENTS_MAX}: lower it, or shorten the lists");
        return Err(document.error("repetitions", what, remedy));
    }
    let compare = compare(document, benchmarks)?;
    Ok(Plan { seed, repetitions, compare })
}

fn compare(document: &Document, benchmarks: &[Benchmark]) -> Result<Option<String>, ScenarioError> {
    let wanted = match document.root.get("compare") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(wanted)) => in_record(wanted),
        Some(other) => {
            let what = format!("expected a key such as `function.core`, not {}", kind(other));
            return Err(document.error("compare", what, "name one swept key"));
        }
    };
    let ids: std::collections::BTreeSet<&str> = benchmarks.iter().map(|b| b.id.as_str()).collect();
    if wanted == BENCHMARKS && ids.len() > 1 {
        return Ok(Some(wanted));
    }
    let swept = swept(benchmarks);
    if swept.contains(&wanted.as_str()) {
        return Ok(Some(wanted));
    }
    let what = format!("`{wanted}` is not swept, so there is nothing to compare");
    Err(document.error("compare", what, remedy_for_unswept(&wanted, &swept)))
}

/// A key as named in the record, which has `function` for TIPSY's `pipeline`.
pub(super) fn in_record(key: &str) -> String {
    match key.strip_prefix("pipeline.") {
        Some(rest) => format!("function.{rest}"),
        None => key.to_owned(),
    }
}

/// The keys that at least one benchmark sweeps.
pub(super) fn swept(benchmarks: &[Benchmark]) -> Vec<&str> {
    let mut keys: Vec<&str> = benchmarks
        .iter()
        .filter_map(|one| one.cells.first())
        .flat_map(|cell| cell.parameters.keys().map(String::as_str))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Advice for a key that no benchmark sweeps.
pub(super) fn remedy_for_unswept(key: &str, swept: &[&str]) -> String {
    match (nearest(key, swept.iter().copied()), swept) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => format!("give `{key}` a list of values"),
        (None, swept) => format!("give it a list of values, or name one of {}", swept.join(", ")),
    }
}

fn whole(document: &Document, key: &str) -> Result<Option<u64>, ScenarioError> {
    match document.root.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(Some(number)),
            None => {
                let shown = match value {
                    Value::Number(number) => number.to_string(),
                    other => kind(other).to_owned(),
                };
                let what = format!("expected a whole number, 0 or more, not {shown}");
                Err(document.error(key, what, format!("write for example `{key}: 5`")))
            }
        },
    }
}

/// Largest number of repetitions of a run.
pub(crate) const REPETITIONS_MAX: u32 = 1_000;
/// Largest number of measurements of a run: all repetitions of all methods of all cells.
pub(crate) const MEASUREMENTS_MAX: usize = 100_000;

/// Repetitions and order of the measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Seed of the order.
    pub seed: u64,
    /// Number of repetitions of each method in each cell.
    pub repetitions: u32,
    /// The swept key (`function.policer`) whose values are measured side by side, in pairs.
    pub compare: Option<String>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { seed: 1, repetitions: 1, compare: None }
    }
}
