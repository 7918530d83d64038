//! Keys of `latency`.

use keys::Invalid;
use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{reference, throughput};

/// Its name in scenario files.
pub(super) const NAME: &str = "latency";

/// Keys of the method `latency`: the loads, and the trials at each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Throughput to which `loads` refer, per port and direction; by default it is searched first.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub of: Option<Pps>,
    /// Keys of the throughput search, which are those of the method `throughput`.
    pub search: throughput::Config,
    /// Loads as fractions of the throughput: `[10 %, 50 %, 90 %, 100 %]`.
    #[schemars(length(max = 20))]
    #[schemars(extend("items" = {"$ref": "#/$defs/Ratio", "exclusiveMinimum": 0, "maximum": 1}))]
    pub loads: Vec<Ratio>,
    /// Rate that counts as no load; 0 omits it.
    pub no_load_rate: Pps,
    /// Number of repetitions at each load, for medians and extremes.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
    /// Duration of each repetition; RFC 2544 and RFC 8219 require 120 s, and 60 s for the delay
    /// variation.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            of: None,
            search: throughput::Config::default(),
            loads: [0.1, 0.5, 0.9, 1.0].map(Ratio).to_vec(),
            no_load_rate: Pps(1000.0),
            repetitions: 5,
            duration: Seconds(2.0),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        reference::validate(&self.search)?;
        if self.loads.is_empty() && self.no_load_rate.0 <= 0.0 {
            return Err(Invalid::new("loads", "must not be empty if no-load-rate is 0", ""));
        }
        Ok(())
    }
}
