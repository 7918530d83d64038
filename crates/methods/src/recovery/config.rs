//! Keys of `recovery`.

use keys::Invalid;
use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{reference, throughput};

/// Its name in scenario files.
pub(super) const NAME: &str = "recovery";

/// Keys of the method `recovery`: the overload, the load that follows, and the repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Throughput to which loads refer, per port and direction; by default it is searched first.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub of: Option<Pps>,
    /// Keys of the throughput search, which are those of the method `throughput`.
    pub search: throughput::Config,
    /// Overload, as a fraction of the throughput.
    #[schemars(extend("exclusiveMinimum" = 1, "maximum" = 100))]
    pub overload: Ratio,
    /// Duration of the overload; RFC 2544 requires at least 60 s.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub overload_duration: Seconds,
    /// Load after the overload, as a fraction of the throughput.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub then: Ratio,
    /// Duration of the load after the overload. A device that still loses frames in the last tenth
    /// of it has not recovered.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub then_duration: Seconds,
    /// Number of repetitions; the result is the median.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            of: None,
            search: throughput::Config::default(),
            overload: Ratio(1.1),
            overload_duration: Seconds(5.0),
            then: Ratio(0.5),
            then_duration: Seconds(2.0),
            repetitions: 5,
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        reference::validate(&self.search)
    }
}
