//! Restarts as figures, limits and words.

use measure::Nanos;
use measure::record::{Column, Figure, Limit, LimitKind, Series};
use measure::statistics::median;

use super::config::{Config, NAME};
use super::outage::Reset;
use crate::figures::over_repetitions;
use crate::reference::Throughput;

pub(super) fn figures(resets: &[Reset], throughput: &Throughput) -> Vec<Figure> {
    let done: Vec<&Reset> = resets.iter().filter(|reset| reset.ready_ns.is_some()).collect();
    let times: Vec<f64> = done.iter().map(|reset| reset.lost_ns()).collect();
    let Some(whole) = over_repetitions("reset_time", "ns", &times) else { return Vec::new() };
    let mut figures = vec![whole];
    let names = done[0].directions.iter().map(|d| d.name.as_str());
    for name in names {
        let of =
            |reset: &&Reset| reset.directions.iter().find(|d| d.name == name).map(|d| d.lost_ns);
        let times: Vec<f64> = done.iter().filter_map(of).collect();
        figures.extend(over_repetitions("reset_time", "ns", &times).map(|f| f.of(name)));
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    figures.push(Figure::single("reset_time_mean", mean, "ns"));
    let last: Vec<f64> = done.iter().filter_map(|reset| reset.until_last_lost_ns()).collect();
    figures.extend(over_repetitions("reset_until_last_lost", "ns", &last));
    let silence: Vec<f64> = done.iter().filter_map(|reset| reset.silence_ns).collect();
    figures.extend(over_repetitions("reset_silence", "ns", &silence));
    let ready: Vec<f64> = done.iter().filter_map(|reset| reset.ready_ns).collect();
    figures.extend(over_repetitions("reset_until_ready", "ns", &ready));
    figures.extend(throughput.pps.map(|pps| Figure::single("reference_throughput", pps, "pps")));
    figures
}

/// A series with one row per restart.
pub(super) fn series(resets: &[Reset]) -> Vec<Series> {
    let column = |name: &str, unit: &str| Column { name: name.into(), unit: unit.into() };
    let row = |(index, reset): (usize, &Reset)| {
        vec![
            Some(index as f64 + 1.0),
            Some(reset.lost_ns()),
            reset.silence_ns,
            reset.until_last_lost_ns(),
            reset.ready_ns,
        ]
    };
    if resets.is_empty() {
        return Vec::new();
    }
    vec![Series {
        name: NAME.into(),
        title: "Outage of each restart".into(),
        columns: vec![
            column("restart", "index"),
            column("reset_time", "ns"),
            column("silence", "ns"),
            column("until_last_lost", "ns"),
            column("until_ready", "ns"),
        ],
        rows: resets.iter().enumerate().map(row).collect(),
    }]
}

/// Removes limits about full rings, because a restart is meant to cause loss.
pub(super) fn of_trials(limits: Vec<Limit>) -> Vec<Limit> {
    limits.into_iter().filter(|limit| limit.kind != LimitKind::RingFull).collect()
}

pub(super) fn of_resets(config: &Config, resets: &[Reset]) -> Vec<Limit> {
    let of = resets.len();
    let mut limits = Vec::new();
    let undone = resets.iter().filter(|reset| reset.ready_ns.is_none()).count();
    if undone > 0 {
        limits.push(Limit::of_search(
            true,
            format!("in {undone} of {of} trials the device was not restarted"),
            "raise after; see the messages of the device on its restart",
        ));
    }
    let losing = resets.iter().filter(|reset| reset.still_losing()).count();
    if losing > 0 {
        limits.push(Limit::of_search(
            losing * 2 >= of,
            format!(
                "in {losing} of {of} trials frames were still lost at the end of {} after the \
                 restart",
                config.after
            ),
            "raise after, or lower load to one that the device forwards without loss",
        ));
    }
    limits
}

pub(super) fn answer(config: &Config, resets: &[Reset], throughput: &Throughput) -> String {
    if throughput.pps.is_none() {
        return "No throughput was found as the load of the restart.".to_owned();
    }
    let done: Vec<&Reset> = resets.iter().filter(|reset| reset.ready_ns.is_some()).collect();
    let times: Vec<f64> = done.iter().map(|reset| reset.lost_ns()).collect();
    let spread = over_repetitions("reset_time", "ns", &times).and_then(|figure| figure.spread);
    let (Some(spread), Some(first)) = (spread, done.first()) else {
        return "The device was not restarted.".to_owned();
    };
    let at = format!("at {} of {}", config.load, throughput.words());
    let what = &first.what;
    if spread.max == 0.0 {
        let silence: Vec<f64> = done.iter().filter_map(|reset| reset.silence_ns).collect();
        let bridged = median(&silence).unwrap_or(0.0);
        return format!(
            "A restart of {what} {at} loses no frame; the silence is {}.",
            Nanos(bridged)
        );
    }
    let extremes = match spread.n {
        1 => String::new(),
        n => format!(" (median of {n}; {} to {})", Nanos(spread.min), Nanos(spread.max)),
    };
    format!("A restart of {what} {at} has an outage of {}{extremes}.", Nanos(spread.median))
}
