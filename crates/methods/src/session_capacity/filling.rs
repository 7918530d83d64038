//! A search for the largest number of sessions that open and work.

use measure::{MeasureError, SessionAction, SessionLoad, SessionsThere, validity};

use super::config::Config;
use super::search::LargestCount;
use crate::Step;
use crate::method::{STALL_REPETITION, Session};
use crate::sessions::{sessions_words, time_spent};

/// A number of sessions that was tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tried {
    pub(super) count: u64,
    /// Index of the trial that opened the last of them.
    pub(super) index: usize,
    /// Number of sessions that were open at the end, as far as the tester knows.
    pub(super) opened: u64,
    /// Why the number did not pass; none if it passed.
    pub(super) failure: Option<String>,
}

/// A search in progress.
pub(super) struct Filling<'c> {
    pub(super) config: &'c Config,
    pub(super) there: SessionsThere,
    pub(super) search: LargestCount,
    /// Number of sessions that are open and known to work; none if a failed trial left the state
    /// unknown.
    pub(super) open: Option<u64>,
    pub(super) steps: Vec<Tried>,
    pub(super) out_of_time: bool,
}

impl<'c> Filling<'c> {
    pub(super) fn new(config: &'c Config, there: SessionsThere) -> Self {
        let ceiling = config.ceiling(there);
        let search = LargestCount::new(config.start, ceiling, config.precision.0);
        Self { config, there, search, open: Some(0), steps: Vec::new(), out_of_time: false }
    }

    pub(super) fn run(&mut self, session: &mut Session<'_>) -> Result<(), MeasureError> {
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

    /// Whether this number of sessions opens and works, in as many trials as stalls permit.
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

    /// Opens the missing sessions and verifies all; returns also whether a stall explains failures.
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
            tried.failure = Some(format!("{lost} of {} used did not work", verified.used));
        }
        Ok((tried, false))
    }

    pub(super) fn opening(&self, first: u64, count: u64) -> SessionLoad {
        SessionLoad { action: SessionAction::Open, first, count, rate: self.config.rate }
    }

    pub(super) fn step(&self, session: &Session<'_>, purpose: &'static str) -> Step {
        let spent = time_spent(&session.records);
        let left = self.config.max_search_time.duration().saturating_sub(spent);
        Step::new(purpose, self.search.expected().max(1), left, None)
    }
}
