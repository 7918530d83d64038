//! The routes of all VRFs, and how much room there is for them.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::SetupError;
use tables::lpm::{self, Limits, Pool};

use super::config::{Config, Network};

/// The routes of all VRFs, which share memory.
pub struct Routes {
    /// Number of the next hop by IPv4 destination.
    pub ipv4: Pool<u32>,
    /// Number of the next hop by IPv6 destination; no room for any where there is no IPv6.
    pub ipv6: Pool<u128>,
}

impl Routes {
    /// Room for the routes of a configuration.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn new(config: &Config) -> Result<Routes, SetupError> {
        let memory = |what| move |source| SetupError::Memory { what, source };
        Ok(Routes {
            ipv4: Pool::new(limits_ipv4(config)).map_err(memory("IPv4 routes"))?,
            ipv6: Pool::new(limits_ipv6(config)).map_err(memory("IPv6 routes"))?,
        })
    }

    /// The table of a VRF in both pools; that of the main one for a VRF that there is not.
    #[inline(always)]
    pub fn table(&self, vrf: u16) -> lpm::Table {
        self.ipv4.table(vrf).unwrap_or(lpm::Table::MAIN)
    }

    /// All routes of a VRF.
    pub(super) fn iter(&self, vrf: u16) -> impl Iterator<Item = (Network, u32)> + '_ {
        let table = self.table(vrf);
        networks(vrf, Some(self.ipv4.iter(table)), self.ipv6.iter(table))
    }

    /// Those of its VRF that follow a route.
    pub(super) fn iter_behind(&self, last: Network) -> impl Iterator<Item = (Network, u32)> + '_ {
        let Network { vrf, address, len } = last;
        let table = self.table(vrf);
        let (ipv4, ipv6) = match address {
            IpAddr::V4(address) => {
                let behind = self.ipv4.iter_behind(table, address.to_bits(), len);
                (Some(behind), self.ipv6.iter(table))
            }
            IpAddr::V6(address) => (None, self.ipv6.iter_behind(table, address.to_bits(), len)),
        };
        networks(vrf, ipv4, ipv6)
    }
}

/// Routes of both versions, those of IPv4 first.
fn networks<'a>(
    vrf: u16,
    ipv4: Option<lpm::Routes<'a, u32>>,
    ipv6: lpm::Routes<'a, u128>,
) -> impl Iterator<Item = (Network, u32)> + 'a {
    let ipv4 = ipv4.into_iter().flatten();
    let ipv4 = ipv4.map(|(bits, len, hop)| (Ipv4Addr::from_bits(bits).into(), len, hop));
    let ipv6 = ipv6.map(|(bits, len, hop)| (Ipv6Addr::from_bits(bits).into(), len, hop));
    ipv4.chain(ipv6).map(move |(address, len, hop)| (Network { vrf, address, len }, hop))
}

/// Room for any routes in any of the tables, which have no nodes in common.
fn limits_ipv4(config: &Config) -> Limits {
    let (routes, tables) = (config.capacity(), config.vrfs + 1);
    let any = Limits::for_any::<u32>(routes).nodes * usize::from(tables);
    Limits { tables, routes, nodes: any.min(3 * routes) }
}

/// Routes may need 15 nodes each; memory for them is touched as they come.
fn limits_ipv6(config: &Config) -> Limits {
    let tables = config.vrfs + 1;
    if !config.ipv6 {
        return Limits { tables, routes: 0, nodes: 0 };
    }
    let routes = config.capacity();
    Limits { tables, routes, nodes: 1024 + 15 * routes }
}
