//! Keys of `soak`.

use keys::Invalid;
use measure::{Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::HeldLoad;
use crate::throughput;

/// Its name in scenario files.
pub(super) const NAME: &str = "soak";

/// Keys of the method `soak`: the load, and its duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Load per port and direction: a rate, or a share of the throughput, which is then searched
    /// first: `4 Mpps`, `50 %`; or `captured`, which sends a capture with `pcap-timing: captured`
    /// as it came, faster by `pcap-speed`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub load: HeldLoad,
    /// Total duration of all slices; at most 100,000 slices.
    pub duration: Seconds,
    /// Duration of a slice: the largest loss of data by an interruption, and the step of the trend.
    #[schemars(extend("minimum" = 0.1))]
    pub slice: Seconds,
    /// Duration of the warm-up before the first slice and after each restart; 0 omits it. The
    /// warm-up is in the record but in no figure.
    pub warm_up: Seconds,
    /// Largest number of slices with loss that are kept whole in the record, beginning with the
    /// first; the series contain all slices.
    #[schemars(range(max = 10_000))]
    pub slices_kept: u32,
    /// Keys of the throughput search that precedes the soak if `load` is a share; the same keys as
    /// those of the method `throughput`.
    pub throughput: throughput::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            load: HeldLoad::Share(Ratio(0.5)),
            duration: Seconds(3600.0),
            slice: Seconds(10.0),
            warm_up: Seconds(1.0),
            slices_kept: 100,
            throughput: throughput::Config::default(),
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        let wrong = |key, what| Err(Invalid::new(key, what, ""));
        if let HeldLoad::Share(share) = self.load
            && !(0.001..=1.0).contains(&share.0)
        {
            return wrong("load", "must be 0.1 % to 100 % of the throughput, or a rate");
        }
        if self.duration < self.slice {
            return wrong("duration", "must not be shorter than slice");
        }
        if self.duration.0 / self.slice.0 > SLICES_MAX {
            return wrong("slice", "is too short: the duration would have more than 100000 slices");
        }
        self.throughput.validate().map_err(|invalid| invalid.under("throughput"))
    }
}

const SLICES_MAX: f64 = 100_000.0;
