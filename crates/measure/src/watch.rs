//! Who is told how a trial goes.

use std::time::Duration;

/// Receives the progress of a running trial; implemented by progress displays.
pub trait Watch {
    /// Called a few times per second.
    fn at(&mut self, progress: TrialProgress);
}

/// Progress of a running trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialProgress {
    /// Time since the start of the trial.
    pub elapsed: Duration,
    /// Number of frames sent so far, all directions together.
    pub sent: u64,
    /// Number of frames received so far, all directions together.
    pub received: u64,
}
