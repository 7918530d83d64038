//! The keys of virtual reassembly. None is TIPSY's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a later fragment that comes before the first one of its datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyFragments {
    /// It is dropped: whether a rule that names ports is for it cannot be known.
    #[default]
    Drop,
    /// It goes on as one without ports, as all do without virtual reassembly.
    Pass,
}
