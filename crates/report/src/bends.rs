//! Whether what takes time takes more than in proportion to what there is to do.

use measure::record::Cell;

use crate::summary::figure_name;
use crate::sweeps::{self, Group, Sweep, bar, is_size, is_workers};
use crate::words::grouped;

/// A sentence for each swept number and time of the whole work: where the time bends upwards, or
/// that it does not.
pub(crate) fn sentences(cells: &[Cell]) -> Vec<String> {
    let outcomes = || cells.iter().flat_map(|cell| &cell.outcomes);
    let is_there = |name: &&&str| outcomes().any(|outcome| outcome.figure(name).is_some());
    let times: Vec<&str> = TIMES.iter().filter(is_there).copied().collect();
    let sweeps = sweeps::of(cells);
    let counts = sweeps.iter().filter(|sweep| !is_size(&sweep.key) && !is_workers(&sweep.key));
    counts.flat_map(|sweep| times.iter().filter_map(|time| sentence(sweep, time))).collect()
}

fn sentence(sweep: &Sweep<'_>, time: &str) -> Option<String> {
    let steps = |group| steps(group, time).into_iter().map(move |step| (group, step));
    let all: Vec<(&Group<'_>, Step)> = sweep.groups.iter().flat_map(steps).collect();
    let (what, key) = (figure_name(time), sweep.leaf());
    let bends = all.iter().filter(|(_, step)| step.least_growth() > BEND * step.of_work());
    let bends: Vec<String> = bends.map(|(group, step)| step.words(group.name.as_deref())).collect();
    match (all.is_empty(), bends.is_empty()) {
        (true, _) => None,
        (false, true) => Some(format!("The {what} grows at most in proportion to {key}.")),
        (false, false) => Some(format!("The {what} bends, as {key} grow: {}.", bends.join("; "))),
    }
}

/// From one number to the next one.
struct Step {
    from: Point,
    to: Point,
}

#[derive(Clone, Copy)]
struct Point {
    work: f64,
    time: f64,
    /// The ends of the interval of the time.
    interval: [f64; 2],
}

impl Step {
    /// How many times as much there is to do.
    fn of_work(&self) -> f64 {
        self.to.work / self.from.work
    }

    /// How many times as long it takes, at least: what the intervals explain is no bend.
    fn least_growth(&self) -> f64 {
        self.to.interval[0] / self.from.interval[1]
    }

    fn words(&self, name: Option<&str>) -> String {
        let [from, to] = [self.from.work, self.to.work].map(|work| grouped(work as u64));
        let (growth, of_work) = (self.to.time / self.from.time, self.of_work());
        let of = name.map(|name| format!(" ({name})")).unwrap_or_default();
        format!("{growth:.1} times as long for {of_work:.1} times as many, from {from} to {to}{of}")
    }
}

/// The steps of cells whose time is known.
fn steps(group: &Group<'_>, time: &str) -> Vec<Step> {
    let mut points: Vec<Point> =
        group.cells.iter().filter_map(|(work, cell)| point(*work, cell, time)).collect();
    points.sort_by(|a, b| a.work.total_cmp(&b.work));
    points.windows(2).map(|pair| Step { from: pair[0], to: pair[1] }).collect()
}

fn point(work: f64, cell: &Cell, time: &str) -> Option<Point> {
    let mut valid = cell.outcomes.iter().filter(|outcome| outcome.validity.valid);
    let figure = valid.find_map(|outcome| outcome.figure(time))?;
    let interval = bar(figure).unwrap_or([figure.value; 2]);
    // A number of 0 stands for all that there is.
    (work > 0.0 && figure.value > 0.0).then_some(Point { work, time: figure.value, interval })
}

/// Figures that are the time of the whole work.
const TIMES: &[&str] = &["convergence_time", "withdrawal_time"];

/// How much more than in proportion is a bend.
const BEND: f64 = 1.25;

#[cfg(test)]
mod tests {
    use measure::record::{Figure, Outcome, Validity};
    use serde_json::json;

    use super::*;

    fn cells(times: &[(u64, f64)]) -> Vec<Cell> {
        let cell = |(clients, time): &(u64, f64)| Cell {
            parameters: json!({"traffic.clients": clients}).as_object().cloned().expect("a map"),
            outcomes: vec![Outcome {
                method: "convergence".into(),
                figures: vec![Figure::single("convergence_time", *time, "ns")],
                validity: Validity { valid: true, ..Validity::default() },
                ..Outcome::default()
            }],
            ..Cell::default()
        };
        times.iter().map(cell).collect()
    }

    #[test]
    fn a_time_that_grows_with_the_work_has_no_bend() {
        let said = sentences(&cells(&[(10, 1e6), (100, 9e6), (1_000, 100e6)]));
        assert_eq!(said, ["The convergence time grows at most in proportion to clients."]);
    }

    #[test]
    fn a_bend_is_told_where_it_is() {
        let said = sentences(&cells(&[(10, 1e6), (100, 9e6), (1_000, 270e6), (0, 1e9)]));
        let bend = "30.0 times as long for 10.0 times as many, from 100 to 1,000";
        assert_eq!(said, [format!("The convergence time bends, as clients grow: {bend}.")]);
    }

    #[test]
    fn one_number_and_times_of_one_packet_say_nothing() {
        assert!(sentences(&cells(&[(10, 1e6)])).is_empty());
        assert!(sentences(&cells(&[])).is_empty());
    }
}
