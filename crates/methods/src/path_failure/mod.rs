//! `path-failure`: what is lost when the path to a neighbour fails that the device watches.
//!
//! **Goals.** A load runs over a group of next hops, one of which is watched (by BFD). Its path
//! fails without a sign (silence), or with the link of its port. How long the flows of that path
//! are lost: the frames that the device still sent into it, by the rate at which the path carried
//! frames before. Beside it the time until the last of these frames was sent, all frames lost in
//! the trial, and whether and when flows come back once the path is mended.
//!
//! **Non-goals.** Convergence of routing protocols, which begins where this ends. Real neighbours:
//! the far end is the tester's, so that a failure is the same one each time; the daemon's tests
//! have FRR and BIRD as far ends.
//!
//! **How.** A trial per failure, each with a session that is new. What a stall of the machine costs
//! stands beside each failure, and is not subtracted.

mod config;
mod failed;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Outcome, TrialRecord, Validity};
use measure::{Conditions, Load, MeasureError, Measurer, PathFailing, Subject};
use serde_json::Value;

pub use config::Config;
use config::NAME;
use failed::Failed;

use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "loss when the path to a watched next hop fails silently or with its port",
    subject: Subject::Frames,
    standards: &[],
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
        self.each().saturating_mul(self.trials())
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let all = session.restoring(|session| self.failures(session))?;
        Ok(self.outcome(session.records, &all))
    }
}

impl Config {
    fn trials(&self) -> u32 {
        self.repetitions.saturating_mul(self.faults.len() as u32)
    }

    fn failures(&self, session: &mut Session<'_>) -> Result<Vec<Failed>, MeasureError> {
        let mut all = Vec::new();
        let mut left = self.trials();
        for &fault in &self.faults {
            let (after, lasting) = (self.establish.duration(), self.lasting.duration());
            let path_failing = Some(PathFailing { fault, after, lasting });
            let asked = Conditions { path_failing, ..Conditions::default() };
            session.conditions(&asked, "a path that can fail")?;
            for _ in 0..self.repetitions {
                let ahead = self.each().saturating_mul(left);
                let step = Step::new(fault.name(), left as usize, ahead, None);
                let trial = session.trial(Load::PerInterface(self.rate), self.each(), step)?;
                all.push(Failed::new(fault, &trial));
                left -= 1;
            }
        }
        Ok(all)
    }

    fn outcome(&self, records: Vec<TrialRecord>, all: &[Failed]) -> Outcome {
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: report::answer(self, all),
            aggregation: "times are medians of the repetitions, frames their sums".into(),
            series: report::series(self, all),
            figures: report::figures(self, all),
            validity: Validity::from_limits(report::limits(&records, all)),
            trials: records,
            ..Outcome::default()
        }
    }
}

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("path_failure_lost", "frames"),
    known("path_failure_returned", "failures"),
    known("path_failure_time", "ns"),
    known("path_failure_until_back", "ns"),
    known("path_failure_until_left", "ns"),
];
