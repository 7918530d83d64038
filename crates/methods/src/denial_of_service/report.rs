//! Floods as figures, limits and words.

use measure::record::{Column, Figure, Limit, LimitKind, Series};
use measure::statistics::median;
use measure::{Pps, Ratio};

use super::config::NAME;
use super::course::{Course, Rates, Seen};
use crate::figures::over_repetitions;

/// A function that reads a figure of a trial.
type Reading = fn(&Seen) -> Option<f64>;

/// Figures of each flood, and of the background alone.
const READINGS: &[(&str, &str, Reading)] = &[
    ("background_loss_percent", "percent", |seen| Some(seen.loss * 100.0)),
    ("busiest_core_percent", "percent", |seen| seen.busy.map(|busy| busy * 100.0)),
    ("pings_answered_percent", "percent", |seen| seen.pings.map(|part| part * 100.0)),
    ("latency_p99", "ns", |seen| seen.p99_ns),
];

/// Figures of floods only.
const OF_FLOODS: &[(&str, &str, Reading)] = &[
    ("flood_offered", "pps", |seen| Some(seen.offered_pps)),
    ("flood_answered", "pps", |seen| Some(seen.answered_pps)),
];

pub(super) fn figures(courses: &[Course], rates: Option<Rates>) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (name, unit, reading) in READINGS {
        // Of all floods the worst, which for pings is the least.
        let medians = courses.iter().filter(|c| c.kind.is_some());
        let medians = medians.filter_map(|course| middle(course, *reading));
        let worst = match *name == "pings_answered_percent" {
            true => medians.min_by(f64::total_cmp),
            false => medians.max_by(f64::total_cmp),
        };
        figures.extend(worst.map(|value| Figure::single(name, value, unit)));
    }
    figures.extend(rates.map(|rates| Figure::single("load", rates.background.0, "pps")));
    for course in courses {
        let of_floods = if course.kind.is_some() { OF_FLOODS } else { &[] };
        for (name, unit, reading) in READINGS.iter().chain(of_floods) {
            let values: Vec<f64> = course.seen.iter().filter_map(*reading).collect();
            figures.extend(over_repetitions(name, unit, &values).map(|f| f.of(course.name)));
        }
    }
    figures
}

fn middle(course: &Course, reading: Reading) -> Option<f64> {
    median(&course.seen.iter().filter_map(reading).collect::<Vec<_>>())
}

/// A series with one row per flood, the first without a flood; the title has their names, because a
/// series holds numbers only.
pub(super) fn series(courses: &[Course]) -> Vec<Series> {
    if courses.iter().all(|course| course.seen.is_empty()) {
        return Vec::new();
    }
    let column = |name: &str, unit: &str| Column { name: name.into(), unit: unit.into() };
    let readings = || READINGS.iter().chain(OF_FLOODS);
    let row = |(index, course): (usize, &Course)| {
        let values = readings().map(|(_, _, reading)| middle(course, *reading));
        std::iter::once(Some(index as f64)).chain(values).collect()
    };
    let names: Vec<String> =
        courses.iter().enumerate().map(|(index, c)| format!("{index} {}", c.name)).collect();
    let columns = readings().map(|(name, unit, _)| column(name, unit));
    vec![Series {
        name: NAME.into(),
        title: format!("Effect of each flood on the background: {}", names.join(", ")),
        columns: std::iter::once(column("flood", "index")).chain(columns).collect(),
        rows: courses.iter().enumerate().map(row).collect(),
    }]
}

/// Removes limits about full rings of the device, which a flood is meant to cause.
pub(super) fn without_rings(limits: Vec<Limit>) -> Vec<Limit> {
    limits.into_iter().filter(|limit| limit.kind != LimitKind::RingFull).collect()
}

pub(super) fn limits(courses: &[Course], rates: Option<Rates>) -> Vec<Limit> {
    let mut limits = Vec::new();
    let alone = courses.iter().find(|course| course.kind.is_none());
    let lost = alone.and_then(|course| middle(course, |seen| Some(seen.loss))).unwrap_or(0.0);
    if lost > LOSS_ALONE_MAX {
        limits.push(Limit::of_search(
            false,
            format!("the background already loses {} without a flood", Ratio(lost)),
            "lower background to a load that the device forwards without loss",
        ));
    }
    for course in courses.iter().filter(|course| course.kind.is_some()) {
        let offered = middle(course, |seen| Some(seen.offered_pps)).unwrap_or(0.0);
        let asked = rates.map_or(0.0, |rates| rates.flood.0);
        if offered < asked * measure::validity::TESTER_SENT_MIN {
            limits.push(Limit::of_search(
                false,
                format!(
                    "for {} the tester sent {} instead of {}",
                    course.name,
                    Pps(offered),
                    Pps(asked)
                ),
                "lower flood or background, or give the tester a faster core",
            ));
        }
    }
    limits
}

pub(super) fn answer(courses: &[Course], rates: Option<Rates>) -> String {
    let Some(rates) = rates else {
        return "No throughput was found as a reference for rates.".to_owned();
    };
    let floods: Vec<&Course> = courses.iter().filter(|course| course.kind.is_some()).collect();
    let loss = |course: &&Course| middle(course, |seen| Some(seen.loss)).unwrap_or(0.0);
    let by_loss = |a: &&&Course, b: &&&Course| loss(a).total_cmp(&loss(b));
    let Some(worst) = floods.iter().max_by(by_loss) else {
        return "There is no flood to send.".to_owned();
    };
    let lost = match loss(worst) {
        0.0 => format!("loses nothing under any of {} floods", floods.len()),
        some => format!("loses at most {}, under {}", Ratio(some), worst.name),
    };
    let pings = floods.iter().filter_map(|c| Some((middle(c, |seen| seen.pings)?, c.name)));
    let pings = pings.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(String::new(), |(part, name)| {
        match part >= 1.0 {
            true => "; every ping is answered".to_owned(),
            false => format!("; {} of the pings are answered, under {name}", Ratio(part)),
        }
    });
    let busy = floods.iter().filter_map(|c| Some((middle(c, |seen| seen.busy)?, c.name)));
    let busy = busy.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(String::new(), |(part, name)| {
        format!("; the busiest core is loaded to {:.0} %, under {name}", part * 100.0)
    });
    format!("The background of {} {lost} of {}{pings}{busy}.", rates.background, rates.flood)
}

/// Loss of the background alone above which there is a remark.
const LOSS_ALONE_MAX: f64 = 1e-3;
