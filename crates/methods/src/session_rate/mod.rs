//! `session-rate`: the highest rate at which sessions are opened and none fails.
//!
//! **Goals.** The maximum connection establishment rate without state table exhaustion of RFC 9693
//! section 4.5, with the validation of its section 4.6: sessions that nobody has opened before, at
//! an even rate, held long enough to be sustained (10 s, as published tests do), from an empty
//! device each time; a rate passes when every session opens and the sample of them that is used
//! then works.
//!
//! **Non-goals.** How many sessions there can be (`session-capacity`); sessions that end meanwhile;
//! a rate that is right on average. What the tester alone does is measured in frames, not in
//! sessions: a wire answers none.
//!
//! **How.** A warm-up opens sessions as fast as they succeed, which tells where to begin. The
//! tester alone sends frames through a wire, which tells what it can do at most. Bisection of rates
//! until the bounds are close, each trial on an empty device. A trial with a few failures may be
//! repeated, and one whose failures a stall explains is.

mod config;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Bounds, Outcome};
use measure::{
    MeasureError, Measurer, Pps, SessionAction, SessionCounts, SessionLoad, SessionsThere, Subject,
    validity,
};
use serde_json::Value;

pub use config::Config;
use config::NAME;

use crate::figures::{KnownFigure, known};
use crate::method::{STALL_REPETITION, Session, TESTER_ALONE, to_value};
use crate::search::Bisection;
use crate::sessions::{Verified, sessions_words, there, time_spent};
use crate::{Entry, Method, Observer, Step, baseline};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "highest sustained rate of new sessions without failure, verified",
    subject: Subject::Frames,
    standards: &[RATE_CLAUSE, VALIDATION_CLAUSE],
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
        self.max_search_time
            .duration()
            .saturating_add(self.trial_time())
            .saturating_add(baseline::time(TESTER_ALONE))
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let there = there(measurer)?;
        let mut session = Session::new(measurer, observer);
        let guess = self.warm_up(&mut session, there)?;
        let baseline = session.tester_alone(Pps(self.max_rate), TESTER_ALONE)?;
        let mut search = Search::new(self, there, guess);
        search.run(&mut session)?;
        // The next method finds the device as it was.
        session.clear()?;
        let found = search.found();
        Ok(self.outcome(session.records, there, &found, baseline))
    }
}

/// A trial at one rate.
#[derive(Clone, Debug, PartialEq)]
struct Tried {
    /// Requested rate.
    rate: f64,
    /// Rate that the tester achieved, if it was less and passed.
    short: Option<f64>,
    /// Index of the trial in the records.
    index: usize,
    /// Index of the trial of which it is the last repetition.
    repeated: bool,
    verified: Verified,
    /// Why the rate did not pass; none if it passed.
    failure: Option<String>,
}

impl Tried {
    /// The rate that passed, if one did.
    fn passed(&self) -> Option<f64> {
        self.failure.is_none().then(|| self.short.unwrap_or(self.rate))
    }
}

/// Results of the search.
#[derive(Clone, Debug)]
struct Found {
    bounds: Bounds,
    /// The trial at the lower bound.
    best: Option<Tried>,
    /// The trial at the upper bound.
    worst: Option<Tried>,
    tried: Vec<Tried>,
    /// The budget that ended the search, if any.
    ended: Option<&'static str>,
}

/// A search in progress.
struct Search<'c> {
    config: &'c Config,
    there: SessionsThere,
    bisection: Bisection,
    tried: Vec<Tried>,
    openings: u32,
    ended: Option<&'static str>,
}

impl<'c> Search<'c> {
    fn new(config: &'c Config, there: SessionsThere, guess: f64) -> Self {
        let Config { min_rate, max_rate, precision, .. } = *config;
        Self {
            config,
            there,
            bisection: Bisection::new(min_rate, max_rate, precision.0, guess),
            tried: Vec::new(),
            openings: 0,
            ended: None,
        }
    }

    fn run(&mut self, session: &mut Session<'_>) -> Result<(), MeasureError> {
        while let Some(rate) = self.bisection.next() {
            let Some(tried) = self.try_rate(session, rate)? else { break };
            match (tried.passed(), tried.short) {
                (Some(rate), None) => self.bisection.passed(rate),
                (Some(sent), Some(_)) => {
                    self.bisection.failed(rate);
                    self.bisection.passed(sent);
                }
                (None, _) => self.bisection.failed(rate),
            }
            self.tried.push(tried);
        }
        Ok(())
    }

    /// Whether a rate passes, in as many trials as permitted; none if the budget ended before.
    fn try_rate(
        &mut self,
        session: &mut Session<'_>,
        rate: f64,
    ) -> Result<Option<Tried>, MeasureError> {
        let (mut failed, mut stalled) = (0, 0);
        let mut purpose = "search";
        loop {
            if !self.has_room(session) {
                return Ok(None);
            }
            let step = self.step(session, purpose);
            let (tried, counts, stall) = self.one(session, rate, step)?;
            let again = match &tried.failure {
                None => return Ok(Some(tried)),
                Some(_) if stall && stalled < self.config.repeat_stalled => {
                    stalled += 1;
                    STALL_REPETITION
                }
                Some(_) if is_disturbance(&counts) && failed < self.config.repeat_failed => {
                    failed += 1;
                    "verification"
                }
                Some(_) => return Ok(Some(tried)),
            };
            purpose = again;
        }
    }

    /// Makes a trial of a rate on an empty device; returns also whether a stall explains failures.
    fn one(
        &mut self,
        session: &mut Session<'_>,
        rate: f64,
        step: Step,
    ) -> Result<(Tried, SessionCounts, bool), MeasureError> {
        let wait = self.config.wait.duration();
        let count = self.config.count(rate, self.there);
        let load = SessionLoad { rate: Some(rate), ..SessionLoad::all(SessionAction::Open, count) };
        session.clear()?;
        self.openings += 1;
        let (trial, counts) = session.sessions(load, wait, step.clone())?;
        let mut tried = Tried {
            rate,
            short: None,
            index: session.records.len() - 1,
            repeated: step.purpose != "search",
            verified: Verified::default(),
            failure: None,
        };
        if !counts.is_whole() {
            let failed = sessions_words(count - counts.succeeded.min(count));
            tried.failure = Some(format!("{failed} of {count} failed"));
            return Ok((tried, counts, validity::stalls_explain_loss(&trial)));
        }
        if validity::tester_fell_short(&trial) {
            tried.short = Some(counts.attempted as f64 / trial.effective.as_secs_f64());
        }
        tried.verified = session.verify(count, self.config.verify, wait, &step)?;
        if tried.verified.lost > 0 {
            tried.failure = Some(format!(
                "{} of {} that had opened did not work",
                sessions_words(tried.verified.lost),
                tried.verified.used
            ));
        }
        Ok((tried, counts, false))
    }

    fn has_room(&mut self, session: &Session<'_>) -> bool {
        let left =
            self.config.max_search_time.duration().saturating_sub(time_spent(&session.records));
        let ended = match self.openings >= self.config.max_trials {
            true => Some("max-trials"),
            false if left < self.config.trial_time() && self.openings > 0 => {
                Some("max-search-time")
            }
            false => None,
        };
        self.ended = self.ended.or(ended);
        ended.is_none()
    }

    fn step(&self, session: &Session<'_>, purpose: &'static str) -> Step {
        let left = (self.config.max_trials - self.openings) as usize;
        let trials = self.bisection.expected().clamp(1, left.max(1));
        let spent = time_spent(&session.records);
        let time = self.config.trial_time().saturating_mul(trials as u32);
        let time = time.min(self.config.max_search_time.duration().saturating_sub(spent));
        Step::new(purpose, trials, time, None)
    }

    fn found(self) -> Found {
        let mut bounds = self.bisection.bounds();
        let best = |tried: &&Tried| tried.passed().is_some() && tried.passed() == bounds.lower_pps;
        let best = self.tried.iter().rfind(best).cloned();
        let worst = |tried: &&Tried| Some(tried.rate) == bounds.upper_pps;
        let worst = self.tried.iter().rfind(worst).cloned();
        // What the tester could not begin is no upper bound of the device.
        bounds.regular &= worst.as_ref().is_none_or(|tried| tried.failure.is_some());
        Found { bounds, best, worst, tried: self.tried, ended: self.ended }
    }
}

impl Found {
    /// The lowest rate at which the device failed.
    fn failed(&self) -> Option<f64> {
        self.worst.as_ref().filter(|tried| tried.failure.is_some()).map(|tried| tried.rate)
    }

    /// The rate that the tester achieved, if that ended the search.
    fn tester_rate(&self) -> Option<f64> {
        let short = |tried: &Option<Tried>| tried.as_ref().and_then(|tried| tried.short);
        short(&self.best).or(short(&self.worst))
    }
}

impl Config {
    /// Finds the first rate of the search: the rate of sessions without a limit.
    fn warm_up(
        &self,
        session: &mut Session<'_>,
        there: SessionsThere,
    ) -> Result<f64, MeasureError> {
        let most = self.max_sessions.unwrap_or(u64::MAX).min(there.most);
        let count = self.warm_up_sessions.min(most);
        if count == 0 {
            return Ok(self.max_rate);
        }
        let time = self.max_search_time.duration();
        let step = Step::new("warm-up", self.max_trials as usize, time, None);
        session.clear()?;
        let load = SessionLoad::all(SessionAction::Open, count);
        let (trial, counts) = session.sessions(load, self.wait.duration(), step)?;
        let seconds = trial.effective.as_secs_f64();
        let rate = counts.succeeded as f64 / seconds;
        Ok(if seconds > 0.0 && rate > 0.0 { rate } else { self.max_rate })
    }
}

/// Whether so few sessions failed that a disturbance may explain it.
fn is_disturbance(counts: &SessionCounts) -> bool {
    let failed = counts.asked - counts.succeeded.min(counts.asked);
    failed as f64 <= counts.asked as f64 * FAILED_BEYOND_DOUBT
}

const RATE_CLAUSE: &str = "rfc9693.4.5";
const VALIDATION_CLAUSE: &str = "rfc9693.4.6";

/// Fraction of failures above which a trial is not repeated, because no disturbance explains that
/// much.
const FAILED_BEYOND_DOUBT: f64 = 0.02;

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("session_rate", "1/s"),
    known("session_rate_failed", "1/s"),
    known("sessions_opened", "sessions"),
    known("sessions_verified", "sessions"),
];
