//! What floods against the device itself cost: a row for each flood, and side by side the
//! background that was lost, how busy the busiest core was, the pings that were answered, and the
//! latency of the background; with what others published of theirs.

use maud::{Markup, html};
use measure::record::{Cell, Figure, Outcome, RunRecord};

use super::chart::{CHARTS_MAX, Chart, Data, WIDTH, identifier};
use super::curves::number;
use crate::names::Names;
use crate::references::{self, Kind};
use crate::summary::figure_words;
use crate::words::{distinct, outcomes};

/// One chart for each cell with floods.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    let flooded = outcomes(record).filter(|(_, o)| o.method == METHOD && o.validity.valid);
    flooded.filter_map(|(c, o)| chart(record, &names, c, o)).take(CHARTS_MAX).collect()
}

fn chart(record: &RunRecord, names: &Names, cell: &Cell, outcome: &Outcome) -> Option<Chart> {
    let mut rows = rows(outcome);
    if rows.is_empty() {
        return None;
    }
    let ours = rows.len();
    rows.extend(published(record, cell));
    let id = identifier("floods", &[&cell.id, &outcome.method]);
    let title = format!("Effect of each flood on the background ({})", names.of_cell(cell));
    let load = outcome.figure("load").map_or(String::new(), |f| {
        format!(" The background is {} per port and direction.", f.words())
    });
    let others = match rows.len() > ours {
        true => " The rows below the line are published figures.",
        false => "",
    };
    let caption = format!(
        "Medians over the trials of each flood; the bars of a column have the same scale, which \
         ends at 100 % for percentages.{load}{others}"
    );
    let svg = svg(&rows, ours, (&id, &title, &caption));
    Some(Chart::drawn(&id, &title, &caption, svg, data(&rows)))
}

/// A flood and its effect, by column; none if unknown.
struct Row {
    name: String,
    values: Vec<Option<f64>>,
}

fn rows(outcome: &Outcome) -> Vec<Row> {
    let is_shown = |f: &&Figure| COLUMNS.iter().any(|column| column.figure == f.name);
    let floods = outcome.figures.iter().filter(is_shown).filter_map(|f| f.of.as_deref());
    let row = |flood: &str| {
        let value = |column: &Column| {
            let mut of_flood = outcome.figures.iter().filter(|f| f.of.as_deref() == Some(flood));
            let found = of_flood.find(|f| f.name == column.figure).map(|f| f.value);
            found.filter(|value| value.is_finite())
        };
        let name = if flood == "none" { "no flood".into() } else { flood.replace('-', " ") };
        Row { name, values: COLUMNS.iter().map(value).collect() }
    };
    distinct(floods).into_iter().map(row).collect()
}

/// Published floods, whose references name their column.
fn published(record: &RunRecord, cell: &Cell) -> Vec<Row> {
    let all = references::chosen(&cell.function, &record.scenario.references);
    let shown: Vec<_> = all.iter().filter(|r| r.chart && r.kind == Kind::Published).collect();
    let row = |mark: &str| {
        let value = |column: &Column| {
            let mut alike = shown.iter().filter(|r| r.mark == mark);
            alike.find(|r| r.reading.as_deref() == Some(column.figure)).map(|r| r.value)
        };
        Row { name: mark.to_owned(), values: COLUMNS.iter().map(value).collect() }
    };
    let marks = distinct(shown.iter().map(|r| r.mark.as_str()));
    marks.into_iter().map(row).filter(|row| row.values.iter().any(Option::is_some)).collect()
}

/// Draws the columns of bars, each with its value as text.
fn svg(rows: &[Row], ours: usize, (id, title, description): (&str, &str, &str)) -> Markup {
    let width = (WIDTH - LEFT) / COLUMNS.len() as f64;
    let top = |row: usize| TOP + ROW * row as f64 + if row >= ours { GAP } else { 0.0 };
    let bottom = top(rows.len().saturating_sub(1)) + ROW;
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (bottom + 8.0) } role="img" fill="var(--ink)"
            aria-labelledby={ (id) "-title " (id) "-desc" } font-size="13" {
            title id={ (id) "-title" } { (title) }
            desc id={ (id) "-desc" } { (description) }
            @for (at, column) in COLUMNS.iter().enumerate() {
                text x=(LEFT + width * at as f64) y=(TOP - 10.0) font-size="14" { (column.label) }
            }
            @if rows.len() > ours {
                line x1="0" x2=(WIDTH) y1=(top(ours) - GAP / 2.0) y2=(top(ours) - GAP / 2.0)
                    stroke="var(--line)" {}
            }
            @for (index, row) in rows.iter().enumerate() {
                text x=(LEFT - 10.0) y=(top(index) + BASE) text-anchor="end" { (row.name) }
                @for (at, column) in COLUMNS.iter().enumerate() {
                    (bar(rows, index, at, column, (LEFT + width * at as f64, top(index), width)))
                }
            }
        }
    }
}

fn bar(
    rows: &[Row],
    row: usize,
    at: usize,
    column: &Column,
    (left, top, width): (f64, f64, f64),
) -> Markup {
    let values = || rows.iter().filter_map(|row| row.values[at]);
    let full = if column.is_part { 100.0 } else { values().fold(0.0, f64::max) };
    let room = width - WORDS;
    let value = rows[row].values[at];
    let length = value.filter(|_| full > 0.0).map_or(0.0, |v| (v / full).clamp(0.0, 1.0) * room);
    let words = value.map_or("–".to_owned(), |v| figure_words(v, column.unit));
    html! {
        @if length > 0.0 {
            rect x=(left) y=(top + 4.0) width=(one_digit(length)) height=(ROW - 8.0)
                fill={ "var(--series-" (at + 1) ")" } {}
        }
        text x=(one_digit(left + length + 6.0)) y=(top + BASE) { (words) }
    }
}

fn data(rows: &[Row]) -> Data {
    let head = std::iter::once("flood".to_owned())
        .chain(COLUMNS.iter().map(|column| format!("{}, {}", column.label, column.unit)));
    let row = |row: &Row| {
        let values = row.values.iter().map(|value| value.map_or(String::new(), number));
        std::iter::once(row.name.clone()).chain(values).collect()
    };
    Data { head: head.collect(), rows: rows.iter().map(row).collect() }
}

fn one_digit(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A drawn column.
struct Column {
    figure: &'static str,
    label: &'static str,
    unit: &'static str,
    /// Whether the bars' maximum is 100 %.
    is_part: bool,
}

const COLUMNS: [Column; 4] = [
    Column {
        figure: "background_loss_percent",
        label: "background lost",
        unit: "percent",
        // A little is what matters, and the words tell how little.
        is_part: false,
    },
    Column {
        figure: "busiest_core_percent",
        label: "busiest core",
        unit: "percent",
        is_part: true,
    },
    Column {
        figure: "pings_answered_percent",
        label: "pings answered",
        unit: "percent",
        is_part: true,
    },
    Column { figure: "latency_p99", label: "99 % latency", unit: "ns", is_part: false },
];

const METHOD: &str = "denial-of-service";

/// Space for the names of floods, in units of the drawing.
const LEFT: f64 = 150.0;
const TOP: f64 = 34.0;
const ROW: f64 = 28.0;
const GAP: f64 = 14.0;

/// Vertical position of the text's base line in a row.
const BASE: f64 = 18.5;

/// Space for the text behind a bar.
const WORDS: f64 = 78.0;
