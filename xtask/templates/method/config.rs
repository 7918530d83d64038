//! Keys of `template`.

use measure::{Pps, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "template";

/// Keys of the method `template`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Load per port and direction.
    pub rate: Pps,
    /// Duration of the trial.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Seconds,
}

impl Default for Config {
    fn default() -> Self {
        Self { rate: Pps(1e6), duration: Seconds(1.0) }
    }
}
