//! Failures of paths as figures, limits and words.

use measure::record::{Column, Figure, Limit, Series, TrialRecord};
use measure::{Nanos, PathFailure, PathFault, validity};

use super::failed::Failed;
use super::{Config, NAME};
use crate::figures::over_repetitions;

fn of(all: &[Failed], fault: PathFault) -> impl Iterator<Item = &Failed> {
    all.iter().filter(move |one| one.fault == fault)
}

/// A time of each failure of a kind, where it has one.
fn times(all: &[Failed], fault: PathFault, read: fn(&PathFailure) -> Option<f64>) -> Vec<f64> {
    of(all, fault).filter_map(|one| read(one.carried()?)).collect()
}

/// A frame that was on its way when the path failed is lost at once.
fn until_left(path: &PathFailure) -> Option<f64> {
    Some(path.until_left_ns.unwrap_or(0) as f64)
}

fn until_back(path: &PathFailure) -> Option<f64> {
    path.until_back_ns.map(|ns| ns as f64)
}

pub(super) fn figures(config: &Config, all: &[Failed]) -> Vec<Figure> {
    let of_fault = |&fault: &PathFault| {
        let timed = [
            over_repetitions("path_failure_time", "ns", &times(all, fault, PathFailure::lost_ns)),
            over_repetitions("path_failure_until_left", "ns", &times(all, fault, until_left)),
            over_repetitions("path_failure_until_back", "ns", &times(all, fault, until_back)),
        ];
        let lost: u64 = of(all, fault).map(|one| one.lost).sum();
        let returned = returned(all, fault) as f64;
        let counted = [
            Figure::single("path_failure_lost", lost as f64, "frames"),
            Figure::single("path_failure_returned", returned, "failures"),
        ];
        let figures = timed.into_iter().flatten().chain(counted);
        figures.map(|figure| figure.of(fault.name())).collect::<Vec<_>>()
    };
    config.faults.iter().flat_map(of_fault).collect()
}

/// Number of failures of a kind after which flows came back.
fn returned(all: &[Failed], fault: PathFault) -> usize {
    of(all, fault).filter_map(Failed::carried).filter(|path| path.returned > 0).count()
}

pub(super) fn limits(records: &[TrialRecord], all: &[Failed]) -> Vec<Limit> {
    let mut limits = validity::summarise(&records.iter().collect::<Vec<_>>());
    let trials = all.len();
    let mut note = |is_one: fn(&Failed) -> bool, invalidates, what: &str, advice: &str| {
        let count = all.iter().filter(|one| is_one(one)).count();
        if count > 0 {
            let what = format!("in {count} of {trials} trials {what}");
            limits.push(Limit::of_search(invalidates, what, advice));
        }
    };
    note(
        |one| one.carried().is_none(),
        true,
        "the path carried nothing before it failed",
        "raise establish, so that the session comes up; send traffic to a route of a group that \
         has the watched next hop as a member",
    );
    note(
        |one| one.carried().is_some_and(lasted),
        true,
        "frames were sent into the failed path until it was mended",
        "raise lasting above the detection time of the session",
    );
    note(
        |one| one.carried().is_some_and(|path| path.returned == 0),
        false,
        "no flow came back once the path was mended",
        "raise after: a session takes a second or two to come up again",
    );
    note(
        |one| one.carried().is_some_and(|path| one.lost > path.lost),
        false,
        "frames were lost elsewhere than in the failed path",
        "see the stalls of the trials; lower rate to one that the device forwards without loss",
    );
    limits
}

/// Whether the device sent into the path nearly until it was mended.
fn lasted(path: &PathFailure) -> bool {
    let whole = path.mended_ns.saturating_sub(path.failed_ns) as f64;
    path.until_left_ns.is_some_and(|ns| ns as f64 > whole * UNTIL_MENDED)
}

/// A series for each kind, with one row per failure.
pub(super) fn series(config: &Config, all: &[Failed]) -> Vec<Series> {
    let column =
        |(name, unit): &(&str, &str)| Column { name: (*name).into(), unit: (*unit).into() };
    let row = |(index, one): (usize, &Failed)| {
        let path = one.carried();
        vec![
            Some(index as f64 + 1.0),
            path.and_then(PathFailure::lost_ns),
            path.and_then(until_left),
            path.and_then(until_back),
            Some(one.lost as f64),
            Some(one.stall_ns as f64),
        ]
    };
    let one = |&fault: &PathFault| Series {
        name: format!("{NAME}-{}", fault.name()),
        title: format!("Loss of each failure: {}", words(fault)),
        columns: COLUMNS.iter().map(column).collect(),
        rows: of(all, fault).enumerate().map(row).collect(),
    };
    config.faults.iter().map(one).collect()
}

pub(super) fn answer(config: &Config, all: &[Failed]) -> String {
    let one = |&fault: &PathFault| {
        let values = times(all, fault, PathFailure::lost_ns);
        let figure = over_repetitions("path_failure_time", "ns", &values);
        let Some(spread) = figure.and_then(|figure| figure.spread) else {
            return format!("{}: the path carried nothing before it failed", words(fault));
        };
        let count = of(all, fault).count();
        let lost: u64 = of(all, fault).map(|one| one.lost).sum();
        format!(
            "{}: the flows of the path are lost for {}, from {} to {} ({lost} frames in {count} \
             failures), and came back after {} of {count}",
            words(fault),
            Nanos(spread.median),
            Nanos(spread.min),
            Nanos(spread.max),
            returned(all, fault),
        )
    };
    let all: Vec<String> = config.faults.iter().map(one).collect();
    format!("{}.", all.join("; "))
}

fn words(fault: PathFault) -> &'static str {
    match fault {
        PathFault::Silence => "Silence of the neighbour",
        PathFault::PortDown => "Port down",
    }
}

/// Part of the failure's duration behind which frames into the path mean that they never left it.
const UNTIL_MENDED: f64 = 0.95;

const COLUMNS: &[(&str, &str)] = &[
    ("failure", "index"),
    ("path_failure_time", "ns"),
    ("until_left", "ns"),
    ("until_back", "ns"),
    ("lost", "frames"),
    ("longest_stall", "ns"),
];
