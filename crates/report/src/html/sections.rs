//! The sections of the page, in the order of reading. A section without content is left out.

use maud::{Markup, PreEscaped, html};
use measure::record::{
    Cell, Claim, DirectionRecord, Figure, Limit, Outcome, RunRecord, Status, TrialRecord,
};
use measure::{Bytes, Nanos, Pps, Ratio, Seconds};

use super::charts::Chart;
use super::tables::{Column, marked, numbers, table, words};
use crate::references::{self, Counts, Kind, Reference};
use crate::summary::{answers, cell_words, figure_name, figure_words, grouped, mpps, status_words};
use crate::terminal::check_words;

/// The answer, how far it may be trusted, and what was asked.
pub(super) fn head(record: &RunRecord) -> Markup {
    let tone = match record.status {
        Status::Passed => "badge good",
        Status::Interrupted => "badge warn",
        Status::CheckFailed | Status::Invalid | Status::Failed => "badge bad",
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
                (record.started) " to " (record.finished) " · " (record.host.cpu_model) ", "
                (record.host.cores) " CPUs · " (record.tool.name) " " (record.tool.version)
                " (" (record.tool.commit) ")"
            }
            nav aria-label="Sections" { ul {
                @for (id, name) in SECTIONS { li { a href={ "#" (id) } { (name) } } }
            } }
        }
    }
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
    let mut claims: Vec<&Claim> = Vec::new();
    for claim in outcomes(record).flat_map(|(_, o)| &o.claims) {
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    }
    let rows: Vec<Vec<String>> = claims
        .iter()
        .map(|c| vec![c.clause.clone(), c.level.to_string(), c.reason.clone()])
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
                    &[words("clause"), words("followed"), words("why not in full")],
                    &rows,
                ))
            }
        }
    }
}

/// Limits of one kind together, with the results they belong to; invalidating ones first.
fn grouped_limits(record: &RunRecord) -> Vec<(Limit, Vec<String>)> {
    let mut groups: Vec<(Limit, Vec<String>)> = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for limit in &outcome.validity.limits {
            let place = format!("{}, {}", cell_words(cell), outcome.method);
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
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for figure in &outcome.figures {
            rows.push(result_row(cell, outcome, figure));
        }
    }
    html! {
        section id="results" {
            h2 { "Results" }
            @if rows.is_empty() {
                p { "No figure was measured." }
            } @else {
                (table(
                    "Every figure, the median where it was measured more than once",
                    &[
                        words("cell"), words("method"), words("figure"), words("of"), numbers("value"),
                        numbers("smallest"), numbers("largest"), numbers("n"), words("valid"),
                    ],
                    &rows,
                ))
                @for aggregation in distinct(outcomes(record).map(|(_, o)| o.aggregation.as_str())) {
                    p class="note" { (aggregation) "." }
                }
            }
            (cells_table(record))
        }
    }
}

fn result_row(cell: &Cell, outcome: &Outcome, figure: &Figure) -> Vec<String> {
    let spread = |value: fn(&measure::record::Spread) -> f64| {
        figure.spread.as_ref().map_or(String::new(), |s| figure_words(value(s), &figure.unit))
    };
    vec![
        cell_words(cell),
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

/// State, set-up and seed of each cell.
fn cells_table(record: &RunRecord) -> Markup {
    let row = |cell: &Cell| {
        vec![
            cell_words(cell),
            cell.device.clone(),
            cell.state_bytes.map_or(String::new(), |b| Bytes(b as f64).to_string()),
            cell.state_bytes_per_user.map_or(String::new(), |b| format!("{b:.1} B")),
            cell.setup_seconds.map_or(String::new(), |s| Seconds(s).to_string()),
            cell.seed.to_string(),
            cell.error.clone().unwrap_or_default(),
        ]
    };
    table(
        "The cells: what was set up for each",
        &[
            words("cell"),
            words("device"),
            numbers("state"),
            numbers("state a user"),
            numbers("set-up"),
            numbers("seed"),
            words("error"),
        ],
        &record.cells.iter().map(row).collect::<Vec<_>>(),
    )
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
                                &chart.data.head.iter().enumerate().map(|(i, head)| {
                                    if i == 0 { words(head) } else { numbers(head) }
                                }).collect::<Vec<_>>(),
                                &chart.data.rows,
                            ))
                        }
                    }
                }
            }
        }
    }
}

/// Our figures and those of others in one table, per core.
pub(super) fn comparison(record: &RunRecord) -> Markup {
    let function = record.cells.first().map_or("", |c| c.function.as_str());
    let others = references::of(function);
    if others.is_empty() || outcomes(record).next().is_none() {
        return html! {};
    }
    let mut rows = ours(record);
    let count = rows.len();
    rows.extend(others.iter().map(reference_row));
    html! {
        section id="comparison" {
            h2 { "Beside the figures of others" }
            (marked(
                "Figures of this run in bold, then others and this project's goals. Compare like with \
                 like: closed loop with closed loop, the same number of users, per core where cores differ",
                &[
                    words("system"), words("what"), numbers("users"), numbers("value"),
                    numbers("cores"), numbers("per core"), words("origin"),
                ],
                &rows,
                |index| index < count,
            ))
        }
    }
}

/// The headline figures of this run as rows of the comparison.
fn ours(record: &RunRecord) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(record).filter(|(_, o)| o.validity.valid) {
        let workers = outcome.trials.last().map_or(1, |t| t.workers.len().max(1));
        let user = user_of(cell);
        for (name, counts) in OURS {
            let Some(figure) = outcome.figure(name) else { continue };
            rows.push(vec![
                format!("{} {} (this run)", record.tool.name, record.tool.version),
                format!("{}, {}", outcome.method, counts_words(*counts)),
                user.clone(),
                format!("{:.2} Mpps", mpps(figure.value)),
                workers.to_string(),
                format!("{:.2} Mpps", mpps(figure.value) / workers as f64),
                cell_words(cell),
            ]);
        }
    }
    rows
}

/// The users of a cell, from its configuration, wherever the key stands.
fn user_of(cell: &Cell) -> String {
    let at = [cell.configuration.get("user"), cell.configuration.pointer("/function/user")];
    at.into_iter().flatten().find_map(serde_json::Value::as_u64).map_or(String::new(), grouped)
}

fn reference_row(reference: &Reference) -> Vec<String> {
    let value = |v: f64| format!("{v:.2} {}", reference.unit);
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
        format!("{kind}: {}", reference.source),
    ]
}

fn counts_words(counts: Counts) -> &'static str {
    match counts {
        Counts::Function => "function alone",
        Counts::Total => "source and sink included",
        Counts::Throughput => "all interfaces together",
    }
}

/// The functional check: verdict, coverage, differences.
pub(super) fn check(record: &RunRecord) -> Markup {
    let checked: Vec<_> =
        record.cells.iter().filter_map(|c| c.check.as_ref().map(|k| (c, k))).collect();
    let Some((_, first)) = checked.first() else { return html! {} };
    let alike = checked.iter().all(|(_, check)| check.coverage == first.coverage);
    let covered = if alike { &checked[..1] } else { &checked[..] };
    html! {
        section id="check" {
            h2 { "Functional check" }
            p { "Before measuring, the device's output for a sample of frames was compared byte for byte \
                 with that of a separate model of the function." }
            ul {
                @for (cell, check) in &checked { li { (cell_words(cell)) ": " (check_words(check)) } }
            }
            @for (cell, check) in covered {
                @let rows: Vec<Vec<String>> = check.coverage.iter()
                    .map(|c| vec![c.name.clone(), grouped(c.frames)])
                    .chain(check.uncovered.iter().map(|name| vec![name.clone(), "none".into()]))
                    .collect();
                (table(
                    &if alike { "Verdicts and drop reasons that the sample exercised".to_string() }
                     else { format!("Verdicts and drop reasons that the sample exercised ({})", cell_words(cell)) },
                    &[words("verdict or drop reason"), numbers("frames")],
                    &rows,
                ))
            }
            @for (cell, check) in checked.iter().filter(|(_, k)| !k.mismatches.is_empty()) {
                h3 { "Differences (" (cell_words(cell)) ")" }
                @for m in &check.mismatches {
                    p { "Frame " (m.frame) ": " (m.what) }
                    pre { "expected " (m.expected) "\ngot      " (m.got) }
                }
            }
        }
    }
}

/// Changes at run time, trial by trial.
pub(super) fn events(record: &RunRecord) -> Markup {
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for trial in &outcome.trials {
            for e in trial.events.iter().filter(|e| e.requested > 0) {
                let at =
                    |d: &Option<measure::record::Distribution>,
                     value: fn(&measure::record::Distribution) -> u64| {
                        d.as_ref().map_or(String::new(), |d| Nanos(value(d) as f64).to_string())
                    };
                rows.push(vec![
                    cell_words(cell),
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

/// The machine and how quiet it was.
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
        ("CPU flags of use", host.cpu_flags.join(" ")),
    ]
    .map(|(name, value)| vec![name.to_string(), value])
    .into();
    if let Some(p) = &host.stall_probe {
        rows.push(vec![
            "stalls of a busy loop".into(),
            format!(
                "{} in {} over {}: {} together, {} the longest",
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
            format!("core {} to core {} and back", p.cores[0], p.cores[1]),
            format!(
                "{} at best, {} median",
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
            (table("The machine", &[words("fact"), words("value")], &rows))
            @if !probes.is_empty() {
                (table(
                    "Random loads from memory, before the run",
                    &[words("array"), numbers("in flight"), numbers("time each"), numbers("ticks each")],
                    &probes,
                ))
            }
        }
    }
}

/// Every trial with its counts.
pub(super) fn trials(record: &RunRecord) -> Markup {
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for trial in &outcome.trials {
            if trial.directions.is_empty() {
                rows.push(trial_row(cell, outcome, trial, None));
            }
            for direction in &trial.directions {
                rows.push(trial_row(cell, outcome, trial, Some(direction)));
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
                    (table("Every trial and direction, in the order of measuring", &columns, &rows))
                }
                p class="note" { "The same with more columns is in trials.csv, and everything in run.json." }
            }
        }
    }
}

fn trial_row(
    cell: &Cell,
    outcome: &Outcome,
    trial: &TrialRecord,
    direction: Option<&DirectionRecord>,
) -> Vec<String> {
    let count =
        |value: fn(&DirectionRecord) -> u64| direction.map_or(String::new(), |d| grouped(value(d)));
    let time = |value: fn(&measure::record::Distribution) -> u64| {
        direction
            .and_then(|d| d.latency.as_ref())
            .map_or(String::new(), |l| Nanos(value(l) as f64).to_string())
    };
    let stall = trial.stalls.iter().map(|s| s.longest_ns).max().unwrap_or(0);
    vec![
        cell_words(cell),
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

/// The scenario as it was read, and each cell's configuration in full.
pub(super) fn scenario(record: &RunRecord) -> Markup {
    html! {
        section id="scenario" {
            h2 { "Scenario" }
            p { code { (record.scenario.file) } " · " code { (record.scenario.hash) } }
            details { summary { "The file" } pre { (record.scenario.text) } }
            @for cell in &record.cells {
                details {
                    summary { "Configuration, all defaults filled in (" (cell_words(cell)) ")" }
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

/// The last line.
pub(super) fn foot(record: &RunRecord) -> Markup {
    html! {
        footer {
            "Rendered from run.json by " (record.tool.name) " " (record.tool.version) ". Frame sizes include \
             the frame check sequence, times are UTC, loads are per interface."
        }
    }
}

fn outcomes(record: &RunRecord) -> impl Iterator<Item = (&Cell, &Outcome)> {
    record.cells.iter().flat_map(|c| c.outcomes.iter().map(move |o| (c, o)))
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen
}

/// Our figures that stand in the comparison, and what they count.
const OURS: &[(&str, Counts)] = &[
    ("function_pps", Counts::Function),
    ("total_pps", Counts::Total),
    ("throughput_aggregate", Counts::Throughput),
];

/// Anchors of the navigation.
const SECTIONS: &[(&str, &str)] = &[
    ("validity", "Validity"),
    ("results", "Results"),
    ("charts", "Charts"),
    ("comparison", "Others' figures"),
    ("check", "Functional check"),
    ("host", "Host"),
    ("trials", "Trials"),
    ("scenario", "Scenario"),
];
