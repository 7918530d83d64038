//! How long frames take: a queue whose latency rises with its utilisation.

use hdrhistogram::Histogram;

/// Latencies of a queue with this utilisation, evenly spread over quantiles so that no randomness
/// is needed; a stall is the largest of them.
pub(super) fn latency(utilisation: f64, stall_ns: u64) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3)
        .unwrap_or_else(|_| unreachable!("these bounds are allowed"));
    let mean_ns = 2_000.0 / (1.0 - utilisation);
    for quantile in (0..1000).map(|n| (f64::from(n) + 0.5) / 1000.0) {
        histogram.saturating_record((1_000.0 - mean_ns * (1.0 - quantile).ln()) as u64);
    }
    if stall_ns > 0 {
        histogram.saturating_record(stall_ns);
    }
    histogram
}

/// Utilisation at which the queue is full: above it frames are lost instead of delayed.
pub(super) const UTILISATION_MAX: f64 = 0.99;

const LATENCY_NS_MAX: u64 = 60_000_000_000;
