//! The headline figures of a throughput.

use measure::record::{DirectionRecord, Figure, TrialRecord};
use measure::{Pps, l1_rate, l2_rate};

use crate::figures::{device_time, latency};

/// The figures of the trial that passed, at a rate per port and direction, which may be a lower
/// bound.
pub(super) fn figures(trial: &TrialRecord, pps: f64, is_at_least: bool) -> Vec<Figure> {
    let directions = &trial.directions;
    let rate = |name, rate, unit| Figure::single(name, rate, unit).at_least(is_at_least);
    let mut figures = vec![
        rate("throughput", pps, "pps"),
        rate("throughput_aggregate", pps * directions.len() as f64, "pps"),
        rate("throughput_aggregate_l2", sum(directions, pps, l2), "bit/s"),
        rate("throughput_aggregate_l1", sum(directions, pps, l1), "bit/s"),
        Figure::single("loss_fraction", trial.loss_fraction, "fraction"),
        Figure::single("loss_percent", trial.loss_percent, "percent"),
    ];
    for direction in directions {
        let name = &direction.name;
        figures.push(rate("throughput_l2", l2(direction, pps), "bit/s").of(name));
        figures.push(rate("throughput_l1", l1(direction, pps), "bit/s").of(name));
    }
    figures.extend(device_time(trial));
    figures.extend(latency(trial));
    figures
}

fn sum(directions: &[DirectionRecord], pps: f64, rate: fn(&DirectionRecord, f64) -> f64) -> f64 {
    directions.iter().map(|d| rate(d, pps)).sum()
}

fn l2(direction: &DirectionRecord, pps: f64) -> f64 {
    l2_rate(Pps(pps), mean_frame_len(direction)).0
}

fn l1(direction: &DirectionRecord, pps: f64) -> f64 {
    l1_rate(Pps(pps), mean_frame_len(direction)).0
}

/// Mean length of the frames sent in bytes, including the frame check sequence.
fn mean_frame_len(direction: &DirectionRecord) -> f64 {
    direction.sent_bytes as f64 / direction.sent.max(1) as f64
}
