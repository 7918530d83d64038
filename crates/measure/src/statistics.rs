//! Order statistics of a handful of repetitions, and the law of how throughput grows with workers.
//!
//! Deliberately small: medians and extremes say what five repetitions can say. Distributions of
//! many values are histograms (`hdrhistogram`), not slices.

mod order;
mod trend;
mod usl;

use statrs::distribution::{ContinuousCDF, StudentsT};

pub use order::{median, quantile};
pub use trend::*;
pub use usl::{Usl, UslError};

use crate::record::Spread;

/// The 95 % confidence interval of the mean, by Student's t; none for fewer than three values.
pub fn confidence_95(values: &[f64]) -> Option<[f64; 2]> {
    let n = values.len() as f64;
    if values.len() < 3 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.975);
    let half = t * deviation(values, mean) / n.sqrt();
    Some([mean - half, mean + half])
}

/// The ratio of `a` to `b` over pairs measured side by side: the geometric mean and, for three
/// pairs or more, its 95 % confidence interval. None unless both have the same number of positive
/// values.
pub fn paired_ratio(a: &[f64], b: &[f64]) -> Option<(f64, Option<[f64; 2]>)> {
    if a.is_empty() || a.len() != b.len() || a.iter().chain(b).any(|value| *value <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let interval = confidence_95(&logs).map(|[low, high]| [low.exp(), high.exp()]);
    Some((mean.exp(), interval))
}

/// The difference of `a` to `b` over pairs measured side by side: the mean and, for three pairs or
/// more, its 95 % confidence interval. None unless both have the same number of values.
pub fn paired_difference(a: &[f64], b: &[f64]) -> Option<(f64, Option<[f64; 2]>)> {
    if a.is_empty() || a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    Some((mean, confidence_95(&differences)))
}

/// The ratio of `a` to `b`, measured independently: the quotient of the geometric means and, for
/// three values or more on both sides, its 95 % confidence interval (Welch's t on the logarithms,
/// which allows for different noise on both sides). None unless all values are positive.
pub fn unpaired_ratio(a: &[f64], b: &[f64]) -> Option<(f64, Option<[f64; 2]>)> {
    ratio_of_samples(Sample::of(a)?, Sample::of(b)?)
}

/// The logarithms of values, in short.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    mean: f64,
    deviation: f64,
    n: usize,
}

impl Sample {
    /// Returns the sample of these values; none unless there are some and all are positive.
    pub fn of(values: &[f64]) -> Option<Sample> {
        if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        Some(Sample { mean, deviation: deviation(&logs, mean), n: logs.len() })
    }

    /// Returns the sample of values of which the spread alone is known: to the first order of their
    /// relative deviation, the deviation of the logarithms is that.
    pub fn of_spread(spread: &Spread) -> Option<Sample> {
        let Spread { mean, deviation, n, .. } = *spread;
        (mean > 0.0).then(|| Sample { mean: mean.ln(), deviation: deviation / mean, n })
    }
}

/// As [`unpaired_ratio`].
pub fn ratio_of_samples(a: Sample, b: Sample) -> Option<(f64, Option<[f64; 2]>)> {
    let difference = a.mean - b.mean;
    if a.n < 3 || b.n < 3 {
        return Some((difference.exp(), None));
    }
    // Each side's variance of the mean.
    let of_a = a.deviation.powi(2) / a.n as f64;
    let of_b = b.deviation.powi(2) / b.n as f64;
    let half = if of_a + of_b > 0.0 {
        let degrees = (of_a + of_b).powi(2)
            / (of_a.powi(2) / (a.n - 1) as f64 + of_b.powi(2) / (b.n - 1) as f64);
        let t = StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf(0.975);
        t * (of_a + of_b).sqrt()
    } else {
        0.0
    };
    let interval = [(difference - half).exp(), (difference + half).exp()];
    Some((difference.exp(), Some(interval)))
}

/// The standard deviation of a sample; 0 for fewer than two values.
fn deviation(values: &[f64], mean: f64) -> f64 {
    let degrees = values.len().saturating_sub(1);
    if degrees == 0 {
        return 0.0;
    }
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / degrees as f64).sqrt()
}

impl Spread {
    /// The spread of repetitions; none for an empty slice.
    pub fn of(values: &[f64]) -> Option<Self> {
        let median = median(values)?;
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let deviation = deviation(values, mean);
        let confidence_95 = confidence_95(values);
        Some(Self { min, median, max, n, mean, deviation, confidence_95 })
    }

    /// The distance from smallest to largest as a fraction of the median; 0 for a median of 0.
    pub fn relative_width(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / self.median.abs() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_pairs_leave_out_what_both_share() {
        let (mean, interval) =
            paired_difference(&[11.0, 21.0, 31.0], &[10.0, 20.0, 30.0]).expect("pairs");
        assert_eq!((mean, interval), (1.0, Some([1.0, 1.0])));
        assert_eq!(paired_difference(&[1.0, 0.0], &[2.0, 0.0]), Some((-0.5, None)));
        assert_eq!(paired_difference(&[1.0], &[]), None);
        assert_eq!(paired_difference(&[], &[]), None);
    }

    #[test]
    fn order_statistics_of_few_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[5.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 1.0), Some(2.0));
    }

    #[test]
    fn a_spread_holds_the_extremes() {
        let spread = Spread::of(&[2.0, 1.0, 4.0]).expect("three values");
        assert_eq!((spread.min, spread.median, spread.max, spread.n), (1.0, 2.0, 4.0, 3));
        assert_eq!(spread.relative_width(), 1.5);
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn confidence_intervals_are_those_of_the_tables() {
        assert_eq!(confidence_95(&[1.0, 2.0]), None);
        // t(0.975; 4) = 2.776, deviation sqrt(2.5): 3 -+ 2.776 * 1.5811 / sqrt(5).
        let [low, high] = confidence_95(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("five values");
        assert!((low - 1.0368).abs() < 1e-3 && (high - 4.9632).abs() < 1e-3, "{low} {high}");
    }

    #[test]
    fn a_ratio_of_pairs_takes_out_what_both_share() {
        let (b, a) = ([1.0, 2.0, 4.0], [1.17, 2.34, 4.68]);
        let (ratio, interval) = paired_ratio(&a, &b).expect("positive pairs");
        let [low, high] = interval.expect("three pairs");
        assert!((ratio - 1.17).abs() < 1e-9);
        assert!(high - low < 1e-9, "the machine's own drift is in both: {low} {high}");
        assert_eq!(paired_ratio(&[1.0], &[2.0]), Some((0.5, None)));
        assert_eq!(paired_ratio(&[1.0], &[0.0]), None);
        assert_eq!(paired_ratio(&[1.0, 2.0], &[1.0]), None);
    }

    #[test]
    fn a_ratio_of_independent_runs_allows_for_the_noise_of_both() {
        let (a, b) = ([2.0, 2.2, 1.8, 2.1], [1.0, 1.1, 0.9]);
        let (ratio, interval) = unpaired_ratio(&a, &b).expect("positive");
        let [low, high] = interval.expect("three on both sides");
        // On the logarithms: means 0.70283 and -0.00335, variances of the mean 0.0018492 and
        // 0.0033585, hence 4.000 degrees of freedom and t = 2.7764.
        assert!((ratio - 2.0262).abs() < 1e-3, "{ratio}");
        assert!((low - 1.6584).abs() < 1e-3 && (high - 2.4757).abs() < 1e-3, "{low} {high}");
        assert_eq!(unpaired_ratio(&[1.0, 1.0, 1.0], &[2.0]), Some((0.5, None)));
        assert_eq!(unpaired_ratio(&[2.0; 3], &[1.0; 3]), Some((2.0, Some([2.0, 2.0]))));
        assert_eq!(unpaired_ratio(&[1.0], &[0.0]), None);
        assert_eq!(unpaired_ratio(&[], &[1.0]), None);
    }
}
