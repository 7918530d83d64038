//! The key `replication`: whether another instance of the function knows all state, to take over.

use std::net::{IpAddr, Ipv4Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A second NAT of the same configuration that is told of every session over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Replication {
    /// What this one is.
    pub role: Role,
    /// Address at which the standby listens. The link is neither encrypted nor authenticated: use a
    /// network of these two devices alone.
    pub address: IpAddr,
    /// At which TCP port; the second worker at the next one, and so on.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// Most changes a second that a worker's sessions are told with; 0 for as many as there are.
    pub changes_per_s: u32,
}

/// What a NAT is in replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Alone.
    None,
    /// The one that packets go through: it tells.
    Active,
    /// The one that takes over: it listens.
    Standby,
    /// Active, with a standby beside it to see what it costs: on another thread of the same
    /// process, or in another process where a scenario has the device `process`.
    Rehearsal,
}

impl Default for Replication {
    fn default() -> Replication {
        Replication {
            role: Role::None,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 7400,
            changes_per_s: 0,
        }
    }
}
