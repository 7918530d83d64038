//! A distribution as HDR users know it: value against percentile, both on logarithmic axes, so that
//! the tail has as much room as the middle.

use hdrhistogram::Histogram;

use super::chart::{Chart, Data, trimmed};
use super::curves::{Axis, Curve, Drawing, Look};
use crate::depth::{TOO_FEW, carries};
use crate::words::grouped;

/// A chart of several latency distributions in nanoseconds; none if all are empty.
pub(super) fn chart(
    id: &str,
    title: &str,
    caption: &str,
    series: &[(String, Histogram<u64>)],
) -> Option<Chart> {
    let series: Vec<_> = series.iter().filter(|(_, h)| !h.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let curves: Vec<Curve> = series
        .iter()
        .map(|(name, histogram)| Curve::new(name, Look::Law, points(histogram)))
        .collect();
    let x = Axis::log("percentile").in_words(percentile_words);
    let y = Axis::log("time").in_words(short_time);
    let (plots, layout) = Drawing::new(x, y).of(&curves);
    let mut head = vec!["percentile".to_string()];
    head.extend(series.iter().map(|(name, _)| format!("{name}, ns")));
    let rows = SHOWN
        .iter()
        .map(|quantile| {
            let mut row = vec![trimmed(quantile * 100.0)];
            row.extend(series.iter().map(|(_, h)| value(h, *quantile)));
            row
        })
        .collect();
    Some(Chart::new(id, title, caption, plots, layout, Data { head, rows }))
}

/// The value at a quantile, where the samples carry it; minimum and maximum are there always.
fn value(histogram: &Histogram<u64>, quantile: f64) -> String {
    let is_end = quantile <= 0.0 || quantile >= 1.0;
    match is_end || carries(quantile, histogram.len()) {
        true => grouped(histogram.value_at_quantile(quantile)),
        false => TOO_FEW.into(),
    }
}

/// The curve of `1 / (1 - q)` against the value, as far as the samples carry it.
fn points(histogram: &Histogram<u64>) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = (0..)
        .map(|step| 10f64.powf(f64::from(step) / 10.0))
        .take_while(|inverse| carries(1.0 - 1.0 / inverse, histogram.len()))
        .map(|inverse| (inverse, histogram.value_at_quantile(1.0 - 1.0 / inverse).max(1) as f64))
        .collect();
    // Of very few samples there is the median alone, or the largest.
    if points.is_empty() {
        points.push((1.0, histogram.max().max(1) as f64));
    }
    points
}

/// Formats the percentile at a position of the axis, without unit.
fn percentile_words(inverse: f64) -> String {
    // As many nines as the axis is long.
    let text = format!("{:.9}", (1.0 - 1.0 / inverse.max(1.0)) * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Formats a time for an axis.
pub(super) fn short_time(ns: f64) -> String {
    let (scaled, unit) = match ns {
        v if v >= 1e9 => (ns / 1e9, "s"),
        v if v >= 1e6 => (ns / 1e6, "ms"),
        v if v >= 1e3 => (ns / 1e3, "µs"),
        _ => (ns, "ns"),
    };
    format!("{} {unit}", trimmed(scaled))
}

/// Percentiles in the data table of the chart.
const SHOWN: &[f64] = &[0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0];
