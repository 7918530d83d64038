//! Figures that several methods give, in the same words and units: rates per port and direction,
//! latency by direction, a value with its spread over repetitions.

use measure::record::{DirectionRecord, Figure, Spread, TrialRecord};
use measure::{Direction, Nanos, Trial};

/// A figure with the median of one value per repetition and its spread; none without repetitions.
pub(crate) fn over_repetitions(name: &str, unit: &str, values: &[f64]) -> Option<Figure> {
    let spread = Spread::of(values)?;
    Some(Figure {
        name: name.into(),
        of: None,
        value: spread.median,
        unit: unit.into(),
        spread: Some(spread),
        bound: None,
    })
}

/// The rate per port and direction that a trial shows to pass: its load if all frames of it were
/// sent, or the sent part if the tester sent less (within its tolerance).
pub(crate) fn rate_pps(trial: &TrialRecord) -> f64 {
    let asked = trial.load_pps().unwrap_or(0.0);
    let seconds = trial.effective_ns as f64 * 1e-9;
    if seconds <= 0.0 || trial.directions.iter().all(|d| d.sent >= d.intended) {
        return asked;
    }
    trial.directions.iter().map(|d| d.sent as f64 / seconds).fold(asked, f64::min)
}

/// The rate that came through on the slowest interface, in packets per second.
pub(crate) fn forwarded_pps(trial: &Trial) -> f64 {
    let seconds = trial.effective.as_secs_f64();
    let slowest = trial.directions.iter().map(|d| d.received).min().unwrap_or(0);
    if seconds > 0.0 { slowest as f64 / seconds } else { 0.0 }
}

/// A function that reads a value of a direction.
pub(crate) type Reading = fn(&Direction) -> f64;

/// Reported latencies of each direction: name of the figure and how it is read.
pub(crate) const LATENCIES: [(&str, Reading); 6] = [
    ("latency_min", |d| d.latency_ns.min() as f64),
    ("latency_p50", |d| d.latency_ns.value_at_quantile(0.5) as f64),
    ("latency_p90", |d| d.latency_ns.value_at_quantile(0.9) as f64),
    ("latency_p99", |d| d.latency_ns.value_at_quantile(0.99) as f64),
    ("latency_p99_9", |d| d.latency_ns.value_at_quantile(0.999) as f64),
    ("latency_max", |d| d.latency_ns.max() as f64),
];

/// Latency figures of each direction with timed frames, in nanoseconds.
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

/// CPU time per packet of the device in a trial, as far as it is known.
pub(crate) fn device_time(trial: &TrialRecord) -> Vec<Figure> {
    let figures =
        DEVICE_TIMES.iter().map(|(name, read)| Some(Figure::single(name, read(trial)?, "ns")));
    figures.flatten().collect()
}

/// CPU time per packet of the device over repetitions.
pub(crate) fn device_times(trials: &[TrialRecord]) -> Vec<Figure> {
    let over = |(name, read): &(&str, OfTrial)| {
        let values: Vec<f64> = trials.iter().filter_map(read).collect();
        over_repetitions(name, "ns", &values)
    };
    DEVICE_TIMES.iter().filter_map(over).collect()
}

/// A function that reads a figure of a trial, if there is one.
type OfTrial = fn(&TrialRecord) -> Option<f64>;

/// The reported figures of CPU time.
const DEVICE_TIMES: [(&str, OfTrial); 2] = [
    ("device_cpu_per_packet", TrialRecord::device_cpu_ns_per_packet),
    ("device_busy_per_packet", TrialRecord::device_busy_ns_per_packet),
];

/// The latency of all directions as text; empty if none was measured.
pub(crate) fn latency_words(trial: &TrialRecord) -> String {
    let timed = || trial.directions.iter().filter_map(|d| d.latency.as_ref());
    let worst = timed().map(|l| l.p50_ns).max().zip(timed().map(|l| l.p99_9_ns).max());
    worst.map_or(String::new(), |(p50, p99_9)| {
        format!("; latency median {}, 99.9th percentile {}", Nanos(p50 as f64), Nanos(p99_9 as f64))
    })
}

/// ` on each of 2 ports`; empty for a single one.
pub(crate) fn interface_words(interfaces: usize) -> String {
    if interfaces > 1 { format!(" on each of {interfaces} ports") } else { String::new() }
}

/// A figure of a method, with its unit in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFigure {
    /// Name of the figure.
    pub name: &'static str,
    /// Unit of the figure.
    pub unit: &'static str,
}

/// An entry of a list of figures.
pub(crate) const fn known(name: &'static str, unit: &'static str) -> KnownFigure {
    KnownFigure { name, unit }
}

/// Figures of several methods.
pub(crate) const SHARED: &[KnownFigure] = &[
    known("device_busy_per_packet", "ns"),
    known("device_cpu_per_packet", "ns"),
    known("latency_max", "ns"),
    known("latency_min", "ns"),
    known("latency_p50", "ns"),
    known("latency_p90", "ns"),
    known("latency_p99", "ns"),
    known("latency_p99_9", "ns"),
    known("loss_fraction", "fraction"),
    known("loss_percent", "percent"),
    known("reference_throughput", "pps"),
    known("session_answer_max", "ns"),
    known("session_answer_p50", "ns"),
    known("session_answer_p99", "ns"),
    known("session_answer_p99_9", "ns"),
    known("sessions_held", "sessions"),
];

/// Checks that the method lists all figures of its outcome, with their units.
#[cfg(test)]
pub(crate) fn assert_known(outcome: &measure::record::Outcome) {
    let entry = crate::find(&outcome.method).expect("a method that is listed");
    for figure in &outcome.figures {
        let known = entry.figures.iter().chain(SHARED).find(|known| known.name == figure.name);
        assert_eq!(known.map(|known| known.unit), Some(figure.unit.as_str()), "{}", figure.name);
    }
}
