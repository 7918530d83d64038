//! The universal scalability law: how throughput grows with workers, and where it stops growing.
//!
//! Gunther's law says `X(N) = λN / (1 + σ(N-1) + κN(N-1))`: λ is what one worker does, σ the share
//! that cannot be done at the same time (contention), κ the cost of agreeing with each other
//! (coherency). `N / X(N)` is linear in `1`, `N-1` and `N(N-1)`, so that the fit is a weighted
//! least-squares problem with an exact solution: no starting values and no iteration.
//!
//! Deliberately absent: a fit that is no fit. Fewer than three different numbers of workers, or
//! throughputs that are not positive, are refused with the reason. Negative coefficients, which
//! have no meaning in the law, are held at zero and the others fitted again.

/// The universal scalability law with fitted parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// λ: throughput of a single worker, in the unit of the throughputs.
    pub lambda: f64,
    /// σ: contention, the serial fraction; at least 0.
    pub sigma: f64,
    /// κ: coherency, the cost of consistency between workers; at least 0.
    pub kappa: f64,
    /// Coefficient of determination of the throughputs; 1 for a perfect fit.
    pub r_squared: f64,
    /// Whether there are as many parameters as different numbers of workers, so that the quality of
    /// the fit cannot be judged.
    pub is_exact: bool,
}

/// Why the law could not be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UslError {
    /// There are fewer than three different numbers of workers for three unknowns.
    #[error(
        "the law has three unknowns and there are only {0} different numbers of workers; \
         measure at least 3"
    )]
    TooFew(usize),
    /// A number of workers or a throughput is not positive.
    #[error("numbers of workers below 1, or throughputs that are not positive, fit no law")]
    NotPositive,
    /// The points contradict the law, or each other, so that there is no solution.
    #[error("the points do not determine the law's parameters")]
    Undetermined,
}

impl Usl {
    /// Fits the law to pairs of workers and throughput, weighted so that relative errors of the
    /// throughput count equally.
    ///
    /// # Errors
    /// When there are too few points, or invalid throughputs.
    pub fn fit(points: &[(f64, f64)]) -> Result<Self, UslError> {
        // Written so that a NaN is refused too.
        if !points.iter().all(|(n, x)| *n >= 1.0 && *x > 0.0 && n.is_finite() && x.is_finite()) {
            return Err(UslError::NotPositive);
        }
        let mut workers: Vec<f64> = points.iter().map(|(n, _)| *n).collect();
        workers.sort_by(f64::total_cmp);
        workers.dedup();
        if workers.len() < PARAMETERS {
            return Err(UslError::TooFew(workers.len()));
        }
        // Negative coefficients have no meaning: the least squares under the constraint lie where
        // one of them, or both, are zero.
        let free = [[true, true], [true, false], [false, true], [false, false]];
        let allowed =
            |solution: &[f64; 3]| solution[0] > 0.0 && solution[1..].iter().all(|c| *c >= 0.0);
        let [a, b, c] = free
            .iter()
            .filter_map(|free| least_squares(points, *free))
            .filter(allowed)
            .min_by(|p, q| squares(points, p).total_cmp(&squares(points, q)))
            .ok_or(UslError::Undetermined)?;
        let mut usl = Self {
            lambda: 1.0 / a,
            sigma: b / a,
            kappa: c / a,
            r_squared: 0.0,
            is_exact: workers.len() == PARAMETERS,
        };
        usl.r_squared = usl.determination(points);
        Ok(usl)
    }

    /// The throughput for a number of workers.
    pub fn throughput(&self, workers: f64) -> f64 {
        let n = workers;
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// The number of workers with the highest throughput, `floor(sqrt((1 - σ) / κ))`, at least 1;
    /// none if the law has no maximum.
    pub fn n_max(&self) -> Option<f64> {
        if self.sigma >= 1.0 {
            return Some(1.0);
        }
        let peak = ((1.0 - self.sigma) / self.kappa).sqrt();
        peak.is_finite().then(|| peak.floor().max(1.0))
    }

    fn determination(&self, points: &[(f64, f64)]) -> f64 {
        let mean = points.iter().map(|(_, x)| x).sum::<f64>() / points.len() as f64;
        let total: f64 = points.iter().map(|(_, x)| (x - mean).powi(2)).sum();
        let rest: f64 = points.iter().map(|(n, x)| (x - self.throughput(*n)).powi(2)).sum();
        if total > 0.0 { 1.0 - rest / total } else { 1.0 }
    }
}

/// The regressors of a point, `N / X`, and its weight.
fn equation((n, x): (f64, f64)) -> ([f64; 3], f64, f64) {
    // A relative error of X is the same relative error of N/X.
    ([1.0, n - 1.0, n * (n - 1.0)], n / x, (x / n).powi(2))
}

/// The weighted sum of squared residuals of a solution.
fn squares(points: &[(f64, f64)], solution: &[f64; 3]) -> f64 {
    let one = |point: &(f64, f64)| {
        let (regressors, value, weight) = equation(*point);
        let fitted: f64 = regressors.iter().zip(solution).map(|(r, s)| r * s).sum();
        weight * (value - fitted).powi(2)
    };
    points.iter().map(one).sum()
}

/// The weighted least-squares solution, with the coefficients of contention and coherency free or
/// zero; none if the equations have no solution.
fn least_squares(points: &[(f64, f64)], free: [bool; 2]) -> Option<[f64; 3]> {
    let columns: Vec<usize> =
        [true, free[0], free[1]].iter().enumerate().filter(|(_, f)| **f).map(|(i, _)| i).collect();
    let size = columns.len();
    // The normal equations; the right-hand side is the last column.
    let mut matrix = vec![vec![0.0; size + 1]; size];
    for point in points {
        let (regressors, value, weight) = equation(*point);
        for (row, i) in columns.iter().enumerate() {
            for (column, j) in columns.iter().enumerate() {
                matrix[row][column] += weight * regressors[*i] * regressors[*j];
            }
            matrix[row][size] += weight * regressors[*i] * value;
        }
    }
    let solved = solve(matrix)?;
    let mut solution = [0.0; PARAMETERS];
    for (value, column) in solved.into_iter().zip(columns) {
        solution[column] = value;
    }
    Some(solution)
}

/// Gaussian elimination with pivoting; none for a singular matrix.
fn solve(mut matrix: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = matrix.len();
    for column in 0..size {
        let largest =
            |a: &usize, b: &usize| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs());
        let pivot = (column..size).max_by(largest)?;
        matrix.swap(column, pivot);
        let lead = matrix[column].clone();
        if lead[column].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for (_, values) in matrix.iter_mut().enumerate().filter(|(row, _)| *row != column) {
            let factor = values[column] / lead[column];
            for (value, leading) in values.iter_mut().zip(&lead) {
                *value -= factor * leading;
            }
        }
    }
    let solution: Vec<f64> = (0..size).map(|row| matrix[row][size] / matrix[row][row]).collect();
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

/// Number of parameters: λ, σ and κ.
const PARAMETERS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn law(lambda: f64, sigma: f64, kappa: f64) -> Usl {
        Usl { lambda, sigma, kappa, r_squared: 1.0, is_exact: false }
    }

    fn points(law: &Usl, workers: &[f64]) -> Vec<(f64, f64)> {
        workers.iter().map(|n| (*n, law.throughput(*n))).collect()
    }

    fn near(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() <= 1e-6 * wanted.abs().max(1e-3)
    }

    #[test]
    fn a_known_law_is_found_again_from_its_curve() {
        for known in [law(1e6, 0.05, 0.002), law(12.5, 0.3, 0.0001), law(3.0, 0.0, 0.02)] {
            let found = Usl::fit(&points(&known, &[1.0, 2.0, 4.0, 8.0, 16.0])).expect("a fit");
            assert!(near(found.lambda, known.lambda), "{found:?}");
            assert!(near(found.sigma, known.sigma), "{found:?}");
            assert!(near(found.kappa, known.kappa), "{found:?}");
            assert!(found.r_squared > 0.999_999 && !found.is_exact, "{found:?}");
        }
    }

    #[test]
    fn the_peak_is_where_one_more_worker_helps_no_more() {
        // sqrt((1 - 0.05) / 0.002) = 21.8.
        let known = law(1e6, 0.05, 0.002);
        assert_eq!(known.n_max(), Some(21.0));
        let best = (1..64)
            .map(f64::from)
            .max_by(|a, b| known.throughput(*a).total_cmp(&known.throughput(*b)));
        assert!(best.is_some_and(|best| (21.0..=22.0).contains(&best)), "{best:?}");
        assert_eq!(law(1.0, 0.0, 0.0).n_max(), None, "linear growth has no end");
        assert_eq!(law(1.0, 1.0, 0.1).n_max(), Some(1.0));
        assert_eq!(law(1.0, 0.0, 4.0).n_max(), Some(1.0), "never less than the worker there is");
    }

    #[test]
    fn noise_moves_the_law_by_no_more_than_noise() {
        let known = law(5e6, 0.04, 0.003);
        let noise = [1.01, 0.99, 1.005, 0.995, 1.01, 0.99, 1.0, 1.003];
        let noisy: Vec<(f64, f64)> = points(&known, &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0])
            .iter()
            .zip(noise)
            .map(|((n, x), noise)| (*n, x * noise))
            .collect();
        let found = Usl::fit(&noisy).expect("a fit");
        assert!((found.lambda / known.lambda - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.sigma - known.sigma).abs() < 0.015, "{found:?}");
        assert!(found.r_squared > 0.99, "{found:?}");
        let peak = found.n_max().expect("a peak");
        assert!((15.0..=20.0).contains(&peak), "{found:?}: {peak}");
    }

    #[test]
    fn more_than_linear_growth_is_held_at_what_has_a_meaning() {
        let found = Usl::fit(&[(1.0, 1.0), (2.0, 2.2), (4.0, 4.9), (8.0, 10.5)]).expect("a fit");
        assert_eq!((found.sigma, found.kappa, found.n_max()), (0.0, 0.0, None));
        assert!(found.lambda > 1.0 && found.lambda < 1.32, "{found:?}");
    }

    #[test]
    fn three_points_are_met_exactly_and_say_so() {
        let found = Usl::fit(&[(1.0, 10.0), (2.0, 18.0), (4.0, 28.0)]).expect("a fit");
        assert!(found.is_exact);
        for (n, x) in [(1.0, 10.0), (2.0, 18.0), (4.0, 28.0)] {
            assert!(near(found.throughput(n), x), "{found:?}");
        }
    }

    #[test]
    fn what_is_no_curve_is_refused_with_the_reason() {
        assert_eq!(Usl::fit(&[]), Err(UslError::TooFew(0)));
        let twice = [(1.0, 5.0), (2.0, 9.0), (2.0, 9.1)];
        assert_eq!(Usl::fit(&twice), Err(UslError::TooFew(2)), "repetitions are one point");
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let points = [(1.0, 5.0), (2.0, 9.0), (3.0, wrong)];
            assert_eq!(Usl::fit(&points), Err(UslError::NotPositive), "{wrong}");
        }
        assert_eq!(Usl::fit(&[(0.0, 5.0), (2.0, 9.0), (3.0, 1.0)]), Err(UslError::NotPositive));
        assert!(UslError::TooFew(2).to_string().contains("at least 3"));
    }
}
