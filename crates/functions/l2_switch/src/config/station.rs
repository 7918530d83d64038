//! Stations that the bridge knows from the start.

use function_kit::sections::Mac;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::port::Port;

/// A station that the bridge knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Station {
    /// Ethernet address of the station.
    pub mac: Mac,
    /// Behind which port it is.
    pub port: Port,
    /// In which domain.
    #[serde(default, skip_serializing_if = "is_first_domain")]
    pub domain: u16,
}

fn is_first_domain(domain: &u16) -> bool {
    *domain == 0
}
