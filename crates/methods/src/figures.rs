//! Figures that several methods give, in the same words and units: rates on each interface, latency
//! by direction, a value with its spread over repetitions.

use measure::record::{Figure, Limit, LimitKind, Spread};
use measure::{Direction, Nanos, Trial};

/// The median of one value a repetition, with its spread; none without repetitions.
pub(crate) fn over_repetitions(name: &str, unit: &str, values: &[f64]) -> Option<Figure> {
    let spread = Spread::of(values)?;
    Some(Figure {
        name: name.into(),
        of: None,
        value: spread.median,
        unit: unit.into(),
        spread: Some(spread),
    })
}

/// A remark where repetitions spread so wide that medians compare badly.
pub(crate) fn spread_limit(spread: Option<Spread>) -> Option<Limit> {
    let width = spread.map_or(0.0, |s| s.relative_width());
    (width > SPREAD_REMARKED).then(|| Limit {
        kind: LimitKind::Spread,
        invalidates: false,
        what: format!("the repetitions spread over {:.0} % of the median", width * 100.0),
        advice: "measure longer or more often, on a quieter machine; compare medians only beyond \
                 this spread"
            .into(),
    })
}

/// The rate on each interface that a trial shows to pass: its load, or what the tester sent of it
/// where that was (within its tolerance) less.
pub(crate) fn rate_pps(trial: &Trial) -> f64 {
    let asked = trial.load.rate().map_or(0.0, |rate| rate.0);
    let seconds = trial.effective.as_secs_f64();
    if seconds <= 0.0 {
        return asked;
    }
    trial.directions.iter().map(|d| d.sent as f64 / seconds).fold(asked, f64::min)
}

/// How one value of a direction is read.
pub(crate) type Reading = fn(&Direction) -> f64;

/// What of each direction's latency is reported: the name of the figure and how it is read.
pub(crate) const LATENCIES: [(&str, Reading); 6] = [
    ("latency_min", |d| d.latency_ns.min() as f64),
    ("latency_p50", |d| d.latency_ns.value_at_quantile(0.5) as f64),
    ("latency_p90", |d| d.latency_ns.value_at_quantile(0.9) as f64),
    ("latency_p99", |d| d.latency_ns.value_at_quantile(0.99) as f64),
    ("latency_p99_9", |d| d.latency_ns.value_at_quantile(0.999) as f64),
    ("latency_max", |d| d.latency_ns.max() as f64),
];

/// The latency of each direction in which frames were timed, in nanoseconds.
pub(crate) fn latency(trial: &Trial) -> Vec<Figure> {
    let timed = trial.directions.iter().filter(|d| !d.latency_ns.is_empty());
    let of = |d: &Direction| {
        LATENCIES.map(|(name, read)| Figure::single(name, read(d), "ns").of(&d.name))
    };
    timed.flat_map(of).collect()
}

/// The latency of all directions in words, empty when none was measured.
pub(crate) fn latency_words(trial: &Trial) -> String {
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

/// ` on each of 2 interfaces`; empty for a single one.
pub(crate) fn interface_words(interfaces: usize) -> String {
    if interfaces > 1 { format!(" on each of {interfaces} interfaces") } else { String::new() }
}

/// Repetitions that spread wider than this fraction of their median are remarked.
const SPREAD_REMARKED: f64 = 0.1;
