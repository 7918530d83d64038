//! What one goal wants to try next: the nominations of the published algorithm, in its order.
//!
//! A selector pursues one target after the other. For each it asks, and takes the first answer:
//!
//! 1. halve: the middle of what the target before had found, if that is up to twice as wide as the
//!    target asks;
//! 2. refine: the lower, then the upper bound of the target before, which this one may see
//!    otherwise, as it asks for longer sums;
//! 3. extend: where a bound is missing, a load beyond the other one, at a distance that grows by
//!    the expansion coefficient each time that it was not far enough;
//! 4. bisect: the middle of the bounds, or a load towards the bound of the target before where that
//!    is nearer: what another goal measured far away is a bound, and a bad guess.

use std::cmp::Reverse;
use std::time::Duration;

use super::grid::{At, Bracket, Grid, middle};
use super::target::Target;

/// A load that a goal wants to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nominee {
    pub(super) at: At,
    pub(super) duration: Duration,
    /// The distance by which other goals extend at least from now on, so that they do not search
    /// the same way twice.
    pub(super) width: usize,
}

impl Nominee {
    /// The order in which nominees are tried: the lowest load first, since a bound there may make
    /// those above it irrelevant; at one load the longest trial, which counts for most targets.
    pub(super) fn order(&self) -> impl Ord + use<> {
        (self.at, Reverse(self.duration), Reverse(self.width))
    }
}

/// The state of the search for one goal.
#[derive(Clone, Debug)]
pub(super) struct Selector {
    /// The targets, the goal itself last.
    targets: Vec<Target>,
    current: usize,
    /// The bounds of the target before, or the initial loads; they stay while this one is searched.
    before: Bracket,
    /// Distance of the next extension.
    next_width: usize,
    /// Which bound the nominated load must become for the next extension to be longer.
    grows_as: Option<Side>,
    expansion: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}

impl Selector {
    /// A selector that begins at the loads of the initial trials.
    pub(super) fn new(targets: Vec<Target>, initial: Bracket, expansion: f64) -> Self {
        let mut selector =
            Self { targets, current: 0, before: initial, next_width: 0, grows_as: None, expansion };
        selector.begin(initial);
        selector
    }

    /// The next load for the goal, whose bounds for a target `bounds` tells; none if it is reached
    /// or cannot be. `common_width` is the distance at which any goal last searched.
    pub(super) fn nominate(
        &mut self,
        bounds: impl Fn(&Target) -> Bracket,
        common_width: usize,
        grid: &Grid,
    ) -> Option<Nominee> {
        loop {
            let target = *self.targets.get(self.current)?;
            let known = bounds(&target);
            self.grows_as = None;
            if let Some((at, width)) = self.candidate(&target, known, common_width, grid) {
                return Some(Nominee { at, duration: target.trial, width });
            }
            if self.current + 1 >= self.targets.len() {
                return None;
            }
            self.current += 1;
            self.begin(known);
        }
    }

    /// Tells the selector that its nominee was tried, and what the bounds of its target are now.
    /// Returns the longer distance if it was not far enough.
    pub(super) fn tried(
        &mut self,
        at: At,
        bounds: impl Fn(&Target) -> Bracket,
        grid: &Grid,
    ) -> Option<usize> {
        let known = bounds(self.targets.get(self.current)?);
        let side = match self.grows_as? {
            Side::Lower => known.lower,
            Side::Upper => known.upper,
        };
        if side != Some(at) {
            return None;
        }
        self.next_width = self.expanded(self.next_width).min(grid.last.max(1));
        Some(self.next_width)
    }

    fn begin(&mut self, before: Bracket) {
        self.before = before;
        let width = self.targets.get(self.current).map_or(1, |target| target.width);
        self.limit(before.width().unwrap_or(0).max(width), width);
    }

    /// Shortens the next extension to what follows a step of this distance.
    fn limit(&mut self, distance: usize, least: usize) {
        self.next_width = self.expanded(distance.max(least));
    }

    fn expanded(&self, width: usize) -> usize {
        (width as f64 * self.expansion) as usize
    }

    fn candidate(
        &mut self,
        target: &Target,
        known: Bracket,
        common_width: usize,
        grid: &Grid,
    ) -> Option<(At, usize)> {
        let halves = self.before.lower.zip(self.before.upper).filter(|(lower, upper)| {
            let between = upper - lower;
            target.width < between && between <= 2 * target.width
        });
        let halves = halves.map(|(lower, upper)| middle(lower, upper, target.width));
        let near = [halves, self.before.lower, self.before.upper];
        let refining = near.into_iter().flatten().find(|at| known.gains_by(*at, target.width));
        if let Some(at) = refining {
            self.limit(target.width, target.width);
            return Some((at, target.width));
        }
        let far = common_width.max(self.next_width);
        let down = |upper: At| grid.between(upper.saturating_sub(far), target.width, known);
        let up = |lower: At| grid.between(lower.saturating_add(far), target.width, known);
        match (known.lower, known.upper) {
            (None, Some(upper)) if upper > 0 => {
                self.grows_as = Some(Side::Upper);
                down(upper).filter(|at| *at < upper).map(|at| (at, far))
            }
            (Some(lower), None) if lower < grid.last => {
                self.grows_as = Some(Side::Lower);
                up(lower).filter(|at| *at > lower).map(|at| (at, far))
            }
            (Some(lower), Some(upper)) if upper - lower > target.width => {
                let half = middle(lower, upper, target.width);
                let towards_lower = |at: &At| {
                    self.before.upper.is_some_and(|before| half < before && *at < before)
                        && *at > half
                };
                let towards_upper = |at: &At| {
                    self.before.lower.is_some_and(|before| half > before && *at > before)
                        && *at < half
                };
                if let Some(at) = down(upper).filter(towards_lower) {
                    self.grows_as = Some(Side::Upper);
                    return Some((at, far));
                }
                if let Some(at) = up(lower).filter(towards_upper) {
                    self.grows_as = Some(Side::Lower);
                    return Some((at, far));
                }
                let width = (half - lower).min(upper - half);
                self.limit(width, target.width);
                Some((half, width))
            }
            _ => None,
        }
    }
}
