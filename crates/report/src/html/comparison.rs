//! Our figures and those of others in one table, per core.

use maud::{Markup, html};
use measure::record::{Cell, RunRecord};

use super::tables::{marked, numbers, words};
use crate::names::Names;
use crate::references::{self, Counts, Kind, Reference};
use crate::summary::{grouped, mpps, outcomes};

/// The section; none for a function without references.
pub(super) fn comparison(record: &RunRecord) -> Markup {
    let function = record.cells.first().map_or("", |c| c.function.as_str());
    let others = references::of(function);
    if others.is_empty() || outcomes(record).next().is_none() {
        return html! {};
    }
    let mut rows = ours(record);
    let count = rows.len();
    rows.extend(others.iter().map(reference_row));
    html! {
        section id="comparison" {
            h2 { "Beside the figures of others" }
            (marked(
                "Figures of this run in bold, then others and this project's goals. Compare like with \
                 like: closed loop with closed loop, the same number of users, per core where cores differ",
                &[
                    words("system"), words("what"), numbers("users"), numbers("value"),
                    numbers("cores"), numbers("per core"), words("origin"),
                ],
                &rows,
                |index| index < count,
            ))
        }
    }
}

/// The headline figures of this run as rows of the comparison.
fn ours(record: &RunRecord) -> Vec<Vec<String>> {
    let names = Names::of(record);
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(record).filter(|(_, o)| o.validity.valid) {
        let workers = outcome.trials.last().map_or(1, |t| t.workers.len().max(1));
        let user = user_of(cell);
        for (name, counts) in OURS {
            let Some(figure) = outcome.figure(name) else { continue };
            rows.push(vec![
                "this run".into(),
                format!("{}, {}", outcome.method, counts_words(*counts)),
                user.clone(),
                format!("{:.2} Mpps", mpps(figure.value)),
                workers.to_string(),
                format!("{:.2} Mpps", mpps(figure.value) / workers as f64),
                names.of_cell(cell),
            ]);
        }
    }
    rows
}

/// The users of a cell, from its configuration, wherever the key stands.
fn user_of(cell: &Cell) -> String {
    let at = [cell.configuration.get("user"), cell.configuration.pointer("/function/user")];
    at.into_iter().flatten().find_map(serde_json::Value::as_u64).map_or(String::new(), grouped)
}

fn reference_row(reference: &Reference) -> Vec<String> {
    let value = |v: f64| format!("{v:.2} {}", reference.unit);
    let kind = match reference.kind {
        Kind::Measured => "measured on the development machine",
        Kind::Published => "published",
        Kind::Goal => "goal",
    };
    vec![
        reference.system.clone(),
        reference.what.clone(),
        reference.user.map_or(String::new(), |u| grouped(u as u64)),
        value(reference.value),
        reference.cores.map_or("not stated".into(), |c| format!("{c}")),
        reference.per_core().map_or(String::new(), value),
        format!("{kind}: {}", reference.source),
    ]
}

fn counts_words(counts: Counts) -> &'static str {
    match counts {
        Counts::Function => "function alone",
        Counts::Total => "source and sink included",
        Counts::Throughput => "all interfaces together",
    }
}

/// Our figures that stand in the comparison, and what they count.
const OURS: &[(&str, Counts)] = &[
    ("function_pps", Counts::Function),
    ("total_pps", Counts::Total),
    ("throughput_aggregate", Counts::Throughput),
];
