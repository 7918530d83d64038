//! Order statistics of a handful of repetitions.
//!
//! Deliberately small: medians and extremes say what five repetitions can say. Distributions of
//! many values are histograms (`hdrhistogram`), not slices.

use crate::record::Spread;

/// The median; the mean of the middle two for an even number. None of an empty slice.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which the fraction `q` of the values lies, interpolated linearly between
/// neighbours (type 7 of Hyndman and Fan). None of an empty slice.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    Some(below + (above - below) * position.fract())
}

impl Spread {
    /// The spread of repetitions; none of an empty slice.
    pub fn of(values: &[f64]) -> Option<Self> {
        let median = median(values)?;
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { min, median, max, n: values.len() })
    }

    /// The width from smallest to largest as a fraction of the median; 0 for a median of 0.
    pub fn relative_width(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / self.median.abs() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(spread, Spread { min: 1.0, median: 2.0, max: 4.0, n: 3 });
        assert_eq!(spread.relative_width(), 1.5);
        assert_eq!(Spread::of(&[]), None);
    }
}
