//! What changes cost a closed loop: each trial with changes has its twin without them just before
//! it, on the same state and memory.
//!
//! A change is applied between two batches, in no stage. So both of a pair are judged by the time
//! that their worker had on its core: less the stages of the bench it is what function and changes
//! took.

use measure::record::{Figure, Limit, Spread};
use measure::{StageRole, Trial};

use super::rates::{packets, ticks};
use crate::figures::over_repetitions;

/// A trial without changes, and the following trial with changes.
pub(super) struct Pair {
    pub unchanged: Trial,
    pub changed: Trial,
}

/// The remaining rates, the achieved update rate, and the acknowledgement times.
pub(super) fn figures(pairs: &[Pair]) -> Vec<Figure> {
    let changed = || pairs.iter().map(|pair| &pair.changed);
    let rates: Vec<f64> = changed().map(|trial| rate(trial, function_ticks)).collect();
    let kept = |name: &str, of: fn(&Trial) -> f64| {
        let values: Vec<f64> = pairs.iter().map(|pair| kept_percent(pair, of)).collect();
        let spread = Spread::of(&values)?;
        Some(Figure { spread: Some(spread), ..Figure::single(name, spread.mean, "percent") })
    };
    let updates: Vec<f64> = changed().map(updates_per_s).collect();
    let refused: u64 = changed().flat_map(|t| &t.events).map(|kind| kind.refused).sum();
    let mut figures: Vec<Figure> = [
        over_repetitions("function_changed_pps", "pps", &rates),
        kept("function_kept_percent", function_ticks),
        kept("total_kept_percent", all_ticks),
        over_repetitions("achieved_updates", "1/s", &updates),
        Some(Figure::single("refused_updates", refused as f64, "updates")),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (name, quantile) in [("accepted_p50", 0.5), ("accepted_p99", 0.99)] {
        let of = |trial: &Trial| {
            let kinds = trial.events.iter().map(|kind| &kind.accepted_ns);
            let slowest = kinds.filter(|h| !h.is_empty()).map(|h| h.value_at_quantile(quantile));
            slowest.max().map(|ns| ns as f64)
        };
        let values: Vec<f64> = changed().filter_map(of).collect();
        figures.extend(over_repetitions(name, "ns", &values));
    }
    figures
}

/// Limits if the achieved changes differ from the requested ones.
pub(super) fn limits(pairs: &[Pair], asked_per_s: f64) -> Vec<Limit> {
    let values: Vec<f64> = pairs.iter().map(|pair| updates_per_s(&pair.changed)).collect();
    let Some(spread) = Spread::of(&values) else { return Vec::new() };
    if spread.median >= asked_per_s * ACHIEVED_MIN {
        return Vec::new();
    }
    vec![Limit::of_search(
        true,
        format!("{:.0} changes per second were made of {asked_per_s:.0} requested", spread.median),
        "lower update-rate, or find out why changes are refused",
    )]
}

/// The sentence on changes that follows the answer without changes.
pub(super) fn words(figures: &[Figure], asked_per_s: f64) -> String {
    let Some(kept) = figures.iter().find(|f| f.name == "function_kept_percent") else {
        return String::new();
    };
    let interval =
        kept.spread.and_then(|s| s.confidence_95).map_or(String::new(), |[low, high]| {
            format!(" (95 % confidence interval {low:.1} to {high:.1} %)")
        });
    format!(
        " With {asked_per_s:.0} changes per second the function keeps {:.1} %{interval} of its rate.",
        kept.value
    )
}

fn updates_per_s(trial: &Trial) -> f64 {
    let seconds = trial.effective.as_secs_f64();
    let acknowledged: u64 = trial.events.iter().map(|kind| kind.acknowledged).sum();
    if seconds > 0.0 { acknowledged as f64 / seconds } else { 0.0 }
}

fn kept_percent(pair: &Pair, of: fn(&Trial) -> f64) -> f64 {
    let [without, with] = [&pair.unchanged, &pair.changed].map(|trial| rate(trial, of));
    if without > 0.0 { with / without * 100.0 } else { 0.0 }
}

/// Packets per second if the workers spent only the ticks that `of` selects.
fn rate(trial: &Trial, of: fn(&Trial) -> f64) -> f64 {
    let (ticks, workers) = (of(trial), trial.workers.len().max(1) as f64);
    if ticks > 0.0 { workers * trial.ticks_per_second * packets(trial) / ticks } else { 0.0 }
}

/// All ticks that the workers spent on their cores.
fn all_ticks(trial: &Trial) -> f64 {
    let cpu_ns: u64 = trial.workers.iter().map(|worker| worker.cpu_ns).sum();
    cpu_ns as f64 * 1e-9 * trial.ticks_per_second
}

/// Ticks of the workers without source, sink and ports.
fn function_ticks(trial: &Trial) -> f64 {
    all_ticks(trial) - ticks(trial, |role| role == StageRole::Bench)
}

/// Fraction of the requested changes below which the figures are invalid.
const ACHIEVED_MIN: f64 = 0.95;
