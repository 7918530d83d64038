//! The figures of a soak, its series, its limits and its words.

use measure::record::{Column, Figure, Limit, LimitKind, Series};
use measure::statistics::{self, Trend, theil_sen, thinned};
use measure::{Nanos, Pps, Ratio, Seconds, si};

use super::course::{Course, Slice};

/// A quantity with a trend: name, unit of the rise per hour, how it is read from a slice, and how
/// slices are grouped.
struct Trended {
    name: &'static str,
    unit: &'static str,
    value: fn(&Slice) -> Option<f64>,
    middle: fn(&[f64]) -> Option<f64>,
}

const TRENDS: [Trended; 4] = [
    Trended {
        name: "latency_p50_slope",
        unit: "ns/h",
        value: |slice| slice.latency_p50_ns.map(|ns| ns as f64),
        middle: statistics::median,
    },
    Trended {
        name: "latency_p99_9_slope",
        unit: "ns/h",
        value: |slice| slice.latency_p99_9_ns.map(|ns| ns as f64),
        middle: statistics::median,
    },
    Trended {
        name: "memory_slope",
        unit: "B/h",
        value: |slice| slice.resident_bytes.map(|bytes| bytes as f64),
        middle: statistics::median,
    },
    Trended {
        name: "loss_slope",
        unit: "1/h",
        value: |slice| Some(slice.loss_fraction()),
        middle: statistics::mean,
    },
];

/// The headline figures: loss, then trends with their confidence intervals.
pub(super) fn figures(load: Pps, course: &Course) -> Vec<Figure> {
    let loss = loss_fraction(course);
    let lossy = course.slices.iter().filter(|slice| slice.lost() > 0).count();
    let lost: u64 = course.slices.iter().map(Slice::lost).sum();
    let mut figures = vec![
        Figure::single("loss_fraction", loss, "fraction"),
        Figure::single("loss_percent", loss * 100.0, "percent"),
        Figure::single("lost_frames", lost as f64, "frames"),
        Figure::single("slices_with_loss", lossy as f64, "slices"),
        Figure::single("lossless_longest", course.lossless_longest_s(), "s"),
        Figure::single("load", load.0, "pps"),
        Figure::single("forwarded", forwarded_pps(course), "pps"),
        Figure::single("duration", course.seconds(), "s"),
        Figure::single("restarts", restarts(course) as f64, "restarts"),
    ];
    for trended in &TRENDS {
        let Some(trend) = trended.of(course) else { continue };
        figures.push(Figure::single(trended.name, trend.slope, trended.unit));
        for (end, value) in ["low", "high"].iter().zip(trend.confidence_95.into_iter().flatten()) {
            figures.push(Figure::single(&format!("{}_{end}", trended.name), value, trended.unit));
        }
    }
    for (direction, times) in &course.latencies {
        for (name, quantile) in [
            ("latency_p50", 0.5),
            ("latency_p99", 0.99),
            ("latency_p99_9", 0.999),
            ("latency_max", 1.0),
        ] {
            let ns = times.value_at_quantile(quantile) as f64;
            figures.push(Figure::single(name, ns, "ns").of(direction));
        }
    }
    figures
}

impl Trended {
    /// The rise per hour.
    fn of(&self, course: &Course) -> Option<Trend> {
        let stretches = course.stretches(self.value);
        let total: usize = stretches.iter().map(Vec::len).sum();
        // Each stretch gets its share of the points.
        let together = total.div_ceil(POINTS_MAX).max(1);
        let few: Vec<_> = stretches
            .iter()
            .map(|points| thinned(points, points.len().div_ceil(together), self.middle))
            .collect();
        let trend = theil_sen(&few)?;
        Some(Trend {
            slope: trend.slope * HOUR_S,
            confidence_95: trend.confidence_95.map(|ends| ends.map(|end| end * HOUR_S)),
            ..trend
        })
    }
}

/// A series with one row per slice.
pub(super) fn trend(course: &Course) -> Series {
    let row = |slice: &Slice| {
        let number = |value: Option<u64>| value.map(|value| value as f64);
        vec![
            Some(slice.begin_s + slice.seconds),
            Some(slice.forwarded_pps()),
            Some(slice.loss_fraction()),
            number(slice.latency_p50_ns),
            number(slice.latency_p99_9_ns),
            number(slice.resident_bytes),
        ]
    };
    Series {
        name: "soak-trend".into(),
        title: "Course of the soak by measured time at the end of each slice".into(),
        columns: columns(&[
            ("seconds", "s"),
            ("forwarded_pps", "pps"),
            ("loss_fraction", "fraction"),
            ("latency_p50_ns", "ns"),
            ("latency_p99_9_ns", "ns"),
            ("resident_bytes", "B"),
        ]),
        rows: course.slices.iter().map(row).collect(),
    }
}

/// A series with one row per slice with loss.
pub(super) fn losses(course: &Course) -> Series {
    let row = |slice: &Slice| {
        // Where the tester cannot tell when, the slice's end is the latest that it can have been.
        let within = slice.last_lost_ns.map_or(slice.seconds, |ns| ns as f64 * 1e-9);
        vec![
            Some(slice.begin_s + within),
            Some(slice.lost() as f64),
            Some(slice.loss_fraction()),
            Some(f64::from(u8::from(slice.stalled))),
        ]
    };
    Series {
        name: "soak-loss".into(),
        title:
            "Slices with loss: measured time of the last lost frame, number of lost frames, and \
                whether (1) a thread that lost its core may explain all of it"
                .into(),
        columns: columns(&[
            ("seconds", "s"),
            ("lost_frames", "frames"),
            ("loss_fraction", "fraction"),
            ("stall_may_explain", ""),
        ]),
        rows: course.slices.iter().filter(|slice| slice.lost() > 0).map(row).collect(),
    }
}

fn columns(columns: &[(&str, &str)]) -> Vec<Column> {
    let one = |(name, unit): &(&str, &str)| Column { name: (*name).into(), unit: (*unit).into() };
    columns.iter().map(one).collect()
}

/// The limits of all slices, which invalidate only if they are frequent.
pub(super) fn limits(course: &Course) -> Vec<Limit> {
    let mut limits = course.tally.limits();
    for limit in &mut limits {
        limit.invalidates &= course.tally.share(limit.kind) > DISTURBED_MAX;
    }
    let restarts = restarts(course);
    if restarts > 0 {
        limits.push(Limit {
            kind: LimitKind::Spread,
            invalidates: false,
            what: format!(
                "the soak was interrupted {restarts} times, with a new set-up of the device each \
                 time: trends and the longest time without loss are those of the stretches in \
                 between"
            ),
            advice: "for a trend over the whole time, run without an interruption".into(),
        });
    }
    limits
}

pub(super) fn answer(load: Pps, course: &Course) -> String {
    let lost: u64 = course.slices.iter().map(Slice::lost).sum();
    let sent: u64 = course.slices.iter().map(|slice| slice.sent).sum();
    let mut text =
        format!("At {load} per port and direction it forwards for {}", time(course.seconds()));
    text += &match lost {
        0 => " without loss".to_owned(),
        _ => format!(
            " and loses {lost} of {sent} frames ({}), with at most {} without loss",
            Ratio(loss_fraction(course)),
            time(course.lossless_longest_s())
        ),
    };
    let [latency, _, memory, _] = &TRENDS;
    if let Some(trend) = latency.of(course) {
        text += &format!("; the median latency {}", words(trend, |ns| Nanos(ns).to_string()));
    }
    if let Some(trend) = memory.of(course) {
        text += &format!("; memory {}", words(trend, |bytes| si(bytes, "B")));
    }
    text + "."
}

/// A trend as text; without a rise if its interval contains zero.
fn words(trend: Trend, show: fn(f64) -> String) -> String {
    let size = trend.slope.abs();
    match trend.confidence_95 {
        None => "has too few slices for a trend".into(),
        Some([low, high]) if low <= 0.0 && high >= 0.0 => {
            format!("is steady (within {} per hour)", show(low.abs().max(high.abs())))
        }
        Some([low, high]) => format!(
            "{} by {} per hour ({} to {})",
            if trend.slope > 0.0 { "rises" } else { "falls" },
            show(size),
            show(low.abs().min(high.abs())),
            show(low.abs().max(high.abs()))
        ),
    }
}

/// Formats a duration as `3.00 s`, `12.5 min` or `24.0 h`.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 2.0 * HOUR_S => format!("{:.1} h", s / HOUR_S),
        s if s >= 120.0 => format!("{:.1} min", s / 60.0),
        s => Seconds(s).to_string(),
    }
}

fn loss_fraction(course: &Course) -> f64 {
    let lost: u64 = course.slices.iter().map(Slice::lost).sum();
    let sent: u64 = course.slices.iter().map(|slice| slice.sent).sum();
    if sent == 0 { 0.0 } else { lost as f64 / sent as f64 }
}

/// Forwarded rate per port and direction over all slices, in packets per second.
fn forwarded_pps(course: &Course) -> f64 {
    let weighed = course.slices.iter().map(|slice| slice.forwarded_pps() * slice.seconds);
    let seconds = course.seconds();
    if seconds > 0.0 { weighed.sum::<f64>() / seconds } else { 0.0 }
}

fn restarts(course: &Course) -> usize {
    course.slices.iter().filter(|slice| slice.starts).count().saturating_sub(1)
}

/// Largest number of points of a trend: they give 180,000 slopes.
const POINTS_MAX: usize = 600;
const HOUR_S: f64 = 3600.0;

/// Fraction of disturbed slices above which the soak is invalid.
const DISTURBED_MAX: f64 = 0.05;
