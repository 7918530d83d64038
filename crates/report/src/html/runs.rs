//! Several runs side by side: their answers, every headline figure by run, and the ratio to the
//! first run with its confidence.
//!
//! Deliberately absent: a verdict on runs that asked different questions. Figures are put beside
//! each other where cell, method and figure are the same; what only one run has stands alone.

use maud::{Markup, html};
use measure::record::{Figure, RunRecord};

use super::document;
use super::sections::{pivot_table, to_the_second, tone};
use super::tables::{table, words};
use crate::names::Names;
use crate::pivot::{Pivot, validity_words};
use crate::summary::{answers, distinct, figure_name, figure_words, outcomes, status_words};

/// The page that compares runs, the first being the one that others are compared with.
pub fn comparison(records: &[RunRecord]) -> Vec<u8> {
    let names = run_names(records);
    let title = format!("Comparison of {}", names.join(", "));
    let generator =
        records.first().map_or(String::new(), |r| format!("{} {}", r.tool.name, r.tool.version));
    let body = html! {
        header {
            h1 { (title) }
            p class="meta" { "Each run is named by its scenario and when it began." }
        }
        main {
            section id="runs" { h2 { "Runs" } (runs(records, &names)) }
            section id="results" {
                h2 { "Figures side by side" }
                @for pivot in side_by_side(records, &names) { (pivot_table(&pivot)) }
            }
        }
    };
    document(&title, &generator, &body).into_string().into_bytes()
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
        p { @for record in records {
            span class={ "badge " (tone(record.status)) } { (status_words(record.status)) } " "
        } }
        (table("The runs", &columns, &rows))
        @if different(|r| &r.host.cpu_model) {
            p class="note" { "The runs were made on different machines; ratios compare machines too." }
        }
        @if different(|r| &r.scenario.hash) {
            p class="note" { "The scenario files differ; compare only what asks the same." }
        }
    }
}

/// A table a method: a row a cell and figure, a column a run.
fn side_by_side(records: &[RunRecord], names: &[String]) -> Vec<Pivot> {
    let methods =
        distinct(records.iter().flat_map(outcomes).map(|(_, outcome)| outcome.method.as_str()));
    methods.into_iter().map(|method| of_method(records, names, method)).collect()
}

fn of_method(records: &[RunRecord], names: &[String], method: &str) -> Pivot {
    let mut head = vec!["figure".to_string()];
    for (index, name) in names.iter().enumerate() {
        head.push(name.clone());
        head.extend((index > 0).then(|| format!("{} / 1", index + 1)));
    }
    head.push("verdicts".into());
    let keys = row_keys(records, method);
    let rows = keys.iter().map(|key| row(records, method, key)).collect();
    Pivot {
        caption: format!("{method}: medians by run, and their ratio to the first run"),
        head,
        rows,
    }
}

/// What names a row: cell, figure and part.
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
    let first = found.first().cloned().flatten();
    let mut row = vec![format!("{}, {}", key.cell, figure_name(&key.figure))];
    for (index, figure) in found.iter().enumerate() {
        row.push(figure.as_ref().map_or("none".into(), |(f, _)| figure_words(f.value, &f.unit)));
        if index > 0 {
            row.push(match (&first, figure) {
                (Some((a, _)), Some((b, _))) if a.value > 0.0 => {
                    format!("{:.3}", b.value / a.value)
                }
                _ => String::new(),
            });
        }
    }
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

/// Of a hash as many characters as tell scenarios apart; the record has all.
const HASH_CHARS: usize = "blake3:".len() + 12;
