//! Keys of `throughput`.

use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

/// Where to search, how long to try, and what counts as a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Loss ratio up to which a trial passes: `0` as RFC 2544 has it, `10 ppm`, `0.002 %` …
    pub loss_tolerance: Ratio,
    /// The lowest load that is tried, on each interface.
    pub min_rate: Pps,
    /// The highest load that is tried, on each interface.
    pub max_rate: Pps,
    /// How close the bounds must come, as a fraction of the upper one.
    pub precision: Ratio,
    /// How long a trial of the search lasts.
    pub trial_duration: Seconds,
    /// How long the trial lasts that confirms the result; RFC 2544 asks for 60 s or more.
    pub final_duration: Seconds,
    /// How many more times a trial with loss is repeated before the loss counts (loss verification
    /// of TST009); 0 is the search of RFC 2544. Useful where the machine is shared.
    pub repeat_lossy: u32,
    /// Loss ratio above which a trial is not repeated, because no disturbance explains so much
    /// (TST009 has it in frames).
    pub repeat_lossy_up_to: Ratio,
    /// How long to run at `max-rate` before the search; the rate that comes through is where the
    /// search begins. 0 leaves it out.
    pub warm_up: Seconds,
    /// The most trials that are done, repetitions and confirmations included.
    pub max_trials: u32,
    /// The longest that the trials may take together; a confirmation is always left time for.
    pub max_search_time: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            loss_tolerance: Ratio(0.0),
            min_rate: Pps(10e3),
            max_rate: Pps(20e6),
            precision: Ratio(0.02),
            trial_duration: Seconds(1.0),
            final_duration: Seconds(5.0),
            repeat_lossy: 2,
            repeat_lossy_up_to: Ratio(0.02),
            warm_up: Seconds(0.5),
            max_trials: 60,
            max_search_time: Seconds(120.0),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key, problem| Err(ConfigError::new(key, problem));
        if self.loss_tolerance.0 >= 1.0 {
            return wrong("loss-tolerance", "must be below 1 (100 %)");
        }
        if self.min_rate.0 <= 0.0 {
            return wrong("min-rate", "must be more than 0");
        }
        if self.max_rate < self.min_rate {
            return wrong("max-rate", "must not be below min-rate");
        }
        if !(1e-6..=0.5).contains(&self.precision.0) {
            return wrong("precision", "must be between 1 ppm and 50 %");
        }
        if self.trial_duration.0 <= 0.0 {
            return wrong("trial-duration", "must be more than 0");
        }
        if self.final_duration < self.trial_duration {
            return wrong("final-duration", "must not be shorter than trial-duration");
        }
        if self.max_search_time.0 < self.warm_up.0 + self.trial_duration.0 + self.final_duration.0 {
            return wrong(
                "max-search-time",
                "must leave time for a warm-up, a trial and the final trial",
            );
        }
        if self.repeat_lossy > 100 {
            return wrong("repeat-lossy", "must be 0 to 100");
        }
        if !(2..=10_000).contains(&self.max_trials) {
            return wrong("max-trials", "must be 2 to 10000");
        }
        Ok(())
    }
}
