//! Keys of DS-Lite (RFC 6333).
use std::net::Ipv6Addr;

use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The AFTR of DS-Lite: packets of IPv4 subscribers come and go in packets of IPv6, by which
/// subscribers are told apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DsLite {
    /// The address of this end of all softwires, for which the inside port answers Neighbor
    /// Discovery.
    pub aftr: Ipv6Addr,
    /// Networks of B4 elements, of at least 32 bits each; packets from elsewhere are dropped.
    #[schemars(length(min = 1, max = 1024))]
    pub inside: Vec<Prefixed<Ipv6Addr>>,
    /// How many bits of its B4 element's address name a subscriber (RFC 7785): a change of the
    /// others keeps its mappings.
    #[schemars(range(min = 32, max = 128))]
    pub subscriber_len: u8,
    /// The longest packet that links inside take, in bytes; what is longer in its tunnel is cut
    /// there.
    #[schemars(range(min = 1280))]
    pub ipv6_mtu: u16,
}

impl Default for DsLite {
    fn default() -> DsLite {
        let address = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
        DsLite {
            aftr: address(1),
            inside: vec![Prefixed { address: address(0), len: 32 }],
            subscriber_len: 128,
            ipv6_mtu: 1500,
        }
    }
}
