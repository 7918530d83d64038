//! The server's own pages: the list, a bench that runs, and what went wrong.
//!
//! They work without a script, which adds searching, sorting and progress that moves by itself.

use std::path::Path;

use hyper::StatusCode;
use lab::alive::State;
use lab::live::Live;
use maud::{DOCTYPE, Markup, html};
use measure::record::Status;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use report::EXPORTERS;
use report::archive::{Foreign, Listing, Run};
use report::trend::Trend;

/// Renders the list of runs.
pub fn list(folder: &Path, listing: &Listing, progress: &[(String, State)]) -> Markup {
    let state = |run: &Run| progress.iter().find(|(name, _)| *name == run.name).map(|(_, s)| s);
    let body = html! {
        header {
            h1 { "Runs" }
            p class="meta" { "In " code { (folder.display()) } ", newest first." }
        }
        main {
            @if listing.runs.is_empty() {
                p { "There is no run yet. Make one with " code { "plumbline bench SCENARIO" } "." }
            } @else {
                form action="/compare" method="get" {
                    p class="tools" {
                        label for="search" { "Search " }
                        input id="search" type="search" autocomplete="off" disabled;
                        button type="submit" { "Compare selected runs" }
                        " " a href="/trend" { "Trends" } " "
                        span id="told" role="status" {}
                    }
                    div class="scroll" tabindex="0" role="region" aria-label="Runs" {
                        table id="runs" {
                            caption { "Select two or more runs to compare them with the oldest of them." }
                            thead { tr {
                                th scope="col" { "compare" }
                                @for (key, name) in COLUMNS { th scope="col" data-key=(key) { (name) } }
                            } }
                            tbody { @for run in &listing.runs { (row(run, state(run))) } }
                        }
                    }
                }
            }
            (foreign(&listing.foreign))
        }
    };
    document("Runs", &body)
}

fn row(run: &Run, state: Option<&State>) -> Markup {
    let size = format!("{:.1} MB", run.bytes as f64 / 1e6);
    html! {
        tr data-run=(run.name) {
            td { input type="checkbox" name="run" value=(run.name) aria-label={ "compare " (run.name) }; }
            td { a href={ "/runs/" (encoded(&run.name)) "/" } { (run.name) } }
            td data-value=(run.started) { time datetime=(run.started) { (minute(&run.started)) } }
            td { (result(run, state)) }
            td data-value=(run.cells) { (run.cells) }
            td { @for tag in &run.tags { span class="tag" { (tag) } " " } }
            td data-value=(run.bytes) { (size) }
            td { @match state {
                // Its record says that it is not finished, which the result says already.
                Some(State::Running(_)) => {},
                _ => @for answer in &run.answers { p { (answer) } },
            } }
        }
    }
}

/// Renders how the run ended, or its progress.
fn result(run: &Run, state: Option<&State>) -> Markup {
    match state {
        Some(State::Running(live)) => html! {
            span class="badge warn" { "measuring" } " " (bar(live))
        },
        Some(State::Gone(_)) => html! {
            span class="badge bad" title="the process was killed; finished measurements are kept" { "killed" }
        },
        _ => {
            let class = match run.status {
                Status::Passed => "badge good",
                Status::Interrupted => "badge warn",
                _ => "badge bad",
            };
            html! { span class=(class) title=(run.message) { (run.verdict) } }
        }
    }
}

/// Renders the progress as numbers and as a bar.
fn bar(live: &Live) -> Markup {
    let count = format!("{} of {}", live.measurements_done, live.measurements);
    html! {
        span class="progress" {
            progress value=(live.measurements_done) max=(live.measurements.max(1)) { (count) }
            " " span data-live="count" { (count) }
        }
    }
}

/// Renders the page of a running bench.
pub fn running(run: &str, live: &Live) -> Markup {
    let facts = [
        ("cell", "Cell", live.cell.clone()),
        ("phase", "Phase", live.phase.clone()),
        ("trial", "Trial", live.trial.clone()),
        ("elapsed", "Elapsed", time(live.elapsed_seconds)),
        (
            "eta",
            "Remaining",
            live.eta_seconds.map_or_else(|| "unknown".into(), |s| format!("about {}", time(s))),
        ),
    ];
    let body = html! {
        (way_back(None))
        header {
            h1 { (run) }
            p class="answer" { "A bench is measuring " (live.scenario) "." }
        }
        main id="live" data-run=(run) {
            p { (bar(live)) " measurements" }
            dl { @for (key, name, value) in &facts { dt { (name) } dd data-live=(key) { (value) } } }
            p class="note" {
                "This page follows the bench, and becomes the report when it ends. "
                a href="" { "Reload" } " if scripts are disabled."
            }
        }
    };
    document(run, &body)
}

/// Renders the page for a record that cannot be shown.
pub fn problem(run: &str, problem: &str) -> Markup {
    let body = html! {
        (way_back(None))
        header { h1 { (run) } }
        main { p class="answer" { "This run cannot be shown." } p { (problem) } }
    };
    document(run, &body)
}

/// Renders the page for a refused request.
pub fn refusal(status: StatusCode, why: &str) -> Markup {
    let title = status.canonical_reason().unwrap_or("Refused");
    let body = html! {
        header { h1 { (status.as_u16()) " " (title) } }
        main { p { (why) "." } p { a href="/" { "All runs" } } }
    };
    document(title, &body)
}

/// Renders the links above a report: to the list, and to the run's files.
pub fn way_back(run: Option<&str>) -> Markup {
    html! {
        nav aria-label="Runs" {
            a href="/" { "All runs" }
            @if let Some(run) = run {
                @for exporter in EXPORTERS.iter().filter(|one| one.name != "html") {
                    " · " a href={ "/runs/" (encoded(run)) "/" (exporter.file) } { (exporter.file) }
                }
            }
        }
    }
}

/// Renders the links to the trends of the other scenarios.
pub fn trends(trend: &Trend) -> Markup {
    let others = trend.scenarios.iter().filter(|name| **name != trend.scenario);
    let others: Vec<&String> = others.take(SCENARIOS_MAX).collect();
    html! {
        @if !others.is_empty() {
            nav aria-label="Trends" {
                "Trends: "
                @for (index, name) in others.iter().enumerate() {
                    @if index > 0 { " · " }
                    a href={ "/trend?scenario=" (encoded(name)) } { (name) }
                }
            }
        }
    }
}

/// The state as one word.
pub fn word(state: &State) -> &'static str {
    match state {
        State::Unknown => "unknown",
        State::Ended(_) => "ended",
        State::Gone(_) => "killed",
        State::Running(_) => "running",
    }
}

fn foreign(foreign: &[Foreign]) -> Markup {
    html! {
        @if !foreign.is_empty() {
            details {
                summary { "Other entries of the folder (" (foreign.len()) ")" }
                ul { @for one in foreign { li { code { (one.path.display()) } ": " (one.problem) } } }
            }
        }
    }
}

fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " - plumbline" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/assets/style.css";
                script src="/assets/script.js" defer {}
            }
            body { (body) }
        }
    }
}

fn encoded(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}

/// Formats an RFC 3339 time as `2026-11-21 14:20`.
fn minute(time: &str) -> String {
    time.replace('T', " ").chars().take(16).collect()
}

/// Formats a duration as `1 h 4 min` or `12 s`.
fn time(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Most scenarios whose trends are linked.
const SCENARIOS_MAX: usize = 100;

/// Columns after the check box: key and heading.
const COLUMNS: [(&str, &str); 7] = [
    ("run", "run"),
    ("began", "began (UTC)"),
    ("result", "result"),
    ("cells", "cells"),
    ("tags", "tags"),
    ("size", "size"),
    ("answer", "answer"),
];
