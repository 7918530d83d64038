//! What a feature adds: latency and loss with it, less the same without it, measured in pairs.
//!
//! The first value of the compared key is without the feature. A difference whose interval holds
//! zero is inconclusive, and says so.

use std::collections::BTreeMap;

use maud::{Markup, html};
use measure::figure_words;
use measure::record::{Addition, RunRecord, additions};

use super::tables::{numbers, table, words};
use crate::words::{leaf, value_words};

/// Renders the section of differences; empty if nothing was compared, or no figure of time or loss
/// was.
pub(super) fn added(record: &RunRecord) -> Markup {
    let Some(key) = record.plan.compare.as_deref() else { return html! {} };
    let names: Vec<&str> = FIGURES.iter().map(|(name, _)| *name).collect();
    let found = additions(key, &record.cells, &names);
    if found.is_empty() {
        return html! {};
    }
    // A row for each value, cell, method and part, in the order in which they were found.
    let mut order: Vec<RowKey> = Vec::new();
    let mut cells: BTreeMap<(usize, usize), String> = BTreeMap::new();
    for one in &found {
        let row = RowKey::of(one);
        let at = order.iter().position(|known| *known == row).unwrap_or_else(|| {
            order.push(row);
            order.len() - 1
        });
        if let Some(column) = names.iter().position(|name| *name == one.figure) {
            cells.insert((at, column), cell_words(one));
        }
    }
    let shown: Vec<usize> = (0..FIGURES.len())
        .filter(|column| cells.keys().any(|(_, other)| other == column))
        .collect();
    let mut columns = vec![words(leaf(key)), words("cell"), words("method"), words("of")];
    columns.extend(shown.iter().map(|column| numbers(FIGURES[*column].1)));
    let row = |(at, row): (usize, &RowKey)| {
        let mut text = row.words();
        let cell = |column: &usize| cells.get(&(at, *column)).cloned().unwrap_or_default();
        text.extend(shown.iter().map(cell));
        text
    };
    let rows: Vec<Vec<String>> = order.iter().enumerate().map(row).collect();
    html! {
        section id="added" {
            h2 { "Effect of " (leaf(key)) }
            (table(
                "Difference with and without the value: mean over pairs measured side by side, \
                 with the 95 % confidence interval for at least three pairs; in brackets the \
                 figure without the value",
                &columns,
                &rows,
            ))
        }
    }
}

/// Key of a table row: cell, method and part.
#[derive(PartialEq)]
struct RowKey {
    values: String,
    cell: String,
    method: String,
    of: String,
}

impl RowKey {
    fn of(one: &Addition) -> RowKey {
        let parameter = |(key, value): (&String, &serde_json::Value)| {
            format!("{} {}", leaf(key), value_words(value))
        };
        let cell: Vec<String> = one.parameters.iter().map(parameter).collect();
        RowKey {
            values: format!("{} against {}", value_words(&one.a), value_words(&one.b)),
            cell: cell.join(", "),
            method: one.method.clone(),
            of: one.of.clone().unwrap_or_else(|| "the whole".into()),
        }
    }

    fn words(&self) -> Vec<String> {
        vec![self.values.clone(), self.cell.clone(), self.method.clone(), self.of.clone()]
    }
}

/// Formats a difference with its interval and reference: `+1.20 us (+0.80 to +1.60; 20.0 us)`.
fn cell_words(one: &Addition) -> String {
    let signed = |value: f64| {
        let sign = if value < 0.0 { "-" } else { "+" };
        format!("{sign}{}", figure_words(value.abs(), &one.unit))
    };
    let without = figure_words(one.without, &one.unit);
    match one.confidence_95 {
        Some([low, high]) if low > 0.0 || high < 0.0 => {
            format!("{} ({} to {}; {without})", signed(one.added), signed(low), signed(high))
        }
        Some([low, high]) => {
            format!(
                "{}, inconclusive ({} to {}; {without})",
                signed(one.added),
                signed(low),
                signed(high)
            )
        }
        None => format!("{} ({without})", signed(one.added)),
    }
}

/// Figures of time and loss with the names of their columns.
const FIGURES: &[(&str, &str)] = &[
    ("latency_min", "minimum latency"),
    ("latency_mean", "mean latency"),
    ("latency_p99", "99 % latency"),
    ("latency_max", "maximum latency"),
    ("loss_percent", "lost"),
];
