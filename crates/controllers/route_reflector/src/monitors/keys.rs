//! What an operator says of collectors.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A collector of BMP (RFC 7854).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BmpKeys {
    /// Its address.
    pub address: IpAddr,
    /// The port on which it listens.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// The own address towards it; none for that of the route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<IpAddr>,
    /// What this reflector calls itself (`sysName`); none for its identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub system_name: Option<String>,
    /// What it is told: the best path of each route (`loc-rib`), what peers tell (`adj-rib-in`), or
    /// both.
    #[serde(default = "what")]
    #[schemars(length(min = 1, max = 2))]
    pub what: Vec<What>,
    /// How often it is told figures, in seconds; 0 for never.
    #[serde(default = "statistics_every_s")]
    #[schemars(range(max = 86_400))]
    pub statistics_every_s: u32,
    /// For how long it may take nothing of what is on its way, in seconds; then its session ends,
    /// and it is told everything anew.
    #[serde(default = "patience_s")]
    #[schemars(range(min = 1, max = 3600))]
    pub patience_s: u32,
}

/// What is exported to a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The best path of each route (RFC 9069).
    LocRib,
    /// What peers tell, before any policy, and when their sessions come and go (RFC 7854).
    AdjRibIn,
}

fn what() -> Vec<What> {
    vec![What::LocRib]
}

fn statistics_every_s() -> u32 {
    60
}

fn patience_s() -> u32 {
    60
}
