//! Several runs side by side: their answers, every headline figure by run, and the ratio to the
//! first run with its confidence, where both are of one host.
//!
//! Deliberately absent: a verdict on runs that asked different questions. Figures are put beside
//! each other where cell, method and figure are the same; what only one run has stands alone.

use maud::{Markup, html};
use measure::record::{Comparison, Figure, RunRecord, compare_runs};

use super::document;
use super::sections::{pivot_table, to_the_second};
use super::tables::{numbers, table, words};
use crate::compared::two_hosts;
use crate::names::Names;
use crate::pivot::{Pivot, validity_words};
use crate::summary::{answers, figure_name, status_words};
use crate::verdicts::{place, tally, verdict};
use crate::words::{distinct, outcomes};

/// Renders the page that compares runs; the first run is the reference.
pub fn comparison(records: &[RunRecord]) -> Vec<u8> {
    let names = run_names(records);
    let title = format!("Comparison of {}", names.join(", "));
    let generator =
        records.first().map_or(String::new(), |r| format!("{} {}", r.tool.name, r.tool.version));
    let body = html! {
        header {
            h1 { (title) }
            p class="answer" { (answer(records)) }
            p class="meta" { "Each run is named by its scenario and when it began." }
        }
        main {
            section id="runs" { h2 { "Runs" } (runs(records, &names)) }
            section id="results" {
                h2 { "Figures side by side" }
                @for pivot in side_by_side(records, &names) { (pivot_table(&pivot)) }
            }
            section id="ratios" {
                h2 { "Changes" }
                @for (index, record) in records.iter().enumerate().skip(1) {
                    @if record.host.is_like(&records[0].host) {
                        (ratios(&names[index], &names[0], &compare_runs(record, &records[0])))
                    } @else {
                        h3 { (names[index]) }
                        p { "No ratio to " (names[0]) ": " (two_hosts(&records[0], record)) "." }
                    }
                }
            }
        }
    };
    document(&title, &generator, &body).into_string().into_bytes()
}

/// Number of figures that changed from the first run to each later run.
fn answer(records: &[RunRecord]) -> String {
    let Some((first, later)) = records.split_first() else { return "There is no run.".into() };
    let one = |(index, record): (usize, &RunRecord)| {
        let comparisons = compare_runs(record, first);
        if !record.host.is_like(&first.host) {
            return format!("run {} is of another host", index + 2);
        }
        match comparisons.len() {
            0 => format!("run {} has no comparable measurement", index + 2),
            all => format!("of {all} figures of run {}, {}", index + 2, tally(&comparisons)),
        }
    };
    let words: Vec<String> = later.iter().enumerate().map(one).collect();
    match words.is_empty() {
        true => "There is no other run to compare with.".into(),
        false => format!("Compared with run 1: {}.", words.join("; ")),
    }
}

/// A name for each run, the same in every table.
fn run_names(records: &[RunRecord]) -> Vec<String> {
    let name = |(index, record): (usize, &RunRecord)| {
        format!("{}: {} {}", index + 1, record.scenario.name, to_the_second(&record.started))
    };
    records.iter().enumerate().map(name).collect()
}

fn runs(records: &[RunRecord], names: &[String]) -> Markup {
    let columns = [
        words("run"),
        words("verdict"),
        words("answer"),
        words("host"),
        words("commit"),
        words("scenario"),
    ];
    let row = |(record, name): (&RunRecord, &String)| {
        vec![
            name.clone(),
            status_words(record.status).into(),
            answers(record).join(" "),
            format!("{}, {} CPUs", record.host.cpu_model, record.host.cores),
            record.tool.commit.clone(),
            record.scenario.hash.chars().take(HASH_CHARS).collect(),
        ]
    };
    let rows: Vec<_> = records.iter().zip(names).map(row).collect();
    let different = |fact: fn(&RunRecord) -> &str| distinct(records.iter().map(fact)).len() > 1;
    html! {
        (table("Runs", &columns, &rows))
        @if different(|r| &r.scenario.hash) {
            p class="note" { "The scenario files differ: compare only equal measurements." }
        }
    }
}

/// The comparison of a run with the first one: changes as text, all figures as a table.
fn ratios(run: &str, first: &str, comparisons: &[Comparison]) -> Markup {
    let row = |c: &Comparison| {
        let end = |end: usize| c.confidence_95.map_or(String::new(), |i| format!("{:.3}", i[end]));
        vec![
            place(c).unwrap_or_else(|| "all".into()),
            c.method.clone(),
            figure_name(&c.figure),
            format!("{:.3}", c.ratio),
            end(0),
            end(1),
            verdict(c).into(),
            c.answer.clone(),
        ]
    };
    let rows: Vec<_> = comparisons.iter().map(row).collect();
    let columns = [
        words("cell"),
        words("method"),
        words("figure"),
        numbers("ratio"),
        numbers("from"),
        numbers("to"),
        words("verdict"),
        words("result"),
    ];
    html! {
        h3 { (run) }
        @if rows.is_empty() {
            p { "There is no comparable measurement in " (first) "." }
        } @else {
            p { (tally(comparisons)) "." }
            (table(
                &format!("Ratio of {run} to {first}, with its 95 % confidence interval"),
                &columns,
                &rows,
            ))
        }
    }
}

/// One table per method: a row for each cell and figure, a column for each run.
fn side_by_side(records: &[RunRecord], names: &[String]) -> Vec<Pivot> {
    let methods =
        distinct(records.iter().flat_map(outcomes).map(|(_, outcome)| outcome.method.as_str()));
    methods.into_iter().map(|method| of_method(records, names, method)).collect()
}

fn of_method(records: &[RunRecord], names: &[String], method: &str) -> Pivot {
    let mut head = vec!["figure".to_string()];
    head.extend(names.iter().cloned());
    head.push("verdicts".into());
    let keys = row_keys(records, method);
    let rows = keys.iter().map(|key| row(records, method, key)).collect();
    Pivot { caption: format!("{method}: medians by run"), head, rows }
}

/// Key of a row: cell, figure and part.
#[derive(PartialEq)]
struct Key {
    cell: String,
    figure: String,
    of: Option<String>,
}

fn row_keys(records: &[RunRecord], method: &str) -> Vec<Key> {
    let mut keys = Vec::new();
    for record in records {
        let names = Names::of(record);
        for (cell, outcome) in outcomes(record).filter(|(_, o)| o.method == method) {
            for figure in outcome.figures.iter().filter(|f| f.of.is_none()) {
                let key = Key {
                    cell: names.of_cell(cell),
                    figure: figure.name.clone(),
                    of: figure.of.clone(),
                };
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
    }
    keys
}

fn row(records: &[RunRecord], method: &str, key: &Key) -> Vec<String> {
    let found: Vec<Option<(Figure, &str)>> =
        records.iter().map(|record| find(record, method, key)).collect();
    let mut row = vec![format!("{}, {}", key.cell, figure_name(&key.figure))];
    row.extend(
        found.iter().map(|figure| figure.as_ref().map_or("none".into(), |(f, _)| f.words())),
    );
    row.push(distinct(found.iter().flatten().map(|(_, verdict)| *verdict)).join(" / "));
    row
}

fn find<'a>(record: &'a RunRecord, method: &str, key: &Key) -> Option<(Figure, &'a str)> {
    let names = Names::of(record);
    let mut of_method = outcomes(record).filter(|(_, o)| o.method == method);
    of_method.find_map(|(cell, outcome)| {
        let figure = outcome.figures.iter().find(|f| f.name == key.figure && f.of == key.of)?;
        (names.of_cell(cell) == key.cell).then(|| (figure.clone(), validity_words(outcome)))
    })
}

/// Displayed length of a hash; the record has all characters.
const HASH_CHARS: usize = "blake3:".len() + 12;
