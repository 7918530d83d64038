//! A path that fails while frames pass it: what fails, when, and what it carried.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The way in which the path to a neighbour fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathFault {
    /// The neighbour hears and says nothing more, while the link stays up.
    Silence,
    /// The link of the device's port goes down.
    PortDown,
}

impl PathFault {
    /// Its name in scenarios and figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Silence => "silence",
            Self::PortDown => "port-down",
        }
    }
}

/// A failure of the path to a neighbour that the device watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFailing {
    /// What fails.
    pub fault: PathFault,
    /// Time from the first frame to the failure.
    pub after: Duration,
    /// Time from the failure until the path is mended.
    pub lasting: Duration,
}

/// What the path to a neighbour carried before, while and after it failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathFailure {
    /// What failed.
    pub fault: PathFault,
    /// Time of the failure in nanoseconds, since the first frame.
    pub failed_ns: u64,
    /// Time at which the path was mended in nanoseconds, since the first frame.
    pub mended_ns: u64,
    /// Number of frames that arrived by the path before it failed.
    pub carried: u64,
    /// Time from the first of these frames to the failure, in nanoseconds.
    pub carried_for_ns: u64,
    /// Number of frames that the device sent into the failed path.
    pub lost: u64,
    /// Time from the failure to the sending of the last of these frames, in nanoseconds; none if no
    /// frame was sent after the failure.
    pub until_left_ns: Option<u64>,
    /// Number of frames that arrived by the path after it was mended.
    pub returned: u64,
    /// Time from the mending to the sending of the first of these frames, in nanoseconds.
    pub until_back_ns: Option<u64>,
}

impl PathFailure {
    /// Duration of the loss in nanoseconds: the lost frames by the rate of the path before the
    /// failure; none if the path carried nothing then.
    pub fn lost_ns(&self) -> Option<f64> {
        let each = self.carried_for_ns as f64 / self.carried as f64;
        (self.carried > 0).then_some(self.lost as f64 * each)
    }
}
