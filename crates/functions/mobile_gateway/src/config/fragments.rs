//! Keys that say how fragments are reassembled, and what is cut.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets for the gateway itself that come in fragments, in any order: tunnel packets and pings
/// (RFC 791 section 3.2). All numbers are of each worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Fragments {
    /// Most packets at a time of which fragments have come; 0 drops fragments.
    #[schemars(range(max = 65_536))]
    pub datagrams: u32,
    /// Most of them from one address.
    #[schemars(range(min = 1))]
    pub datagrams_per_sender: u32,
    /// Most fragments that wait for the others of their packet.
    #[schemars(range(min = 1, max = 65_536))]
    pub waiting: u32,
    /// Most of them from one address.
    #[schemars(range(min = 1))]
    pub waiting_per_sender: u32,
    /// How long fragments wait, from the first one that came, in seconds. A base station has given
    /// the same identification again after 65,536 packets (RFC 4963).
    #[schemars(range(min = 0.1, max = 60.0))]
    pub timeout_s: f64,
}

impl Default for Fragments {
    fn default() -> Fragments {
        Fragments {
            datagrams: 2048,
            datagrams_per_sender: 512,
            waiting: 2048,
            waiting_per_sender: 512,
            timeout_s: 1.0,
        }
    }
}

/// What is cut of a packet that is too long for the links to base stations in its tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fragment {
    /// The user's packet, where it may be cut; else its sender is told what passes. Base stations
    /// put nothing together.
    Packet,
    /// The tunnel packet, whatever it bears: base stations put it together, and nobody is told
    /// anything.
    Tunnel,
}
