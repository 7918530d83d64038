//! Our figures and those of others in one table, per core.

use maud::{Markup, html};
use measure::record::{Cell, Figure, Outcome, RunRecord};

use super::tables::{marked, numbers, words};
use crate::names::Names;
use crate::references::{self, Counts, Kind, Reference};
use crate::summary::figure_name;
use crate::words::{distinct, grouped, outcomes};

/// Renders the section of published figures; empty for a function without references.
pub(super) fn comparison(record: &RunRecord) -> Markup {
    let function = record.cells.first().map_or("", |c| c.function.as_str());
    let others = references::chosen(function, &record.scenario.references);
    let ours = ours(record);
    // What a scenario chose is shown even where no figure of ours counts the same.
    let is_asked = !record.scenario.references.is_empty();
    if others.is_empty() || (ours.is_empty() && !is_asked) {
        return html! {};
    }
    let mut rows: Vec<Vec<String>> =
        ours.iter().map(|one| one.row(&record.host.cpu_model)).collect();
    let count = rows.len();
    let sources = distinct(others.iter().map(|r| r.source.as_str()));
    rows.extend(others.iter().map(|other| reference_row(other, &sources)));
    html! {
        section id="comparison" {
            h2 { "Comparison with published figures" }
            (marked(
                "Figures of this run in bold, then published figures and this project's goals, each of \
                 its own host: hosts differ, so that nothing is divided by a figure of another one",
                &[
                    words("system"), words("what"), numbers("users, addresses, peers"), numbers("value"),
                    numbers("cores"), numbers("per core"), words("host"), words("origin"),
                ],
                &rows,
                |index| index < count,
            ))
            p class="note" { "Sources:" }
            ol class="note" { @for source in &sources { li { (source) } } }
        }
    }
}

/// A figure of this run.
struct Ours {
    method: String,
    counts: Counts,
    user: Option<u64>,
    /// Name of the figure.
    figure: &'static str,
    /// The load of a latency as text, in percent of the throughput.
    at: Option<String>,
    value: f64,
    unit: &'static str,
    cores: usize,
    cell: String,
}

impl Ours {
    fn per_core(&self) -> f64 {
        match self.counts {
            Counts::Time | Counts::Part => self.value,
            _ => self.value / self.cores as f64,
        }
    }

    fn row(&self, host: &str) -> Vec<String> {
        let value = |value: f64| format!("{value:.2} {}", self.unit);
        let what = match self.counts {
            Counts::Time | Counts::Part => figure_name(self.figure),
            counts => counts_words(counts).into(),
        };
        let at = self.at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
        vec![
            "this run".into(),
            format!("{}, {what}{at}", self.method),
            self.user.map_or(String::new(), grouped),
            value(self.value),
            self.cores.to_string(),
            value(self.per_core()),
            host.to_owned(),
            self.cell.clone(),
        ]
    }
}

/// The headline figures of this run.
fn ours(record: &RunRecord) -> Vec<Ours> {
    let names = Names::of(record);
    let mut found = Vec::new();
    for (cell, outcome) in outcomes(record).filter(|(_, o)| o.validity.valid) {
        let cores = outcome.trials.last().map_or(1, |t| t.workers.len().max(1));
        for (name, counts, factor, unit) in OURS {
            let one = |(figure, at): (&Figure, Option<String>)| Ours {
                method: outcome.method.clone(),
                counts: *counts,
                user: user_of(cell),
                figure: name,
                at,
                value: figure.value * factor,
                unit,
                cores,
                cell: names.of_cell(cell),
            };
            let whole = outcome.figure(name).map(|figure| (figure, None));
            let of_loads = if whole.is_none() { by_load(outcome, name) } else { Vec::new() };
            found.extend(whole.into_iter().chain(of_loads).map(one));
        }
    }
    found
}

/// A time at each load, in the slower direction.
fn by_load<'a>(outcome: &'a Outcome, name: &str) -> Vec<(&'a Figure, Option<String>)> {
    let parts = outcome.figures.iter().filter(|f| f.name == name);
    let at = |f: &'a Figure| Some((f, f.of.as_deref()?.split_once(", ")?.0));
    let mut worst: Vec<(&Figure, &str)> = Vec::new();
    for (figure, load) in parts.filter_map(at) {
        match worst.iter_mut().find(|(_, known)| *known == load) {
            Some(known) if known.0.value < figure.value => known.0 = figure,
            Some(_) => {}
            None => worst.push((figure, load)),
        }
    }
    worst.into_iter().map(|(figure, load)| (figure, Some(load.to_owned()))).collect()
}

/// The sessions that are open in a cell, or its number of users by its configuration.
fn user_of(cell: &Cell) -> Option<u64> {
    if let Some(open) = cell.sessions_open.filter(|open| *open > 0) {
        return Some(open);
    }
    let at = [
        cell.configuration.get("user"),
        cell.configuration.pointer("/function/user"),
        cell.configuration.pointer("/function/upstream-table-size"),
        cell.configuration.pointer("/function/upstream-l3-table-size"),
        cell.configuration.pointer("/traffic/clients"),
    ];
    at.into_iter().flatten().find_map(serde_json::Value::as_u64)
}

fn reference_row(reference: &Reference, sources: &[&str]) -> Vec<String> {
    let value = |v: f64| match v {
        v if v >= 1_000.0 => format!("{} {}", grouped(v.round() as u64), reference.unit),
        v => format!("{v:.2} {}", reference.unit),
    };
    let source = sources.iter().position(|s| *s == reference.source).map_or(0, |at| at + 1);
    let kind = match reference.kind {
        Kind::Measured => "measured",
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
        reference.host.clone(),
        format!("{kind} [{}]", source),
    ]
}

fn counts_words(counts: Counts) -> &'static str {
    match counts {
        Counts::Function => "excluding Rx/Tx",
        Counts::Total => "including generator and sink",
        Counts::Throughput => "all interfaces together",
        Counts::Changes => "changes per second",
        Counts::State => "amount of state",
        Counts::Time => "time",
        Counts::Part => "part",
    }
}

/// Our figures that are compared: name, kind and unit.
const OURS: &[(&str, Counts, f64, &str)] = &[
    ("function_pps", Counts::Function, 1e-6, "Mpps"),
    ("total_pps", Counts::Total, 1e-6, "Mpps"),
    ("throughput_aggregate", Counts::Throughput, 1e-6, "Mpps"),
    ("throughput_aggregate_l1", Counts::Throughput, 1e-9, "Gbit/s"),
    ("achieved_updates", Counts::Changes, 1.0, "1/s"),
    ("session_rate", Counts::Changes, 1.0, "1/s"),
    ("session_capacity", Counts::State, 1.0, "sessions"),
    ("latency_mean", Counts::Time, 1e-3, "us"),
    ("latency_max", Counts::Time, 1e-3, "us"),
    ("reset_time", Counts::Time, 1e-6, "ms"),
    ("convergence_time", Counts::Time, 1e-9, "s"),
    ("background_loss_percent", Counts::Part, 1.0, "%"),
    ("busiest_core_percent", Counts::Part, 1.0, "%"),
    ("function_kept_percent", Counts::Part, 1.0, "%"),
    ("throughput_kept_percent", Counts::Part, 1.0, "%"),
];
