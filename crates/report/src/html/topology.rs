//! Device and topology, drawn from the record: tester, ports, function, and the cores of each.
//!
//! Boxes and their words are of the first cell; where cells differ in device or function, a box
//! counts them. The drawing is small enough for a telephone.

use std::collections::BTreeSet;

use maud::{Markup, html};
use measure::record::{Cell, RunRecord, TrialRecord};
use serde_json::Value;

use crate::words::{distinct, outcomes, value_words};

/// Renders the drawing; empty for a record without cells.
pub(super) fn topology(record: &RunRecord) -> Markup {
    let Some(first) = record.cells.first() else { return html! {} };
    let [tester, device] = boxes(record, first);
    let (directions, ports) = links(record, first);
    let description = format!(
        "{}; {}; {} over {ports}",
        tester.join(", "),
        device.join(", "),
        directions.join(" and ")
    );
    let height = BOX_TOP * 2.0 + BOX_HEIGHT;
    let count = directions.len() as f64;
    let line_y = |index: usize| BOX_TOP + BOX_HEIGHT * (index as f64 + 1.0) / (count + 1.0);
    html! {
        svg class="topology" viewBox={ "0 0 " (WIDTH) " " (height) } role="img" fill="var(--ink)"
            aria-labelledby="topology-title topology-desc" font-size="12" {
            title id="topology-title" { "Topology of the measurement" }
            desc id="topology-desc" { (description) }
            (a_box(0.0, &tester))
            (a_box(WIDTH - BOX_WIDTH, &device))
            @for (index, words) in directions.iter().enumerate() {
                line x1=(BOX_WIDTH + 3.0) y1=(line_y(index)) x2=(WIDTH - BOX_WIDTH - 3.0) y2=(line_y(index))
                    stroke="var(--muted)" stroke-width="1.5" {}
                text x=(WIDTH / 2.0) y=(line_y(index) - 5.0) text-anchor="middle" {
                    (fitted(words, LINK_LETTERS_MAX))
                }
            }
            text x=(WIDTH / 2.0) y=(BOX_TOP + BOX_HEIGHT - 3.0) text-anchor="middle" fill="var(--muted)" {
                (fitted(&ports, LINK_LETTERS_MAX))
            }
        }
    }
}

/// The lines in both boxes, the name first.
fn boxes(record: &RunRecord, first: &Cell) -> [Vec<String>; 2] {
    let devices = distinct(record.cells.iter().map(|cell| cell.device.as_str()));
    let functions = distinct(record.cells.iter().map(|cell| cell.function.as_str()));
    let function = match functions.as_slice() {
        [one] => (*one).to_owned(),
        several => format!("{} functions", several.len()),
    };
    let device = match devices.as_slice() {
        [one] => (*one).to_owned(),
        several => format!("{} devices", several.len()),
    };
    let tester = if is_closed(record) { "generator and sink" } else { "tester" };
    [
        vec![tester.into(), tester_cores(record, first)],
        vec![function, format!("on {device}"), worker_cores(record, first)],
    ]
}

/// Whether the worker makes and takes its frames itself.
fn is_closed(record: &RunRecord) -> bool {
    let mut trials = outcomes(record).flat_map(|(_, outcome)| &outcome.trials).peekable();
    trials.peek().is_some()
        && trials.all(|trial| trial.tester.is_none() && trial.load_pps().is_none())
}

fn tester_cores(record: &RunRecord, first: &Cell) -> String {
    if is_closed(record) {
        return "on the worker's core".into();
    }
    let of_trial = |trial: &TrialRecord| trial.tester.as_ref()?.core;
    let seen: BTreeSet<usize> = trials(first).filter_map(of_trial).collect();
    let configured = first.configuration.pointer("/device/tester-core").and_then(Value::as_u64);
    match seen.iter().map(|core| *core as u64).chain(configured).next() {
        Some(core) => format!("core {core}"),
        None => "core not recorded".into(),
    }
}

/// The workers of the first cell with their cores; how many there are where cells differ.
fn worker_cores(record: &RunRecord, first: &Cell) -> String {
    let count = |cell: &Cell| {
        let seen = trials(cell).map(|trial| trial.workers.len()).max().filter(|count| *count > 0);
        let configured = cell.configuration.pointer("/device/workers").and_then(Value::as_u64);
        seen.map(|count| count as u64).or(configured)
    };
    let counts: BTreeSet<u64> = record.cells.iter().filter_map(count).collect();
    let of_trial = |trial: &TrialRecord| {
        trial.workers.iter().filter_map(|worker| worker.core).collect::<BTreeSet<usize>>()
    };
    let cores: BTreeSet<usize> = trials(first).flat_map(of_trial).collect();
    let configured = first.configuration.pointer("/device/worker-cores").map(value_words);
    let cores = match cores.is_empty() {
        true => configured.unwrap_or_default(),
        false => cores.iter().map(usize::to_string).collect::<Vec<_>>().join(" "),
    };
    match (counts.first(), counts.last()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} workers"),
        (Some(1), _) if !cores.is_empty() => format!("1 worker, core {cores}"),
        (Some(count), _) if !cores.is_empty() => format!("{count} workers, cores {cores}"),
        (Some(1), _) => "1 worker".into(),
        (Some(count), _) => format!("{count} workers"),
        (None, _) => "its own threads".into(),
    }
}

/// The directions, and the kind of ports that carry them; of routes, the sessions.
fn links(record: &RunRecord, first: &Cell) -> (Vec<String>, String) {
    if is_closed(record) {
        return (vec!["closed loop".into()], "no ports".into());
    }
    let kinds: BTreeSet<String> = record.cells.iter().map(ports).collect();
    let ports = match kinds.len() {
        1 => ports(first),
        count => format!("{count} kinds of ports"),
    };
    let names = distinct(trials(first).flat_map(|t| t.directions.iter().map(|d| d.name.as_str())));
    let clients = first.configuration.pointer("/traffic/clients").map(value_words);
    match (names.len(), clients) {
        (0, Some(clients)) => (vec!["BGP".into()], format!("{clients} clients")),
        (0, None) => (vec!["frames".into()], ports),
        (1..=LINKS_MAX, _) => (names.into_iter().map(str::to_owned).collect(), ports),
        (count, _) => (vec![format!("{count} directions")], ports),
    }
}

fn ports(cell: &Cell) -> String {
    match cell.configuration.pointer("/device/ports").and_then(Value::as_str) {
        Some(kind) => format!("{kind} ports"),
        None if cell.device == "embedded" => "memory ports".into(),
        None => format!("ports of {}", cell.device),
    }
}

fn trials(cell: &Cell) -> impl Iterator<Item = &TrialRecord> {
    cell.outcomes.iter().flat_map(|outcome| &outcome.trials)
}

fn a_box(x: f64, lines: &[String]) -> Markup {
    let middle = x + BOX_WIDTH / 2.0;
    let first = BOX_TOP + BOX_HEIGHT / 2.0 + 4.0 - LINE * (lines.len() as f64 - 1.0) / 2.0;
    html! {
        rect x=(x + 1.0) y=(BOX_TOP) width=(BOX_WIDTH - 2.0) height=(BOX_HEIGHT) rx="6"
            fill="var(--panel)" stroke="var(--line)" {}
        @for (index, line) in lines.iter().enumerate() {
            text x=(middle) y=(first + LINE * index as f64) text-anchor="middle"
                font-weight=(if index == 0 { "600" } else { "400" }) {
                (fitted(line, BOX_LETTERS_MAX))
            }
        }
    }
}

/// The text, cut to what fits.
fn fitted(text: &str, letters: usize) -> String {
    match text.chars().count() {
        count if count <= letters => text.into(),
        _ => text.chars().take(letters - 1).chain(['…']).collect(),
    }
}

// In units of the drawing.
const WIDTH: f64 = 420.0;
const BOX_WIDTH: f64 = 155.0;
const BOX_HEIGHT: f64 = 66.0;
const BOX_TOP: f64 = 3.0;
const LINE: f64 = 16.0;

/// The most letters in a line of a box, and between the boxes.
const BOX_LETTERS_MAX: usize = 23;
const LINK_LETTERS_MAX: usize = 17;

/// The most directions that are drawn.
const LINKS_MAX: usize = 2;
