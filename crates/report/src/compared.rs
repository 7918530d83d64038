//! Several runs side by side, for the terminal: each against the first.
//!
//! A difference is called a change only beyond the noise; what is compared, and when, is the matter
//! of [`compare_runs`]. Nothing is compared that only one of two runs measured.

use measure::record::{Comparison, Figure, RunRecord, compare_runs};

use crate::pivot::Pivot;
use crate::summary::{figure_name, figure_words, status_words};
use crate::terminal;
use crate::words::{distinct, leaf, value_words};

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
    let comparisons = compare_runs(other, first);
    if comparisons.is_empty() {
        return format!(
            "{name} and A have no figure for the same cell and method: nothing is compared.\n"
        );
    }
    let changed = comparisons.iter().filter(|one| one.is_change).count();
    let unknown = comparisons.iter().filter(|one| one.confidence_95.is_none()).count();
    let mut text = format!(
        "{name} against A: {changed} of {} figures changed beyond the noise{}.\n",
        comparisons.len(),
        match unknown {
            0 => String::new(),
            n => format!("; {n} have too few repetitions for a verdict"),
        }
    );
    for one in headlines(first, &comparisons) {
        text += &format!("  {}\n", sentence(one, name));
    }
    let row = |one: &Comparison| {
        let words =
            |record| figure(record, one).map_or("none".into(), |f| figure_words(f.value, &f.unit));
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

/// Comparisons of the first figure of each method and cell.
fn headlines<'a>(first: &RunRecord, all: &'a [Comparison]) -> Vec<&'a Comparison> {
    let is_headline = |one: &&Comparison| {
        let cells = first.cells.iter().filter(|cell| cell.parameters == one.parameters);
        let mut outcomes = cells.flat_map(|cell| &cell.outcomes).filter(|o| o.method == one.method);
        outcomes.any(|o| o.figures.first().is_some_and(|f| f.name == one.figure))
    };
    all.iter().filter(is_headline).collect()
}

fn figure<'a>(record: &'a RunRecord, one: &Comparison) -> Option<&'a Figure> {
    let cell = record.cells.iter().find(|cell| cell.parameters == one.parameters)?;
    cell.outcomes.iter().find(|o| o.method == one.method)?.figure(&one.figure)
}

/// `capacity, function alone, user 1,000: B is 1.17 ± 0.04 times A`.
fn sentence(one: &Comparison, name: &str) -> String {
    let what = format!("{}, {}, {}", one.method, figure_name(&one.figure), cell_words(one));
    match one.confidence_95 {
        None => format!("{what}: {name} is {} times A; {FEW}", times(one)),
        Some(_) if one.is_change => format!("{what}: {name} is {} times A", times(one)),
        Some(_) => format!("{what}: no change beyond the noise ({} times)", times(one)),
    }
}

fn cell_words(one: &Comparison) -> String {
    let one_of = |(key, value): (&String, &serde_json::Value)| {
        format!("{} {}", leaf(key), value_words(value))
    };
    let words: Vec<String> = one.parameters.iter().map(one_of).collect();
    if words.is_empty() { "the only cell".into() } else { words.join(", ") }
}

/// The ratio with half the width of its interval, with as many digits as the interval justifies.
fn times(one: &Comparison) -> String {
    match one.confidence_95 {
        None => format!("{:.2}", one.ratio),
        Some([low, high]) => {
            let half = (high - low) / 2.0;
            let places = if half > 0.0 { (-half.log10().floor()).clamp(2.0, 4.0) } else { 4.0 };
            let places = places as usize;
            format!("{:.places$} ± {half:.places$}", one.ratio)
        }
    }
}

fn verdict(one: &Comparison) -> &'static str {
    match one.confidence_95 {
        None => "cannot tell",
        Some(_) if one.is_change && one.ratio > 1.0 => "more",
        Some(_) if one.is_change => "less",
        Some([low, high]) if low > 1.0 || high < 1.0 => "not valid",
        Some(_) => "same",
    }
}

/// Other differences, each once; they are printed after the answers.
fn caveats(all: &[Comparison]) -> Vec<&str> {
    let words = all.iter().flat_map(|one| one.answer.split("; ").skip(1));
    distinct(words.filter(|words| !words.ends_with("from noise")))
}

/// The name of a run: `A`, `B` …, or `run 27` after the last letter.
fn letter(index: usize) -> String {
    match u8::try_from(index) {
        Ok(small @ 0..26) => char::from(b'A' + small).to_string(),
        _ => format!("run {}", index + 1),
    }
}

const FEW: &str = "too few repetitions to rule out noise";
