//! Routes as a list, searched from one end to the other, and the next hops that they lead to.

use std::collections::BTreeMap;
use std::net::IpAddr;

use function_bng::config::{Config, Name, NextHop, Route};

use super::lists::covers;

/// What is routed to where.
pub(super) struct Routes {
    routes: Vec<Route>,
    hops: BTreeMap<(Option<Name>, IpAddr), NextHop>,
    routes_max: usize,
    hops_max: usize,
}

impl Routes {
    pub fn new(config: &Config) -> Routes {
        Routes {
            routes: Vec::new(),
            hops: BTreeMap::new(),
            routes_max: config.route_capacity as usize,
            hops_max: config.next_hop_capacity as usize,
        }
    }

    /// The next hop of the longest prefix of an address.
    pub fn to(&self, vrf: Option<Name>, address: IpAddr) -> Option<NextHop> {
        let its = |route: &&Route| {
            route.vrf == vrf && covers((route.prefix.address, route.prefix.len), address)
        };
        let longest = self.routes.iter().filter(its).max_by_key(|route| route.prefix.len)?;
        self.hops.get(&(vrf, longest.next_hop)).copied()
    }

    /// Whether a next hop of a VRF is asked for its Ethernet address.
    pub fn asks_for(&self, vrf: Option<Name>, address: IpAddr) -> bool {
        self.hops.get(&(vrf, address)).is_some_and(|hop| hop.mac.is_none())
    }

    pub fn add_hop(&mut self, hop: NextHop) -> bool {
        let key = (hop.vrf, hop.address);
        let is_possible = !self.hops.contains_key(&key) && self.hops.len() < self.hops_max;
        if is_possible {
            self.hops.insert(key, hop);
        }
        is_possible
    }

    /// Removes a next hop that no route names.
    pub fn remove_hop(&mut self, vrf: Option<Name>, address: IpAddr) -> bool {
        let is_named = |route: &Route| (route.vrf, route.next_hop) == (vrf, address);
        let is_named = self.routes.iter().any(is_named);
        !is_named && self.hops.remove(&(vrf, address)).is_some()
    }

    pub fn add(&mut self, route: Route) -> bool {
        let prefix = route.prefix;
        let is_network = model_kit::service::network(prefix.address, prefix.len) == prefix.address;
        let most = if prefix.address.is_ipv4() { 32 } else { 128 };
        let is_its = |one: &&Route| {
            one.vrf == route.vrf && one.prefix.address.is_ipv4() == prefix.address.is_ipv4()
        };
        let is_there = |one: &Route| (one.vrf, one.prefix) == (route.vrf, prefix);
        let is_possible = is_network
            && prefix.len <= most
            && self.hops.contains_key(&(route.vrf, route.next_hop))
            && !self.routes.iter().any(is_there)
            && self.routes.iter().filter(is_its).count() < self.routes_max;
        if is_possible {
            self.routes.push(route);
        }
        is_possible
    }

    pub fn remove(
        &mut self,
        vrf: Option<Name>,
        prefix: function_kit::sections::Prefixed<IpAddr>,
    ) -> bool {
        let before = self.routes.len();
        self.routes.retain(|one| (one.vrf, one.prefix) != (vrf, prefix));
        self.routes.len() < before
    }
}
