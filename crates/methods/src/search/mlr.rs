//! MLRsearch (draft-ietf-bmwg-mlrsearch-15, which became RFC 9971): several goals in one search,
//! several short trials in place of a long one.
//!
//! The draft fixes how loads are classified (`classify.rs`) and what a result is; which trial comes
//! next is left to the implementation. Here:
//!
//! - Loads lie on a logarithmic grid whose step is at most the smallest width of a goal, so that
//!   goals share loads and no bracket is narrowed further than asked.
//! - Each goal has targets, coarse ones first (`preceding-targets`): wider by the expansion
//!   coefficient each, and with durations and duration sums that grow geometrically to the goal's.
//!   The bounds that a coarse target found are what the next one tries first, the lower one before
//!   the upper one.
//! - Without a bracket, the search goes up or down from where the target began, in distances that
//!   grow by the expansion coefficient; with one it goes to the middle.
//! - Of what the goals want, the lowest load is measured first, because a bound at a low load may
//!   make those above it irrelevant.
//! - The first load is the rate that came through at the maximum load.
//!
//! The relevant upper bound is the smallest load classified as upper bound; the relevant lower
//! bound the largest one classified as lower bound below it. Where even the maximum load is a lower
//! bound, it is reported as an effective, irregular one.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::record::Bounds;
use measure::{MeasureError, Pps, validity};

use super::classify::{Class, Demand, Seen, Sums, conditional};
use super::engine::{Engine, Found, Settings};
use super::goal::{Attributes, Goal};
use crate::Step;

/// Parameters of the way from coarse to fine targets; they do not change the meaning of a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Number of coarser targets before each goal.
    pub(crate) preceding_targets: u32,
    /// Factor by which widths shrink and distances grow.
    pub(crate) expansion: f64,
    /// Whether a goal that fails at the lowest load ends the search for all goals.
    pub(crate) fail_fast: bool,
}

/// Searches for all goals.
pub(crate) fn search(
    mut engine: Engine<'_, '_>,
    goals: &[Goal],
    pace: Pace,
) -> Result<Vec<Found>, MeasureError> {
    let mut controller = Controller::new(engine.settings, goals, pace);
    let mut why = None;
    while let Some((at, duration)) = controller.next() {
        if !engine.room_for(duration, 1) {
            why = Some(engine.exhausted());
            break;
        }
        let load = controller.load(at);
        let (trials, time) = controller.expected(&engine);
        let step = Step::new("search", trials, time, Some(controller.bounds(0)));
        let repeats = engine.settings.stall_repeats;
        let (record, trial) = engine.trial(load, duration, step, repeats, (Duration::ZERO, 0))?;
        let short = validity::tester_fell_short(&trial);
        let seen = |goal: &Goal| {
            let missed = goal.missed(&trial);
            // A load that was not offered is not known to pass.
            let missed = missed.or_else(|| short.then(|| "the tester sent less".to_owned()));
            let high = missed.is_some();
            let loss_ratio = goal.loss(&trial);
            (Seen { duration_s: duration.as_secs_f64(), loss_ratio, high }, missed)
        };
        let (seen, missed) = goals.iter().map(seen).unzip();
        controller.tell(at, Shot { record, seen, missed, short });
    }
    let found = |goal| controller.found(goal, &engine, why.as_deref());
    Ok((0..goals.len()).map(found).collect())
}

/// A trial from the view of the goals, in their order.
#[derive(Clone, Debug)]
pub(super) struct Shot {
    pub(super) record: usize,
    pub(super) seen: Vec<Seen>,
    pub(super) missed: Vec<Option<String>>,
    /// Whether the tester sent less than requested.
    pub(super) short: bool,
}

/// A goal, or a coarser target on the way to it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Target {
    demand: Demand,
    trial: Duration,
    /// The widest bracket that is sufficient, in steps of the grid.
    width: usize,
}

/// Index of a load on the grid.
type At = usize;

/// Decides which trial comes next.
pub(super) struct Controller {
    min_pps: f64,
    max_pps: f64,
    /// Last index of the grid, which has `last + 1` loads.
    last: At,
    guess: At,
    pace: Pace,
    unsent_is_loss: bool,
    /// The targets of each goal, with the goal itself last.
    targets: Vec<Vec<Target>>,
    /// Index at which the search for a target began, by goal and target.
    began: BTreeMap<(usize, usize), At>,
    shots: BTreeMap<At, Vec<Shot>>,
}

impl Controller {
    pub(super) fn new(settings: &Settings, goals: &[Goal], pace: Pace) -> Self {
        let attributes: Vec<Attributes> = goals.iter().filter_map(|g| g.attributes).collect();
        assert_eq!(attributes.len(), goals.len(), "MLRsearch needs goals with its attributes");
        let distance = |width: f64| -(1.0 - width).ln();
        let (min_pps, max_pps) = (settings.min_pps, settings.max_pps);
        let finest = attributes.iter().map(|a| distance(a.width)).fold(f64::INFINITY, f64::min);
        // A range narrower than the width is a grid of its two ends, or of its one load.
        let range = (max_pps / min_pps).ln();
        let last = ((range / finest) * (1.0 - 1e-9)).ceil().min(GRID_MAX) as usize;
        let steps = |width: f64| (distance(width) / range * last as f64 * (1.0 + 1e-9)) as usize;
        let targets = attributes.iter().map(|a| targets(a, &pace, steps(a.width))).collect();
        let mut controller = Self {
            min_pps,
            max_pps,
            last,
            guess: 0,
            pace,
            unsent_is_loss: goals.iter().all(|goal| goal.unsent_is_loss),
            targets,
            began: BTreeMap::new(),
            shots: BTreeMap::new(),
        };
        controller.guess = controller.at_or_below(settings.guess_pps);
        controller
    }

    /// Index and duration of the next trial; none if every goal is reached or unreachable.
    pub(super) fn next(&mut self) -> Option<(At, Duration)> {
        if self.pace.fail_fast && self.has_failed() {
            return None;
        }
        let goals = 0..self.targets.len();
        goals.filter_map(|goal| self.wanted(goal)).min_by_key(|(at, duration)| (*at, *duration))
    }

    pub(super) fn tell(&mut self, at: At, shot: Shot) {
        self.shots.entry(at).or_default().push(shot);
    }

    /// The load at an index of the grid; both ends are exact.
    pub(super) fn load(&self, at: At) -> f64 {
        match at {
            0 => self.min_pps,
            at if at >= self.last => self.max_pps,
            at => {
                let share = at as f64 / self.last as f64;
                self.min_pps * (self.max_pps / self.min_pps).powf(share)
            }
        }
    }

    /// The relevant bounds of a goal, for a record.
    pub(super) fn bounds(&self, goal: usize) -> Bounds {
        let target = self.final_target(goal);
        let (lower, upper) = self.relevant(goal, &target.demand);
        let regular = lower.zip(upper).is_some_and(|(l, u)| u - l <= target.width);
        let load = |at: Option<At>| at.map(|at| self.load(at));
        Bounds { lower_pps: load(lower), upper_pps: load(upper), regular }
    }

    /// The next trial that a goal needs.
    fn wanted(&mut self, goal: usize) -> Option<(At, Duration)> {
        let mut before = (None, None);
        for index in 0..self.targets[goal].len() {
            let target = self.targets[goal][index];
            let bounds = self.relevant(goal, &target.demand);
            if let Some(at) = self.candidate((goal, index), &target, bounds, before) {
                return Some((at, target.trial));
            }
            before = bounds;
        }
        None
    }

    /// The next load for a target, given its bounds and those of the previous target.
    fn candidate(
        &mut self,
        key: (usize, usize),
        target: &Target,
        bounds: (Option<At>, Option<At>),
        before: (Option<At>, Option<At>),
    ) -> Option<At> {
        let hints = [before.0, before.1].into_iter().flatten();
        let is_between =
            |at: &At| bounds.0.is_none_or(|l| l < *at) && bounds.1.is_none_or(|u| *at < u);
        let hint = hints.into_iter().find(is_between);
        let began = self.began.get(&key).copied();
        let at = match bounds {
            (Some(lower), Some(upper)) if upper - lower <= target.width => return None,
            (Some(lower), Some(upper)) => hint.unwrap_or(usize::midpoint(lower, upper)),
            (Some(lower), None) if lower >= self.last => return None,
            (None, Some(0)) => return None,
            (None, None) => hint.unwrap_or(self.guess),
            (Some(lower), None) => {
                let far = self.further(lower.abs_diff(began.unwrap_or(lower)), target);
                hint.unwrap_or((lower + far).min(self.last))
            }
            (None, Some(upper)) => {
                let far = self.further(upper.abs_diff(began.unwrap_or(upper)), target);
                hint.unwrap_or(upper.saturating_sub(far))
            }
        };
        self.began.entry(key).or_insert(match bounds {
            (Some(bound), None) | (None, Some(bound)) => bound,
            _ => at,
        });
        Some(at)
    }

    /// The next step away from the start of a target, which was `distance` steps ago.
    fn further(&self, distance: usize, target: &Target) -> usize {
        ((distance as f64 * (self.pace.expansion - 1.0)) as usize).max(target.width)
    }

    /// The relevant lower and upper bound.
    fn relevant(&self, goal: usize, demand: &Demand) -> (Option<At>, Option<At>) {
        let class = |at: &At| self.class(goal, demand, *at);
        let upper = self.shots.keys().find(|at| class(at) == Class::Upper).copied();
        let below = self.shots.range(..upper.unwrap_or(usize::MAX)).rev().map(|(at, _)| at);
        let lower = below.into_iter().find(|at| class(at) == Class::Lower).copied();
        (lower, upper)
    }

    fn class(&self, goal: usize, demand: &Demand, at: At) -> Class {
        let shots = self.shots.get(&at).into_iter().flatten();
        Sums::of(demand, shots.map(|shot| shot.seen[goal])).classify(demand)
    }

    /// Whether a goal is missed even at the lowest load.
    fn has_failed(&self) -> bool {
        let failed = |goal| self.class(goal, &self.final_target(goal).demand, 0) == Class::Upper;
        (0..self.targets.len()).any(failed)
    }

    fn final_target(&self, goal: usize) -> Target {
        // There is one at least: `targets` ends with the goal itself.
        self.targets[goal][self.targets[goal].len() - 1]
    }

    fn at_or_below(&self, pps: f64) -> At {
        let share = (pps / self.min_pps).ln() / (self.max_pps / self.min_pps).ln();
        (share * self.last as f64 + 1e-9).clamp(0.0, self.last as f64) as At
    }

    /// Upper bounds of the number and duration of further trials: two loads for each target not
    /// reached.
    fn expected(&self, engine: &Engine<'_, '_>) -> (usize, Duration) {
        let mut trials = 0.0;
        let mut time = 0.0;
        for (goal, targets) in self.targets.iter().enumerate() {
            let reached = |t: &Target| {
                let (lower, upper) = self.relevant(goal, &t.demand);
                lower.zip(upper).is_some_and(|(l, u)| u - l <= t.width)
            };
            for target in targets.iter().filter(|t| !reached(t)) {
                let sum = 2.0 * target.demand.duration_sum_s.max(target.demand.full_length_s);
                trials += sum / target.trial.as_secs_f64();
                time += sum;
            }
        }
        let trials = (trials.ceil() as usize).clamp(1, engine.trials_left().max(1));
        (trials, Duration::from_secs_f64(time).min(engine.time_left()))
    }

    /// The result for a goal; `why` says why the search ended early.
    fn found(&self, goal: usize, engine: &Engine<'_, '_>, why: Option<&str>) -> Found {
        let demand = self.final_target(goal).demand;
        let mut bounds = self.bounds(goal);
        let (lower, upper) = self.relevant(goal, &demand);
        let shots = |at: Option<At>| at.and_then(|at| self.shots.get(&at)).into_iter().flatten();
        // What only the tester could not send is no bound of the device.
        let is_excused = shots(upper).any(|shot| shot.short) && !self.unsent_is_loss;
        bounds.regular &= !is_excused;
        let seen: Vec<Seen> = shots(lower).map(|shot| shot.seen[goal]).collect();
        let (best, loss) = conditional(&demand, &seen);
        let best = best.and_then(|index| shots(lower).nth(index)).map(|shot| shot.record);
        let why = match (bounds.regular, bounds.lower_pps, bounds.upper_pps) {
            (true, ..) => "the bounds were within the width",
            (_, None, Some(pps)) if pps <= self.min_pps => "even min-rate was an upper bound",
            (_, Some(pps), None) if pps >= self.max_pps => "even max-rate was a lower bound",
            _ if is_excused => "the tester could not send the upper bound",
            _ => why.unwrap_or("another goal failed at min-rate (fail-fast)"),
        };
        let records = |at, high: bool| -> Vec<usize> {
            let of = shots(at).filter(|shot| shot.seen[goal].high == high);
            of.map(|shot| shot.record).collect()
        };
        let (passed, failed) = (records(lower, false), records(upper, true));
        let mut ended = format!("{why} after {} trials", engine.session.records.len());
        if let (Some(pps), Some(last)) = (bounds.lower_pps, passed.last()) {
            let of = shots(lower).count();
            ended += &format!(
                "; {} of {of} trials passed at {}, the last one trial {last}",
                passed.len(),
                Pps(pps)
            );
        }
        if let (Some(pps), Some(last)) = (bounds.upper_pps, failed.last()) {
            let of = shots(upper).count();
            let why = shots(upper).filter_map(|shot| shot.missed[goal].as_deref()).next_back();
            ended += &format!(
                "; {} of {of} trials failed at {}, the last one trial {last}: {}",
                failed.len(),
                Pps(pps),
                why.unwrap_or_default()
            );
        }
        Found {
            bounds,
            confirmed: bounds.lower_pps.is_some(),
            best,
            lower: passed,
            upper: failed,
            conditional_pps: bounds.lower_pps.map(|pps| pps * (1.0 - loss)),
            ended,
        }
    }
}

/// The targets of a goal, with the goal itself last; `width` in steps of the grid.
fn targets(goal: &Attributes, pace: &Pace, width: usize) -> Vec<Target> {
    let [initial_s, final_s, sum_s] =
        [goal.initial_trial, goal.final_trial, goal.duration_sum].map(|d| d.as_secs_f64());
    let target = |behind: u32| {
        // From the initial duration to the final ones in equal factors.
        let share = 1.0 - f64::from(behind) / f64::from(pace.preceding_targets.max(1));
        let between = |to: f64| initial_s * (to / initial_s).powf(share);
        let trial_s = if behind == 0 { final_s } else { between(final_s) };
        let duration_sum_s = if behind == 0 { sum_s } else { between(sum_s).max(trial_s) };
        let wider = pace.expansion.powf(f64::from(behind));
        let trial = Duration::from_secs_f64(trial_s);
        // A trial of that duration is a full-length one, rounding to nanoseconds included.
        let full_length_s = trial.as_secs_f64();
        Target {
            demand: Demand { full_length_s, duration_sum_s, exceed_ratio: goal.exceed_ratio },
            trial,
            width: ((width as f64 * wider) as usize).max(1),
        }
    };
    (0..=pace.preceding_targets).rev().map(target).collect()
}

/// Largest number of steps of the grid: a width of 1 ppm over nine decades.
const GRID_MAX: f64 = 2.1e7;

#[cfg(test)]
mod tests;
