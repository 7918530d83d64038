//! Figures side by side: two values of a key within a run, or two runs.
//!
//! A difference is called a change only beyond the noise, that is where the 95 % confidence
//! interval of the ratio leaves out 1 and is not all within [`SAME_WITHIN`] of it; all within that
//! margin is the same; anything else is inconclusive. The noise is that between repetitions; where
//! there are none, what a method repeats within its one measurement stands for them, and the answer
//! says so, as that shares its memory layout and its minute. Fewer than three of both tell a ratio
//! and no verdict, and so do results that are not valid and bounds.

use serde_json::{Map, Value};

use super::{Cell, Comparison, Figure, Outcome, Repetition, RunRecord, Verdict};
use crate::statistics::{
    Sample, paired_difference, paired_ratio, ratio_of_samples, unpaired_ratio,
};
use crate::value_words;

/// Compares the values of `key` (`function.policer`) within a run, paired by repetition: each later
/// value with the first value, with all other keys equal.
pub fn compare_values(key: &str, cells: &[Cell]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (base, cell) in pairs_of(key, cells) {
        let parameters = others(base, key);
        let values = compared(key, cell).zip(compared(key, base));
        let Some((a, b)) = &values else { continue };
        let benchmark = if key == BENCHMARKS { "" } else { base.benchmark.as_str() };
        let caveats = Vec::new();
        let subject =
            Subject { key, a, b, benchmark, parameters: &parameters, paired: true, caveats };
        comparisons.extend(subject.compare(&cell.outcomes, &base.outcomes));
    }
    comparisons
}

/// The difference that a value of the compared key makes to a time or loss figure, over pairs. A
/// ratio would not show it if the figure is almost zero for the first value.
#[derive(Clone, Debug, PartialEq)]
pub struct Addition {
    /// The value with the difference.
    pub a: Value,
    /// The reference value.
    pub b: Value,
    /// The other swept keys and their values.
    pub parameters: Map<String, Value>,
    /// Name of the method.
    pub method: String,
    /// The part to which the figure belongs, such as `100 %, uplink`; none for the whole.
    pub of: Option<String>,
    /// Name of the figure, as [`Figure::name`].
    pub figure: String,
    /// Unit of the figure.
    pub unit: String,
    /// The figure with `b`, as the mean over the pairs.
    pub without: f64,
    /// The difference of the figure with `a` to that with `b`, as the mean over the pairs.
    pub added: f64,
    /// The 95 % confidence interval of the difference; none for fewer than three pairs.
    pub confidence_95: Option<[f64; 2]>,
}

/// The difference that each later value of `key` makes to the figures `names`, relative to the
/// first value, with all other keys equal, paired by repetition.
pub fn additions(key: &str, cells: &[Cell], names: &[&str]) -> Vec<Addition> {
    let mut found = Vec::new();
    for (base, cell) in pairs_of(key, cells) {
        for (at, outcome) in cell.outcomes.iter().enumerate() {
            let Some(twin) = twin(&cell.outcomes, at, &base.outcomes) else { continue };
            let wanted = outcome.figures.iter().filter(|f| names.contains(&f.name.as_str()));
            found.extend(wanted.filter_map(|figure| {
                let (a, b) = paired(&values(outcome, figure), &values(twin, figure));
                let (added, confidence_95) = paired_difference(&a, &b)?;
                Some(Addition {
                    a: compared(key, cell)?,
                    b: compared(key, base)?,
                    parameters: others(base, key),
                    method: outcome.method.clone(),
                    of: figure.of.clone(),
                    figure: figure.name.clone(),
                    unit: figure.unit.clone(),
                    without: b.iter().sum::<f64>() / b.len() as f64,
                    added,
                    confidence_95,
                })
            }));
        }
    }
    found
}

/// The key for the comparison of whole benchmarks, which may differ in several keys.
pub const BENCHMARKS: &str = "id";

/// The value of the compared key in a cell.
fn compared(key: &str, cell: &Cell) -> Option<Value> {
    match key {
        BENCHMARKS => Some(Value::from(cell.benchmark.as_str())),
        _ => cell.parameters.get(key).cloned(),
    }
}

/// Pairs of cells: each cell with a later value of `key`, and the cell with the first value and all
/// other keys equal.
fn pairs_of<'a>(key: &str, cells: &'a [Cell]) -> Vec<(&'a Cell, &'a Cell)> {
    let mut pairs = Vec::new();
    let mut done: Vec<(&str, Map<String, Value>)> = Vec::new();
    let benchmark = |cell: &'a Cell| match key {
        BENCHMARKS => "",
        _ => cell.benchmark.as_str(),
    };
    for base in cells {
        let Some(value) = compared(key, base) else { continue };
        let group = (benchmark(base), others(base, key));
        if done.contains(&group) {
            continue;
        }
        let later = cells.iter().filter(|cell| {
            compared(key, cell).is_some_and(|other| other != value)
                && benchmark(cell) == group.0
                && others(cell, key) == group.1
        });
        pairs.extend(later.map(|cell| (base, cell)));
        done.push(group);
    }
    pairs
}

/// The matching outcome in another cell: the same method, and the same position among several of
/// this name.
fn twin<'a>(outcomes: &[Outcome], at: usize, others: &'a [Outcome]) -> Option<&'a Outcome> {
    let method = &outcomes[at].method;
    let nth = outcomes[..at].iter().filter(|o| o.method == *method).count();
    others.iter().filter(|o| o.method == *method).nth(nth)
}

/// The values of the repetitions that both cells have.
fn paired(a: &[(u32, f64)], b: &[(u32, f64)]) -> (Vec<f64>, Vec<f64>) {
    let twin = |index: u32| b.iter().find(|(other, _)| *other == index);
    a.iter().filter_map(|&(index, value)| Some((value, twin(index)?.1))).unzip()
}

/// Compares run `a` with run `b` in all cells and methods that both have; runs are named by their
/// start time. The answer mentions other differences (function, configuration). Runs of different
/// hosts are not compared at all: a ratio of theirs would be one of the hosts.
pub fn compare_runs(a: &RunRecord, b: &RunRecord) -> Vec<Comparison> {
    let (name_a, name_b) = (Value::from(a.started.as_str()), Value::from(b.started.as_str()));
    let mut comparisons = Vec::new();
    if !a.host.is_like(&b.host) {
        return comparisons;
    }
    for cell in &a.cells {
        let same = |other: &&Cell| {
            other.benchmark == cell.benchmark && other.parameters == cell.parameters
        };
        let Some(other) = b.cells.iter().find(same) else { continue };
        let mut caveats = Vec::new();
        if cell.function != other.function {
            caveats.push("the functions differ");
        } else if cell.configuration != other.configuration {
            caveats.push("the configurations differ");
        }
        let subject = Subject {
            key: "run",
            a: &name_a,
            b: &name_b,
            benchmark: &cell.benchmark,
            parameters: &cell.parameters,
            paired: false,
            caveats,
        };
        comparisons.extend(subject.compare(&cell.outcomes, &other.outcomes));
    }
    comparisons
}

/// The swept keys of a cell without `key`.
fn others(cell: &Cell, key: &str) -> Map<String, Value> {
    let other = cell.parameters.iter().filter(|(name, _)| *name != key);
    other.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The subject of a comparison.
struct Subject<'a> {
    key: &'a str,
    a: &'a Value,
    b: &'a Value,
    benchmark: &'a str,
    parameters: &'a Map<String, Value>,
    /// Whether equal repetitions were measured side by side, as pairs.
    paired: bool,
    /// Other differences that the answer mentions.
    caveats: Vec<&'static str>,
}

/// How far the figures of what is the same may differ.
pub const SAME_WITHIN: f64 = 0.05;

/// A ratio with its confidence interval and its number of pairs.
struct Ratio {
    value: f64,
    interval: Option<[f64; 2]>,
    pairs: usize,
    /// Whether one of both figures is a bound, so that there is no verdict.
    is_of_bound: bool,
    /// Whether the noise is that within one measurement of each.
    is_within_one: bool,
}

impl Ratio {
    fn verdict(&self) -> Verdict {
        match self.interval {
            Some([low, high]) if low >= 1.0 / (1.0 + SAME_WITHIN) && high <= 1.0 + SAME_WITHIN => {
                Verdict::Same
            }
            Some([low, _]) if low > 1.0 => Verdict::Higher,
            Some([_, high]) if high < 1.0 => Verdict::Lower,
            _ => Verdict::Inconclusive,
        }
    }
}

impl Subject<'_> {
    fn compare(&self, a: &[Outcome], b: &[Outcome]) -> Vec<Comparison> {
        let pairs = (0..a.len()).filter_map(|at| Some((&a[at], twin(a, at, b)?)));
        pairs.flat_map(|(a, b)| self.outcomes(a, b)).collect()
    }

    /// Compares all figures of the whole; figures of parts would be too many.
    fn outcomes(&self, a: &Outcome, b: &Outcome) -> Vec<Comparison> {
        let mut caveats = self.caveats.clone();
        if a.configuration != b.configuration {
            caveats.push("the method's configurations differ");
        }
        let valid = a.validity.valid && b.validity.valid;
        if !valid {
            caveats.push("a result is not valid");
        }
        let whole = a.figures.iter().filter(|figure| figure.of.is_none());
        whole.filter_map(|figure| self.figure(figure, a, b, valid, &caveats)).collect()
    }

    fn figure(
        &self,
        figure: &Figure,
        a: &Outcome,
        b: &Outcome,
        valid: bool,
        caveats: &[&str],
    ) -> Option<Comparison> {
        let mut ratio = self.ratio(figure, a, b)?;
        let twin = b.figures.iter().find(|f| f.name == figure.name && f.of == figure.of);
        if figure.bound.is_some() || twin.is_some_and(|figure| figure.bound.is_some()) {
            // What may be more is neither more nor less than another figure.
            ratio.interval = None;
            ratio.is_of_bound = true;
        }
        let verdict = if valid { ratio.verdict() } else { Verdict::Inconclusive };
        let mut answer = self.sentence(&figure.name.replace('_', " "), &ratio);
        let within_one = ratio.is_within_one.then_some(WITHIN_ONE);
        for caveat in within_one.iter().chain(caveats) {
            answer.push_str("; ");
            answer.push_str(caveat);
        }
        Some(Comparison {
            key: self.key.to_owned(),
            a: self.a.clone(),
            b: self.b.clone(),
            benchmark: self.benchmark.to_owned(),
            parameters: self.parameters.clone(),
            method: a.method.clone(),
            figure: figure.name.clone(),
            unit: figure.unit.clone(),
            pairs: ratio.pairs,
            ratio: ratio.value,
            confidence_95: ratio.interval,
            is_change: matches!(verdict, Verdict::Higher | Verdict::Lower),
            verdict,
            answer,
        })
    }

    fn ratio(&self, figure: &Figure, a: &Outcome, b: &Outcome) -> Option<Ratio> {
        let (of_a, of_b) = (values(a, figure), values(b, figure));
        let spreads = inner_spread(a, figure).zip(inner_spread(b, figure));
        let (a, b): (Vec<f64>, Vec<f64>) = if self.paired {
            paired(&of_a, &of_b)
        } else {
            let plain = |values: &[(u32, f64)]| values.iter().map(|(_, value)| *value).collect();
            (plain(&of_a), plain(&of_b))
        };
        let pairs = a.len().min(b.len());
        let found = if self.paired { paired_ratio(&a, &b) } else { unpaired_ratio(&a, &b) }?;
        // With few repetitions, the noise within each measurement is all that is known of it.
        let inner = spreads.filter(|_| found.1.is_none()).and_then(|(a, b)| ratio_of_samples(a, b));
        let is_within_one = inner.is_some_and(|(_, interval)| interval.is_some());
        let (value, interval) = inner.filter(|_| is_within_one).unwrap_or(found);
        Some(Ratio { value, interval, pairs, is_of_bound: false, is_within_one })
    }

    fn sentence(&self, figure: &str, ratio: &Ratio) -> String {
        let name = |value: &Value| {
            let leaf = self.key.rsplit('.').next().unwrap_or(self.key);
            match value {
                Value::String(text) if self.paired => format!("{leaf}: {text}"),
                Value::String(text) => format!("{leaf} {text}"),
                other => format!("{leaf}: {}", value_words(other)),
            }
        };
        let (a, b) = (name(self.a), name(self.b));
        match ratio.interval {
            None if ratio.is_of_bound => {
                format!("{figure}: {a} and {b} cannot be compared, as one of them is a bound")
            }
            None => {
                let things = if self.paired { "pairs" } else { "repetitions" };
                let count = match ratio.pairs {
                    1 => format!("one of the {things} is"),
                    n => format!("{n} {things} are"),
                };
                format!(
                    "{figure}: {a} is {} times {b}; {count} not enough to rule out noise",
                    digits(ratio.value, 0.01)
                )
            }
            Some([low, high]) => {
                let half = (high - low) / 2.0;
                let [value, low, high] = [ratio.value, low, high].map(|it| digits(it, half));
                match ratio.verdict() {
                    Verdict::Higher | Verdict::Lower => {
                        format!("{figure}: {a} is {value} times {b} ({low} to {high})")
                    }
                    Verdict::Same => format!(
                        "{figure}: {a} and {b} are the same within {:.0} % ({value} times, {low} \
                         to {high})",
                        SAME_WITHIN * 100.0
                    ),
                    Verdict::Inconclusive => {
                        format!("{figure}: inconclusive, {a} is {low} to {high} times {b}")
                    }
                }
            }
        }
    }
}

/// The figure in each valid repetition, or the figure itself if the record has no repetitions.
fn values(outcome: &Outcome, figure: &Figure) -> Vec<(u32, f64)> {
    let find = |figures: &[Figure]| {
        figures.iter().find(|f| f.name == figure.name && f.of == figure.of).map(|f| f.value)
    };
    let of = |one: &Repetition| Some((one.index, find(&one.figures)?));
    if outcome.repetitions.is_empty() {
        return find(&outcome.figures).map(|value| (0, value)).into_iter().collect();
    }
    let valid = outcome.repetitions.iter().filter(|one| one.validity.valid);
    let found: Vec<(u32, f64)> = valid.filter_map(of).collect();
    if found.is_empty() { outcome.repetitions.iter().filter_map(of).collect() } else { found }
}

/// The noise of what a method has repeated within its one measurement; none where measurements were
/// repeated.
fn inner_spread(outcome: &Outcome, figure: &Figure) -> Option<Sample> {
    let figure = outcome.figures.iter().find(|f| f.name == figure.name && f.of == figure.of)?;
    let spread = figure.spread.as_ref().filter(|_| outcome.repetitions.len() < 2)?;
    Sample::of_spread(spread)
}

/// What the answer says where the noise is that of one measurement of each.
const WITHIN_ONE: &str = "by the repetitions within one measurement of each";

/// Formats a value with two to four digits, as many as its error justifies.
fn digits(value: f64, error: f64) -> String {
    let places = if error > 0.0 { (-error.log10().floor()).clamp(2.0, 4.0) } else { 4.0 };
    format!("{value:.*}", places as usize)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::{
        HostFacts, Limit, LimitKind, Measured, PlanRecord, Scenario, Status, Tool,
    };
    use crate::record::{Validity, merge};

    fn outcome(values: &[f64]) -> Outcome {
        let one = |(index, value): (u32, &f64)| Measured {
            index,
            position: 0,
            from_cache: false,
            outcome: Outcome {
                method: "capacity".into(),
                figures: vec![
                    Figure::single("total_pps", *value, "pps"),
                    Figure::single("ticks_per_packet", 1.0, "ticks").of("decap"),
                ],
                validity: Validity::from_limits(Vec::new()),
                ..Outcome::default()
            },
        };
        merge((0..).zip(values).map(one).collect()).expect("at least one")
    }

    fn cell(policer: bool, user: u32, values: &[f64]) -> Cell {
        let parameters = json!({"function.policer": policer, "function.user": user});
        Cell {
            parameters: parameters.as_object().expect("an object").clone(),
            outcomes: vec![outcome(values)],
            ..Cell::default()
        }
    }

    fn run(values: &[f64]) -> RunRecord {
        RunRecord {
            schema_version: RunRecord::SCHEMA_VERSION,
            tool: Tool::default(),
            scenario: Scenario::default(),
            id: String::new(),
            seconds: 0.0,
            tags: Vec::new(),
            message: String::new(),
            started: format!("run of {}", values.len()),
            finished: String::new(),
            host: HostFacts::default(),
            plan: PlanRecord::default(),
            cells: vec![cell(true, 1, values)],
            comparisons: Vec::new(),
            thresholds: Vec::new(),
            plots: Vec::new(),
            status: Status::Passed,
        }
    }

    #[test]
    fn pairs_take_out_the_drift_that_both_share() {
        // The machine slows down by half on the way; 17 % stays 17 %.
        let cells = [
            cell(true, 10, &[100.0, 75.0, 50.0]),
            cell(false, 10, &[117.0, 88.0, 58.2]),
            cell(true, 20, &[100.0, 75.0, 50.0]),
            cell(false, 20, &[100.3, 74.9, 49.9]),
        ];
        let found = compare_values("function.policer", &cells);
        assert_eq!(found.len(), 2, "one for each number of users; parts are left out");
        let first = &found[0];
        assert!(first.is_change && (first.ratio - 1.169).abs() < 0.001, "{first:?}");
        assert_eq!((first.a.clone(), first.b.clone(), first.pairs), (json!(false), json!(true), 3));
        assert_eq!(first.parameters["function.user"], 10);
        let words = "total pps: policer: false is 1.17 times policer: true (1.16 to 1.18)";
        assert_eq!(first.answer, words);
        assert_eq!((first.verdict, found[1].verdict), (Verdict::Higher, Verdict::Same));
        assert!(!found[1].is_change);
        assert!(found[1].answer.contains("are the same within 5 %"), "{}", found[1].answer);
    }

    #[test]
    fn what_is_added_is_a_difference_of_every_part() {
        let cells = [
            cell(false, 10, &[100.0, 75.0, 50.0]),
            cell(true, 10, &[101.0, 77.0, 53.0]),
            cell(true, 20, &[1.0]),
        ];
        let found = additions("function.policer", &cells, &["total_pps", "ticks_per_packet"]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].without, found[0].added), (75.0, 2.0));
        let [low, high] = found[0].confidence_95.expect("three pairs");
        assert!(low < 2.0 && high > 2.0);
        assert_eq!((found[1].of.as_deref(), found[1].added), (Some("decap"), 0.0));
        assert_eq!((&found[0].a, &found[0].b), (&json!(true), &json!(false)));
        assert_eq!(additions("function.policer", &cells, &["other"]), []);
    }

    #[test]
    fn benchmarks_are_compared_as_wholes() {
        let mut cells =
            [cell(false, 10, &[100.0; 3]), cell(false, 10, &[50.0; 3]), cell(true, 10, &[1.0; 3])];
        for (cell, id) in cells.iter_mut().zip(["without", "with", "with"]) {
            cell.benchmark = id.into();
        }
        let found = compare_values(BENCHMARKS, &cells);
        assert_eq!(found.len(), 1, "the third has no twin: {found:?}");
        assert_eq!((&found[0].a, &found[0].b), (&json!("with"), &json!("without")));
        assert_eq!(found[0].ratio, 0.5);
        assert_eq!(found[0].parameters["function.policer"], false);
        let added = additions(BENCHMARKS, &cells, &["total_pps"]);
        assert_eq!((added.len(), added[0].added), (1, -50.0));
    }

    #[test]
    fn noise_that_hides_a_change_is_no_proof_of_none() {
        let found = compare_runs(&run(&[2.0, 4.0, 1.0]), &run(&[1.0, 3.0, 2.0]));
        assert_eq!((found[0].verdict, found[0].is_change), (Verdict::Inconclusive, false));
        let [low, high] = found[0].confidence_95.expect("three repetitions");
        assert!(low > 0.0 && low < 1.0 && high > 1.0);
        assert!(found[0].answer.contains("inconclusive, run "), "{}", found[0].answer);
    }

    #[test]
    fn what_one_measurement_repeats_is_used_where_measurements_are_not() {
        let of = |values: &[f64]| {
            let mut run = run(&values[..1]);
            let figure = &mut run.cells[0].outcomes[0].figures[0];
            (figure.value, figure.spread) = (values[1], crate::record::Spread::of(values));
            run
        };
        let (a, b) = (of(&[2.97, 3.0, 3.02]), of(&[1.0, 1.01, 0.99]));
        let found = &compare_runs(&a, &b)[0];
        assert_eq!(found.verdict, Verdict::Higher);
        assert!((found.ratio - 3.0).abs() < 0.02 && found.answer.contains(WITHIN_ONE), "{found:?}");
    }

    #[test]
    fn bounds_are_neither_more_nor_less() {
        let (mut a, b) = (run(&[2.0, 2.01, 1.99]), run(&[1.0, 1.01, 0.99]));
        let figure = &mut a.cells[0].outcomes[0].figures[0];
        *figure = figure.clone().at_least(true);
        for found in [&compare_runs(&a, &b)[0], &compare_runs(&b, &a)[0]] {
            assert_eq!((found.verdict, found.confidence_95), (Verdict::Inconclusive, None));
            assert!(found.answer.contains("one of them is a bound"), "{}", found.answer);
        }
    }

    #[test]
    fn two_pairs_are_no_verdict() {
        let cells = [cell(true, 1, &[1.0, 1.0]), cell(false, 1, &[2.0, 2.0])];
        let found = compare_values("function.policer", &cells);
        assert_eq!(
            (found[0].ratio, found[0].confidence_95, found[0].is_change),
            (2.0, None, false)
        );
        assert!(found[0].answer.contains("2 pairs are not enough"), "{}", found[0].answer);
        assert_eq!(compare_values("function.absent", &cells), []);
    }

    #[test]
    fn a_repetition_that_is_not_valid_has_no_pair() {
        let mut cells = [cell(true, 1, &[1.0, 1.0, 1.0]), cell(false, 1, &[2.0, 2.0, 9.0])];
        let limit = Limit {
            kind: LimitKind::Tester,
            invalidates: true,
            what: String::new(),
            advice: String::new(),
        };
        cells[1].outcomes[0].repetitions[2].validity = Validity::from_limits(vec![limit.clone()]);
        cells[1].outcomes[0].validity = Validity::from_limits(vec![limit]);
        let found = compare_values("function.policer", &cells);
        assert_eq!((found[0].ratio, found[0].pairs, found[0].is_change), (2.0, 2, false));
        assert!(found[0].answer.ends_with("a result is not valid"), "{}", found[0].answer);
    }

    #[test]
    fn runs_are_compared_without_pairs_and_with_what_else_differs() {
        let (a, mut b) = (run(&[1.17, 1.18, 1.16]), run(&[1.0, 1.01, 0.99, 1.0]));
        let found = compare_runs(&a, &b);
        assert_eq!((found.len(), found[0].pairs), (1, 3));
        assert!(found[0].is_change && (found[0].ratio - 1.17).abs() < 0.001, "{found:?}");
        assert_eq!(found[0].a, "run of 3");
        b.cells[0].parameters.clear();
        assert_eq!(compare_runs(&a, &b), []);
    }

    #[test]
    fn runs_of_different_hosts_are_not_divided() {
        let (a, b) = (run(&[1.17, 1.18, 1.16]), run(&[1.0, 1.01, 0.99]));
        assert_eq!(compare_runs(&a, &b).len(), 1);
        let with = |change: fn(&mut HostFacts)| {
            let mut other = b.clone();
            change(&mut other.host);
            compare_runs(&a, &other)
        };
        assert_eq!(with(|host| host.cpu_model = "another".into()), []);
        assert_eq!(with(|host| host.cores += 1), []);
        assert_eq!(with(|host| host.tsc.ticks_per_second = 2.1e9), []);
    }

    #[test]
    fn records_without_repetitions_tell_a_ratio_only() {
        let (mut a, b) = (run(&[2.0]), run(&[1.0]));
        a.cells[0].outcomes[0].repetitions.clear();
        let found = compare_runs(&a, &b);
        assert_eq!((found[0].ratio, found[0].is_change), (2.0, false));
        assert!(found[0].answer.contains("not enough"), "{}", found[0].answer);
    }
}
