//! What the figures rest on: functional check, changes, host, trials, scenario.

use maud::{Markup, html};
use measure::record::{DirectionRecord, Distribution, Outcome, RunRecord, TrialRecord};
use measure::{Bytes, Nanos, Pps, Ratio, Subject};

use super::tables::{Column, numbers, table, words};
use crate::names::Names;
use crate::terminal::check_words;
use crate::words::{grouped, outcomes};

/// How a device was compared with the oracle, as a sentence.
fn how(of: Subject) -> &'static str {
    match of {
        Subject::Frames => {
            "Before the measurement, the device's output for a sample of frames was compared byte \
             for byte with that of an independent model of the function."
        }
        Subject::Routes => {
            "Before the measurement, peers of the device announced and withdrew routes at random, \
             lost their sessions and came back. The table of every peer was compared, attribute by \
             attribute, with that of an independent model."
        }
    }
}

/// The caption of what a check exercised.
fn exercised(of: Subject) -> &'static str {
    match of {
        Subject::Frames => "Verdicts and drop reasons that the sample exercised",
        Subject::Routes => "What the peers of the check did",
    }
}

/// Renders the functional check: verdict, coverage, differences.
pub(super) fn check(record: &RunRecord) -> Markup {
    let names = Names::of(record);
    let checked: Vec<_> =
        record.cells.iter().filter_map(|c| c.check.as_ref().map(|k| (c, k))).collect();
    let Some((_, first)) = checked.first() else { return html! {} };
    let alike = checked.iter().all(|(_, check)| check.coverage == first.coverage);
    let covered = if alike { &checked[..1] } else { &checked[..] };
    html! {
        section id="check" {
            h2 { "Functional check" }
            p { (how(first.of)) }
            ul {
                @for (cell, check) in &checked { li { (names.of_cell(cell)) ": " (check_words(check)) } }
            }
            @for (cell, check) in covered {
                @let rows: Vec<Vec<String>> = check.coverage.iter()
                    .map(|c| vec![c.name.clone(), grouped(c.frames)])
                    .chain(check.uncovered.iter().map(|name| vec![name.clone(), "none".into()]))
                    .collect();
                (table(
                    &if alike { exercised(check.of).to_owned() }
                     else { format!("{} ({})", exercised(check.of), names.of_cell(cell)) },
                    &match check.of {
                        Subject::Frames => [words("verdict or drop reason"), numbers("frames")],
                        Subject::Routes => [words("event"), numbers("events")],
                    },
                    &rows,
                ))
            }
            @for (cell, check) in checked.iter().filter(|(_, k)| !k.mismatches.is_empty()) {
                h3 { "Differences (" (names.of_cell(cell)) ")" }
                @for m in &check.mismatches {
                    p { (check.named(m)) }
                    pre { "expected " (m.expected) "\ngot      " (m.got) }
                }
            }
        }
    }
}

/// Renders changes at run time, trial by trial.
pub(super) fn events(record: &RunRecord) -> Markup {
    let names = Names::of(record);
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for trial in &outcome.trials {
            for e in trial.events.iter().filter(|e| e.requested > 0) {
                let at = |d: &Option<Distribution>, value: fn(&Distribution) -> u64| {
                    d.as_ref().map_or(String::new(), |d| Nanos(value(d) as f64).to_string())
                };
                rows.push(vec![
                    names.of_cell(cell),
                    format!("{} {}", outcome.method, trial.index),
                    e.kind.clone(),
                    grouped(e.requested),
                    grouped(e.acknowledged),
                    grouped(e.refused),
                    grouped(e.late_frames),
                    at(&e.accepted, |d| d.p50_ns),
                    at(&e.accepted, |d| d.p99_ns),
                    at(&e.accepted, |d| d.max_ns),
                    at(&e.visible, |d| d.p50_ns),
                    at(&e.visible, |d| d.p99_ns),
                    at(&e.visible, |d| d.max_ns),
                ]);
            }
        }
    }
    html! {
        @if !rows.is_empty() {
            section id="events" {
                h2 { "Changes at run time" }
                (table(
                    "Changes by kind and trial, with the time from the request to the acknowledgement \
                     (accepted) and to the first frame that shows the change (visible)",
                    &[
                        words("cell"), words("trial"), words("kind"), numbers("requested"),
                        numbers("acknowledged"), numbers("refused"), numbers("late frames"),
                        numbers("accepted p50"), numbers("p99"), numbers("max"),
                        numbers("visible p50"), numbers("p99"), numbers("max"),
                    ],
                    &rows,
                ))
            }
        }
    }
}

/// Renders the facts of the machine and its noise.
pub(super) fn host(record: &RunRecord) -> Markup {
    let host = &record.host;
    let mut rows: Vec<Vec<String>> = [
        ("host", host.hostname.clone().unwrap_or_else(|| "not recorded".into())),
        ("kernel", host.kernel.clone()),
        ("CPU", host.cpu_model.clone()),
        ("CPUs", host.cores.to_string()),
        ("memory", Bytes(host.memory_bytes as f64).to_string()),
        ("huge pages", host.huge_pages.clone()),
        (
            "time-stamp counter",
            format!(
                "{:.3} MHz, {}",
                host.tsc.ticks_per_second / 1e6,
                if host.tsc.invariant { "invariant" } else { "NOT invariant" }
            ),
        ),
        ("relevant CPU flags", host.cpu_flags.join(" ")),
    ]
    .map(|(name, value)| vec![name.to_string(), value])
    .into();
    if let Some(p) = &host.stall_probe {
        rows.push(vec![
            "stalls of a busy loop".into(),
            format!(
                "{} gaps in {} longer than {}: {} in total, longest {}",
                grouped(p.count),
                Nanos(p.duration_ns as f64),
                Nanos(p.threshold_ns as f64),
                Nanos(p.total_ns as f64),
                Nanos(p.longest_ns as f64)
            ),
        ]);
    }
    if let Some(p) = &host.core_to_core_probe {
        rows.push(vec![
            format!("round trip from core {} to core {}", p.cores[0], p.cores[1]),
            format!(
                "minimum {}, median {}",
                Nanos(p.round_trip_ns_min),
                Nanos(p.round_trip_ns_median)
            ),
        ]);
    }
    let probes: Vec<Vec<String>> = host
        .random_access_probe
        .iter()
        .map(|p| {
            vec![
                Bytes(p.bytes as f64).to_string(),
                p.in_flight.to_string(),
                Nanos(p.ns_per_access).to_string(),
                format!("{:.1}", p.ns_per_access * host.tsc.ticks_per_second * 1e-9),
            ]
        })
        .collect();
    html! {
        section id="host" {
            h2 { "Host" }
            (table("Machine", &[words("fact"), words("value")], &rows))
            @if !probes.is_empty() {
                (table(
                    "Random memory loads, before the run",
                    &[words("array"), numbers("in flight"), numbers("time per load"), numbers("ticks per load")],
                    &probes,
                ))
            }
        }
    }
}

/// Renders every trial with its counters.
pub(super) fn trials(record: &RunRecord) -> Markup {
    let names = Names::of(record);
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for trial in &outcome.trials {
            if trial.directions.is_empty() {
                rows.push(trial_row(names.of_cell(cell), outcome, trial, None));
            }
            for direction in &trial.directions {
                rows.push(trial_row(names.of_cell(cell), outcome, trial, Some(direction)));
            }
        }
    }
    let columns: Vec<Column> = [
        words("cell"),
        words("trial"),
        words("purpose"),
        numbers("load"),
        numbers("duration"),
        words("direction"),
        numbers("sent"),
        numbers("received"),
        numbers("lost"),
        numbers("loss"),
        numbers("ring full"),
        numbers("reordered"),
        numbers("twice"),
        numbers("wrong"),
        numbers("p50"),
        numbers("p99.9"),
        numbers("packets"),
        numbers("longest stall"),
        words("drops"),
    ]
    .into();
    html! {
        @if !rows.is_empty() {
            section id="trials" {
                h2 { "Trials" }
                details {
                    summary { "All " (rows.len()) " rows" }
                    (table("All trials and directions, in the order of measurement", &columns, &rows))
                }
                p class="note" { "trials.csv has more columns, and run.json has everything." }
            }
        }
    }
}

fn trial_row(
    cell: String,
    outcome: &Outcome,
    trial: &TrialRecord,
    direction: Option<&DirectionRecord>,
) -> Vec<String> {
    let count =
        |value: fn(&DirectionRecord) -> u64| direction.map_or(String::new(), |d| grouped(value(d)));
    let time = |value: fn(&Distribution) -> u64| {
        direction
            .and_then(|d| d.latency.as_ref())
            .map_or(String::new(), |l| Nanos(value(l) as f64).to_string())
    };
    let stall = trial.stalls.iter().map(|s| s.longest_ns).max().unwrap_or(0);
    vec![
        cell,
        format!("{} {}", outcome.method, trial.index),
        trial.purpose.clone(),
        trial.load_pps().map_or("closed loop".into(), |pps| Pps(pps).to_string()),
        Nanos(trial.effective_ns as f64).to_string(),
        direction.map_or(String::new(), |d| d.name.clone()),
        count(|d| d.sent),
        count(|d| d.received),
        count(|d| d.lost),
        direction.map_or(String::new(), |d| Ratio(d.loss_fraction).to_string()),
        count(|d| d.ring_full),
        count(|d| d.reordered),
        count(|d| d.duplicated),
        count(|d| d.misdelivered),
        time(|l| l.p50_ns),
        time(|l| l.p99_9_ns),
        grouped(trial.workers.iter().map(|w| w.packets).sum()),
        if stall == 0 { String::new() } else { Nanos(stall as f64).to_string() },
        trial
            .drops
            .iter()
            .map(|d| format!("{} {}", d.reason, grouped(d.packets)))
            .collect::<Vec<_>>()
            .join(", "),
    ]
}

/// Renders the scenario's text, and the complete configuration of each cell.
pub(super) fn scenario(record: &RunRecord) -> Markup {
    let names = Names::of(record);
    html! {
        section id="scenario" {
            h2 { "Scenario" }
            p { code { (record.scenario.file) } " · " code { (record.scenario.hash) } }
            details { summary { "Scenario file" } pre { (record.scenario.text) } }
            @for cell in &record.cells {
                details {
                    summary { "Configuration with all defaults (" (names.of_cell(cell)) ")" }
                    pre { (pretty(&cell.configuration)) }
                    @for outcome in &cell.outcomes {
                        p { (outcome.method) }
                        pre { (pretty(&outcome.configuration)) }
                    }
                }
            }
        }
    }
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
