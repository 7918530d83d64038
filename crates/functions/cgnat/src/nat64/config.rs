//! Keys of stateful NAT64 (RFC 6146).
use std::net::Ipv6Addr;

use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stateful NAT64: IPv6 subscribers reach IPv4 hosts, whose addresses they write into the end of
/// IPv6 ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Nat64 {
    /// Under which prefix IPv4 addresses are IPv6 addresses (RFC 6052), of 32, 40, 48, 56, 64 or 96
    /// bits. The well-known one, `64:ff9b::/96`, takes global IPv4 addresses only.
    pub prefix: Prefixed<Ipv6Addr>,
    /// Networks of IPv6 subscribers; packets from elsewhere are dropped.
    #[schemars(length(min = 1, max = 1024))]
    pub inside: Vec<Prefixed<Ipv6Addr>>,
    /// Largest IPv6 packet on subscribers' links, in bytes; a longer one is fragmented, or its
    /// sender told.
    #[schemars(range(min = 1280))]
    pub ipv6_mtu: u16,
    /// Largest IPv4 packet on outside links, in bytes.
    #[schemars(range(min = 576))]
    pub ipv4_mtu: u16,
}

impl Default for Nat64 {
    fn default() -> Nat64 {
        let prefix = |first, second, len| Prefixed {
            address: Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0),
            len,
        };
        Nat64 {
            prefix: prefix(0x64, 0xff9b, 96),
            inside: vec![prefix(0x2001, 0xdb8, 32)],
            ipv6_mtu: 1500,
            ipv4_mtu: 1500,
        }
    }
}
