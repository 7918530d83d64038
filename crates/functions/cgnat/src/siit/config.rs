//! Keys of translation without sessions (RFC 7915, RFC 7757): SIIT, NAT46 and the customer's side
//! of 464XLAT.
use std::net::{Ipv4Addr, Ipv6Addr};

use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::embedded::Prefix;

use crate::siit::eam::Mapping;
use export::Side;

/// Translation between IPv4 and IPv6 without sessions: hosts of one family inside and of the other
/// one outside have addresses of both, by mappings, and all others by a prefix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SiitConfig {
    /// The family of the hosts inside: `ipv6` for SIIT, `ipv4` for NAT46 and the customer's side of
    /// 464XLAT. Those outside are of the other one.
    pub inside_family: Family,
    /// Explicit address mappings (RFC 7757); of several that cover an address the longest counts.
    #[schemars(length(max = 65_536))]
    pub mappings: Vec<AddressMapping>,
    /// The prefix of 32, 40, 48, 56, 64 or 96 bits under which addresses that no mapping covers are
    /// IPv6 addresses (RFC 6052); in 464XLAT that of the provider. None for mappings alone.
    pub prefix: Option<Prefixed<Ipv6Addr>>,
    /// IPv4 networks of hosts inside that have their IPv6 addresses by the prefix. All others that
    /// it carries are outside.
    #[schemars(length(max = 1024))]
    pub embedded: Vec<Prefixed<Ipv4Addr>>,
    /// The longest packet that links of IPv6 take, in bytes; a longer one is cut, or its sender
    /// told.
    #[schemars(range(min = 1280))]
    pub ipv6_mtu: u16,
    /// Largest packet on IPv4 links, in bytes.
    #[schemars(range(min = 576))]
    pub ipv4_mtu: u16,
}

/// An explicit address mapping (RFC 7757 section 3.2): what follows the one prefix follows the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AddressMapping {
    /// IPv4 addresses.
    pub ipv4: Prefixed<Ipv4Addr>,
    /// IPv6 addresses, of which there are as many at least.
    pub ipv6: Prefixed<Ipv6Addr>,
    /// Where the hosts are that have them.
    #[serde(default = "inside")]
    pub side: Side,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// IPv4 in IPv6 (RFC 6333).
    DsLite,
}

fn inside() -> Side {
    Side::Inside
}

impl Default for SiitConfig {
    fn default() -> SiitConfig {
        SiitConfig {
            inside_family: Family::Ipv6,
            mappings: Vec::new(),
            prefix: None,
            embedded: Vec::new(),
            ipv6_mtu: 1500,
            ipv4_mtu: 1500,
        }
    }
}

impl SiitConfig {
    /// The prefix, if there is one that can be.
    pub fn prefix(&self) -> Option<Prefix> {
        self.prefix.and_then(|prefix| Prefix::new(prefix.address, prefix.len).ok())
    }

    /// The mappings as the table has them.
    pub fn table(&self) -> Vec<Mapping> {
        let mapping = |of: &AddressMapping| Mapping {
            ipv4: of.ipv4.address,
            ipv4_len: of.ipv4.len,
            ipv6: of.ipv6.address,
            ipv6_len: of.ipv6.len,
        };
        self.mappings.iter().map(mapping).collect()
    }

    /// Every network of IPv4 addresses that is named.
    pub fn networks(&self) -> impl Iterator<Item = Prefixed<Ipv4Addr>> {
        let mapped = self.mappings.iter().map(|mapping| mapping.ipv4);
        mapped.chain(self.embedded.iter().copied())
    }
}
