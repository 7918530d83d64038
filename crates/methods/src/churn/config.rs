//! Keys of `churn`.

use keys::Invalid;
use measure::{Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::throughput;

/// Its name in scenario files.
pub(super) const NAME: &str = "churn";

/// Keys of the method `churn`: the update rates, and the trials at each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Update rates at which the throughput is searched, in updates per second, all kinds of
    /// changes together; 0, the reference, is always included.
    #[schemars(length(max = 32), inner(range(min = 0.0, max = 10_000_000.0)))]
    pub update_rates: Vec<f64>,
    /// Keys of the throughput search at each update rate; the same keys as those of the method
    /// `throughput`.
    pub throughput: throughput::Config,
    /// Load that is held to measure the cost of updates, as a fraction of the throughput without
    /// updates; CSIT's RECONF holds all of it.
    #[schemars(extend("minimum" = 0.01, "maximum" = 1))]
    pub held_load: Ratio,
    /// Duration of the held load at each update rate.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub hold_duration: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        let throughput = throughput::Config {
            trial_duration: Seconds(0.5),
            max_search_time: Seconds(60.0),
            ..throughput::Config::default()
        };
        Self {
            update_rates: vec![0.0, 100.0, 1000.0, 10_000.0],
            throughput,
            held_load: Ratio(0.9),
            hold_duration: Seconds(5.0),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        if !self.update_rates.iter().any(|rate| *rate > 0.0) {
            let what = "must contain a rate above 0; otherwise nothing changes";
            return Err(Invalid::new("update-rates", what, ""));
        }
        self.throughput.validate().map_err(|invalid| invalid.under("throughput"))
    }

    /// The update rates in rising order, without duplicates, beginning with 0.
    pub(super) fn rates(&self) -> Vec<f64> {
        let mut rates = self.update_rates.clone();
        rates.push(0.0);
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        rates
    }
}
