//! Several runs side by side, for the terminal: each against the first.
//!
//! A difference is called a change only beyond the noise; what is compared, and when, is the matter
//! of [`compare_runs`]. Nothing is compared that only one of two runs measured, and figures of two
//! hosts stand side by side without a ratio.

use measure::record::{Cell, Comparison, RunRecord, compare_runs};

use crate::names::Names;
use crate::pivot::Pivot;
use crate::summary::{figure_name, status_words};
use crate::terminal;
use crate::verdicts::{figure, place, tally, times, verdict};
use crate::words::{distinct, outcomes};

/// Renders the comparison of the first run with each later run in at most `width` columns.
pub fn render(records: &[RunRecord], width: u16) -> String {
    let mut text = String::new();
    for (index, record) in records.iter().enumerate() {
        let name = record.name();
        text += &format!("{}: {name}, {}\n", letter(index), status_words(record.status));
    }
    let Some((first, others)) = records.split_first() else { return text };
    for (index, other) in others.iter().enumerate() {
        text += "\n";
        text += &pair(first, other, &letter(index + 1), width);
    }
    text
}

/// Renders the comparison of two runs.
fn pair(first: &RunRecord, other: &RunRecord, name: &str, width: u16) -> String {
    if !other.host.is_like(&first.host) {
        return apart(first, other, name, width);
    }
    let comparisons = compare_runs(other, first);
    if comparisons.is_empty() {
        return format!(
            "{name} and A have no figure for the same cell and method: nothing is compared.\n"
        );
    }
    let tally = tally(&comparisons);
    let mut text = format!("{name} against A, {} figures: {tally}.\n", comparisons.len());
    for one in headlines(first, &comparisons) {
        text += &format!("  {}\n", sentence(one, name));
    }
    let row = |one: &Comparison| {
        let words =
            |record| figure(record, one).map_or("none".into(), |(figure, _)| figure.words());
        vec![
            cell_words(one),
            one.method.clone(),
            figure_name(&one.figure),
            words(first),
            words(other),
            times(one),
            verdict(one).into(),
        ]
    };
    let head = ["cell", "method", "figure", "A", name, &format!("{name} / A"), "verdict"];
    let pivot = Pivot {
        caption: String::new(),
        head: head.map(String::from).into(),
        rows: comparisons.iter().map(row).collect(),
    };
    terminal::table(&mut text, &pivot, width);
    for caveat in caveats(&comparisons) {
        text += &format!("Note: {caveat}.\n");
    }
    text
}

/// Renders the figures of two runs of different hosts: beside each other, and no ratio.
fn apart(first: &RunRecord, other: &RunRecord, name: &str, width: u16) -> String {
    let mut text = format!("{name} and A: {}.\n", two_hosts(first, other));
    let names = Names::of(first);
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes(first) {
        let same =
            |one: &&Cell| one.benchmark == cell.benchmark && one.parameters == cell.parameters;
        let twin = other.cells.iter().find(same);
        let twin = twin.and_then(|c| c.outcomes.iter().find(|o| o.method == outcome.method));
        for figure in outcome.figures.iter().filter(|figure| figure.of.is_none()) {
            let Some(of_other) = twin.and_then(|twin| twin.figure(&figure.name)) else { continue };
            rows.push(vec![
                names.of_cell(cell),
                outcome.method.clone(),
                figure_name(&figure.name),
                figure.words(),
                of_other.words(),
            ]);
        }
    }
    let head = ["cell", "method", "figure", "A", name].map(String::from).into();
    if !rows.is_empty() {
        terminal::table(&mut text, &Pivot { caption: String::new(), head, rows }, width);
    }
    text
}

/// Why two runs have no ratio.
pub(crate) fn two_hosts(first: &RunRecord, other: &RunRecord) -> String {
    let host = |record: &RunRecord| {
        let mhz = record.host.tsc.ticks_per_second / 1e6;
        format!("{}, {} CPUs, counter at {mhz:.0} MHz", record.host.cpu_model, record.host.cores)
    };
    let [first, other] = [first, other].map(host);
    format!("their hosts differ ({other}; {first}), so that no ratio says anything of the device")
}

/// Comparisons of the first figure of each method and cell.
fn headlines<'a>(first: &RunRecord, all: &'a [Comparison]) -> Vec<&'a Comparison> {
    all.iter()
        .filter(|one| figure(first, one).is_some_and(|(_, is_headline)| is_headline))
        .collect()
}

/// `capacity, excluding Rx/Tx, user 1,000: B is 1.17 (1.13 to 1.21) times A, faster`.
fn sentence(one: &Comparison, name: &str) -> String {
    let what = format!("{}, {}, {}", one.method, figure_name(&one.figure), cell_words(one));
    let why = match one.confidence_95 {
        None => "; too few repetitions to rule out noise, or bounds",
        Some(_) => "",
    };
    format!("{what}: {name} is {} times A, {}{why}", times(one), verdict(one))
}

fn cell_words(one: &Comparison) -> String {
    place(one).unwrap_or_else(|| "the only cell".into())
}

/// Other differences, each once; they are printed after the answers.
fn caveats(all: &[Comparison]) -> Vec<&str> {
    let words = all.iter().flat_map(|one| one.answer.split("; ").skip(1));
    distinct(words.filter(|words| !words.ends_with("rule out noise")))
}

/// The name of a run: `A`, `B` …, or `run 27` after the last letter.
fn letter(index: usize) -> String {
    match u8::try_from(index) {
        Ok(small @ 0..26) => char::from(b'A' + small).to_string(),
        _ => format!("run {}", index + 1),
    }
}
