//! What a reader wants first: the answer, the verdict with its reasons, the results. A section
//! without content is left out.

use maud::{Markup, html};
use measure::record::{Cell, Figure, Outcome, RunRecord, Status};
use measure::{Bytes, Seconds};

use super::charts::Chart;
use super::figure;
use super::tables::{fitted, fitting, numbers, table, words};
use super::topology::topology;
use crate::bends;
use crate::compared_values;
use crate::details;
use crate::limits::{Remark, grouped_in, remarks};
use crate::names::Names;
use crate::pivot::{Pivot, carried_words, pivots};
use crate::summary::{answers, claims, explained, figure_name, figure_words, validity_in_words};
use crate::words::{cell_words, distinct, grouped, outcomes};

/// Renders the first screen: the answer with its validity, what was measured by what, one chart,
/// and the host. The navigation lists the sections in `present`.
pub(super) fn head(record: &RunRecord, chart: Option<&Chart>, present: &[&str]) -> Markup {
    let answers = answers(record);
    let (first, others) = answers.split_first().map_or(("", &[][..]), |(a, rest)| (a, rest));
    // One more line is no longer than a line that says so.
    let count = if others.len() <= ANSWERS_SHOWN + 1 { others.len() } else { ANSWERS_SHOWN };
    let (shown, more) = others.split_at(count);
    let remarks = remarks(record);
    let against = remarks.iter().find(|remark| remark.limit.invalidates);
    html! {
        header {
            h1 { (record.scenario.name) }
            p class="answer" { (grouped_in(first)) }
            @if !shown.is_empty() {
                ul class="answers" { @for answer in shown { li { (grouped_in(answer)) } } }
            }
            @if !more.is_empty() {
                details class="remarks" {
                    summary { (more.len()) " more answers" }
                    ul class="answers" { @for answer in more { li { (grouped_in(answer)) } } }
                }
            }
            p class="validity" {
                span class={ "badge " (tone(record.status)) } { (validity_in_words(record)) }
                @if let Some(remark) = against { " " (remark.limit.what) }
            }
            @if let Some(words) = explained(record) { p class="note" { (words) } }
            (topology(record))
            p class="meta" {
                (record.host.cpu_model) ", " (record.host.cores) " CPUs · " (record.host.kernel) " · "
                (to_the_second(&record.started)) " to " (to_the_second(&record.finished)) " · "
                (record.tool.name) " " (record.tool.version) " (" (record.tool.commit) ")"
            }
            @if let Some(chart) = chart { (figure::leading(chart)) }
            @if !record.scenario.description.is_empty() { p { (record.scenario.description) } }
            nav aria-label="Sections" { ul {
                @for (id, name) in SECTIONS.iter().filter(|(id, _)| present.contains(id)) { li { a href={ "#" (id) } { (name) } } }
            } }
        }
    }
}

/// The colour class of a status.
pub(super) fn tone(status: Status) -> &'static str {
    match status {
        Status::Passed => "good",
        Status::Interrupted => "warn",
        Status::CheckFailed | Status::Invalid | Status::ThresholdMissed | Status::Failed => "bad",
    }
}

/// A time of the record without the fraction of a second.
pub(super) fn to_the_second(time: &str) -> String {
    time.split_once('.').map_or_else(|| time.into(), |(whole, _)| format!("{whole}Z"))
}

/// Renders whether the figures can be trusted, with reasons, advice and claims.
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
            h2 { "Validity" }
            p { (verdict_words(record, &remarks)) }
            @if !remarks.is_empty() {
                @let (first, others) = remarks.split_at(shown(&remarks));
                ul class="limits" { @for remark in first { (limit(remark)) } }
                @if !others.is_empty() {
                    details class="remarks" {
                        summary { (others.len()) " more remarks, which do not invalidate figures" }
                        ul class="limits" { @for remark in others { (limit(remark)) } }
                    }
                }
            }
            @if let Some(pivot) = &thresholds { (pivot_table(pivot)) }
            @if !rows.is_empty() {
                (table(
                    "Clauses of standards that were followed, and their extent",
                    &[words("clause"), words("result"), words("followed"), words("reason for a partial claim")],
                    &rows,
                ))
            }
        }
    }
}

/// Number of remarks that are not folded: all that invalidate a result, and a few others, so that
/// results stay visible on a noisy machine. All remarks are printed on paper.
fn shown(remarks: &[Remark]) -> usize {
    let against = remarks.iter().take_while(|remark| remark.limit.invalidates).count();
    let all_if_few = if remarks.len() <= REMARKS_SHOWN + 1 { remarks.len() } else { REMARKS_SHOWN };
    against.max(all_if_few)
}

/// The verdict as a sentence, without figures.
fn verdict_words(record: &RunRecord, remarks: &[Remark]) -> String {
    let all = outcomes(record).count();
    let invalid = outcomes(record).filter(|(_, o)| !o.validity.valid).count();
    let against = remarks.len();
    match (invalid, against) {
        (0, 0) => "The figures are valid, without remarks.".into(),
        (0, _) => "The figures are valid, with the remarks below.".into(),
        (n, _) if n == all => "The figures are not valid, for the reasons below.".into(),
        (n, _) => format!(
            "{n} of {all} results are not valid, for the reasons below; the others are valid."
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
                @if !more.is_empty() { "; and " (more.len()) " more results with this remark" }
            }
        }
    }
}

/// Renders a table that the terminal also shows.
pub(super) fn pivot_table(pivot: &Pivot) -> Markup {
    fitted(&pivot.caption, &fitting(&pivot.head, &pivot.rows), &pivot.rows)
}

/// Renders a table, folded if it is long.
fn foldable(what: &str, pivot: &Pivot) -> Markup {
    html! {
        @if pivot.rows.len() > ROWS_OPEN {
            details { summary { "All " (pivot.rows.len()) " " (what) } (pivot_table(pivot)) }
        } @else {
            (pivot_table(pivot))
        }
    }
}

/// Renders comparisons, and then the figures of all cells.
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
            @if let Some(compared) = compared_values::of(record) {
                ul class="comparisons" { @for verdict in &compared.verdicts { li { (verdict) } } }
                (pivot_table(&compared.headlines))
                @if let Some(all) = &compared.all {
                    details { summary { "All " (all.rows.len()) " compared figures" } (pivot_table(all)) }
                }
            }
            @if rows.is_empty() {
                p { "No figure was measured." }
            } @else {
                @if let Some(words) = names.together() { p { (words) } }
                @for words in bends::sentences(&record.cells) { p { (words) } }
                @for pivot in pivots(record) { (pivot_table(&pivot)) }
                @if let Some(pivot) = details::goals(record) { (foldable("goals of searches", &pivot)) }
                @if let Some(pivot) = details::baselines(record) { (foldable("maxima of the tester", &pivot)) }
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
    fitted(
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
        carried_words(outcome, figure),
        words(spread.map(|s| s.min)),
        words(spread.map(|s| s.max)),
        words(confidence.map(|[low, _]| low)),
        words(confidence.map(|[_, high]| high)),
        spread.map_or("1".into(), |s| s.n.to_string()),
        if outcome.validity.valid { "yes".into() } else { "no".into() },
    ]
}

/// A device with its version, if it is not part of this program.
fn device_words(cell: &Cell) -> String {
    match cell.device.as_str() {
        "embedded" => cell.device.clone(),
        device if cell.device_version.is_empty() => device.to_owned(),
        device => format!("{device} ({})", cell.device_version),
    }
}

/// Renders state, set-up and seed of each cell, and its error if there was one.
fn cells_table(record: &RunRecord) -> Markup {
    let failed = record.cells.iter().any(|c| c.trouble().is_some());
    let state = record.cells.iter().any(|c| c.state_bytes.is_some());
    let users = record.cells.iter().any(|c| c.state_bytes_per_user.is_some());
    let resident = record.cells.iter().any(|c| c.resident_bytes.is_some());
    let sessions = record.cells.iter().any(|c| c.sessions_open.is_some());
    let bytes = |bytes: Option<u64>| bytes.map_or(String::new(), |b| Bytes(b as f64).to_string());
    let names = Names::of(record);
    let row = |cell: &Cell| {
        let mut row = vec![
            if cell.benchmark.is_empty() { cell_words(cell) } else { names.of_cell(cell) },
            device_words(cell),
        ];
        row.extend(state.then(|| bytes(cell.state_bytes)));
        let a_user = || cell.state_bytes_per_user.map_or(String::new(), |b| format!("{b:.1} B"));
        row.extend(users.then(a_user));
        row.extend(resident.then(|| bytes(cell.resident_bytes)));
        row.extend(sessions.then(|| cell.sessions_open.map_or(String::new(), grouped)));
        row.push(cell.setup_seconds.map_or(String::new(), |s| Seconds(s).to_string()));
        row.push(cell.seed.to_string());
        row.extend(failed.then(|| cell.trouble().unwrap_or_default()));
        row
    };
    let mut columns = vec![words("cell"), words("device")];
    columns.extend(state.then(|| numbers("state")));
    columns.extend(users.then(|| numbers("state per user")));
    columns.extend(resident.then(|| numbers("process")));
    columns.extend(sessions.then(|| numbers("open sessions")));
    columns.extend([numbers("set-up"), numbers("seed")]);
    columns.extend(failed.then(|| words("error")));
    let rows: Vec<_> = record.cells.iter().map(row).collect();
    let table = table("Set-up of each cell", &columns, &rows);
    html! {
        @if rows.len() > ROWS_OPEN {
            details { summary { "Set-up of all " (rows.len()) " cells" } (table) }
        } @else {
            (table)
        }
    }
}

/// Renders the last line of the page.
pub(super) fn foot(record: &RunRecord) -> Markup {
    html! {
        footer {
            "Rendered from run.json by " (record.tool.name) " " (record.tool.version) ". Frame sizes include \
             the frame check sequence, times are UTC, loads are per interface."
        }
    }
}

/// Largest number of answers that are not folded, beside the first.
const ANSWERS_SHOWN: usize = 3;

/// Largest number of remarks that are not folded.
const REMARKS_SHOWN: usize = 4;

/// Largest number of results named next to a remark; the others are counted.
const PLACES_SHOWN: usize = 6;

/// Largest number of rows of an unfolded table next to the results.
const ROWS_OPEN: usize = 8;

/// Anchors of the navigation.
const SECTIONS: &[(&str, &str)] = &[
    ("results", "Results"),
    ("added", "Effect of a feature"),
    ("charts", "Charts"),
    ("asked", "Plots of the scenario"),
    ("comparison", "Published figures"),
    ("verdict", "Validity"),
    ("check", "Functional check"),
    ("events", "Changes"),
    ("host", "Host"),
    ("trials", "Trials"),
    ("scenario", "Configuration"),
];
