//! Keys of `churn`.

use measure::{Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConfigError, throughput};

/// How often the device changes, and how each search and trial is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Updates a second, all kinds of changes together, at each of which the throughput is searched;
    /// 0, the reference, is always among them.
    pub update_rates: Vec<f64>,
    /// How the throughput is searched at each of them; keys and meaning as those of the method
    /// `throughput`.
    pub throughput: throughput::Config,
    /// The load that is held to see what updates cost, as a fraction of the throughput without
    /// them; CSIT's RECONF holds all of it.
    pub held_load: Ratio,
    /// How long it is held at each update rate.
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
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key, problem| Err(ConfigError::new(key, problem));
        if self.update_rates.len() > RATES_MAX {
            return wrong("update-rates", "has more than 32 rates");
        }
        if !self.update_rates.iter().all(|rate| (0.0..=1e7).contains(rate)) {
            return wrong("update-rates", "must each be 0 to 10000000 updates a second");
        }
        if !self.update_rates.iter().any(|rate| *rate > 0.0) {
            return wrong("update-rates", "must hold one above 0, or nothing ever changes");
        }
        if !(0.01..=1.0).contains(&self.held_load.0) {
            return wrong("held-load", "must be 1 % to 100 %");
        }
        if self.hold_duration.0 <= 0.0 {
            return wrong("hold-duration", "must be more than 0, `5 s` is usual");
        }
        self.throughput.validate().map_err(|error| ConfigError {
            key: format!("throughput.{}", error.key),
            problem: error.problem,
        })
    }

    /// The rates in rising order, each once, 0 in front.
    pub(super) fn rates(&self) -> Vec<f64> {
        let mut rates = self.update_rates.clone();
        rates.push(0.0);
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        rates
    }
}

const RATES_MAX: usize = 32;
