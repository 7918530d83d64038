//! The model's routes: a map, and how many there are of each version of IP.

use std::collections::BTreeMap;
use std::net::IpAddr;

use function_l3_router::config::Network;

/// Where a route leads.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum To {
    /// To the router itself.
    Itself,
    /// To the link of an interface, where nobody has the address.
    Link(usize),
    /// To a next hop, or by a number beyond theirs to a group.
    NextHop(u32),
}

/// Routes by network.
#[derive(Default)]
pub(super) struct Routes {
    by_network: BTreeMap<Network, To>,
    /// Number of IPv6 routes.
    ipv6: usize,
}

impl Routes {
    pub fn get(&self, network: &Network) -> Option<&To> {
        self.by_network.get(network)
    }

    pub fn contains_key(&self, network: &Network) -> bool {
        self.by_network.contains_key(network)
    }

    pub fn insert(&mut self, network: Network, to: To) {
        let is_new = self.by_network.insert(network, to).is_none();
        self.ipv6 += usize::from(is_new && network.address.is_ipv6());
    }

    pub fn remove(&mut self, network: &Network) -> Option<To> {
        let removed = self.by_network.remove(network);
        self.ipv6 -= usize::from(removed.is_some() && network.address.is_ipv6());
        removed
    }

    /// Routes of the same version of IP as this network.
    pub fn of_version(&self, network: Network) -> usize {
        if network.address.is_ipv6() { self.ipv6 } else { self.by_network.len() - self.ipv6 }
    }
}

/// The route of an address alone.
pub(super) fn host(vrf: u16, address: IpAddr) -> Network {
    Network { vrf, address, len: bits(address) }
}

/// How many bits the longest prefix has.
pub(super) fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}
