//! The search of RFC 2544 section 26.1 (as errata 422 corrects it) by geometric bisection from a
//! first guess, with brief trials and a longer one that confirms.
//!
//! When the confirmation fails, brief trials are no evidence any more: the search goes on below, in
//! growing steps and with trials of the final duration only. Where the tester cannot send a load,
//! what it did send is what passed or failed.

use std::time::Duration;

use measure::MeasureError;

use super::Bisection;
use super::engine::{Engine, Found, Tried};
use super::goal::Goal;
use crate::Step;

/// Durations of trials, and the precision of the bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    pub(crate) brief: Duration,
    pub(crate) confirming: Duration,
    pub(crate) precision: f64,
}

/// Searches for one goal until the bounds are close and the lower one is confirmed, or trials or
/// time run out.
pub(crate) fn search(
    engine: Engine<'_, '_>,
    goal: &Goal,
    lengths: Lengths,
) -> Result<Found, MeasureError> {
    let settings = engine.settings;
    let guess = settings.guess_pps;
    let bisection = Bisection::new(settings.min_pps, settings.max_pps, lengths.precision, guess);
    let mut search = Search { engine, goal, lengths, bisection, doubting: false, exhausted: None };
    search.run()?;
    Ok(search.found())
}

struct Search<'g, 's, 'a> {
    engine: Engine<'s, 'a>,
    goal: &'g Goal,
    lengths: Lengths,
    bisection: Bisection,
    /// Whether a confirmation failed, so that only long trials count.
    doubting: bool,
    /// Why the search ended early, if it did.
    exhausted: Option<String>,
}

impl Search<'_, '_, '_> {
    fn run(&mut self) -> Result<(), MeasureError> {
        let Lengths { brief, confirming, .. } = self.lengths;
        while let Some(load) = self.bisection.next() {
            if !self.engine.room_for(brief + confirming, 2) {
                self.exhausted = Some(self.engine.exhausted((brief + confirming, 2)));
                break;
            }
            match self.try_load(load, brief, "search")? {
                Tried::Passed => self.bisection.passed(load),
                Tried::Short(sent) => {
                    self.bisection.failed(load);
                    self.bisection.passed(sent);
                }
                Tried::Failed => self.bisection.failed(load),
            }
        }
        if let Some(lower) = self.bisection.lower() {
            match self.try_load(lower, confirming, "confirmation")? {
                Tried::Passed => self.bisection.confirm(lower),
                Tried::Short(sent) => {
                    self.bisection.refute(lower);
                    self.bisection.passed(sent);
                    self.bisection.confirm(sent);
                }
                Tried::Failed => {
                    self.bisection.refute(lower);
                    self.doubting = true;
                    self.search_again()?;
                }
            }
        }
        if self.bisection.lower().is_none() {
            self.try_lowest()?;
        }
        self.bisection.settle();
        Ok(())
    }

    /// Tries the lowest load, where trials or time ended the search while all loads failed: what
    /// was kept for a confirmation is enough for that.
    fn try_lowest(&mut self) -> Result<(), MeasureError> {
        let (lowest, long) = (self.engine.settings.min_pps, self.lengths.confirming);
        let is_open = self.bisection.upper().is_some_and(|upper| upper > lowest);
        if !is_open || !self.engine.room_for(long, 1) {
            return Ok(());
        }
        match self.try_load(lowest, long, "confirmation")? {
            Tried::Passed => {
                self.bisection.passed(lowest);
                self.bisection.confirm(lowest);
            }
            Tried::Short(_) | Tried::Failed => self.bisection.failed(lowest),
        }
        Ok(())
    }

    /// Searches with long trials only, after a failed confirmation: each pass is a confirmation.
    fn search_again(&mut self) -> Result<(), MeasureError> {
        let long = self.lengths.confirming;
        while let Some(load) = self.bisection.next() {
            if !self.engine.room_for(long, 1) {
                self.exhausted = Some(self.engine.exhausted((long, 1)));
                break;
            }
            let passed = match self.try_load(load, long, "confirmation")? {
                Tried::Passed => load,
                Tried::Short(sent) => {
                    self.bisection.failed(load);
                    sent
                }
                Tried::Failed => {
                    self.bisection.failed(load);
                    continue;
                }
            };
            self.bisection.passed(passed);
            self.bisection.confirm(passed);
        }
        Ok(())
    }

    fn try_load(
        &mut self,
        load: f64,
        duration: Duration,
        purpose: &'static str,
    ) -> Result<Tried, MeasureError> {
        // A search leaves time for its confirmation.
        let reserve = match purpose {
            "search" => (self.lengths.confirming, 1),
            _ => (Duration::ZERO, 0),
        };
        let step = self.step(purpose);
        self.engine.try_load(self.goal, load, duration, &step, reserve)
    }

    fn step(&self, purpose: &'static str) -> Step {
        let Lengths { brief, confirming, .. } = self.lengths;
        let left = self.engine.trials_left();
        let searching = self.bisection.expected().min(left.saturating_sub(1));
        let (trials, time) = match (self.doubting, purpose) {
            (true, _) => (searching, confirming * searching as u32),
            (false, "confirmation") => (1, confirming),
            (false, _) => (searching + 1, brief * searching as u32 + confirming),
        };
        Step::new(purpose, trials, time, Some(self.bisection.bounds()))
    }

    fn found(self) -> Found {
        let bounds = self.bisection.bounds();
        let confirmed = self.bisection.is_confirmed();
        let why = match (bounds.lower_pps, bounds.upper_pps, self.bisection.next()) {
            (_, _, Some(_)) => {
                let needed = (self.lengths.confirming, 1);
                self.exhausted.clone().unwrap_or_else(|| self.engine.exhausted(needed))
            }
            (None, _, None) => "even min-rate failed".to_owned(),
            (Some(_), None, None) => "even max-rate passed".to_owned(),
            (Some(_), Some(_), None) => "the bounds were close enough".to_owned(),
        };
        self.engine.found(bounds, confirmed, &why)
    }
}
