//! `teardown-rate`: how fast sessions end by their own frames, and what is left of them.
//!
//! **Goals.** The connection tear-down rate of RFC 9693 section 4.8 as clients cause it: so many
//! TCP sessions are opened, then closed by a FIN each way, as fast as they end or at a given rate;
//! the rate, the time, and the sessions that the device says it still holds.
//!
//! **Non-goals.** The RFC's own procedure, in which the device deletes its table at once by a
//! command of its own: no other device has that command, so what it takes compares badly. How long
//! a device keeps a closed session (RFC 5382 asks for four minutes): sessions that are left are
//! told, not judged.

mod config;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::Outcome;
use measure::{MeasureError, Measurer, SessionAction, SessionLoad, Subject};
use serde_json::Value;

pub use config::Config;
use config::NAME;

use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::sessions::{sessions_words, there, time_spent};
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "rate of closing sessions by their own frames, and remaining sessions",
    subject: Subject::Frames,
    standards: &[CLAUSE],
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

    /// Twice the permitted time: a repetition in progress at its end takes no longer than all
    /// repetitions may.
    fn time_bound(&self) -> Duration {
        self.max_time.duration().saturating_mul(2)
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let there = there(measurer)?;
        if !there.closes {
            return Err(MeasureError::NothingToMeasure(
                "the sessions of this traffic end by no frame of theirs; let them be TCP".into(),
            ));
        }
        let count = self.sessions.min(there.most);
        let mut session = Session::new(measurer, observer);
        let mut closings = Vec::new();
        for repetition in 0..self.repetitions {
            let spent = time_spent(&session.records);
            if repetition > 0 && spent >= self.max_time.duration() {
                break;
            }
            closings.push(self.repetition(&mut session, count, repetition)?);
        }
        // The next method finds the device as it was.
        session.clear()?;
        Ok(self.outcome(session.records, count, &closings))
    }
}

/// Results of one repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Closing {
    /// Index of the trial that closed the sessions.
    index: usize,
    /// Number of sessions that did not open before.
    unopened: u64,
}

impl Config {
    /// Opens the sessions on an empty device, then closes them.
    fn repetition(
        &self,
        session: &mut Session<'_>,
        count: u64,
        repetition: u32,
    ) -> Result<Closing, MeasureError> {
        let wait = self.wait.duration();
        let left = 2 * (self.repetitions - repetition) as usize;
        let spent = time_spent(&session.records);
        let time = self.max_time.duration().saturating_sub(spent);
        session.clear()?;
        let opening = SessionLoad::all(SessionAction::Open, count);
        let (_, opened) =
            session.sessions(opening, wait, Step::new("opening", left, time, None))?;
        if opened.succeeded == 0 {
            return Err(MeasureError::NothingToMeasure(format!(
                "none of {} opened; run the functional check",
                sessions_words(count)
            )));
        }
        let closing =
            SessionLoad { rate: self.rate, ..SessionLoad::all(SessionAction::Close, count) };
        session.sessions(closing, wait, Step::new("repetition", left - 1, time, None))?;
        let unopened = count - opened.succeeded.min(count);
        Ok(Closing { index: session.records.len() - 1, unopened })
    }
}

const CLAUSE: &str = "rfc9693.4.8";

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("sessions_closed", "sessions"),
    known("sessions_left", "sessions"),
    known("teardown_rate", "1/s"),
    known("teardown_time", "ns"),
];
