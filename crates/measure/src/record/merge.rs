//! Repetitions of one measurement become one outcome.
//!
//! Guarantees that nothing is lost: every trial and every figure of every repetition stays in the
//! record; the outcome's own figures are medians, its validity and claims the worst of them.
//! Deliberately not here: dropping outliers. A repetition that is not valid is named, and makes the
//! whole not valid, rather than left out in silence.

use super::{
    Baseline, Bounds, Claim, ClaimLevel, Figure, GoalRecord, Limit, Outcome, Repetition, Series,
    Spread, Validity,
};
use crate::statistics::median;
use crate::{figure_words, validity};

/// A repetition as measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Number of the repetition, from 0.
    pub index: u32,
    /// Position in the order of the whole run, from 0.
    pub position: usize,
    /// Whether it was reused from an earlier run.
    pub from_cache: bool,
    /// The outcome of the repetition, with `started` and `seconds`.
    pub outcome: Outcome,
}

/// Merges all repetitions of a measurement into one outcome; none for an empty list. A single
/// repetition keeps its texts.
pub fn merge(mut measured: Vec<Measured>) -> Option<Outcome> {
    measured.sort_by_key(|one| one.index);
    let repetitions: Vec<Repetition> = measured.iter().map(Repetition::of).collect();
    let indices: Vec<u32> = measured.iter().map(|one| one.index).collect();
    let mut outcomes: Vec<Outcome> = measured.into_iter().map(|one| one.outcome).collect();
    let mut merged = match outcomes.len() {
        0 => return None,
        1 => outcomes[0].clone(),
        _ => several(&outcomes),
    };
    merged.repetitions = repetitions;
    merged.trials.clear();
    for (outcome, repetition) in outcomes.iter_mut().zip(indices) {
        for mut trial in outcome.trials.drain(..) {
            trial.index = merged.trials.len();
            trial.repetition = repetition;
            merged.trials.push(trial);
        }
    }
    merged.tell_imprecision();
    Some(merged)
}

/// The merged outcome without trials and repetitions.
fn several(outcomes: &[Outcome]) -> Outcome {
    let first = &outcomes[0];
    let figures = figures(outcomes);
    let lists: Vec<&[Limit]> = outcomes.iter().map(|o| o.validity.limits.as_slice()).collect();
    let mut limits = validity::summarise_lists(&lists, "repetitions");
    limits.extend(validity::spread(figures.first().and_then(|figure| figure.spread)));
    Outcome {
        method: first.method.clone(),
        configuration: first.configuration.clone(),
        answer: answer(outcomes, figures.first()),
        aggregation: first.aggregation.clone(),
        figures,
        bounds: bounds(&outcomes.iter().map(|o| o.bounds).collect::<Vec<_>>()),
        goals: goals(outcomes),
        series: series(outcomes),
        baseline: baseline(outcomes),
        repetitions: Vec::new(),
        started: outcomes.iter().map(|o| o.started.clone()).min().unwrap_or_default(),
        seconds: outcomes.iter().map(|o| o.seconds).sum(),
        key: first.key.clone(),
        trials: Vec::new(),
        validity: Validity::from_limits(limits),
        claims: claims(outcomes),
    }
}

impl Outcome {
    /// Says in the answer what makes a valid result imprecise.
    pub(super) fn tell_imprecision(&mut self) {
        if let Some(limit) = self.validity.imprecision() {
            self.answer += &format!(" Valid, imprecise: {}.", limit.what);
        }
    }
}

impl Repetition {
    fn of(one: &Measured) -> Repetition {
        Repetition {
            index: one.index,
            position: one.position,
            started: one.outcome.started.clone(),
            seconds: one.outcome.seconds,
            from_cache: one.from_cache,
            figures: one.outcome.figures.clone(),
            bounds: one.outcome.bounds,
            validity: one.outcome.validity.clone(),
        }
    }
}

/// Whether two figures of different repetitions are the same figure.
fn is_same(a: &Figure, b: &Figure) -> bool {
    a.name == b.name && a.of == b.of && a.unit == b.unit
}

/// The median of each figure, in the order of first appearance.
fn figures(outcomes: &[Outcome]) -> Vec<Figure> {
    let all = || outcomes.iter().flat_map(|o| &o.figures);
    let mut merged: Vec<Figure> = Vec::new();
    for figure in all() {
        if merged.iter().any(|known| is_same(known, figure)) {
            continue;
        }
        let same = || all().filter(|other| is_same(other, figure));
        let values: Vec<f64> = same().map(|f| f.value).collect();
        let spread = Spread::of(&values);
        let value = spread.map_or(figure.value, |spread| spread.median);
        // With some values too low, so may be the median.
        let bound = same().find_map(|figure| figure.bound);
        merged.push(Figure { value, spread, bound, ..figure.clone() });
    }
    merged
}

/// The medians of both bounds; a bound that one repetition lacks is unknown.
fn bounds(all: &[Option<Bounds>]) -> Option<Bounds> {
    let all: Vec<Bounds> = all.iter().copied().collect::<Option<_>>()?;
    let middle = |of: fn(&Bounds) -> Option<f64>| {
        all.iter().map(of).collect::<Option<Vec<f64>>>().and_then(|values| median(&values))
    };
    Some(Bounds {
        lower_pps: middle(|b| b.lower_pps),
        upper_pps: middle(|b| b.upper_pps),
        regular: all.iter().all(|b| b.regular),
    })
}

/// The goals that every repetition searched for, merged.
fn goals(outcomes: &[Outcome]) -> Vec<GoalRecord> {
    let one = |goal: &GoalRecord| {
        let same: Vec<&GoalRecord> = outcomes
            .iter()
            .map(|o| o.goals.iter().find(|other| other.name == goal.name))
            .collect::<Option<_>>()?;
        let conditional: Option<Vec<f64>> = same.iter().map(|g| g.conditional_pps).collect();
        let mut ends: Vec<&str> = same.iter().map(|g| g.ended.as_str()).collect();
        ends.dedup();
        Some(GoalRecord {
            name: goal.name.clone(),
            configuration: goal.configuration.clone(),
            bounds: bounds(&same.iter().map(|g| Some(g.bounds)).collect::<Vec<_>>())?,
            conditional_pps: conditional.and_then(|values| median(&values)),
            ended: ends.join(" / "),
        })
    };
    outcomes[0].goals.iter().filter_map(one).collect()
}

/// The series of the first repetition: with medians number by number if all repetitions have the
/// same number of rows, otherwise those of the repetition nearest to the median.
fn series(outcomes: &[Outcome]) -> Vec<Series> {
    let typical = &outcomes[nearest_to_median(outcomes)];
    let one = |series: &Series| {
        let same: Vec<&Series> = outcomes
            .iter()
            .filter_map(|o| o.series.iter().find(|other| other.name == series.name))
            .collect();
        let alike = same.len() == outcomes.len()
            && same
                .iter()
                .all(|s| s.columns == series.columns && s.rows.len() == series.rows.len());
        if !alike {
            let words = format!("{} (of the repetition nearest to the median)", series.title);
            return Series { title: words, ..series.clone() };
        }
        let number = |row: usize, column: usize| {
            let known: Vec<f64> = same.iter().filter_map(|s| *s.rows[row].get(column)?).collect();
            median(&known)
        };
        let columns = series.columns.len();
        let rows = (0..series.rows.len())
            .map(|row| (0..columns).map(|column| number(row, column)).collect())
            .collect();
        Series { rows, ..series.clone() }
    };
    typical.series.iter().map(one).collect()
}

/// Index of the repetition whose headline figure is nearest to the median of all.
fn nearest_to_median(outcomes: &[Outcome]) -> usize {
    let headline = |o: &Outcome| o.figures.first().map(|f| f.value);
    let values: Vec<f64> = outcomes.iter().filter_map(headline).collect();
    let Some(middle) = median(&values) else { return 0 };
    let distance =
        |at: &usize| headline(&outcomes[*at]).map_or(f64::INFINITY, |v| (v - middle).abs());
    (0..outcomes.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}

fn baseline(outcomes: &[Outcome]) -> Option<Baseline> {
    let known: Vec<Baseline> = outcomes.iter().filter_map(|o| o.baseline).collect();
    let latencies: Vec<f64> = known.iter().filter_map(|b| b.latency_p50_ns).collect();
    let rates: Vec<f64> = known.iter().map(|b| b.tester_pps).collect();
    Some(Baseline {
        tester_pps: median(&rates)?,
        spread: if rates.len() > 1 { Spread::of(&rates) } else { known[0].spread },
        latency_p50_ns: median(&latencies),
    })
}

/// Each clause at its lowest level; a clause that one repetition does not claim is not claimed.
fn claims(outcomes: &[Outcome]) -> Vec<Claim> {
    let strength = |level: ClaimLevel| match level {
        ClaimLevel::None => 0,
        ClaimLevel::Partial => 1,
        ClaimLevel::Full => 2,
    };
    let mut merged: Vec<Claim> = Vec::new();
    for claim in outcomes.iter().flat_map(|o| &o.claims) {
        if merged.iter().any(|known| known.clause == claim.clause) {
            continue;
        }
        let of_clause = |o: &Outcome| o.claims.iter().find(|c| c.clause == claim.clause).cloned();
        let all: Vec<Option<Claim>> = outcomes.iter().map(of_clause).collect();
        let absent = all.iter().any(Option::is_none);
        let weakest = all.into_iter().flatten().min_by_key(|claim| strength(claim.level));
        merged.extend(weakest.map(|claim| match absent {
            false => claim,
            true => Claim {
                level: ClaimLevel::None,
                reason: "not all repetitions claim it".into(),
                ..claim
            },
        }));
    }
    merged
}

fn answer(outcomes: &[Outcome], headline: Option<&Figure>) -> String {
    let n = outcomes.len();
    let mut words = match headline.and_then(|figure| figure.spread.map(|spread| (figure, spread))) {
        None => format!("{} ({n} repetitions)", outcomes[0].answer),
        Some((figure, spread)) => {
            let value = |value| figure_words(value, &figure.unit);
            let name = figure.name.replace('_', " ");
            let range = match spread.confidence_95 {
                Some([low, high]) => {
                    format!("95 % confidence interval {} to {}", value(low), value(high))
                }
                None => format!("minimum {}, maximum {}", value(spread.min), value(spread.max)),
            };
            format!("Median of {}: {name} {}, {range}.", spread.n, figure.words())
        }
    };
    let bad: Vec<String> = (1..=n)
        .zip(outcomes)
        .filter(|(_, outcome)| !outcome.validity.valid)
        .map(|(number, _)| number.to_string())
        .collect();
    if !bad.is_empty() {
        words.push_str(&format!(" Not valid: repetition {} of {n}.", bad.join(", ")));
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::{Column, LimitKind, TrialRecord};
    use crate::{Load, Trial};

    fn trial() -> TrialRecord {
        let second = std::time::Duration::from_secs(1);
        TrialRecord::new(0, "search", &Trial::new(Load::ClosedLoop, second, 1e9), Vec::new())
    }

    fn found(index: u32, mpps: f64) -> Measured {
        let bounds =
            Bounds { lower_pps: Some(mpps * 1e6), upper_pps: Some(mpps * 1.1e6), regular: true };
        let claim = |clause: &str, level| Claim { clause: clause.into(), level, reason: "".into() };
        let outcome = Outcome {
            method: "throughput".into(),
            configuration: json!({"precision": 0.1}),
            answer: format!("It forwards {mpps}."),
            figures: vec![
                Figure::single("throughput", mpps * 1e6, "pps"),
                Figure::single("latency_p50", 1000.0 * mpps, "ns").of("uplink"),
            ],
            bounds: Some(bounds),
            goals: vec![GoalRecord {
                name: "ndr".into(),
                bounds,
                ended: "the precision".into(),
                ..GoalRecord::default()
            }],
            series: vec![Series {
                name: "loss-curve".into(),
                columns: vec![Column::default(), Column::default()],
                rows: vec![vec![Some(1.0), None], vec![Some(2.0), Some(mpps)]],
                ..Series::default()
            }],
            started: format!("2026-01-01T00:00:0{index}Z"),
            seconds: 2.0,
            trials: vec![trial(), trial()],
            validity: Validity::from_limits(Vec::new()),
            claims: vec![claim("a", ClaimLevel::Full), claim("b", ClaimLevel::Partial)],
            ..Outcome::default()
        };
        Measured { index, position: 9 - index as usize, from_cache: index == 1, outcome }
    }

    #[test]
    fn nothing_merges_to_nothing_and_one_keeps_its_words() {
        assert_eq!(merge(Vec::new()), None);
        let merged = merge(vec![found(2, 5.0)]).expect("one");
        assert_eq!(merged.answer, "It forwards 5.");
        assert_eq!(merged.figures[0].spread, None, "one value has no spread");
        assert_eq!((merged.repetitions[0].index, merged.repetitions[0].position), (2, 7));
        assert!(merged.trials.iter().all(|trial| trial.repetition == 2));
    }

    #[test]
    fn figures_bounds_goals_and_series_are_medians() {
        let merged = merge(vec![found(2, 6.0), found(0, 4.0), found(1, 4.25)]).expect("three");
        assert_eq!(merged.figures[0].value, 4.25e6);
        let spread = merged.figures[0].spread.expect("three values");
        assert_eq!((spread.min, spread.max, spread.n), (4e6, 6e6, 3));
        assert_eq!(merged.figures[1].of.as_deref(), Some("uplink"));
        assert_eq!(merged.bounds.and_then(|b| b.lower_pps), Some(4.25e6));
        assert_eq!(merged.goals[0].bounds.upper_pps, Some(4.25 * 1.1e6));
        assert_eq!(merged.goals[0].ended, "the precision");
        assert_eq!(merged.series[0].rows, [[Some(1.0), None], [Some(2.0), Some(4.25)]]);
        assert_eq!((merged.seconds, merged.started.as_str()), (6.0, "2026-01-01T00:00:00Z"));
        let indices: Vec<u32> = merged.repetitions.iter().map(|one| one.index).collect();
        assert_eq!(indices, [0, 1, 2]);
        assert!(merged.repetitions[1].from_cache && !merged.repetitions[2].from_cache);
        let trials: Vec<_> = merged.trials.iter().map(|t| (t.index, t.repetition)).collect();
        assert_eq!(trials, [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2)]);
        let words = "Median of 3: throughput 4.25 Mpps, 95 % confidence interval ";
        assert!(merged.answer.starts_with(words), "{}", merged.answer);
        let words =
            " Valid, imprecise: the repetitions differ by 47 % of the median, more than 10 %.";
        assert!(merged.answer.ends_with(words), "{}", merged.answer);
        let limits: Vec<LimitKind> = merged.validity.limits.iter().map(|l| l.kind).collect();
        assert_eq!(limits, [LimitKind::Spread], "from 4 to 6 is no single figure");
    }

    #[test]
    fn a_repetition_that_is_not_valid_makes_the_whole_so_and_is_named() {
        let mut bad = found(1, 5.0);
        bad.outcome.add_limits(&[Limit {
            kind: LimitKind::Tester,
            invalidates: true,
            what: "it sent half".into(),
            advice: "lower max-rate".into(),
        }]);
        let merged = merge(vec![found(0, 5.0), bad]).expect("two");
        assert!(!merged.validity.valid);
        assert!(merged.answer.ends_with("Not valid: repetition 2 of 2."), "{}", merged.answer);
        assert_eq!(
            merged.validity.limits[0].what,
            "in 1 of 2 repetitions; for example: it sent half"
        );
        assert!(merged.claims.iter().all(|claim| claim.level == ClaimLevel::None));
        assert!(merged.repetitions[0].validity.valid);
    }

    #[test]
    fn claims_are_as_strong_as_the_weakest_repetition() {
        let mut weak = found(1, 5.0);
        weak.outcome.claims[0].level = ClaimLevel::Partial;
        weak.outcome.claims.truncate(1);
        let merged = merge(vec![found(0, 5.0), weak]).expect("two");
        let levels: Vec<ClaimLevel> = merged.claims.iter().map(|claim| claim.level).collect();
        assert_eq!(levels, [ClaimLevel::Partial, ClaimLevel::None]);
    }

    #[test]
    fn what_some_repetitions_lack_is_not_made_up() {
        let mut other = found(1, 5.0);
        other.outcome.figures.truncate(1);
        other.outcome.bounds = None;
        other.outcome.goals.clear();
        other.outcome.series[0].rows.truncate(1);
        let merged = merge(vec![found(0, 5.0), other]).expect("two");
        assert_eq!(merged.figures[1].spread.map(|spread| spread.n), Some(1));
        assert_eq!((merged.bounds, merged.goals.len()), (None, 0));
        assert!(merged.series[0].title.contains("nearest to the median"));
    }
}
