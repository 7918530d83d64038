//! `trials.csv`: one row for each trial and direction, all counts, for spreadsheets.
//!
//! A closed loop has no directions and yields one row with an empty one. Swept keys are columns of
//! their own, as is each stage, so that a pivot table needs no parsing. Texts that a spreadsheet
//! would take for a formula are quoted with an apostrophe.

use measure::record::{Cell, DirectionRecord, Outcome, RunRecord, TrialRecord};
use serde_json::Value;

use crate::{Exporter, ReportError};

/// The registry line.
pub(crate) const EXPORTER: Exporter = Exporter {
    name: "csv",
    file: "trials.csv",
    summary: "one row a trial and direction, for spreadsheets",
    render,
};

/// The table.
fn render(record: &RunRecord) -> Result<Vec<u8>, ReportError> {
    let failed = |e: ::csv::Error| ReportError::Format { format: "CSV", problem: e.to_string() };
    let columns = Columns::of(record);
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.header()).map_err(failed)?;
    for cell in &record.cells {
        for outcome in &cell.outcomes {
            for trial in &outcome.trials {
                if trial.directions.is_empty() {
                    let row = columns.row(cell, outcome, trial, None);
                    writer.write_record(row).map_err(failed)?;
                }
                for direction in &trial.directions {
                    let row = columns.row(cell, outcome, trial, Some(direction));
                    writer.write_record(row).map_err(failed)?;
                }
            }
        }
    }
    writer.into_inner().map_err(|e| ReportError::Format { format: "CSV", problem: e.to_string() })
}

/// Columns that depend on the record.
struct Columns {
    parameters: Vec<String>,
    stages: Vec<String>,
}

impl Columns {
    fn of(record: &RunRecord) -> Self {
        let trials = record.cells.iter().flat_map(|c| &c.outcomes).flat_map(|o| &o.trials);
        Self {
            parameters: distinct(record.cells.iter().flat_map(|c| c.parameters.keys())),
            stages: distinct(trials.flat_map(|t| &t.stages).map(|s| &s.name)),
        }
    }

    fn header(&self) -> Vec<String> {
        let mut header: Vec<String> = vec!["cell".into()];
        header.extend(self.parameters.iter().map(|p| text(p)));
        header.extend(FIXED.iter().map(|name| (*name).into()));
        header.extend(self.stages.iter().map(|stage| format!("ticks_{stage}")));
        header
    }

    fn row(
        &self,
        cell: &Cell,
        outcome: &Outcome,
        trial: &TrialRecord,
        direction: Option<&DirectionRecord>,
    ) -> Vec<String> {
        let mut row = vec![text(&cell.id)];
        row.extend(
            self.parameters.iter().map(|p| cell.parameters.get(p).map_or(String::new(), value)),
        );
        row.extend([
            text(&outcome.method),
            trial.index.to_string(),
            text(&trial.purpose),
            trial.load_pps().map_or(String::new(), |pps| pps.to_string()),
            trial.intended_ns.to_string(),
            trial.effective_ns.to_string(),
        ]);
        row.extend(direction.map_or_else(|| vec![String::new(); DIRECTION_COLUMNS], counts));
        row.extend([
            trial.workers.iter().map(|w| w.packets).sum::<u64>().to_string(),
            trial.workers.iter().map(|w| w.cpu_ns).sum::<u64>().to_string(),
            trial.workers.iter().map(|w| w.wall_ns).sum::<u64>().to_string(),
            trial.device_cpu.as_ref().map_or(String::new(), |cpu| cpu.ns.to_string()),
            trial.device_cpu_ns_per_packet().map_or(String::new(), |ns| format!("{ns:.1}")),
            trial.stalls.iter().map(|s| s.count).sum::<u64>().to_string(),
            trial.stalls.iter().map(|s| s.total_ns).sum::<u64>().to_string(),
            trial.stalls.iter().map(|s| s.longest_ns).max().unwrap_or(0).to_string(),
            trial.drops.iter().map(|d| d.packets).sum::<u64>().to_string(),
            text(
                &trial
                    .drops
                    .iter()
                    .map(|d| format!("{}={}", d.reason, d.packets))
                    .collect::<Vec<_>>()
                    .join(" "),
            ),
            text(&trial.limits.iter().map(|l| l.what.as_str()).collect::<Vec<_>>().join("; ")),
        ]);
        for stage in &self.stages {
            let found = trial.stages.iter().find(|s| s.name == *stage);
            row.push(found.map_or(String::new(), |s| s.ticks.to_string()));
        }
        row
    }
}

/// The columns of one direction.
fn counts(d: &DirectionRecord) -> Vec<String> {
    let latency = d.latency.as_ref();
    let at = |value: Option<u64>| value.map_or(String::new(), |v| v.to_string());
    vec![
        text(&d.name),
        d.intended.to_string(),
        d.sent.to_string(),
        d.received.to_string(),
        d.lost.to_string(),
        d.loss_fraction.to_string(),
        d.loss_percent.to_string(),
        d.ring_full.to_string(),
        d.duplicated.to_string(),
        d.reordered.to_string(),
        d.misdelivered.to_string(),
        d.sent_bytes.to_string(),
        at(latency.map(|l| l.min_ns)),
        at(latency.map(|l| l.p50_ns)),
        at(latency.map(|l| l.p90_ns)),
        at(latency.map(|l| l.p99_ns)),
        at(latency.map(|l| l.p99_9_ns)),
        at(latency.map(|l| l.max_ns)),
    ]
}

/// The names without duplicates, in the order of first appearance.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        if !seen.contains(name) {
            seen.push(name.clone());
        }
    }
    seen
}

/// Formats a value of a scenario as a cell.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::String(s) => text(s),
        other => other.to_string(),
    }
}

/// Escapes a text so that no spreadsheet interprets it as a formula.
pub(crate) fn text(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.into()
    }
}

/// Columns of every table.
const FIXED: &[&str] = &[
    "method",
    "trial",
    "purpose",
    "load_pps",
    "intended_ns",
    "effective_ns",
    "direction",
    "intended",
    "sent",
    "received",
    "lost",
    "loss_fraction",
    "loss_percent",
    "ring_full",
    "duplicated",
    "reordered",
    "misdelivered",
    "sent_bytes",
    "latency_min_ns",
    "latency_p50_ns",
    "latency_p90_ns",
    "latency_p99_ns",
    "latency_p99_9_ns",
    "latency_max_ns",
    "packets",
    "cpu_ns",
    "wall_ns",
    "device_cpu_ns",
    "device_cpu_ns_per_packet",
    "stalls",
    "stalls_total_ns",
    "stalls_longest_ns",
    "drops",
    "drops_by_reason",
    "limits",
];

/// Number of columns per direction.
const DIRECTION_COLUMNS: usize = 18;
