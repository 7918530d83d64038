//! `session-capacity`: how many sessions the device holds at once, all of them working.
//!
//! **Goals.** The connection tracking table capacity of RFC 9693 section 4.9, by doubling and then by
//! bisection, where a number of sessions passes if every one opened and those that are used work; the
//! memory that a session takes; and what a full device does: sessions more must fail, and none of those
//! that are open may be lost for them.
//!
//! **Non-goals.** The rate (`session-rate`). The RFC takes a table for full when the rate at which
//! sessions open falls; here it is full when a session fails, which a device that merely gets slower
//! does not show.
//!
//! **How.** Steps add to what is open, as long as nothing failed; after a failure the device is cleared
//! and filled anew. At the end it is filled to the capacity, all of that is proven, then more is tried
//! and all is proven again.

mod config;
mod full;
mod report;
mod search;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::Outcome;
use measure::{MeasureError, Measurer, SessionAction, SessionLoad, SessionsThere, validity};
use serde_json::Value;

pub use config::Config;
use full::Full;
use search::LargestCount;

use crate::method::{STALL_REPETITION, Session, to_value};
use crate::sessions::{sessions_words, there, time_spent};
use crate::{Entry, Method, Observer, Step};

/// The registry line.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "how many sessions are held at once, what each takes, and what a full device does",
    standards: &[CAPACITY_CLAUSE, VALIDATION_CLAUSE],
    read: |value| crate::registry::read(value, Config::validate),
    schema: || schemars::schema_for!(Config),
};

impl Method for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configuration(&self) -> Value {
        to_value(self)
    }

    /// Twice the search: filling the device once more and proving it takes no longer than finding out
    /// took, and a step that is under way at its end takes as long as all before it.
    fn time_bound(&self) -> Duration {
        self.max_search_time.duration().saturating_mul(2)
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let there = there(measurer)?;
        let mut session = Session::new(measurer, observer);
        session.clear()?;
        let mut filling = Filling::new(self, there);
        filling.run(&mut session)?;
        let full = match filling.search.lower() {
            Some(capacity) => Some(filling.fill(&mut session, capacity)?),
            None => None,
        };
        // The next method finds the device as it was.
        session.clear()?;
        let found = Found {
            lower: filling.search.lower(),
            upper: filling.search.upper(),
            steps: filling.steps,
            out_of_time: filling.out_of_time,
            full,
        };
        Ok(self.outcome(session.records, &found))
    }
}

/// One number of sessions that was tried.
#[derive(Clone, Debug, PartialEq)]
struct Tried {
    count: u64,
    /// The trial that opened the last of them.
    index: usize,
    /// How many were open at the end, as far as the tester knows.
    opened: u64,
    /// Why it did not pass.
    failure: Option<String>,
}

/// What was found.
#[derive(Clone, Debug)]
struct Found {
    lower: Option<u64>,
    upper: Option<u64>,
    steps: Vec<Tried>,
    out_of_time: bool,
    full: Option<Full>,
}

/// A search under way.
struct Filling<'c> {
    config: &'c Config,
    there: SessionsThere,
    search: LargestCount,
    /// How many are open and known to work; none where a trial failed and left who knows what.
    open: Option<u64>,
    steps: Vec<Tried>,
    out_of_time: bool,
}

impl<'c> Filling<'c> {
    fn new(config: &'c Config, there: SessionsThere) -> Self {
        let ceiling = config.ceiling(there);
        let search = LargestCount::new(config.start, ceiling, config.precision.0);
        Self { config, there, search, open: Some(0), steps: Vec::new(), out_of_time: false }
    }

    fn run(&mut self, session: &mut Session<'_>) -> Result<(), MeasureError> {
        while let Some(count) = self.search.next() {
            if time_spent(&session.records) >= self.config.max_search_time.duration() {
                self.out_of_time = true;
                break;
            }
            let tried = self.try_count(session, count)?;
            match tried.failure {
                None => self.search.passed(count),
                // What a device that forgets has opened tells nothing of its room.
                Some(_) if tried.opened >= count => self.search.failed(count, None),
                Some(_) => self.search.failed(count, Some(tried.opened)),
            }
            self.steps.push(tried);
        }
        Ok(())
    }

    /// Whether so many sessions open and work, in as many trials as stalls allow.
    fn try_count(&mut self, session: &mut Session<'_>, count: u64) -> Result<Tried, MeasureError> {
        let mut purpose = "search";
        for repetition in 0.. {
            let step = self.step(session, purpose);
            let (tried, is_stalled) = self.one(session, count, step)?;
            if tried.failure.is_none() {
                self.open = Some(count);
                return Ok(tried);
            }
            self.open = None;
            if !is_stalled || repetition >= self.config.repeat_stalled {
                return Ok(tried);
            }
            purpose = STALL_REPETITION;
        }
        unreachable!("repetitions have an end")
    }

    /// Opens what is missing and proves the whole; and whether a stall explains what failed.
    fn one(
        &mut self,
        session: &mut Session<'_>,
        count: u64,
        step: Step,
    ) -> Result<(Tried, bool), MeasureError> {
        let wait = self.config.wait.duration();
        let first = match self.open.filter(|open| *open <= count) {
            Some(open) => open,
            None => {
                session.clear()?;
                0
            }
        };
        let load = self.opening(first, count - first);
        let (trial, counts) = session.sessions(load, wait, step.clone())?;
        let index = session.records.len() - 1;
        let opened = first + counts.succeeded;
        let mut tried = Tried { count, index, opened, failure: None };
        if !counts.is_whole() {
            let failed = counts.asked - counts.succeeded.min(counts.asked);
            let failed = sessions_words(failed);
            tried.failure = Some(format!("{failed} of {count} failed to open"));
            return Ok((tried, validity::stalls_explain_loss(&trial)));
        }
        let verified = session.verify(count, self.config.verify, wait, &step)?;
        if verified.lost > 0 {
            let lost = sessions_words(verified.lost);
            tried.failure =
                Some(format!("{lost} of {} that were used did not work", verified.used));
        }
        Ok((tried, false))
    }

    fn opening(&self, first: u64, count: u64) -> SessionLoad {
        SessionLoad { action: SessionAction::Open, first, count, rate: self.config.rate }
    }

    fn step(&self, session: &Session<'_>, purpose: &'static str) -> Step {
        let spent = time_spent(&session.records);
        let left = self.config.max_search_time.duration().saturating_sub(spent);
        Step::new(purpose, self.search.expected().max(1), left, None)
    }
}

const NAME: &str = "session-capacity";
const CAPACITY_CLAUSE: &str = "rfc9693.4.9";
const VALIDATION_CLAUSE: &str = "rfc9693.4.6";
