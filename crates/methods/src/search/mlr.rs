//! MLRsearch (draft-ietf-bmwg-mlrsearch-15, which became RFC 9971): several goals in one search,
//! several short trials in place of a long one.
//!
//! The draft fixes how loads are classified (`classify.rs`) and what a result is; which trial comes
//! next is left to the implementation. Here it is the course that its authors published with FD.io
//! CSIT, so that a search takes no more trials than theirs:
//!
//! - Loads lie on a logarithmic grid whose step is at most the smallest width of a goal, so that
//!   goals share loads and no bracket is narrowed further than asked (`mlr/grid.rs`).
//! - The initial trials are at the maximum load, at the rate that came through there, and beside
//!   it. On a device with a fixed capacity they are the two bounds already.
//! - Each goal has targets, coarse ones first (`preceding-targets`): twice as wide each, and with
//!   durations and duration sums that grow geometrically to the goal's (`mlr/target.rs`).
//! - A goal halves what its coarser target found, then tries the bounds themselves, searches beyond
//!   them in distances that grow, or bisects (`mlr/selector.rs`).
//! - Of what the goals want, the lowest load is measured first, because a bound at a low load may
//!   make those above it irrelevant.
//!
//! The relevant upper bound is the smallest load classified as upper bound; the relevant lower
//! bound the largest one classified as lower bound below it, and no more than was really offered.
//! Where even the maximum load is a lower bound, it is reported as an effective, irregular one.
//!
//! Until every goal has a lower bound, time is kept to decide the lowest load: a search that runs
//! out tries it before it gives up.

use std::time::Duration;

use measure::{MeasureError, Pps, Trial, validity};

use super::classify::{Seen, conditional};
use super::engine::{Engine, Found};
use super::goal::Goal;
use crate::Step;
use crate::figures::{forwarded_pps, rate_pps};

mod controller;
mod grid;
mod selector;
mod target;

use controller::{Controller, Shot};
pub(crate) use target::Pace;

/// Searches for all goals.
pub(crate) fn search(
    engine: Engine<'_, '_>,
    goals: &[Goal],
    pace: Pace,
) -> Result<Vec<Found>, MeasureError> {
    let controller = Controller::new(engine.settings, goals, pace);
    let mut search = Search { engine, goals, controller };
    let mut why = None;
    while let Some((at, duration)) = search.controller.next() {
        let (time, trials) = search.reserve();
        let needed = (duration.saturating_add(time), trials + 1);
        if !search.engine.room_for(needed.0, needed.1) {
            why = Some(search.engine.exhausted(needed));
            break;
        }
        search.shoot(at, duration)?;
    }
    if why.is_some() {
        while let Some((at, duration)) = search.controller.lowest()
            && search.engine.room_for(duration, 1)
        {
            search.shoot(at, duration)?;
        }
    }
    Ok((0..goals.len()).map(|goal| search.found(goal, why.as_deref())).collect())
}

struct Search<'g, 's, 'a> {
    engine: Engine<'s, 'a>,
    goals: &'g [Goal],
    controller: Controller,
}

impl Search<'_, '_, '_> {
    /// What is kept for the lowest load, but never more than half of the whole.
    fn reserve(&self) -> (Duration, usize) {
        let (time, trials) = self.controller.reserve();
        let settings = self.engine.settings;
        (time.min(settings.time_max / 2), trials.min(settings.trials_max / 2))
    }

    fn shoot(&mut self, at: usize, duration: Duration) -> Result<(), MeasureError> {
        let load = self.controller.grid.load(at);
        let (trials, time) = self.controller.expected();
        let trials = trials.clamp(1, self.engine.trials_left().max(1));
        let time = time.min(self.engine.time_left());
        let step = Step::new("search", trials, time, Some(self.controller.bounds(0)));
        let (record, trial) =
            self.engine.trial(load, duration, step, self.engine.settings.stall_repeats)?;
        let shot = shot(self.goals, record, &trial, duration);
        let offered_pps = rate_pps(&self.engine.session.records[record]);
        self.controller.tell(at, Shot { offered_pps, ..shot });
        Ok(())
    }

    /// The result for a goal; `why` says why the search ended early.
    fn found(&self, goal: usize, why: Option<&str>) -> Found {
        let shots = &self.controller.shots;
        let demand = self.controller.final_target(goal).demand;
        let mut bounds = self.controller.bounds(goal);
        let known = shots.relevant(goal, &demand);
        // What only the tester could not send is no bound of the device.
        let is_excused =
            shots.at(known.upper).any(|shot| shot.short) && !self.controller.unsent_is_loss;
        bounds.regular &= !is_excused;
        let seen: Vec<Seen> = shots.at(known.lower).map(|shot| shot.seen[goal]).collect();
        let (best, loss) = conditional(&demand, &seen);
        let best = best.and_then(|index| shots.at(known.lower).nth(index)).map(|shot| shot.record);
        let settings = self.engine.settings;
        let why = match (bounds.regular, known.lower, known.upper) {
            (true, ..) => "the bounds were within the width",
            (_, None, Some(0)) => "even min-rate was an upper bound",
            (_, Some(at), None) if self.controller.grid.load(at) >= settings.max_pps => {
                "even max-rate was a lower bound"
            }
            _ if is_excused => "the tester could not send the upper bound",
            _ => why.unwrap_or("another goal failed at min-rate (fail-fast)"),
        };
        let records = |at, high: bool| -> Vec<usize> {
            let of = shots.at(at).filter(|shot| shot.seen[goal].high == high);
            of.map(|shot| shot.record).collect()
        };
        let (passed, failed) = (records(known.lower, false), records(known.upper, true));
        let why = format!("{why} after {} trials", self.engine.session.records.len());
        let mut ended = why.clone();
        if let (Some(pps), Some(last)) = (bounds.lower_pps, passed.last()) {
            let of = shots.at(known.lower).count();
            ended += &format!(
                "; {} of {of} trials passed at {}, the last one trial {last}",
                passed.len(),
                Pps(pps)
            );
        }
        if let (Some(pps), Some(last)) = (bounds.upper_pps, failed.last()) {
            let of = shots.at(known.upper).count();
            let why =
                shots.at(known.upper).filter_map(|shot| shot.missed[goal].as_deref()).next_back();
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
            why,
            ended,
        }
    }
}

/// A trial from the view of the goals; what was offered is the record's to tell.
fn shot(goals: &[Goal], record: usize, trial: &Trial, duration: Duration) -> Shot {
    let short = validity::tester_fell_short(trial);
    let seen = |goal: &Goal| {
        let missed = goal.missed(trial);
        // A load that was not offered is not known to pass.
        let missed = missed.or_else(|| short.then(|| "the tester sent less".to_owned()));
        let high = missed.is_some();
        let loss_ratio = goal.loss(trial);
        (Seen { duration_s: duration.as_secs_f64(), loss_ratio, high }, missed)
    };
    let (seen, missed) = goals.iter().map(seen).unzip();
    let forwarded_pps = forwarded_pps(trial);
    Shot { record, seen, missed, short, offered_pps: forwarded_pps, forwarded_pps }
}

#[cfg(test)]
mod tests;
