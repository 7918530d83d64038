//! What stands behind the results: goals of searches, repetitions, what the tester does alone,
//! thresholds and comparisons. Terminal and page show the same tables and sentences.

use measure::record::{Bounds, Cell, Comparison, Outcome, RunRecord};
use measure::{Pps, Seconds};

use crate::names::Names;
use crate::pivot::Pivot;
use crate::summary::{figure_name, figure_words, headline};
use crate::verdicts;
use crate::words::outcomes;

/// A table of the results of each search for each of its goals; none if no search has named goals.
pub(crate) fn goals(record: &RunRecord) -> Option<Pivot> {
    let names = Names::of(record);
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for goal in &outcome.goals {
            let [lower, upper] = bounds_words(&goal.bounds);
            rows.push(vec![
                format!("{}, {}", names.of_cell(cell), outcome.method),
                goal.name.clone(),
                lower,
                upper,
                goal.conditional_pps.map_or("none".into(), |pps| Pps(pps).to_string()),
                if goal.bounds.regular { "regular" } else { "irregular" }.into(),
                goal.ended.clone(),
            ]);
        }
    }
    pivot(
        "Goals of the searches, per port and direction: the highest load that met the goal, the \
         lowest load above it that missed it, and the conditional throughput at the former",
        &[
            "result",
            "goal",
            "lower bound",
            "upper bound",
            "conditional",
            "end",
            "end of the search",
        ],
        rows,
    )
}

/// Both bounds as text.
pub(crate) fn bounds_words(bounds: &Bounds) -> [String; 2] {
    [bounds.lower_pps, bounds.upper_pps]
        .map(|bound| bound.map_or("none".into(), |pps| Pps(pps).to_string()))
}

/// A table of every repetition of every result that has repetitions.
pub(crate) fn repetitions(record: &RunRecord) -> Option<Pivot> {
    let names = Names::of(record);
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for repetition in &outcome.repetitions {
            let figure = repetition.figures.first();
            rows.push(vec![
                format!("{}, {}", names.of_cell(cell), outcome.method),
                (repetition.index + 1).to_string(),
                (repetition.position + 1).to_string(),
                figure.map_or(String::new(), |f| figure_name(&f.name)),
                figure.map_or("none".into(), |f| f.words()),
                Seconds(repetition.seconds).to_string(),
                if repetition.from_cache { "an earlier run" } else { "this run" }.into(),
                if repetition.validity.valid { "valid" } else { "NOT VALID" }.into(),
            ]);
        }
    }
    pivot(
        "All repetitions, with their position in the random order of the run",
        &["result", "repetition", "position", "figure", "value", "took", "measured in", "verdict"],
        rows,
    )
}

/// A table of the tester's baselines, if measured.
pub(crate) fn baselines(record: &RunRecord) -> Option<Pivot> {
    let names = Names::of(record);
    let row = |(cell, outcome): (&Cell, &Outcome)| {
        let baseline = outcome.baseline?;
        let share = outcome
            .figure("throughput")
            .or_else(|| headline(outcome).filter(|f| f.unit == "pps"))
            .filter(|_| baseline.tester_pps > 0.0)
            .map_or(String::new(), |f| format!("{:.0} %", f.value / baseline.tester_pps * 100.0));
        Some(vec![
            format!("{}, {}", names.of_cell(cell), outcome.method),
            Pps(baseline.tester_pps).to_string(),
            share,
            baseline.latency_p50_ns.map_or(String::new(), |ns| figure_words(ns, "ns")),
        ])
    };
    pivot(
        "Baseline of the tester alone, with a wire in the device's place: its maximum per port and \
         direction, and the latency that every measured latency contains",
        &["result", "tester alone", "ratio", "median latency"],
        outcomes(record).filter_map(row).collect(),
    )
}

/// A table of the scenario's thresholds, and whether they were met.
pub(crate) fn thresholds(record: &RunRecord) -> Option<Pivot> {
    let names = Names::of(record);
    let cell_name = |id: &str| {
        let cell = record.cells.iter().find(|c| c.id == id);
        cell.map_or_else(|| id.to_string(), |cell| names.of_cell(cell))
    };
    let rows = record.thresholds.iter().map(|t| {
        vec![
            cell_name(&t.cell),
            if t.met { "met" } else { "MISSED" }.into(),
            t.condition.clone(),
            t.answer.clone(),
        ]
    });
    pivot(
        "Thresholds of the scenario",
        &["cell", "verdict", "condition", "measured value"],
        rows.collect(),
    )
}

/// One sentence for a comparison, including its cell.
pub fn comparison_words(comparison: &Comparison) -> String {
    let place = match verdicts::place(comparison) {
        None => comparison.method.clone(),
        Some(place) => format!("{place}, {}", comparison.method),
    };
    format!("{place}: {}.", comparison.answer.trim_end_matches('.'))
}

/// A sentence on the measurements that were reused from earlier runs; none if none were.
pub(crate) fn from_cache(record: &RunRecord) -> Option<String> {
    let plan = &record.plan;
    (plan.from_cache > 0).then(|| {
        format!(
            "{} of {} measurements with the same inputs were reused from earlier runs; the list of \
             repetitions says which.",
            plan.from_cache, plan.measurements
        )
    })
}

fn pivot(caption: &str, head: &[&str], rows: Vec<Vec<String>>) -> Option<Pivot> {
    let head = head.iter().map(|name| (*name).to_string()).collect();
    (!rows.is_empty()).then(|| Pivot { caption: caption.into(), head, rows })
}
