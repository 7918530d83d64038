//! Steps in a series: where its level changes.
//!
//! The place is that of A. N. Pettitt's test (A Non-Parametric Approach to the Change-Point
//! Problem, Applied Statistics 28, 1979): where the ranks before and behind differ most. Whether
//! there is a step at all is decided by permutations instead of his approximation, which is for
//! long series: the same statistic of [`PERMUTATIONS`] shuffles of the series, of which at most
//! [`LEVEL`] may reach it. Both sides of a step are then looked at by themselves (binary
//! segmentation, Scott and Knott 1974). Ranks take no harm of a single run that went wrong. A run
//! is one value, whatever it repeated within itself: what differs from run to run is more than
//! that. So eight runs are the fewest that can show a step.

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Index of the first value behind it.
    pub at: usize,
    /// The median from the step before (or the first value) up to it.
    pub before: f64,
    /// The median from it up to the next step (or the last value).
    pub after: f64,
    /// Share of shuffles that differ as much.
    pub p: f64,
}

/// Returns the steps of a series in their order; changes of less than [`CHANGE_MIN`] are none.
pub fn steps(values: &[f64]) -> Vec<Change> {
    let mut found = Vec::new();
    let mut open = vec![(0, values.len())];
    while let Some((start, end)) = open.pop() {
        if let Some((at, p)) = step_of(&values[start..end]) {
            found.push((start + at, p));
            open.extend([(start, start + at), (start + at, end)]);
        }
    }
    found.sort_by_key(|step| step.0);
    let mut ends: Vec<usize> = vec![0];
    ends.extend(found.iter().map(|step| step.0));
    ends.push(values.len());
    let level = |index: usize| median(&values[ends[index]..ends[index + 1]]);
    let change = |(index, (at, p)): (usize, (usize, f64))| {
        let (before, after) = (level(index), level(index + 1));
        Change { at, before, after, p }
    };
    let is_notable = |one: &Change| {
        let least = CHANGE_MIN * one.before.abs().max(one.after.abs());
        (one.after - one.before).abs() >= least
    };
    found.into_iter().enumerate().map(change).filter(is_notable).collect()
}

/// Returns the place of the one step of a series and its probability by chance, if there is one.
fn step_of(values: &[f64]) -> Option<(usize, f64)> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let mut ranks = ranks(values);
    let (at, most) = largest(&ranks)?;
    let mut random = Random(SEED);
    let mut reached = 1;
    for _ in 0..PERMUTATIONS {
        random.shuffle(&mut ranks);
        reached += u32::from(largest(&ranks).is_some_and(|(_, other)| other >= most));
    }
    let p = f64::from(reached) / f64::from(PERMUTATIONS + 1);
    (p <= LEVEL).then_some((at, p))
}

/// Where the ranks before and behind differ most, and by how much: twice the sum of the ranks
/// before, less what that would be without a difference.
fn largest(ranks: &[f64]) -> Option<(usize, f64)> {
    let count = ranks.len() as f64;
    let mut sum = 0.0;
    let differs = ranks.iter().enumerate().map(|(index, rank)| {
        sum += rank;
        let before = index as f64 + 1.0;
        (index + 1, (2.0 * sum - before * (count + 1.0)).abs())
    });
    differs.take(ranks.len().saturating_sub(1)).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The rank of each value, from 1; equal ones share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| *other == value).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Random numbers for shuffles, the same in every page (SplitMix64, Steele et al. 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn shuffle(&mut self, values: &mut [f64]) {
        for last in (1..values.len()).rev() {
            let other = (self.next() % (last as u64 + 1)) as usize;
            values.swap(last, other);
        }
    }
}

/// Number of shuffles.
const PERMUTATIONS: u32 = 1999;

/// Largest share of shuffles that reach a step's statistic.
const LEVEL: f64 = 0.04;

/// Smallest change that is told, as a part of the level.
const CHANGE_MIN: f64 = 0.01;

/// Fewest values that can have a step: of fewer, no order is rare enough.
const VALUES_MIN: usize = 8;

const SEED: u64 = 1979;

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise around levels: one seed, one series; sums of twelve are nearly normal.
    fn noisy(seed: u64, levels: &[(usize, f64)], deviation: f64) -> Vec<f64> {
        let mut random = Random(seed);
        let mut normal =
            || (0..12).map(|_| random.next() as f64 / u64::MAX as f64).sum::<f64>() - 6.0;
        let level = |&(count, level): &(usize, f64)| vec![level; count];
        levels.iter().flat_map(level).map(|value| value + deviation * normal()).collect()
    }

    #[test]
    fn noise_has_no_step_in_95_of_100_series() {
        for count in [8, 12, 30] {
            let has = |seed: u64| !steps(&noisy(seed, &[(count, 100.0)], 10.0)).is_empty();
            let false_alarms = (0..400).filter(|seed| has(*seed)).count();
            assert!(false_alarms <= 20, "{false_alarms} of 400 series of {count}");
        }
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        for seed in 0..50 {
            let found = steps(&noisy(seed, &[(10, 100.0), (10, 90.0)], 1.5));
            let near = found.iter().any(|step| (9..=11).contains(&step.at) && step.after < 95.0);
            assert!(near, "seed {seed}: {found:?}");
        }
        let found = steps(&[10.0, 10.1, 9.9, 10.2, 8.0, 8.1, 7.9, 8.2]);
        assert_eq!(found.len(), 1, "four and four are enough");
        assert_eq!((found[0].at, found[0].before, found[0].after), (4, 10.05, 8.05));
    }

    #[test]
    fn there_and_back_are_two_steps() {
        let found = steps(&noisy(7, &[(12, 100.0), (12, 80.0), (12, 101.0)], 1.0));
        let at: Vec<usize> = found.iter().map(|step| step.at).collect();
        assert_eq!(at, [12, 24], "{found:?}");
    }

    #[test]
    fn one_run_that_went_wrong_is_no_step() {
        let mut values = noisy(3, &[(20, 100.0)], 1.0);
        values[9] = 5.0;
        assert_eq!(steps(&values), []);
    }

    #[test]
    fn too_few_or_too_small_is_no_step() {
        assert_eq!(steps(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0]), []);
        assert_eq!(steps(&[]), []);
        let found = steps(&noisy(1, &[(10, 1000.0), (10, 1002.0)], 0.1));
        assert_eq!(found, [], "0.2 % is real, and nothing to mark");
        assert_eq!(steps(&[5.0; 40]), [], "all the same");
    }
}
