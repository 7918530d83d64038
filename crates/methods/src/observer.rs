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
    /// Load of the trial.
    pub load: Load,
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
            load: Load::ClosedLoop,
            duration: Duration::ZERO,
            trials_expected,
            time_expected,
            bounds,
        }
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
