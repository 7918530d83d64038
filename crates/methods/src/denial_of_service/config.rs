//! Keys of `denial-of-service`.

use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConfigError, HeldLoad, reference, throughput};

/// What runs in the background, and what floods the device meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The throughput that rates are fractions of, on each interface; where it is left out, it is
    /// found first.
    pub of: Option<Pps>,
    /// How it is found: the keys of the throughput method.
    pub search: throughput::Config,
    /// The background on each interface: a rate, or a part of the throughput.
    pub background: HeldLoad,
    /// Each flood: a rate, or a part of the throughput.
    pub flood: HeldLoad,
    /// Which floods, by name; all that the function's traffic has where the list is empty.
    pub floods: Vec<String>,
    /// Pings a second beside each flood, to see whether the device still answers; 0 for none.
    pub ping_rate: Pps,
    /// How long each trial lasts.
    pub duration: Seconds,
    /// How many trials each flood has; the result is the median.
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
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |key, problem| Err(ConfigError::new(key, problem));
        reference::validate(self.of, &self.search)?;
        for (key, load) in [("background", self.background), ("flood", self.flood)] {
            let is_some = match load {
                HeldLoad::Rate(rate) => rate.0 > 0.0,
                HeldLoad::Share(share) => share.0 > 0.0 && share.0 <= 100.0,
            };
            if !is_some {
                return wrong(key, "must be more than 0, `50 %` or `1 Mpps`");
            }
        }
        if self.duration.0 <= 0.0 {
            return wrong("duration", "must be more than 0, `5 s` is usual");
        }
        if !(1..=1000).contains(&self.repetitions) {
            return wrong("repetitions", "must be 1 to 1000");
        }
        if self.floods.len() > 100 {
            return wrong("floods", "must be at most 100 names");
        }
        Ok(())
    }
}
