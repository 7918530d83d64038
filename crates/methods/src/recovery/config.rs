//! Keys of `recovery`.

use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConfigError, reference, throughput};

/// How far and how long to overload, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The throughput that loads are fractions of, on each interface; where it is left out, it is
    /// found first.
    pub of: Option<Pps>,
    /// How it is found: the keys of the throughput method.
    pub search: throughput::Config,
    /// The overload, as a fraction of the throughput.
    pub overload: Ratio,
    /// How long it lasts; RFC 2544 asks for 60 s or more.
    pub overload_duration: Seconds,
    /// The load that follows, as a fraction of the throughput.
    pub then: Ratio,
    /// How long that lasts. A device that still loses frames in the last tenth of it has not
    /// recovered.
    pub then_duration: Seconds,
    /// How many times to measure; the result is the median.
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
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key, problem| Err(ConfigError::new(key, problem));
        reference::validate(self.of, &self.search)?;
        if !(1.0..=100.0).contains(&self.overload.0) || self.overload.0 == 1.0 {
            return wrong("overload", "must be more than 1 (100 %), `110 %` is usual");
        }
        if self.overload_duration.0 <= 0.0 {
            return wrong("overload-duration", "must be more than 0, `5 s` is usual");
        }
        if self.then.0 <= 0.0 || self.then.0 >= 1.0 {
            return wrong("then", "must be above 0 and below 1 (100 %), `50 %` is usual");
        }
        if self.then_duration.0 <= 0.0 {
            return wrong("then-duration", "must be more than 0, `2 s` is usual");
        }
        if !(1..=1000).contains(&self.repetitions) {
            return wrong("repetitions", "must be 1 to 1000");
        }
        Ok(())
    }
}
