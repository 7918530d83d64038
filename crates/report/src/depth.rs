//! Percentiles only as deep as the number of samples carries: above a percentile there must be
//! several samples, or it is the maximum under another name.

/// Whether a number of samples carries a quantile: at least [`ABOVE_MIN`] samples lie above it.
pub(crate) fn carries(quantile: f64, samples: u64) -> bool {
    // What the quantile lost in binary is forgiven.
    samples as f64 * (1.0 - quantile) >= ABOVE_MIN - 1e-6
}

/// What stands in the place of a percentile that the samples do not carry.
pub(crate) const TOO_FEW: &str = "too few";

/// Smallest number of samples above a percentile.
const ABOVE_MIN: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_samples_above_it() {
        assert!(carries(0.5, 20) && !carries(0.5, 19));
        assert!(carries(0.99, 1_000) && !carries(0.99, 999));
        assert!(carries(0.999, 10_000) && !carries(0.999, 9_999));
        assert!(!carries(1.0, u64::MAX), "the maximum is no percentile");
    }
}
