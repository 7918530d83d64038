//! The own part towards another AS, as an operator writes it.

use protocol_bgp::capabilities::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The own part in the relation with another AS (RFC 9234 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoleName {
    /// The other AS gets transit.
    Provider,
    /// The other AS is a client of the own route server.
    RouteServer,
    /// The other AS has the route server.
    RouteServerClient,
    /// The other AS provides transit.
    Customer,
    /// Both exchange routes of themselves and of their customers.
    Peer,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Role {
        match name {
            RoleName::Provider => Role::Provider,
            RoleName::RouteServer => Role::RouteServer,
            RoleName::RouteServerClient => Role::RouteServerClient,
            RoleName::Customer => Role::Customer,
            RoleName::Peer => Role::Peer,
        }
    }
}
