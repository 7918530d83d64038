//! Keys of translation without sessions (RFC 7915, RFC 7757): SIIT, NAT46 and the customer's side of
//! 464XLAT.

use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::embedded::Prefix;

use super::validate::{overlap, text};
use super::{Config, Family, refuse};
use crate::cgnat::eam::{Mapping, Mappings};
use crate::cgnat::log::Side;
use crate::sections::Prefixed;
use crate::unit::Invalid;

/// Translation between IPv4 and IPv6 without sessions: hosts of one family inside and of the other one outside
/// have addresses of both, by mappings, and all others by a prefix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Stateless {
    /// The family of the hosts inside: `ipv6` for SIIT, `ipv4` for NAT46 and the customer's side of 464XLAT.
    /// Those outside are of the other one.
    pub inside_family: Family,
    /// Explicit address mappings (RFC 7757); of several that cover an address the longest counts.
    #[schemars(length(max = 65_536))]
    pub mappings: Vec<AddressMapping>,
    /// The prefix of 32, 40, 48, 56, 64 or 96 bits under which addresses that no mapping covers are IPv6
    /// addresses (RFC 6052); in 464XLAT that of the provider. None for mappings alone.
    pub prefix: Option<Prefixed<Ipv6Addr>>,
    /// IPv4 networks of hosts inside that have their IPv6 addresses by the prefix. All others that it
    /// carries are outside.
    #[schemars(length(max = 1024))]
    pub embedded: Vec<Prefixed<Ipv4Addr>>,
    /// The longest packet that links of IPv6 take, in bytes; a longer one is cut, or its sender told.
    #[schemars(range(min = 1280))]
    pub ipv6_mtu: u16,
    /// The same of the links of IPv4.
    #[schemars(range(min = 576))]
    pub ipv4_mtu: u16,
}

/// An explicit address mapping (RFC 7757 section 3.2): what follows the one prefix follows the other.
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

fn inside() -> Side {
    Side::Inside
}

impl Default for Stateless {
    fn default() -> Stateless {
        Stateless {
            inside_family: Family::Ipv6,
            mappings: Vec::new(),
            prefix: None,
            embedded: Vec::new(),
            ipv6_mtu: 1500,
            ipv4_mtu: 1500,
        }
    }
}

impl Stateless {
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

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(super) fn validate(config: &Config) -> Result<(), Invalid> {
    let Some(stateless) = &config.stateless else { return Ok(()) };
    if config.nat64.is_some() {
        let what = "IPv6 packets would have two ways to go".into();
        return refuse(KEY, what, "Leave 'stateless' or 'nat64' out");
    }
    if !config.vrfs.is_empty() {
        let what = "hosts without sessions are of no VRF".into();
        return refuse(KEY, what, "Leave 'stateless' or 'vrfs' out");
    }
    if let Some(prefix) = stateless.prefix
        && let Err(bad) = Prefix::new(prefix.address, prefix.len)
    {
        let remedy = "Give a 'prefix' of 96 bits, like 64:ff9b::/96";
        return refuse(KEY, format!("{}: {bad}", String::from(prefix)), remedy);
    }
    if let Err(error) = Mappings::new(&stateless.table(), stateless.prefix()) {
        let remedy = "Give each mapping two prefixes of its own, with zeros behind them";
        return refuse(KEY, error.to_string(), remedy);
    }
    let is_inside = |mapping: &AddressMapping| mapping.side == Side::Inside;
    if !stateless.mappings.iter().any(is_inside) && stateless.embedded.is_empty() {
        let remedy = "Give 'mappings' of hosts inside, or their IPv4 networks as 'embedded'";
        return refuse(KEY, "no host inside has addresses of both families".into(), remedy);
    }
    let has_outside = stateless.mappings.iter().any(|mapping| !is_inside(mapping));
    if stateless.prefix.is_none() && (!has_outside || !stateless.embedded.is_empty()) {
        let remedy = "Give a 'prefix', like 64:ff9b::/96, or 'mappings' with 'side: outside'";
        return refuse(KEY, "hosts have no addresses of the other family".into(), remedy);
    }
    if stateless.ipv6_mtu < 1280 || stateless.ipv4_mtu < 576 {
        let what = format!("packets of {} and {} bytes", stateless.ipv6_mtu, stateless.ipv4_mtu);
        return refuse(KEY, what, "Give at least 1280 as 'ipv6-mtu' and 576 as 'ipv4-mtu'");
    }
    for (_, pool) in config.outside() {
        if let Some(network) = stateless.networks().find(|network| overlap(*network, pool)) {
            let what = format!("{} and {} share addresses", text(network), text(pool));
            return refuse(KEY, what, "Give addresses that no pool and no other rule has");
        }
    }
    Ok(())
}

const KEY: &str = "stateless";
