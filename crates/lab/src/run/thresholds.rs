//! Whether the results are what the scenario says they must be.
//!
//! Fails closed: a figure that is missing, or of a result that is not valid, meets no threshold,
//! and a threshold that is of no cell is not met either.

use measure::record::{Cell, Figure, Outcome, ThresholdVerdict};

use crate::scenario::Threshold;

/// Verdicts for each threshold in each cell and method to which it applies.
pub(super) fn verdicts(thresholds: &[Threshold], cells: &[Cell]) -> Vec<ThresholdVerdict> {
    thresholds.iter().flat_map(|threshold| of_threshold(threshold, cells)).collect()
}

fn of_threshold(threshold: &Threshold, cells: &[Cell]) -> Vec<ThresholdVerdict> {
    let is_meant = |cell: &&Cell| threshold.is_about(&cell.parameters);
    let verdicts: Vec<ThresholdVerdict> =
        cells.iter().filter(is_meant).flat_map(|cell| of_cell(threshold, cell)).collect();
    if verdicts.is_empty() {
        return vec![missing(threshold, None, "no such cell was measured")];
    }
    verdicts
}

fn of_cell(threshold: &Threshold, cell: &Cell) -> Vec<ThresholdVerdict> {
    let is_meant = |outcome: &&Outcome| match &threshold.method {
        Some(method) => *method == outcome.method,
        None => !figures(threshold, outcome).is_empty(),
    };
    let verdicts: Vec<ThresholdVerdict> = cell
        .outcomes
        .iter()
        .filter(is_meant)
        .map(|outcome| of_outcome(threshold, cell, outcome))
        .collect();
    if verdicts.is_empty() {
        return vec![missing(threshold, Some(cell), "it was not measured")];
    }
    verdicts
}

fn of_outcome(threshold: &Threshold, cell: &Cell, outcome: &Outcome) -> ThresholdVerdict {
    let found = figures(threshold, outcome);
    let missing = |why| ThresholdVerdict {
        method: outcome.method.clone(),
        ..missing(threshold, Some(cell), why)
    };
    if !outcome.validity.valid {
        return missing("the result is not valid");
    }
    // Where there are only parts, the worst of them decides.
    let worst = found.iter().find(|f| !is_met(threshold, f.value)).or(found.first());
    let Some(figure) = worst else { return missing("the result has no such figure") };
    let met = is_met(threshold, figure.value);
    let of = figure.of.as_ref().map_or(String::new(), |of| format!(" {of}"));
    let verdict = if met { "meets" } else { "misses" };
    ThresholdVerdict {
        cell: cell.id.clone(),
        method: outcome.method.clone(),
        figure: threshold.figure.clone(),
        condition: threshold.text.clone(),
        value: Some(figure.value),
        met,
        answer: format!(
            "{}{of} of {} {verdict} {}",
            threshold.figure,
            figure.words(),
            threshold.text
        ),
    }
}

/// The figure of the whole, or its parts if the threshold names none and there is no whole.
fn figures<'a>(threshold: &Threshold, outcome: &'a Outcome) -> Vec<&'a Figure> {
    let named = || outcome.figures.iter().filter(|figure| figure.name == threshold.figure);
    let exact: Vec<&Figure> = named().filter(|figure| figure.of == threshold.of).collect();
    if exact.is_empty() && threshold.of.is_none() { named().collect() } else { exact }
}

/// Whether a value meets a threshold; false for a value that is not a number.
fn is_met(threshold: &Threshold, value: f64) -> bool {
    value.is_finite()
        && threshold.at_least.is_none_or(|least| value >= least)
        && threshold.at_most.is_none_or(|most| value <= most)
}

fn missing(threshold: &Threshold, cell: Option<&Cell>, why: &str) -> ThresholdVerdict {
    ThresholdVerdict {
        cell: cell.map_or_else(String::new, |cell| cell.id.clone()),
        method: threshold.method.clone().unwrap_or_default(),
        figure: threshold.figure.clone(),
        condition: threshold.text.clone(),
        value: None,
        met: false,
        answer: format!("no {} for {}: {why}", threshold.figure, threshold.text),
    }
}

#[cfg(test)]
mod tests {
    use measure::record::Validity;
    use serde_json::{Map, Value, json};

    use super::*;

    fn cell(user: u32, throughput: f64) -> Cell {
        let parameters = json!({"function.user": user});
        let outcome = Outcome {
            method: "throughput".into(),
            figures: vec![
                Figure::single("throughput", throughput, "pps"),
                Figure::single("latency_p50", 1000.0, "ns").of("uplink"),
                Figure::single("latency_p50", 3000.0, "ns").of("downlink"),
            ],
            validity: Validity::from_limits(Vec::new()),
            ..Outcome::default()
        };
        Cell {
            id: format!("user={user}"),
            parameters: parameters.as_object().expect("an object").clone(),
            outcomes: vec![outcome],
            ..Cell::default()
        }
    }

    fn threshold(figure: &str) -> Threshold {
        Threshold {
            method: None,
            figure: figure.into(),
            of: None,
            cells: Map::new(),
            at_least: None,
            at_most: None,
            text: ">= 5 Mpps".into(),
        }
    }

    fn met(threshold: Threshold, cells: &[Cell]) -> Vec<bool> {
        verdicts(&[threshold], cells).iter().map(|verdict| verdict.met).collect()
    }

    #[test]
    fn each_cell_is_judged_by_its_own_figure() {
        let cells = [cell(1, 5e6), cell(2, 4e6)];
        let least = Threshold { at_least: Some(5e6), ..threshold("throughput") };
        let found = verdicts(std::slice::from_ref(&least), &cells);
        assert_eq!(found.iter().map(|v| v.met).collect::<Vec<_>>(), [true, false]);
        assert_eq!(found[1].answer, "throughput of 4.00 Mpps misses >= 5 Mpps");
        let only = Map::from_iter([("function.user".to_owned(), Value::from(1))]);
        assert_eq!(met(Threshold { cells: only, ..least }, &cells), [true]);
    }

    #[test]
    fn the_worst_part_decides_unless_one_is_named() {
        let cells = [cell(1, 5e6)];
        let most = Threshold { at_most: Some(2000.0), ..threshold("latency_p50") };
        let uplink = Threshold { of: Some("uplink".into()), ..most.clone() };
        assert_eq!(met(most, &cells), [false]);
        assert_eq!(met(uplink, &cells), [true]);
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let cells = [cell(1, 5e6)];
        let no_bound = threshold("throughput");
        let absent = Map::from_iter([("function.user".to_owned(), Value::from(9))]);
        assert_eq!(met(Threshold { cells: absent, ..no_bound.clone() }, &cells), [false]);
        assert_eq!(met(threshold("absent"), &cells), [false]);
        let method = Threshold { method: Some("capacity".into()), ..no_bound.clone() };
        assert_eq!(met(method, &cells), [false]);
        let mut bad = cell(1, 5e6);
        bad.outcomes[0].validity.valid = false;
        let found = verdicts(&[no_bound], &[bad]);
        assert_eq!((found[0].met, found[0].value), (false, None));
    }
}
