//! Keys of `path-failure`.

use std::time::Duration;

use keys::Invalid;
use measure::{PathFault, Pps, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "path-failure";

/// Keys of the method `path-failure`: the load, the failures, and their number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Load during the failures, in frames per second per port and direction: one that the device
    /// forwards without loss.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub rate: Pps,
    /// The failures, each measured by itself: `silence` (the neighbour hears and says nothing more,
    /// while the link stays up), `port-down` (the link goes down).
    #[schemars(length(min = 1, max = 2))]
    pub faults: Vec<PathFault>,
    /// Duration of the load before the failure, in which the session with the neighbour has to come
    /// up: BFD takes a second or two.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub establish: Seconds,
    /// Time from the failure until the path is mended.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lasting: Seconds,
    /// Duration of the load after the path was mended, in which flows come back.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub after: Seconds,
    /// Number of failures of each kind; the result is the median.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rate: Pps(10e3),
            faults: vec![PathFault::Silence, PathFault::PortDown],
            establish: Seconds(3.0),
            lasting: Seconds(1.0),
            after: Seconds(3.0),
            repetitions: 5,
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        let mut known = self.faults.clone();
        known.dedup();
        match known.len() == self.faults.len() {
            true => Ok(()),
            false => Err(Invalid::new("faults", "names one twice".to_owned(), "Name each once")),
        }
    }

    /// Duration of a trial.
    pub(super) fn each(&self) -> Duration {
        let (lasting, after) = (self.lasting.duration(), self.after.duration());
        self.establish.duration().saturating_add(lasting).saturating_add(after)
    }
}
