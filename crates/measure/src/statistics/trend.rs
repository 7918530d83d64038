//! The trend of a series in time: by how much it rises, and how certain that is.
//!
//! The estimator is that of Theil and Sen: the median of the slopes between all pairs of points.
//! One slice in five may be wild (a pause of the machine, a burst of loss) without moving it, where
//! least squares follow a single one. Its interval is Sen's (1968), from the distribution of
//! Kendall's rank statistic; it takes the points as independent of each other. Measurements that
//! follow each other closely are not quite so, so the interval is rather too narrow than too wide.
//! Ties are not corrected for, which widens it.

use statrs::distribution::{ContinuousCDF, Normal};

use super::order::median;

/// A linear trend of the second coordinate over the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The median of all slopes.
    pub slope: f64,
    /// 95 % confidence interval of the slope; none for too few points.
    pub confidence_95: Option<[f64; 2]>,
    /// Number of points.
    pub points: usize,
}

/// The common trend of several stretches of points `(x, y)`. Only points of the same stretch are
/// compared, because everything may change between two stretches. None if there is no pair of
/// points.
///
/// The work grows with the square of the number of points: [`thinned`] limits it.
pub fn theil_sen(stretches: &[Vec<(f64, f64)>]) -> Option<Trend> {
    let mut slopes = Vec::new();
    let mut variance = 0.0;
    for points in stretches {
        for (at, &(x, y)) in points.iter().enumerate() {
            let later = points[at + 1..].iter().filter(|later| later.0 != x);
            slopes.extend(later.map(|&(later_x, later_y)| (later_y - y) / (later_x - x)));
        }
        let n = points.len() as f64;
        variance += n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    }
    let slope = median(&slopes)?;
    slopes.sort_by(f64::total_cmp);
    let z = Normal::new(0.0, 1.0).ok()?.inverse_cdf(0.975);
    let below = (slopes.len() as f64 - z * variance.sqrt()) / 2.0;
    // The rank of the lower end from below is that of the upper one from above.
    let rank = (below >= 1.0).then_some(below as usize);
    let confidence_95 = rank.map(|rank| [slopes[rank - 1], slopes[slopes.len() - rank]]);
    let points = stretches.iter().map(Vec::len).sum();
    Some(Trend { slope, confidence_95, points })
}

/// Reduces points to at most `most`: each stands for a group of neighbours, with the `middle` of
/// their second coordinates at the mean of their first.
pub fn thinned(
    points: &[(f64, f64)],
    most: usize,
    middle: fn(&[f64]) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let together = points.len().div_ceil(most.max(1)).max(1);
    let one = |group: &[(f64, f64)]| {
        let x = group.iter().map(|point| point.0).sum::<f64>() / group.len() as f64;
        let values: Vec<f64> = group.iter().map(|point| point.1).collect();
        middle(&values).map(|y| (x, y))
    };
    points.chunks(together).filter_map(one).collect()
}

/// The mean; none for an empty slice.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform noise from -1 to 1 of a linear congruential generator.
    fn noise(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 33) as f64 / (1u64 << 30) as f64 - 1.0
    }

    fn line(count: usize, slope: f64, seed: u64) -> Vec<(f64, f64)> {
        let mut state = seed;
        (0..count).map(|n| (n as f64, slope * n as f64 + noise(&mut state))).collect()
    }

    #[test]
    fn a_line_has_its_slope_and_two_points_no_interval() {
        let points: Vec<_> = (0..20).map(|n| (f64::from(n), 3.0 * f64::from(n) + 1.0)).collect();
        let trend = theil_sen(&[points]).expect("twenty points");
        assert_eq!((trend.slope, trend.confidence_95), (3.0, Some([3.0, 3.0])));
        let two = theil_sen(&[vec![(0.0, 0.0), (2.0, 1.0)]]).expect("a pair");
        assert_eq!((two.slope, two.confidence_95, two.points), (0.5, None, 2));
        assert_eq!(theil_sen(&[vec![(0.0, 1.0)], vec![(5.0, 2.0)]]), None, "no pair in a stretch");
    }

    #[test]
    fn the_interval_holds_the_truth_nineteen_times_in_twenty() {
        let holds = |slope: f64, seed| {
            let trend = theil_sen(&[line(50, slope, seed)]).expect("fifty points");
            let [low, high] = trend.confidence_95.expect("enough of them");
            low <= slope && slope <= high
        };
        for slope in [0.0, 0.01, -2.0] {
            let held = (0..400).filter(|seed| holds(slope, *seed)).count();
            assert!((364..=396).contains(&held), "{held} of 400 at {slope}");
        }
    }

    #[test]
    fn wild_points_do_not_move_it() {
        let mut points = line(50, 0.5, 3);
        let calm = theil_sen(&[points.clone()]).expect("points").slope;
        points.iter_mut().step_by(10).for_each(|point| point.1 += 1e6);
        let wild = theil_sen(&[points]).expect("points").slope;
        assert!((wild - calm).abs() < 0.05, "{calm} became {wild}");
    }

    #[test]
    fn a_new_beginning_is_no_trend() {
        let high =
            |points: Vec<(f64, f64)>| points.iter().map(|(x, y)| (x + 50.0, y - 1e3)).collect();
        let both = [line(50, 0.5, 1), high(line(50, 0.5, 2))];
        let trend = theil_sen(&both).expect("points");
        assert!((trend.slope - 0.5).abs() < 0.02, "{}", trend.slope);
        assert_eq!(trend.points, 100);
    }

    #[test]
    fn thinning_keeps_the_trend() {
        let points = line(10_000, 0.01, 4);
        let thin = thinned(&points, 300, median);
        assert!(thin.len() <= 300 && thin.len() > 250);
        let slope = theil_sen(&[thin]).expect("points").slope;
        assert!((slope - 0.01).abs() < 1e-4, "{slope}");
        assert_eq!(thinned(&[(1.0, 2.0)], 0, mean), [(1.0, 2.0)]);
        assert_eq!(thinned(&[], 10, mean), []);
    }
}
