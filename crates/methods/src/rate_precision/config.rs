//! Keys of `rate-precision`.

use keys::Invalid;
use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "rate-precision";

/// Keys of the method `rate-precision`: the counted subscribers, and the load offered to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Number of subscribers that are counted individually, beginning with the first of the
    /// workload; the others are offered the same load.
    #[schemars(range(min = 1, max = 100_000))]
    pub subscribers: u32,
    /// Load offered to each subscriber, as a multiple of its configured rate.
    #[schemars(range(min = 1.01, max = 1000.0))]
    pub overload: f64,
    /// Load offered to each subscriber in the second phase, in which nothing may be dropped, as a
    /// fraction of its configured rate; 0 omits the phase.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1))]
    pub underload: f64,
    /// Load per port and direction in place of the load that follows from `overload`; `underload`
    /// is then scaled as if this load were that of `overload`.
    #[schemars(extend("minimum" = 1))]
    pub load: Option<Pps>,
    /// Highest load that is offered, per port and direction; configured rates that need a higher
    /// load are an error.
    #[schemars(extend("minimum" = 1))]
    pub max_rate: Pps,
    /// Largest deviation of the passed rate from the configured rate.
    #[schemars(extend("minimum" = 1e-6, "maximum" = 0.5))]
    pub tolerance: Ratio,
    /// Duration of each repetition, and of the second phase.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Seconds,
    /// Number of repetitions of the overload; errors are computed over all of them together.
    #[schemars(range(min = 1, max = 100))]
    pub repetitions: u32,
    /// Duration of the warm-up at the overload; 0 omits it. The warm-up is in the record but in no
    /// figure.
    pub warm_up: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            subscribers: 1000,
            overload: 1.5,
            underload: 0.9,
            load: None,
            max_rate: Pps(20e6),
            tolerance: Ratio(0.01),
            duration: Seconds(10.0),
            repetitions: 3,
            warm_up: Seconds(1.0),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        if self.load.is_some_and(|load| load > self.max_rate) {
            return Err(Invalid::new("load", "must not be above max-rate", ""));
        }
        Ok(())
    }
}
