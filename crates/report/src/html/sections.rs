//! What a reader wants first: answer, validity and claims, results, charts. A section without
//! content is left out.

use maud::{Markup, PreEscaped, html};
use measure::record::{Cell, Figure, Limit, Outcome, RunRecord, Status};
use measure::{Bytes, Seconds};

use super::charts::Chart;
use super::tables::{leading, numbers, table, words};
use crate::names::Names;
use crate::pivot::pivots;
use crate::summary::{
    answers, cell_words, claims, distinct, figure_name, figure_words, outcomes, status_words,
};

/// The answer, how far it may be trusted, and what was asked.
/// The navigation names the sections that are `present`.
pub(super) fn head(record: &RunRecord, present: &[&str]) -> Markup {
    let tone = match record.status {
        Status::Passed => "badge good",
        Status::Interrupted => "badge warn",
        Status::CheckFailed | Status::Invalid | Status::ThresholdMissed | Status::Failed => {
            "badge bad"
        }
    };
    html! {
        header {
            h1 { (record.scenario.name) }
            @for answer in answers(record) { p class="answer" { (answer) } }
            p {
                span class=(tone) { (status_words(record.status)) } " "
                @for remark in remarks(record) { span class="badge warn" { (remark) } " " }
            }
            @if !record.scenario.description.is_empty() { p { (record.scenario.description) } }
            p class="meta" {
                (to_the_second(&record.started)) " to " (to_the_second(&record.finished)) " · " (record.host.cpu_model) ", "
                (record.host.cores) " CPUs · " (record.tool.name) " " (record.tool.version)
                " (" (record.tool.commit) ")"
            }
            nav aria-label="Sections" { ul {
                @for (id, name) in SECTIONS.iter().filter(|(id, _)| present.contains(id)) { li { a href={ "#" (id) } { (name) } } }
            } }
        }
    }
}

/// A time of the record without its fraction of a second, which says nothing to a reader.
fn to_the_second(time: &str) -> String {
    time.split_once('.').map_or_else(|| time.into(), |(whole, _)| format!("{whole}Z"))
}

/// Short remarks beside the badge.
fn remarks(record: &RunRecord) -> Vec<String> {
    let remarked =
        outcomes(record).filter(|(_, o)| o.validity.valid && !o.validity.limits.is_empty()).count();
    match remarked {
        0 => Vec::new(),
        1 => vec!["with a remark".into()],
        n => vec![format!("remarks on {n} results")],
    }
}

/// What limits the figures, and what they claim.
pub(super) fn validity(record: &RunRecord) -> Markup {
    if outcomes(record).next().is_none() {
        return html! {};
    }
    let rows: Vec<Vec<String>> = claims(record)
        .into_iter()
        .map(|(c, of)| vec![c.clause.clone(), of, c.level.to_string(), c.reason.clone()])
        .collect();
    let limits = grouped_limits(record);
    html! {
        section id="validity" {
            h2 { "Validity and claims" }
            @if limits.is_empty() {
                p { "Nothing was seen that limits the figures." }
            } @else {
                ul class="limits" {
                    @for (limit, places) in &limits {
                        li class=(if limit.invalidates { "bad" } else { "warn" }) {
                            strong { (if limit.invalidates { "Not valid: " } else { "Remark: " }) }
                            (limit.what)
                            span { (limit.advice) "." }
                            span class="note" { (places.join("; ")) }
                        }
                    }
                }
            }
            @if !rows.is_empty() {
                (table(
                    "Which clauses of which standards were followed, and how far",
                    &[words("clause"), words("result"), words("followed"), words("why not in full")],
                    &rows,
                ))
            }
        }
    }
}

/// Limits of one kind together, with the results they belong to; invalidating ones first.
fn grouped_limits(record: &RunRecord) -> Vec<(Limit, Vec<String>)> {
    let names = Names::of(record);
    let mut groups: Vec<(Limit, Vec<String>)> = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for limit in &outcome.validity.limits {
            let place = format!("{}, {}", names.of_cell(cell), outcome.method);
            let same = |(l, _): &&mut (Limit, Vec<String>)| {
                l.kind == limit.kind && l.invalidates == limit.invalidates
            };
            match groups.iter_mut().find(same) {
                Some((_, places)) => places.push(place),
                None => groups.push((limit.clone(), vec![place])),
            }
        }
    }
    groups.sort_by_key(|(limit, _)| !limit.invalidates);
    groups
}

/// All figures of all cells.
pub(super) fn results(record: &RunRecord) -> Markup {
    let names = Names::of(record);
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for figure in &outcome.figures {
            rows.push(result_row(names.of_cell(cell), outcome, figure));
        }
    }
    html! {
        section id="results" {
            h2 { "Results" }
            @if rows.is_empty() {
                p { "No figure was measured." }
            } @else {
                @if let Some(words) = names.together() { p { (words) } }
                @for pivot in pivots(record) {
                    (table(&pivot.caption, &leading(&pivot.head), &pivot.rows))
                }
                details {
                    summary { "All " (rows.len()) " figures" }
                    (table(
                        "Every figure, the median where it was measured more than once",
                        &[
                            words("cell"), words("method"), words("figure"), words("of"), numbers("value"),
                            numbers("smallest"), numbers("largest"), numbers("n"), words("valid"),
                        ],
                        &rows,
                    ))
                }
                @for aggregation in distinct(outcomes(record).map(|(_, o)| o.aggregation.as_str())) {
                    p class="note" { (aggregation) "." }
                }
            }
            (cells_table(record))
        }
    }
}

fn result_row(cell: String, outcome: &Outcome, figure: &Figure) -> Vec<String> {
    let spread = |value: fn(&measure::record::Spread) -> f64| {
        figure.spread.as_ref().map_or(String::new(), |s| figure_words(value(s), &figure.unit))
    };
    vec![
        cell,
        outcome.method.clone(),
        figure_name(&figure.name),
        figure.of.clone().unwrap_or_default(),
        figure_words(figure.value, &figure.unit),
        spread(|s| s.min),
        spread(|s| s.max),
        figure.spread.map_or("1".into(), |s| s.n.to_string()),
        if outcome.validity.valid { "yes".into() } else { "no".into() },
    ]
}

/// State, set-up and seed of each cell, and what went wrong if something did.
fn cells_table(record: &RunRecord) -> Markup {
    let failed = record.cells.iter().any(|c| c.error.is_some());
    let row = |cell: &Cell| {
        let mut row = vec![
            cell_words(cell),
            cell.device.clone(),
            cell.state_bytes.map_or(String::new(), |b| Bytes(b as f64).to_string()),
            cell.state_bytes_per_user.map_or(String::new(), |b| format!("{b:.1} B")),
            cell.setup_seconds.map_or(String::new(), |s| Seconds(s).to_string()),
            cell.seed.to_string(),
        ];
        row.extend(failed.then(|| cell.error.clone().unwrap_or_default()));
        row
    };
    let mut columns = vec![
        words("cell"),
        words("device"),
        numbers("state"),
        numbers("state a user"),
        numbers("set-up"),
        numbers("seed"),
    ];
    columns.extend(failed.then(|| words("error")));
    let rows: Vec<_> = record.cells.iter().map(row).collect();
    table("The cells: what was set up for each", &columns, &rows)
}

/// The charts, each with its data.
pub(super) fn charts(charts: &[Chart]) -> Markup {
    html! {
        @if !charts.is_empty() {
            section id="charts" {
                h2 { "Charts" }
                @for chart in charts {
                    figure id=(chart.id) {
                        h3 { (chart.title) }
                        div class="scroll" tabindex="0" role="region" aria-label=(chart.title) {
                            (PreEscaped(&chart.svg))
                        }
                        figcaption { (chart.caption) }
                        details {
                            summary { "Data of this chart" }
                            (table(
                                &chart.title,
                                &leading(&chart.data.head),
                                &chart.data.rows,
                            ))
                        }
                    }
                }
            }
        }
    }
}

/// The last line.
pub(super) fn foot(record: &RunRecord) -> Markup {
    html! {
        footer {
            "Rendered from run.json by " (record.tool.name) " " (record.tool.version) ". Frame sizes include \
             the frame check sequence, times are UTC, loads are per interface."
        }
    }
}

/// Anchors of the navigation.
const SECTIONS: &[(&str, &str)] = &[
    ("validity", "Validity"),
    ("results", "Results"),
    ("charts", "Charts"),
    ("comparison", "Others' figures"),
    ("check", "Functional check"),
    ("events", "Changes"),
    ("host", "Host"),
    ("trials", "Trials"),
    ("scenario", "Scenario"),
];
