//! `template`: the loss at one load.
//!
//! **Goals.** One trial, and the fraction of its frames that is lost.
//!
//! **Non-goals.** A search.

mod config;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Figure, Outcome, TrialRecord, Validity};
use measure::{Load, MeasureError, Measurer, Ratio, Subject, validity};
use serde_json::Value;

pub use config::Config;
use config::NAME;

use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::{Entry, Method, Observer, Step};

/// The registry line.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "the loss at one load",
    subject: Subject::Frames,
    standards: &[],
    figures: FIGURES,
    read: |value| crate::entry::read(value, |_: &Config| Ok(())),
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
        self.duration.duration()
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let time = self.duration.duration();
        let step = Step::new(NAME, 1, time, None);
        let loss = session.trial(Load::PerInterface(self.rate), time, step)?.loss_ratio();
        let counted: Vec<&TrialRecord> = session.records.iter().collect();
        Ok(Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: format!("At {} a fraction of {} is lost.", self.rate, Ratio(loss)),
            figures: vec![Figure::single("template_loss", loss, "fraction")],
            validity: Validity::from_limits(validity::summarise(&counted)),
            trials: session.records,
            ..Outcome::default()
        })
    }
}

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[known("template_loss", "fraction")];
