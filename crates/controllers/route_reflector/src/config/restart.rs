//! What an operator says of the reflector's own restart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the reflector restarts (RFC 4724, RFC 8538).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RestartKeys {
    /// For how long peers keep without a session what they were told, in seconds. For as long after
    /// its start the reflector says to peers that it has restarted.
    #[serde(default = "time_s")]
    #[schemars(range(min = 1, max = 4095))]
    pub time_s: u16,
    /// For how long after the start peers without a session are waited for, in seconds: until they
    /// have told their routes nobody is told any. Where there is `dynamic`, always for this long,
    /// for nobody knows which hosts come.
    #[serde(default = "absent_s")]
    #[schemars(range(min = 1, max = 3600))]
    pub absent_s: u16,
    /// For how long after the start peers with a session are waited for that do graceful restart
    /// and have not told all their routes, in seconds.
    #[serde(default = "deferral_s")]
    #[schemars(range(min = 1, max = 3600))]
    pub deferral_s: u16,
    /// What becomes of routes at peers when the reflector is stopped.
    #[serde(default)]
    pub at_stop: AtStop,
}

/// What becomes of routes at peers when the reflector is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtStop {
    /// Peers keep them for a restart.
    #[default]
    Keep,
    /// Peers are told to forget them.
    Drop,
}

fn time_s() -> u16 {
    120
}

fn absent_s() -> u16 {
    30
}

fn deferral_s() -> u16 {
    120
}
