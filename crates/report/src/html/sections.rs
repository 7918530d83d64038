//! What a reader wants first: the answer, the verdict with its reasons, the results. A section
//! without content is left out.

use maud::{Markup, html};
use measure::record::{Cell, Figure, Outcome, RunRecord, Status};
use measure::{Bytes, Seconds};

use super::tables::{fitting, numbers, table, words};
use crate::details;
use crate::limits::{Remark, grouped_in, remarks};
use crate::names::Names;
use crate::pivot::{Pivot, pivots};
use crate::summary::{
    answers, cell_words, claims, distinct, figure_name, figure_words, grouped, outcomes,
    status_words,
};

/// The answer, how far it may be trusted, and what was asked.
/// The navigation names the sections that are `present`.
pub(super) fn head(record: &RunRecord, present: &[&str]) -> Markup {
    let answers = answers(record);
    let (first, others) = answers.split_first().map_or(("", &[][..]), |(a, rest)| (a, rest));
    html! {
        header {
            h1 { (record.scenario.name) }
            p class="answer" { (grouped_in(first)) }
            @if !others.is_empty() {
                ul class="answers" { @for answer in others { li { (grouped_in(answer)) } } }
            }
            p {
                span class={ "badge " (tone(record.status)) } { (status_words(record.status)) } " "
                @for remark in badges(record) { span class="badge warn" { (remark) } " " }
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

/// How a status looks.
pub(super) fn tone(status: Status) -> &'static str {
    match status {
        Status::Passed => "good",
        Status::Interrupted => "warn",
        Status::CheckFailed | Status::Invalid | Status::ThresholdMissed | Status::Failed => "bad",
    }
}

/// A time of the record without its fraction of a second, which says nothing to a reader.
pub(super) fn to_the_second(time: &str) -> String {
    time.split_once('.').map_or_else(|| time.into(), |(whole, _)| format!("{whole}Z"))
}

/// Short remarks beside the badge.
fn badges(record: &RunRecord) -> Vec<String> {
    let remarked =
        outcomes(record).filter(|(_, o)| o.validity.valid && !o.validity.limits.is_empty()).count();
    let missed = record.thresholds.iter().filter(|t| !t.met).count();
    let mut badges = Vec::new();
    badges.extend(match remarked {
        0 => None,
        1 => Some("with a remark".into()),
        n => Some(format!("remarks on {n} results")),
    });
    badges.extend((missed > 0).then(|| format!("thresholds missed: {missed}")));
    badges
}

/// Whether the figures may be relied on, why, what to do about it, and what they claim.
pub(super) fn verdict(record: &RunRecord) -> Markup {
    let thresholds = details::thresholds(record);
    if outcomes(record).next().is_none() && thresholds.is_none() {
        return html! {};
    }
    let rows: Vec<Vec<String>> = claims(record)
        .into_iter()
        .map(|(c, of)| vec![c.clause.clone(), of, c.level.to_string(), c.reason.clone()])
        .collect();
    let remarks = remarks(record);
    html! {
        section id="verdict" {
            h2 { "Verdict" }
            p { (verdict_words(record, &remarks)) }
            @if !remarks.is_empty() {
                @let (first, others) = remarks.split_at(shown(&remarks));
                ul class="limits" { @for remark in first { (limit(remark)) } }
                @if !others.is_empty() {
                    details class="remarks" {
                        summary { (others.len()) " more remarks, which do not make a figure invalid" }
                        ul class="limits" { @for remark in others { (limit(remark)) } }
                    }
                }
            }
            @if let Some(pivot) = &thresholds { (pivot_table(pivot)) }
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

/// How many remarks stand open: all that make a result not valid, and a few others, so that results
/// are not pushed off the screen on a noisy machine. On paper all do.
fn shown(remarks: &[Remark]) -> usize {
    let against = remarks.iter().take_while(|remark| remark.limit.invalidates).count();
    let all_if_few = if remarks.len() <= REMARKS_SHOWN + 1 { remarks.len() } else { REMARKS_SHOWN };
    against.max(all_if_few)
}

/// The verdict in a sentence, apart from any figure.
fn verdict_words(record: &RunRecord, remarks: &[Remark]) -> String {
    let all = outcomes(record).count();
    let invalid = outcomes(record).filter(|(_, o)| !o.validity.valid).count();
    let against = remarks.len();
    match (invalid, against) {
        (0, 0) => "The figures may be relied on: nothing was seen that limits them.".into(),
        (0, _) => "The figures may be relied on, with what is remarked below.".into(),
        (n, _) if n == all => "The figures must not be relied on, for the reasons below.".into(),
        (n, _) => format!(
            "{n} of {all} results must not be relied on, for the reasons below; the others may."
        ),
    }
}

fn limit(remark: &Remark) -> Markup {
    let limit = &remark.limit;
    let (shown, more) = remark.places.split_at(remark.places.len().min(PLACES_SHOWN));
    html! {
        li class=(if limit.invalidates { "bad" } else { "warn" }) {
            strong { (if limit.invalidates { "Not valid: " } else { "Remark: " }) }
            (limit.what)
            span { (limit.advice) "." }
            span class="note" {
                (shown.join("; "))
                @if !more.is_empty() { "; and " (more.len()) " more results with such a remark" }
            }
        }
    }
}

/// A table that the terminal shows too.
pub(super) fn pivot_table(pivot: &Pivot) -> Markup {
    table(&pivot.caption, &fitting(&pivot.head, &pivot.rows), &pivot.rows)
}

/// The same, folded where it is long.
fn foldable(what: &str, pivot: &Pivot) -> Markup {
    html! {
        @if pivot.rows.len() > ROWS_OPEN {
            details { summary { "All " (pivot.rows.len()) " " (what) } (pivot_table(pivot)) }
        } @else {
            (pivot_table(pivot))
        }
    }
}

/// Comparisons, then the figures of all cells.
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
            @if !record.comparisons.is_empty() {
                ul class="comparisons" {
                    @for comparison in &record.comparisons {
                        li class=[comparison.is_change.then_some("change")] {
                            (details::comparison_words(comparison))
                        }
                    }
                }
            }
            @if rows.is_empty() {
                p { "No figure was measured." }
            } @else {
                @if let Some(words) = names.together() { p { (words) } }
                @for pivot in pivots(record) { (pivot_table(&pivot)) }
                @if let Some(pivot) = details::goals(record) { (foldable("goals of searches", &pivot)) }
                @if let Some(pivot) = details::baselines(record) { (foldable("ceilings of the tester", &pivot)) }
                @if let Some(words) = details::from_cache(record) { p { (words) } }
                @if let Some(pivot) = details::repetitions(record) {
                    details { summary { "All " (pivot.rows.len()) " repetitions" } (pivot_table(&pivot)) }
                }
                details {
                    summary { "All " (rows.len()) " figures" }
                    (figures_table(&rows))
                }
                @for aggregation in distinct(outcomes(record).map(|(_, o)| o.aggregation.as_str())) {
                    p class="note" { (aggregation) "." }
                }
            }
            (cells_table(record))
        }
    }
}

fn figures_table(rows: &[Vec<String>]) -> Markup {
    table(
        "Every figure, the median where it was measured more than once, with the 95 % confidence \
         interval of the mean",
        &[
            words("cell"),
            words("method"),
            words("figure"),
            words("of"),
            numbers("value"),
            numbers("smallest"),
            numbers("largest"),
            numbers("from"),
            numbers("to"),
            numbers("n"),
            words("valid"),
        ],
        rows,
    )
}

fn result_row(cell: String, outcome: &Outcome, figure: &Figure) -> Vec<String> {
    let spread = figure.spread.filter(|s| s.n > 1);
    let words = |value: Option<f64>| value.map_or(String::new(), |v| figure_words(v, &figure.unit));
    let confidence = spread.and_then(|s| s.confidence_95);
    vec![
        cell,
        outcome.method.clone(),
        figure_name(&figure.name),
        figure.of.clone().unwrap_or_default(),
        figure_words(figure.value, &figure.unit),
        words(spread.map(|s| s.min)),
        words(spread.map(|s| s.max)),
        words(confidence.map(|[low, _]| low)),
        words(confidence.map(|[_, high]| high)),
        spread.map_or("1".into(), |s| s.n.to_string()),
        if outcome.validity.valid { "yes".into() } else { "no".into() },
    ]
}

/// A device with its version, where that is not this program's.
fn device_words(cell: &Cell) -> String {
    match cell.device.as_str() {
        "embedded" => cell.device.clone(),
        device if cell.device_version.is_empty() => device.to_owned(),
        device => format!("{device} ({})", cell.device_version),
    }
}

/// State, set-up and seed of each cell, and what went wrong if something did.
fn cells_table(record: &RunRecord) -> Markup {
    let failed = record.cells.iter().any(|c| c.trouble().is_some());
    let resident = record.cells.iter().any(|c| c.resident_bytes.is_some());
    let sessions = record.cells.iter().any(|c| c.sessions_open.is_some());
    let bytes = |bytes: Option<u64>| bytes.map_or(String::new(), |b| Bytes(b as f64).to_string());
    let names = Names::of(record);
    let row = |cell: &Cell| {
        let mut row = vec![
            if cell.benchmark.is_empty() { cell_words(cell) } else { names.of_cell(cell) },
            device_words(cell),
            bytes(cell.state_bytes),
            cell.state_bytes_per_user.map_or(String::new(), |b| format!("{b:.1} B")),
        ];
        row.extend(resident.then(|| bytes(cell.resident_bytes)));
        row.extend(sessions.then(|| cell.sessions_open.map_or(String::new(), grouped)));
        row.push(cell.setup_seconds.map_or(String::new(), |s| Seconds(s).to_string()));
        row.push(cell.seed.to_string());
        row.extend(failed.then(|| cell.trouble().unwrap_or_default()));
        row
    };
    let mut columns =
        vec![words("cell"), words("device"), numbers("state"), numbers("state a user")];
    columns.extend(resident.then(|| numbers("process")));
    columns.extend(sessions.then(|| numbers("sessions open")));
    columns.extend([numbers("set-up"), numbers("seed")]);
    columns.extend(failed.then(|| words("error")));
    let rows: Vec<_> = record.cells.iter().map(row).collect();
    let table = table("The cells: what was set up for each", &columns, &rows);
    html! {
        @if rows.len() > ROWS_OPEN {
            details { summary { "What was set up for all " (rows.len()) " cells" } (table) }
        } @else {
            (table)
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

/// So many remarks stand open where there are more.
const REMARKS_SHOWN: usize = 4;

/// So many results are named beside a remark; the rest is counted.
const PLACES_SHOWN: usize = 6;

/// Tables beside the results are folded when they have more rows than this.
const ROWS_OPEN: usize = 8;

/// Anchors of the navigation.
const SECTIONS: &[(&str, &str)] = &[
    ("verdict", "Verdict"),
    ("results", "Results"),
    ("added", "What it adds"),
    ("charts", "Charts"),
    ("asked", "Plots of the scenario"),
    ("comparison", "Others' figures"),
    ("check", "Functional check"),
    ("events", "Changes"),
    ("host", "Host"),
    ("trials", "Trials"),
    ("scenario", "Scenario"),
];
