//! Keys that say how fragments of datagrams are followed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Config;
use super::validate::refuse;
use crate::unit::Invalid;

/// Fragments in and out of order (RFC 4787 REQ-14): the first one of a datagram is translated, the others
/// as it was, and those that come before it wait. Outer packets of softwires are put together (RFC 6333 section 6.3).
/// All numbers are of each worker and each direction, and of outer packets once more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Fragments {
    /// Most datagrams of which fragments are followed at a time; 0 drops fragments.
    #[schemars(range(max = 65_536))]
    pub datagrams: u32,
    /// Most of them from one address.
    #[schemars(range(min = 1))]
    pub datagrams_per_sender: u32,
    /// Most fragments that wait for the first one of their datagram.
    #[schemars(range(min = 1, max = 65_536))]
    pub waiting: u32,
    /// Most of them from one address.
    #[schemars(range(min = 1))]
    pub waiting_per_sender: u32,
    /// How long fragments are followed, and wait, from the first one that came: 2 seconds at least
    /// (RFC 6146 section 4).
    pub timeout_s: f64,
}

impl Default for Fragments {
    fn default() -> Fragments {
        Fragments {
            datagrams: 0,
            datagrams_per_sender: 64,
            waiting: 1024,
            waiting_per_sender: 64,
            timeout_s: 2.0,
        }
    }
}

/// Whether fragments can be followed so.
pub(super) fn validate(config: &Config) -> Result<(), Invalid> {
    let Fragments { datagrams, datagrams_per_sender, waiting, waiting_per_sender, timeout_s } =
        config.fragments;
    if datagrams > MOST || !(1..=MOST).contains(&waiting) {
        return refuse(
            "fragments",
            format!("{datagrams} datagrams of which {waiting} fragments wait"),
            "Give 'datagrams' up to 65536 (0 drops fragments), and 'waiting' from 1 to 65536",
        );
    }
    if datagrams_per_sender == 0 || waiting_per_sender == 0 {
        return refuse(
            "fragments",
            "an address from which none is taken".into(),
            "Give 'datagrams-per-sender' and 'waiting-per-sender' as 1 at least",
        );
    }
    if !(0.1..=60.0).contains(&timeout_s) {
        return refuse(
            "fragments",
            format!("timeout-s must be from 0.1 to 60 seconds, not {timeout_s}"),
            "RFC 6146 section 4 asks for 2 seconds at least",
        );
    }
    Ok(())
}

/// Of datagrams, and of fragments that wait.
const MOST: u32 = 65_536;
