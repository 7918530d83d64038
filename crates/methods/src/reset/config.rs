//! Keys of `reset`.

use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConfigError, reference, throughput};

/// At which load to restart the device, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The throughput that the load is a fraction of, on each interface; where it is left out, it is
    /// found first.
    pub of: Option<Pps>,
    /// How it is found: the keys of the throughput method.
    pub search: throughput::Config,
    /// The load, as a fraction of the throughput.
    pub load: Ratio,
    /// How long frames are sent before the restart.
    pub before: Seconds,
    /// How long they are sent after it. A device that still loses frames in the last tenth of it has
    /// not come back.
    pub after: Seconds,
    /// How many restarts; the result is the median.
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
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key, problem| Err(ConfigError::new(key, problem));
        reference::validate(self.of, &self.search)?;
        if self.load.0 <= 0.0 || self.load.0 > 1.0 {
            return wrong("load", "must be above 0 and at most 1 (100 %), `50 %` is usual");
        }
        if self.before.0 <= 0.0 {
            return wrong("before", "must be more than 0, `1 s` is usual");
        }
        if self.after.0 <= 0.0 {
            return wrong("after", "must be more than 0, `10 s` is usual");
        }
        if !(1..=1000).contains(&self.repetitions) {
            return wrong("repetitions", "must be 1 to 1000");
        }
        Ok(())
    }
}
