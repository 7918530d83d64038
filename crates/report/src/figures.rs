//! `figures.csv`: one row for each figure, with its spread and whether it may be relied on.
//!
//! Swept keys are columns of their own, so that a pivot table needs no parsing. RFC 4180; texts
//! that a spreadsheet would take for a formula are quoted with an apostrophe.

use measure::record::{Cell, Figure, Outcome, RunRecord};

use crate::csv::{distinct, text, value};
use crate::{Exporter, ReportError};

/// The registry line.
pub(crate) const EXPORTER: Exporter = Exporter {
    name: "figures",
    file: "figures.csv",
    summary: "one row a figure, for spreadsheets",
    render,
};

/// The table.
fn render(record: &RunRecord) -> Result<Vec<u8>, ReportError> {
    let failed = |e: ::csv::Error| ReportError::Format { format: "CSV", problem: e.to_string() };
    let parameters = distinct(record.cells.iter().flat_map(|cell| cell.parameters.keys()));
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let swept = parameters.iter().map(|key| text(key));
    let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let header = columns(RUN).into_iter().chain(swept).chain(columns(FIGURE));
    writer.write_record(header).map_err(failed)?;
    for cell in &record.cells {
        for outcome in &cell.outcomes {
            for figure in &outcome.figures {
                let row = row(record, &parameters, cell, outcome, figure);
                writer.write_record(row).map_err(failed)?;
            }
        }
    }
    writer.into_inner().map_err(|e| ReportError::Format { format: "CSV", problem: e.to_string() })
}

fn row(
    record: &RunRecord,
    parameters: &[String],
    cell: &Cell,
    outcome: &Outcome,
    figure: &Figure,
) -> Vec<String> {
    let mut row = vec![
        text(&record.name()),
        text(&record.scenario.name),
        text(&record.started),
        text(&cell.id),
    ];
    row.extend(parameters.iter().map(|key| cell.parameters.get(key).map_or(String::new(), value)));
    row.extend([
        text(&cell.benchmark),
        text(&cell.function),
        text(&cell.device),
        text(&outcome.method),
        text(&figure.name),
        text(figure.of.as_deref().unwrap_or_default()),
        figure.value.to_string(),
        text(&figure.unit),
    ]);
    let spread = figure.spread.as_ref();
    let number = |n: Option<f64>| n.map_or(String::new(), |n| n.to_string());
    row.extend([
        spread.map_or_else(|| "1".to_owned(), |s| s.n.to_string()),
        number(spread.map(|s| s.min)),
        number(spread.map(|s| s.median)),
        number(spread.map(|s| s.max)),
        number(spread.map(|s| s.mean)),
        number(spread.map(|s| s.deviation)),
        number(spread.and_then(|s| s.confidence_95).map(|[low, _]| low)),
        number(spread.and_then(|s| s.confidence_95).map(|[_, high]| high)),
        outcome.validity.valid.to_string(),
        text(
            &outcome.validity.limits.iter().map(|l| l.what.as_str()).collect::<Vec<_>>().join("; "),
        ),
    ]);
    row
}

/// Columns before those of the swept keys.
const RUN: &[&str] = &["run", "scenario", "started", "cell"];

/// Columns after those of the swept keys.
const FIGURE: &[&str] = &[
    "benchmark",
    "function",
    "device",
    "method",
    "figure",
    "of",
    "value",
    "unit",
    "n",
    "min",
    "median",
    "max",
    "mean",
    "deviation",
    "confidence_95_low",
    "confidence_95_high",
    "valid",
    "limits",
];
