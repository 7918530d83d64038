//! One failure of a path, and what came of it.

use measure::{PathFailure, PathFault, Trial};

/// What came of one failure.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub fault: PathFault,
    /// None if the device did not let a path fail.
    pub path: Option<PathFailure>,
    /// Frames lost in the trial, by whatever cause.
    pub lost: u64,
    /// The longest stall of a thread in the trial, in nanoseconds.
    pub stall_ns: u64,
}

impl Failed {
    /// Looks at its trial.
    pub fn new(fault: PathFault, trial: &Trial) -> Failed {
        Failed {
            fault,
            path: trial.path_failure.clone(),
            lost: trial.sent().saturating_sub(trial.received()),
            stall_ns: trial.stalls.iter().map(|stalls| stalls.longest_ns).max().unwrap_or(0),
        }
    }

    /// What the path carried, if it carried anything before it failed.
    pub fn carried(&self) -> Option<&PathFailure> {
        self.path.as_ref().filter(|path| path.carried > 0)
    }
}
