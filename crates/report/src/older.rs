//! What records of before do not say by themselves.

use measure::record::{Comparison, Figure, LimitKind, Outcome, RunRecord, Verdict};

/// Marks figures that are bounds, which records had no word for: what the outcome says of itself
/// tells them. Later records have them marked already.
pub(crate) fn mark_bounds(record: &mut RunRecord) {
    for outcome in record.cells.iter_mut().flat_map(|cell| &mut cell.outcomes) {
        let Some((_, is_of)) = OF_METHODS.iter().find(|(method, _)| *method == outcome.method)
        else {
            continue;
        };
        if outcome.figures.iter().all(|figure| figure.bound.is_none()) && is_bound(outcome) {
            let figures = outcome.figures.iter_mut().filter(|figure| is_of(figure));
            figures.for_each(|figure| *figure = figure.clone().at_least(true));
        }
    }
}

/// Gives comparisons that are a change the verdict, which records had no word for.
pub(crate) fn mark_verdicts(record: &mut RunRecord) {
    let is_without = |one: &&mut Comparison| one.is_change && one.verdict == Verdict::Inconclusive;
    for one in record.comparisons.iter_mut().filter(is_without) {
        one.verdict = if one.ratio > 1.0 { Verdict::Higher } else { Verdict::Lower };
    }
}

fn is_bound(outcome: &Outcome) -> bool {
    // With repetitions, the answer is that of none of them.
    let is_near_tester = || {
        let mut limits = outcome.validity.limits.iter();
        limits.any(|limit| limit.kind == LimitKind::Baseline)
    };
    let is_open = outcome.bounds.is_some_and(|bounds| !bounds.regular);
    outcome.answer.contains("at least ")
        || outcome.method == THROUGHPUT && (is_open || is_near_tester())
}

const THROUGHPUT: &str = "throughput";

/// Whether a figure is one of the result.
type IsOfResult = fn(&Figure) -> bool;

/// By method, which figures are those of the result.
const OF_METHODS: &[(&str, IsOfResult)] = &[
    (THROUGHPUT, |figure| figure.name.starts_with(THROUGHPUT)),
    ("session-rate", |figure| figure.name == "session_rate"),
    ("session-capacity", |figure| figure.name == "session_capacity"),
    ("recovery", |figure| figure.name.starts_with("recovery_time") && figure.of.is_none()),
    ("burst", |figure| {
        let is_deviation = figure.name == "back_to_back_deviation";
        let is_found =
            figure.name.starts_with("back_to_back") || figure.name.ends_with("_buffer_time");
        is_found && !is_deviation
    }),
];

#[cfg(test)]
mod tests {
    use measure::record::Bounds;

    use super::*;

    fn outcome(method: &str, name: &str, answer: &str) -> Outcome {
        Outcome {
            method: method.into(),
            answer: answer.into(),
            figures: vec![Figure::single(name, 8.62e6, "pps"), Figure::single("other", 1.0, "ns")],
            ..Outcome::default()
        }
    }

    /// A record of before, whose tester was the limit.
    fn published() -> RunRecord {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
        let path = folder.join("mobile-gateway-20261121T165745Z/run.json.gz");
        crate::read(&path).expect("it is published")
    }

    #[test]
    fn what_is_at_least_is_a_bound() {
        for (method, name, answer, expected) in [
            (THROUGHPUT, "throughput", "It forwards at least 8.62 Mpps", true),
            (THROUGHPUT, "throughput_aggregate", "It forwards at least 8.62 Mpps", true),
            (THROUGHPUT, "throughput", "It forwards 8.62 Mpps", false),
            ("session-rate", "session_rate_failed", "It opens at least 5 sessions", false),
            ("burst", "back_to_back_frames", "It passes bursts of at least 5 frames", true),
            ("capacity", "total_pps", "at least nothing of this method", false),
        ] {
            let mut record = published();
            record.cells[0].outcomes = vec![outcome(method, name, answer)];
            mark_bounds(&mut record);
            let figures = &record.cells[0].outcomes[0].figures;
            assert_eq!(figures[0].bound.is_some(), expected, "{method} {name}: {answer}");
            assert_eq!(figures[1].bound, None);
        }
        let open = Outcome {
            bounds: Some(Bounds { regular: false, ..Bounds::default() }),
            ..outcome(THROUGHPUT, "throughput", "Median of 3: throughput 8.62 Mpps")
        };
        assert!(is_bound(&open), "a search that did not end");
    }

    #[test]
    fn a_published_bound_has_its_sign() {
        let text = crate::terminal::render(&published(), 120);
        assert!(
            text.contains("≥ 8.62 Mpps at pkt-size 64, ≥ 3.59 Mpps at pkt-size imix"),
            "{text}"
        );
    }
}
