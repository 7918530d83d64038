//! What comparisons show, in words.

use measure::record::{Comparison, Figure, RunRecord, SAME_WITHIN, Verdict};

use crate::summary::headline;
use crate::words::{leaf, value_words};

/// The verdict of a comparison: of a rate or a time, `faster` or `slower`.
pub(crate) fn verdict(one: &Comparison) -> &'static str {
    let more_is_faster = match one.unit.as_str() {
        "pps" | "bit/s" | "B/s" | "1/s" => Some(true),
        "ns" | "s" | "ticks" => Some(false),
        _ => None,
    };
    match (one.verdict, more_is_faster) {
        (Verdict::Same, _) => "same",
        (Verdict::Inconclusive, _) => "inconclusive",
        (Verdict::Higher, None) => "more",
        (Verdict::Lower, None) => "less",
        (Verdict::Higher, Some(is_faster)) | (Verdict::Lower, Some(is_faster)) => {
            if is_faster == (one.verdict == Verdict::Higher) { "faster" } else { "slower" }
        }
    }
}

/// How many comparisons have each verdict: `1 faster, 3 the same within 5 %, 20 inconclusive`.
pub(crate) fn tally(all: &[Comparison]) -> String {
    let count = |name: &str| all.iter().filter(|one| verdict(one) == name).count();
    let same = format!("the same within {:.0} %", SAME_WITHIN * 100.0);
    let of = |(name, words): (&str, &str)| match count(name) {
        0 => None,
        count => Some(format!("{count} {words}")),
    };
    let names = ["faster", "slower", "more", "less"].map(|name| (name, name));
    let all = names.into_iter().chain([("same", &*same), ("inconclusive", "inconclusive")]);
    all.filter_map(of).collect::<Vec<_>>().join(", ")
}

/// The cell of a comparison: its benchmark and its swept keys; none if there is one cell only.
pub(crate) fn place(one: &Comparison) -> Option<String> {
    let of = |(key, value): (&String, &serde_json::Value)| {
        format!("{} {}", leaf(key), value_words(value))
    };
    let benchmark = Some(one.benchmark.clone()).filter(|name| !name.is_empty());
    let words: Vec<String> = benchmark.into_iter().chain(one.parameters.iter().map(of)).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The compared figure in one of the runs, and whether it is the headline of its result.
pub(crate) fn figure<'a>(record: &'a RunRecord, one: &Comparison) -> Option<(&'a Figure, bool)> {
    let is_cell = |cell: &&measure::record::Cell| {
        cell.benchmark == one.benchmark && cell.parameters == one.parameters
    };
    let cell = record.cells.iter().find(is_cell)?;
    let mut outcomes = cell.outcomes.iter().filter(|outcome| outcome.method == one.method);
    outcomes.find_map(|outcome| {
        let headline = headline(outcome)?;
        outcome.figure(&one.figure).map(|figure| (figure, figure.name == headline.name))
    })
}

/// The ratio with its confidence interval, with as many digits as that justifies.
pub(crate) fn times(one: &Comparison) -> String {
    match one.confidence_95 {
        None => {
            // Three digits that count.
            let magnitude = one.ratio.abs().max(1e-9).log10().floor();
            format!("{:.*}", (2.0 - magnitude).clamp(0.0, 9.0) as usize, one.ratio)
        }
        Some([low, high]) => {
            let half = (high - low) / 2.0;
            let places = if half > 0.0 { (-half.log10().floor()).clamp(2.0, 4.0) } else { 4.0 };
            let places = places as usize;
            format!("{:.places$} ({low:.places$} to {high:.places$})", one.ratio)
        }
    }
}
