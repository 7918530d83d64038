//! Who is told how a method goes: a progress display, a log, a file of finished trials.

use std::borrow::Cow;
use std::time::Duration;

use measure::record::{Bounds, TrialRecord};
use measure::{Load, TrialProgress, Watch};

/// Notified before and after each trial, and of its progress (as [`Watch`]).
pub trait Observer: Watch {
    /// A trial is about to start.
    fn starting(&mut self, step: &Step);

    /// A trial is finished; its record has the final loss.
    fn finished(&mut self, trial: &TrialRecord);
}

/// The trial that is about to start, and the progress of the method.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Purpose of the trial: `warm-up`, `repetition`, `search`, `verification`, `confirmation`,
    /// `stall-repetition`, `latency 50 %` …
    pub purpose: Cow<'static, str>,
    /// Number of the trial in the method, from 0.
    pub index: usize,
    /// Load of the trial; none where no frames are sent.
    pub load: Option<Load>,
    /// Duration of the trial.
    pub duration: Duration,
    /// Expected number of trials from this one on, including it.
    pub trials_expected: usize,
    /// Expected total duration of these trials.
    pub time_expected: Duration,
    /// Current bounds of a search.
    pub bounds: Option<Bounds>,
}

impl Step {
    /// Creates a step; the session fills in load, duration and index.
    pub(crate) fn new(
        purpose: impl Into<Cow<'static, str>>,
        trials_expected: usize,
        time_expected: Duration,
        bounds: Option<Bounds>,
    ) -> Self {
        Self {
            purpose: purpose.into(),
            index: 0,
            load: None,
            duration: Duration::ZERO,
            trials_expected,
            time_expected,
            bounds,
        }
    }

    /// Returns the trial in words, as progress displays show it: `search 2 of 9, 3 Mpps each way`.
    pub fn words(&self) -> String {
        let load = match self.load {
            None => String::new(),
            Some(Load::ClosedLoop) => ", as fast as possible".to_owned(),
            Some(Load::PerInterface(rate)) => format!(", {rate} each way"),
            Some(Load::Burst { frames, rate }) => format!(", {frames} frames at {rate} each way"),
            Some(Load::Step { first, then, .. }) => format!(", {first}, then {then} each way"),
            Some(Load::Sessions(load)) => format!(", {load}"),
        };
        let of = self.index + self.trials_expected;
        format!("{} {} of {of}{load}", self.purpose, self.index + 1)
    }
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Watch for Unobserved {
    fn at(&mut self, _: TrialProgress) {}
}

impl Observer for Unobserved {
    fn starting(&mut self, _: &Step) {}
    fn finished(&mut self, _: &TrialRecord) {}
}
