//! How the model's routes and next hops change.
use function_l3_router::config::{Network, NextHop};

use crate::catalogue;

use super::routes::{To, bits};
use super::state::Model;

impl Model {
    pub(super) fn set_route(&mut self, network: Network, next_hop: u32) -> bool {
        let Network { vrf, address, len } = network;
        let is_network = len <= bits(address) && catalogue::network(address, len) == address;
        let is_possible = is_network
            && vrf <= self.config.vrfs
            && (address.is_ipv4() || self.config.ipv6)
            && (self.next_hops.contains_key(&next_hop) || self.groups.has(next_hop))
            && !self.is_connected(network)
            && self.has_room(network);
        if is_possible {
            self.routes.insert(network, To::NextHop(next_hop));
        }
        is_possible
    }

    pub(super) fn set_next_hop(&mut self, number: u32, hop: NextHop) -> bool {
        let is_one = number < self.config.next_hops_max() && !hop.mac.0.is_multicast();
        if !is_one || self.interface_of(&hop).is_none() {
            return false;
        }
        let has_address = hop.ip.is_some() || hop.ipv6.is_some();
        if hop.mac.0.0 == [0; 6] && !(self.config.resolve && has_address) {
            return false;
        }
        let old = self.next_hops.get(&number).map_or(Vec::new(), |hop| self.addresses(*hop));
        let new = self.addresses(hop);
        for own in new.iter().filter(|own| !old.contains(own)) {
            let is_possible = (own.address.is_ipv4() || self.config.ipv6)
                && !self.routes.contains_key(own)
                && self.has_room(*own);
            if !is_possible {
                return false;
            }
        }
        for own in old.iter().filter(|own| !new.contains(own)) {
            self.routes.remove(own);
        }
        for own in new {
            self.routes.insert(own, To::NextHop(number));
        }
        self.next_hops.insert(number, hop);
        true
    }

    /// Whether a route is of a link, of the router itself or of a neighbour's own address.
    pub(super) fn is_connected(&self, network: Network) -> bool {
        match self.routes.get(&network) {
            Some(To::NextHop(number)) => {
                let hop = self.next_hops.get(number);
                hop.is_some_and(|hop| self.addresses(*hop).contains(&network))
            }
            Some(To::Itself | To::Link(_)) => true,
            None => false,
        }
    }

    pub(super) fn has_room(&self, network: Network) -> bool {
        self.routes.contains_key(&network)
            || self.routes.of_version(network) < self.config.capacity()
    }
}
