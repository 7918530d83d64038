//! Who is told how a method goes: a progress display, a log, a file of finished trials.

use std::borrow::Cow;
use std::time::Duration;

use measure::record::{Bounds, TrialRecord};
use measure::{Load, TrialProgress, Watch};

/// Told of each trial before and after it, and of its progress in between (as [`Watch`]).
pub trait Observer: Watch {
    /// A trial is about to start.
    fn starting(&mut self, step: &Step);

    /// A trial is finished; the last loss is in its record.
    fn finished(&mut self, trial: &TrialRecord);
}

/// The trial that is about to start, and how far the method is.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Why it is done: `warm-up`, `repetition`, `search`, `verification`, `confirmation`,
    /// `stall-repetition`, `latency 50 %` …
    pub purpose: Cow<'static, str>,
    /// Counted from 0 within the method.
    pub index: usize,
    /// What will be offered.
    pub load: Load,
    /// For how long.
    pub duration: Duration,
    /// How many trials are expected from this one on, itself included.
    pub trials_expected: usize,
    /// How long those are expected to take together.
    pub time_expected: Duration,
    /// What a search knows so far.
    pub bounds: Option<Bounds>,
}

impl Step {
    /// A step whose load, duration and index the session fills in.
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

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Watch for Unobserved {
    fn at(&mut self, _: TrialProgress) {}
}

impl Observer for Unobserved {
    fn starting(&mut self, _: &Step) {}
    fn finished(&mut self, _: &TrialRecord) {}
}
