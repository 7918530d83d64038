//! Histograms of latencies.

use hdrhistogram::Histogram;

/// Creates a histogram of latencies from 1 ns to 10 s, with a resolution of 1 % or better.
pub(crate) fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 10_000_000_000, 2).unwrap_or_else(|error| {
        unreachable!("the bounds are valid constants of a histogram: {error}")
    })
}
