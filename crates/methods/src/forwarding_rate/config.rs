//! Keys of `forwarding-rate`.

use measure::{Pps, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "forwarding-rate";

/// Keys of the method `forwarding-rate`: the load, and the repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Load per port and direction. If the tester cannot send it, the result is the forwarding rate
    /// at the maximum offered load.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rate: Pps,
    /// Duration of each repetition.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Seconds,
    /// Number of repetitions, for medians and extremes.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
    /// Duration of the warm-up before the first repetition, in which caches, pages and clock rates
    /// settle; 0 omits it. The warm-up is in the record but in no figure.
    pub warm_up: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self { rate: Pps(20e6), duration: Seconds(1.0), repetitions: 10, warm_up: Seconds(0.5) }
    }
}
