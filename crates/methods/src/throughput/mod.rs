//! `throughput`: the highest load at which the device holds what is asked of it, above all that it
//! loses no frame.
//!
//! **Goals.** The throughput of RFC 1242 section 3.17, found as the key `search` says: by the
//! search of RFC 2544 section 26.1 as errata 422 corrects it (raise the load after a trial without
//! loss, lower it after one with loss), robust on a shared machine because a trial with loss may be
//! repeated before its loss counts; by the binary search of ETSI GS NFV-TST 009 clause 12.3.2, or
//! 12.3.3 with loss verification; or by MLRsearch (draft-ietf-bmwg-mlrsearch-15, which became RFC
//! 9971) for several goals at once. A goal may ask for more than little loss: a percentile of
//! latency, order, updates. How each search works stands in `crates/methods/src/search`.
//!
//! **Non-goals.** Statistics over many searches (the bench repeats measurements); loss below the
//! result (a search never looks there: a device that loses at low loads only shows in a loss
//! curve); the waiting times of RFC 2544 section 23, which is why its claim is never full.
//!
//! **How.** The tester alone is measured first, where the device can put a wire in its own place. A
//! warm-up at `max-rate` tells what comes through; the search begins there. Where the tester cannot
//! send a load, what it did send is what passed or failed; the answer then says "at least", and the
//! limit why.

mod config;
mod figures;
mod goals;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Baseline, Outcome};
use measure::{Conditions, Load, MeasureError, Measurer, Pps, Subject};
use serde_json::Value;

use config::NAME;
pub use config::{Config, LossUpTo, Search};
pub use goals::{GoalConfig, Goals};

use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::search::condition::Condition;
use crate::search::{Engine, Found, Goal, mlr, rfc2544, tst009};
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "highest load without loss, by binary search or MLRsearch, with its latency",
    subject: Subject::Frames,
    standards: &[
        report::RFC2544,
        report::TST009_SEARCH,
        report::TST009_VERIFIED,
        report::MLRSEARCH,
    ],
    figures: FIGURES,
    read: |value| crate::entry::read(value, Config::validate),
    schema: || schemars::schema_for!(Config),
};

impl Method for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configuration(&self) -> Value {
        to_value(self)
    }

    fn time_bound(&self) -> Duration {
        Config::time_bound(self)
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let goals = self.resolved();
        let mut session = Session::new(measurer, observer);
        let watches = |goal: &Goal| {
            goal.conditions.iter().any(|condition| matches!(condition, Condition::PolicerError(_)))
        };
        let (found, baseline) = if goals.iter().any(watches) {
            let subscribers_counted = self.subscribers_counted;
            let conditions = Conditions { subscribers_counted, ..Conditions::default() };
            session.conditions(&conditions, "what policers let through by subscriber")?;
            session.restoring(|session| self.find(&goals, session))?
        } else {
            self.find(&goals, &mut session)?
        };
        Ok(report::outcome(self, &goals, &found, session.records, baseline))
    }
}

impl Config {
    /// Searches for all goals, after the baseline of the tester alone.
    fn find(
        &self,
        goals: &[Goal],
        session: &mut Session<'_>,
    ) -> Result<(Vec<Found>, Option<Baseline>), MeasureError> {
        let baseline = self.tester_alone(session)?;
        let guess = self.warm_up(session)?;
        let found = match self.search {
            Search::Mlrsearch => {
                let settings = self.settings(guess);
                let engine = Engine::new(session, &settings, 0);
                mlr::search(engine, goals, self.pace())?
            }
            _ => self.one_by_one(goals, guess, session)?,
        };
        let most = found.iter().filter_map(|found| found.bounds.lower_pps).max_by(f64::total_cmp);
        let baseline = session.confirmed(baseline, most, self.tester_alone.duration())?;
        Ok((found, baseline))
    }

    /// Searches for the goals in sequence, each beginning at the result of the previous one.
    fn one_by_one(
        &self,
        goals: &[Goal],
        guess: f64,
        session: &mut Session<'_>,
    ) -> Result<Vec<Found>, MeasureError> {
        let mut settings = self.settings(guess);
        let mut all = Vec::new();
        for goal in goals {
            // The warm-up is the first goal's.
            let first = if all.is_empty() { 0 } else { session.records.len() };
            let engine = Engine::new(session, &settings, first);
            let found = match self.search {
                Search::Tst009 => {
                    tst009::search(engine, goal, self.step_rate.0, self.final_duration.duration())?
                }
                _ => rfc2544::search(engine, goal, self.lengths())?,
            };
            settings.guess_pps = found.bounds.lower_pps.unwrap_or(settings.guess_pps);
            all.push(found);
        }
        Ok(all)
    }

    /// Measures the baseline of the tester with a wire in the device's place, if there is one.
    fn tester_alone(&self, session: &mut Session<'_>) -> Result<Option<Baseline>, MeasureError> {
        if self.tester_alone.0 <= 0.0 {
            return Ok(None);
        }
        session.tester_alone(self.max_rate, self.tester_alone.duration())
    }

    /// Makes a trial at the highest load; its forwarded rate is the first load of the search.
    fn warm_up(&self, session: &mut Session<'_>) -> Result<f64, MeasureError> {
        if self.warm_up.0 <= 0.0 {
            return Ok(self.max_rate.0);
        }
        let expected = self.max_search_time.duration();
        let step = Step::new("warm-up", self.max_trials as usize, expected, None);
        let load = Load::PerInterface(Pps(self.max_rate.0));
        let trial = session.trial(load, self.warm_up.duration(), step)?;
        let seconds = trial.effective.as_secs_f64();
        let slowest = trial.directions.iter().map(|d| d.received).min().unwrap_or(0);
        Ok(if seconds > 0.0 { slowest as f64 / seconds } else { self.max_rate.0 })
    }
}

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("goal_lower_bound", "pps"),
    known("goal_throughput", "pps"),
    known("goal_upper_bound", "pps"),
    known("throughput", "pps"),
    known("throughput_aggregate", "pps"),
    known("throughput_aggregate_l1", "bit/s"),
    known("throughput_aggregate_l2", "bit/s"),
    known("throughput_l1", "bit/s"),
    known("throughput_l2", "bit/s"),
];
