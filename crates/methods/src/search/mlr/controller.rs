//! Which trial comes next: the initial ones, then what the goals nominate.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::record::Bounds;

use super::grid::{At, Bracket, Grid};
use super::selector::{Nominee, Selector};
use super::target::{Pace, Target, targets};
use crate::search::classify::{Class, Demand, Seen, Sums};
use crate::search::engine::Settings;
use crate::search::goal::{Attributes, Goal};

/// A trial from the view of the goals, in their order.
#[derive(Clone, Debug)]
pub(super) struct Shot {
    /// Index of its record.
    pub(super) record: usize,
    pub(super) seen: Vec<Seen>,
    /// Why the goals are missed, if they are.
    pub(super) missed: Vec<Option<String>>,
    /// Whether the tester sent less than requested.
    pub(super) short: bool,
    /// What the tester really offered per port and direction, in packets per second.
    pub(super) offered_pps: f64,
    /// What came back on the slowest interface, in packets per second.
    pub(super) forwarded_pps: f64,
}

/// The trials by load.
#[derive(Clone, Debug, Default)]
pub(super) struct Shots(BTreeMap<At, Vec<Shot>>);

/// Decides which trial comes next.
pub(super) struct Controller {
    pub(super) grid: Grid,
    pace: Pace,
    pub(super) unsent_is_loss: bool,
    /// The targets of each goal, with the goal itself last.
    targets: Vec<Vec<Target>>,
    /// The smallest loss ratio of a goal.
    loss_ratio: f64,
    stage: Stage,
    selectors: Vec<Selector>,
    /// The goal whose nominee is tried.
    winner: Option<(usize, Nominee)>,
    /// The distance at which a goal last searched.
    width: usize,
    pub(super) shots: Shots,
}

/// The initial trials, and what follows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// At the highest load.
    Highest,
    /// At the rate that came through there.
    Forwarded(At),
    /// Beside that: where it lost frames, at what came through of it, and else one width above.
    Beside(At, At),
    /// The goals nominate loads.
    Nominated,
}

impl Shots {
    /// The trials at a load, in their order.
    pub(super) fn at(&self, at: Option<At>) -> impl DoubleEndedIterator<Item = &Shot> + Clone {
        at.and_then(|at| self.0.get(&at)).into_iter().flatten()
    }

    /// The relevant bounds of a goal.
    pub(super) fn relevant(&self, goal: usize, demand: &Demand) -> Bracket {
        let class = |at: &At| self.class(goal, demand, *at);
        let upper = self.0.keys().find(|at| class(at) == Class::Upper).copied();
        let below = self.0.range(..upper.unwrap_or(usize::MAX)).rev().map(|(at, _)| at);
        let lower = below.into_iter().find(|at| class(at) == Class::Lower).copied();
        Bracket { lower, upper }
    }

    fn class(&self, goal: usize, demand: &Demand, at: At) -> Class {
        Sums::of(demand, self.at(Some(at)).map(|shot| shot.seen[goal])).classify(demand)
    }
}

impl Controller {
    pub(super) fn new(settings: &Settings, goals: &[Goal], pace: Pace) -> Self {
        let attributes: Vec<Attributes> = goals.iter().filter_map(|g| g.attributes).collect();
        assert_eq!(attributes.len(), goals.len(), "MLRsearch needs goals with its attributes");
        let widths = attributes.iter().map(|a| a.width);
        let grid = Grid::new(settings.min_pps, settings.max_pps, widths);
        let targets = attributes.iter().map(|a| targets(a, &pace, grid.steps(a.width))).collect();
        Self {
            grid,
            pace,
            unsent_is_loss: goals.iter().all(|goal| goal.unsent_is_loss),
            targets,
            loss_ratio: goals.iter().map(|g| g.loss_ratio.0).fold(f64::INFINITY, f64::min),
            stage: Stage::Highest,
            selectors: Vec::new(),
            winner: None,
            width: 0,
            shots: Shots::default(),
        }
    }

    /// Index and duration of the next trial; none if every goal is reached or unreachable.
    pub(super) fn next(&mut self) -> Option<(At, Duration)> {
        if self.pace.fail_fast && self.has_failed() {
            return None;
        }
        let initial = self.initial_trial();
        match self.stage {
            Stage::Highest => Some((self.grid.last, initial)),
            Stage::Forwarded(at) | Stage::Beside(_, at) => Some((at, initial)),
            Stage::Nominated => {
                self.winner = self.nominee();
                self.winner.map(|(_, nominee)| (nominee.at, nominee.duration))
            }
        }
    }

    /// Takes note of a trial; it is the one that `next` asked for, or one of [`Self::lowest`].
    pub(super) fn tell(&mut self, at: At, shot: Shot) {
        let (forwarded_pps, loss) = (shot.forwarded_pps, shot.seen.iter().map(|s| s.loss_ratio));
        let loss = loss.fold(0.0, f64::max);
        let is_missed = shot.seen.iter().any(|seen| seen.high);
        self.shots.0.entry(at).or_default().push(shot);
        // All that is lost of a higher load would be lost of the tolerated part, too.
        let forwarded = self.grid.at_or_below(forwarded_pps / (1.0 - self.loss_ratio));
        let (last, width) = (self.grid.last, self.initial_width());
        let below = |upper| Bracket { lower: None, upper: Some(upper) };
        match self.stage {
            Stage::Highest => match self.grid.between(forwarded, width, below(last)) {
                Some(second) => self.stage = Stage::Forwarded(second),
                None => self.begin(last, last),
            },
            Stage::Forwarded(first) => {
                let beside = match (loss > self.loss_ratio, is_missed) {
                    (true, _) => self.grid.between(forwarded, width, below(first)),
                    (false, true) => {
                        self.grid.between(first.saturating_sub(width), width, below(first))
                    }
                    (false, false) => {
                        let bounds = Bracket { lower: Some(first), upper: Some(last) };
                        self.grid.between(first + width, width, bounds)
                    }
                };
                match beside {
                    Some(beside) => self.stage = Stage::Beside(first, beside),
                    None => self.begin(first, first),
                }
            }
            Stage::Beside(first, beside) => self.begin(first.min(beside), first.max(beside)),
            Stage::Nominated => self.advance(),
        }
    }

    /// The relevant bounds of a goal, for a record: the lower one as it was really offered.
    pub(super) fn bounds(&self, goal: usize) -> Bounds {
        let target = self.final_target(goal);
        let known = self.shots.relevant(goal, &target.demand);
        let passed = self.shots.at(known.lower).filter(|shot| !shot.seen[goal].high);
        let offered = passed.map(|shot| shot.offered_pps);
        let lower_pps = known.lower.map(|at| offered.fold(self.grid.load(at), f64::min));
        let upper_pps = known.upper.map(|at| self.grid.load(at));
        Bounds { lower_pps, upper_pps, regular: known.is_within(target.width) }
    }

    /// The trial at the lowest load that goals without a lower bound still need there; none if each
    /// has a bound, or is decided there.
    pub(super) fn lowest(&self) -> Option<(At, Duration)> {
        let longest = self.undecided_at_lowest().max_by_key(|target| target.trial)?;
        Some((0, longest.trial))
    }

    /// Time and number of trials that deciding the lowest load may still take.
    pub(super) fn reserve(&self) -> (Duration, usize) {
        let sums = self.undecided_at_lowest().map(|target| {
            let whole_s = target.demand.duration_sum_s;
            let trials = (whole_s / target.trial.as_secs_f64() * (1.0 - 1e-9)).ceil() as usize;
            (target.trial.saturating_mul(trials as u32), trials)
        });
        sums.max().unwrap_or_default()
    }

    pub(super) fn final_target(&self, goal: usize) -> Target {
        // There is one at least: `targets` ends with the goal itself.
        self.targets[goal][self.targets[goal].len() - 1]
    }

    /// Upper bounds of the number and duration of further trials: two loads for each target not
    /// reached.
    pub(super) fn expected(&self) -> (usize, Duration) {
        let (mut trials, mut time) = (0.0, 0.0);
        for (goal, targets) in self.targets.iter().enumerate() {
            let is_open = |t: &&Target| !self.shots.relevant(goal, &t.demand).is_within(t.width);
            for target in targets.iter().filter(is_open) {
                let sum = 2.0 * target.demand.duration_sum_s.max(target.demand.full_length_s);
                trials += sum / target.trial.as_secs_f64();
                time += sum;
            }
        }
        (trials.ceil() as usize, Duration::from_secs_f64(time))
    }

    /// The final targets of goals that have no lower bound and are undecided at the lowest load.
    fn undecided_at_lowest(&self) -> impl Iterator<Item = Target> {
        (0..self.targets.len()).filter_map(|goal| {
            let target = self.final_target(goal);
            let known = self.shots.relevant(goal, &target.demand);
            let is_open = self.shots.class(goal, &target.demand, 0) == Class::Undecided;
            (known.lower.is_none() && is_open).then_some(target)
        })
    }

    fn nominee(&mut self) -> Option<(usize, Nominee)> {
        let (shots, grid, width) = (&self.shots, &self.grid, self.width);
        let nominate = |(goal, selector): (usize, &mut Selector)| {
            let bounds = |target: &Target| shots.relevant(goal, &target.demand);
            Some((goal, selector.nominate(bounds, width, grid)?))
        };
        let nominees = self.selectors.iter_mut().enumerate().filter_map(nominate);
        nominees.min_by_key(|(_, nominee)| nominee.order())
    }

    /// Tells the goal whose nominee was tried what came of it.
    fn advance(&mut self) {
        let Some((goal, nominee)) = self.winner.take() else { return };
        self.width = nominee.width;
        let (shots, grid) = (&self.shots, &self.grid);
        let bounds = |target: &Target| shots.relevant(goal, &target.demand);
        if let Some(longer) = self.selectors[goal].tried(nominee.at, bounds, grid) {
            self.width = longer;
        }
    }

    fn begin(&mut self, lower: At, upper: At) {
        let initial = Bracket { lower: Some(lower), upper: Some(upper) };
        self.width = upper - lower;
        let expansion = self.pace.expansion;
        let selector = |targets: &Vec<Target>| Selector::new(targets.clone(), initial, expansion);
        self.selectors = self.targets.iter().map(selector).collect();
        self.stage = Stage::Nominated;
    }

    /// Duration of the initial trials: the longest of a first target.
    fn initial_trial(&self) -> Duration {
        self.first_targets().map(|target| target.trial).max().unwrap_or_default()
    }

    /// Distance of the initial trials: the widest of a first target.
    fn initial_width(&self) -> usize {
        self.first_targets().map(|target| target.width).max().unwrap_or(1)
    }

    fn first_targets(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter_map(|targets| targets.first())
    }

    /// Whether a goal is missed even at the lowest load.
    fn has_failed(&self) -> bool {
        let failed =
            |goal| self.shots.class(goal, &self.final_target(goal).demand, 0) == Class::Upper;
        (0..self.targets.len()).any(failed)
    }
}
