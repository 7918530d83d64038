//! What the figures rest on: functional check, changes, host, trials, scenario.

use maud::{Markup, html};
use measure::record::{
    Cell, Check, DirectionRecord, Distribution, Outcome, RunRecord, TrialRecord,
};
use measure::{Bytes, Nanos, Pps, Ratio, Subject};

use super::tables::{Column, fitted, numbers, table, words};
use crate::depth;
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
            p { (summed(&checked)) }
            details {
                summary { "What the check exercised" }
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

/// All checks in a sentence: how many cells passed, and how many frames or routes were compared.
fn summed(checked: &[(&Cell, &Check)]) -> String {
    let passed = checked.iter().filter(|(_, check)| check.passed).count();
    let partial = checked.iter().filter(|(_, check)| check.left_out().is_some()).count();
    let frames: u64 = checked.iter().map(|(_, check)| check.frames).sum();
    let what = checked.first().map_or("frames", |(_, check)| check.of.plural());
    let partially = match partial {
        0 => String::new(),
        n => format!("; {n} of them without what the device cannot do"),
    };
    let all = checked.len();
    format!("Passed in {passed} of {all} cells, {} {what} compared{partially}.", grouped(frames))
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
                let p99 = |d: &Option<Distribution>| {
                    d.as_ref().map_or(String::new(), |d| carried(d, 0.99, d.p99_ns))
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
                    p99(&e.accepted),
                    at(&e.accepted, |d| d.max_ns),
                    at(&e.visible, |d| d.p50_ns),
                    p99(&e.visible),
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
                    &[words("array"), numbers("in flight"), numbers("time per load"), numbers("TSC cycles per load")],
                    &probes,
                ))
            }
        }
    }
}

/// A percentile as text, if the number of samples carries it.
fn carried(times: &Distribution, quantile: f64, ns: u64) -> String {
    match depth::carries(quantile, times.samples) {
        true => Nanos(ns as f64).to_string(),
        false => depth::TOO_FEW.into(),
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
        words("cell, trial, direction"),
        words("purpose"),
        numbers("load"),
        numbers("duration"),
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
    let (columns, rows) = without_zeros(columns, rows);
    html! {
        @if !rows.is_empty() {
            section id="trials" class="appendix" {
                h2 { "Trials" }
                details {
                    summary { "All " (rows.len()) " rows" }
                    (fitted(
                        "All trials and directions, in the order of measurement; counts that are zero in \
                         every row have no column",
                        &columns,
                        &rows,
                    ))
                }
                p class="note" { "trials.csv has more columns, and run.json has everything." }
            }
        }
    }
}

/// The table without columns of which every cell is zero or empty.
fn without_zeros(columns: Vec<Column>, rows: Vec<Vec<String>>) -> (Vec<Column>, Vec<Vec<String>>) {
    let says = |at: usize| rows.iter().any(|row| !["", "0", "0 %"].contains(&row[at].as_str()));
    let kept: Vec<usize> = (0..columns.len()).filter(|at| says(*at)).collect();
    let row = |row: &Vec<String>| kept.iter().map(|at| row[*at].clone()).collect();
    let rows = rows.iter().map(row).collect();
    let columns = columns.into_iter().enumerate().filter(|(at, _)| kept.contains(at));
    (columns.map(|(_, column)| column).collect(), rows)
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
    let direction_name = direction.map_or(String::new(), |d| format!(", {}", d.name));
    vec![
        format!("{cell}, {} {}{direction_name}", outcome.method, trial.index),
        trial.purpose.clone(),
        trial.load_pps().map_or("closed loop".into(), |pps| Pps(pps).to_string()),
        Nanos(trial.effective_ns as f64).to_string(),
        count(|d| d.sent),
        count(|d| d.received),
        count(|d| d.lost),
        direction.map_or(String::new(), |d| Ratio(d.loss_fraction).to_string()),
        count(|d| d.ring_full),
        count(|d| d.reordered),
        count(|d| d.duplicated),
        count(|d| d.misdelivered),
        time(|l| l.p50_ns),
        direction
            .and_then(|d| d.latency.as_ref())
            .map_or(String::new(), |l| carried(l, 0.999, l.p99_9_ns)),
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
        section id="scenario" class="appendix" {
            h2 { "Configuration" }
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
