//! Keys of `reset`.

use keys::Invalid;
use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{reference, throughput};

/// Its name in scenario files.
pub(super) const NAME: &str = "reset";

/// Keys of the method `reset`: the load during restarts, and their number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Throughput to which `load` refers, per port and direction; by default it is searched first.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub of: Option<Pps>,
    /// Keys of the throughput search, which are those of the method `throughput`.
    pub search: throughput::Config,
    /// Load during the restart, as a fraction of the throughput.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub load: Ratio,
    /// Duration of the load before the restart.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub before: Seconds,
    /// Duration of the load after the restart. A device that still loses frames in the last tenth
    /// of it has not recovered.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub after: Seconds,
    /// Number of restarts; the result is the median.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            of: None,
            search: throughput::Config::default(),
            load: Ratio(0.5),
            before: Seconds(1.0),
            after: Seconds(10.0),
            repetitions: 5,
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        reference::validate(&self.search)
    }
}
