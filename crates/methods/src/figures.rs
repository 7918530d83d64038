//! Figures that several methods give, in the same words and units: rates on each interface, latency
//! by direction, a value with its spread over repetitions.

use measure::record::{DirectionRecord, Figure, Limit, LimitKind, Spread, TrialRecord};
use measure::{Direction, Nanos};

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
pub(crate) fn rate_pps(trial: &TrialRecord) -> f64 {
    let asked = trial.load_pps().unwrap_or(0.0);
    let seconds = trial.effective_ns as f64 * 1e-9;
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
pub(crate) fn latency(trial: &TrialRecord) -> Vec<Figure> {
    let of = |direction: &DirectionRecord| {
        let l = direction.latency.as_ref()?;
        let values = [l.min_ns, l.p50_ns, l.p90_ns, l.p99_ns, l.p99_9_ns, l.max_ns];
        let figure = |((name, _), ns): ((&str, Reading), u64)| {
            Figure::single(name, ns as f64, "ns").of(&direction.name)
        };
        Some(LATENCIES.into_iter().zip(values).map(figure).collect::<Vec<_>>())
    };
    trial.directions.iter().filter_map(of).flatten().collect()
}

/// What the device's processors spent on a packet in a trial, as far as it is known.
pub(crate) fn device_time(trial: &TrialRecord) -> Vec<Figure> {
    let figures =
        DEVICE_TIMES.iter().map(|(name, read)| Some(Figure::single(name, read(trial)?, "ns")));
    figures.flatten().collect()
}

/// The same over repetitions.
pub(crate) fn device_times(trials: &[TrialRecord]) -> Vec<Figure> {
    let over = |(name, read): &(&str, OfTrial)| {
        let values: Vec<f64> = trials.iter().filter_map(read).collect();
        over_repetitions(name, "ns", &values)
    };
    DEVICE_TIMES.iter().filter_map(over).collect()
}

/// A figure of a trial, where it has it.
type OfTrial = fn(&TrialRecord) -> Option<f64>;

/// What is told of the device's processors.
const DEVICE_TIMES: [(&str, OfTrial); 2] = [
    ("device_cpu_per_packet", TrialRecord::device_cpu_ns_per_packet),
    ("device_busy_per_packet", TrialRecord::device_busy_ns_per_packet),
];

/// The latency of all directions in words, empty when none was measured.
pub(crate) fn latency_words(trial: &TrialRecord) -> String {
    let timed = || trial.directions.iter().filter_map(|d| d.latency.as_ref());
    let worst = timed().map(|l| l.p50_ns).max().zip(timed().map(|l| l.p99_9_ns).max());
    worst.map_or(String::new(), |(p50, p99_9)| {
        format!(
            "; half of the frames take {} or less, 99.9 % take {} or less",
            Nanos(p50 as f64),
            Nanos(p99_9 as f64)
        )
    })
}

/// ` on each of 2 interfaces`; empty for a single one.
pub(crate) fn interface_words(interfaces: usize) -> String {
    if interfaces > 1 { format!(" on each of {interfaces} interfaces") } else { String::new() }
}

/// Repetitions that spread wider than this fraction of their median are remarked.
const SPREAD_REMARKED: f64 = 0.1;

/// Whether all are among the known ones, with their units, so that scenarios may name them.
#[cfg(test)]
pub(crate) fn assert_known(figures: &[Figure]) {
    for figure in figures {
        let known = measure::record::FIGURES.iter().find(|known| known.name == figure.name);
        assert_eq!(known.map(|known| known.unit), Some(figure.unit.as_str()), "{}", figure.name);
    }
}
