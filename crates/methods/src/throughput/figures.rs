//! The headline figures of a throughput.

use measure::record::Figure;
use measure::{Direction, Pps, Trial, l1_rate, l2_rate};

use crate::figures::{latency, rate_pps};

/// The figures of the trial that passed.
pub(super) fn figures(trial: &Trial) -> Vec<Figure> {
    let directions = &trial.directions;
    let load_pps = rate_pps(trial);
    let mut figures = vec![
        Figure::single("throughput", load_pps, "pps"),
        Figure::single("throughput_aggregate", load_pps * directions.len() as f64, "pps"),
        Figure::single("throughput_aggregate_l2", sum(directions, load_pps, l2), "bit/s"),
        Figure::single("throughput_aggregate_l1", sum(directions, load_pps, l1), "bit/s"),
        Figure::single("loss_fraction", trial.loss_ratio(), "fraction"),
        Figure::single("loss_percent", trial.loss_ratio() * 100.0, "percent"),
    ];
    for direction in directions {
        let name = &direction.name;
        figures.push(Figure::single("throughput_l2", l2(direction, load_pps), "bit/s").of(name));
        figures.push(Figure::single("throughput_l1", l1(direction, load_pps), "bit/s").of(name));
    }
    figures.extend(latency(trial));
    figures
}

fn sum(directions: &[Direction], pps: f64, rate: fn(&Direction, f64) -> f64) -> f64 {
    directions.iter().map(|d| rate(d, pps)).sum()
}

fn l2(direction: &Direction, pps: f64) -> f64 {
    l2_rate(Pps(pps), mean_frame_len(direction)).0
}

fn l1(direction: &Direction, pps: f64) -> f64 {
    l1_rate(Pps(pps), mean_frame_len(direction)).0
}

/// Mean length of the frames sent, frame check sequence included.
fn mean_frame_len(direction: &Direction) -> f64 {
    direction.sent_bytes as f64 / direction.sent.max(1) as f64
}
