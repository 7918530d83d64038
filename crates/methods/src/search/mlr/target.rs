//! The targets of a goal: coarse ones on the way to the goal itself.

use std::time::Duration;

use crate::search::classify::Demand;
use crate::search::goal::Attributes;

/// Parameters of the way from coarse to fine targets; they do not change the meaning of a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Number of coarser targets before each goal.
    pub(crate) preceding_targets: u32,
    /// Factor by which distances grow while a bound is missing.
    pub(crate) expansion: f64,
    /// Whether a goal that fails at the lowest load ends the search for all goals.
    pub(crate) fail_fast: bool,
}

/// A goal, or a coarser target on the way to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) demand: Demand,
    pub(super) trial: Duration,
    /// The widest bracket that is sufficient, in steps of the grid.
    pub(super) width: usize,
}

/// The targets of a goal, with the goal itself last; `width` in steps of the grid. Each one before
/// has twice the width of the next, which one halving closes, and a duration sum between that of
/// the goal and one initial trial, in equal factors.
pub(super) fn targets(goal: &Attributes, pace: &Pace, width: usize) -> Vec<Target> {
    let [initial_s, final_s, sum_s] =
        [goal.initial_trial, goal.final_trial, goal.duration_sum].map(|d| d.as_secs_f64());
    let target = |behind: u32| {
        let share = f64::from(behind) / f64::from(pace.preceding_targets.max(1));
        let sum_s = match behind {
            0 => sum_s,
            behind if behind == pace.preceding_targets => initial_s,
            _ => sum_s * (initial_s / sum_s).powf(share),
        };
        let trial = Duration::from_secs_f64(sum_s.min(final_s));
        // A trial of that duration is a full-length one, and one suffices where it is the whole
        // sum, rounding to nanoseconds included.
        let full_length_s = trial.as_secs_f64();
        let duration_sum_s = if sum_s <= final_s { full_length_s } else { sum_s };
        Target {
            demand: Demand { full_length_s, duration_sum_s, exceed_ratio: goal.exceed_ratio },
            trial,
            width: width.saturating_mul(1_usize << behind.min(32)),
        }
    };
    (0..=pace.preceding_targets).rev().map(target).collect()
}
