//! Keys of `denial-of-service`.

use keys::Invalid;
use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{HeldLoad, reference, throughput};

/// Its name in scenario files.
pub(super) const NAME: &str = "denial-of-service";

/// Keys of the method `denial-of-service`: the background traffic, and the floods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Throughput to which fractions refer, per port and direction; by default it is searched
    /// first.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub of: Option<Pps>,
    /// Keys of the throughput search, which are those of the method `throughput`.
    pub search: throughput::Config,
    /// Background load per port and direction: a rate, or a fraction of the throughput.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub background: HeldLoad,
    /// Load of each flood: a rate, or a fraction of the throughput.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub flood: HeldLoad,
    /// Names of the floods; by default all floods of the function's traffic.
    #[schemars(length(max = 100))]
    pub floods: Vec<String>,
    /// Rate of pings during each flood, which show whether the device still answers; 0 for none.
    pub ping_rate: Pps,
    /// Duration of each trial.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Seconds,
    /// Number of trials of each flood; the result is the median.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            of: None,
            search: throughput::Config::default(),
            background: HeldLoad::Share(Ratio(0.5)),
            flood: HeldLoad::Share(Ratio(0.2)),
            floods: Vec::new(),
            ping_rate: Pps(10.0),
            duration: Seconds(5.0),
            repetitions: 3,
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        reference::validate(&self.search)?;
        for (key, load) in [("background", self.background), ("flood", self.flood)] {
            if let HeldLoad::Share(share) = load
                && !(share.0 > 0.0 && share.0 <= 100.0)
            {
                return Err(Invalid::new(key, "must be more than 0, `50 %` or `1 Mpps`", ""));
            }
        }
        Ok(())
    }
}
