//! The headline figures of a throughput and their words.

use measure::record::Figure;
use measure::{Direction, Nanos, Pps, Trial, l1_rate, l2_rate};

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
        let latency = &direction.latency_ns;
        if latency.is_empty() {
            continue;
        }
        for (figure, value) in [
            ("latency_min", latency.min()),
            ("latency_p50", latency.value_at_quantile(0.5)),
            ("latency_p90", latency.value_at_quantile(0.9)),
            ("latency_p99", latency.value_at_quantile(0.99)),
            ("latency_p99_9", latency.value_at_quantile(0.999)),
            ("latency_max", latency.max()),
        ] {
            figures.push(Figure::single(figure, value as f64, "ns").of(name));
        }
    }
    figures
}

/// The rate on each interface that a trial shows to pass: its load, or what the tester sent of it
/// where that was (within its tolerance) less.
pub(super) fn rate_pps(trial: &Trial) -> f64 {
    let asked = trial.load.rate().map_or(0.0, |rate| rate.0);
    let seconds = trial.effective.as_secs_f64();
    if seconds <= 0.0 {
        return asked;
    }
    trial.directions.iter().map(|d| d.sent as f64 / seconds).fold(asked, f64::min)
}

/// The latency of all directions in words, empty when none was measured.
pub(super) fn latency_words(trial: &Trial) -> String {
    let worst = |quantile| {
        trial.directions.iter().map(|d| d.latency_ns.value_at_quantile(quantile)).max().unwrap_or(0)
    };
    if trial.directions.iter().all(|d| d.latency_ns.is_empty()) {
        return String::new();
    }
    format!(
        "; half of the frames take {} or less, 99.9 % take {} or less",
        Nanos(worst(0.5) as f64),
        Nanos(worst(0.999) as f64)
    )
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
