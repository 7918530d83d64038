//! Keys that say how fragments of datagrams are followed.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fragments in and out of order (RFC 4787 REQ-14): the first one of a datagram is translated, the
/// others as it was, and those that come before it wait. Outer packets of softwires are put
/// together (RFC 6333 section 6.3). All numbers are of each worker and each direction, and of outer
/// packets once more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Fragments {
    /// Most datagrams of which fragments are followed at a time; 0 drops fragments.
    #[schemars(range(max = 65_536))]
    pub datagrams: u32,
    /// Most of them from one address, or from one subscriber behind a softwire.
    #[schemars(range(min = 1))]
    pub datagrams_per_sender: u32,
    /// Most fragments that wait for the first one of their datagram.
    #[schemars(range(min = 1, max = 65_536))]
    pub waiting: u32,
    /// Most of them from one address, or from one subscriber behind a softwire.
    #[schemars(range(min = 1))]
    pub waiting_per_sender: u32,
    /// How long fragments are followed, and wait, from the first one that came: 2 seconds at least
    /// (RFC 6146 section 4).
    #[schemars(range(min = 0.1, max = 60.0))]
    pub timeout_s: f64,
}

impl Default for Fragments {
    fn default() -> Fragments {
        Fragments {
            datagrams: 4096,
            datagrams_per_sender: 64,
            waiting: 1024,
            waiting_per_sender: 64,
            timeout_s: 2.0,
        }
    }
}
