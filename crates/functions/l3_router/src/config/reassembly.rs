//! The keys of virtual reassembly. None is TIPSY's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a later fragment that comes before the first one of its datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyFragments {
    /// The fragment is dropped: whether a rule that names ports matches cannot be known.
    #[default]
    Drop,
    /// The fragment is forwarded as a packet without ports, as without virtual reassembly.
    Pass,
}
