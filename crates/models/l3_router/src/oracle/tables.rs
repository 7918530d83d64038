//! How the model's routes and next hops change.
use function_l3_router::config::{HopName, Network, NextHop};

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

    /// The next hop of a name.
    pub(super) fn number_of(&self, name: HopName) -> Option<u32> {
        let mut all = self.next_hops.iter();
        all.find(|(_, hop)| hop.name == Some(name)).map(|(number, _)| *number)
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
        let its = hop.name.and_then(|name| self.number_of(name));
        if its.is_some_and(|its| its != number) {
            return false;
        }
        let old = self.next_hops.get(&number).map_or(Vec::new(), |hop| self.addresses(*hop));
        let new = self.addresses(hop);
        let interface = self.interface_of(&hop);
        for own in &new {
            let is_there = |(other, one): (&u32, &NextHop)| {
                *other != number
                    && self.interface_of(one) == interface
                    && self.addresses(*one).contains(own)
            };
            let is_free = !self.routes.contains_key(own) || self.first_with(*own).is_some();
            let is_possible = (own.address.is_ipv4() || self.config.ipv6)
                && !self.next_hops.iter().any(is_there)
                && (old.contains(own) || is_free && self.has_room(*own));
            if !is_possible {
                return false;
            }
        }
        self.next_hops.insert(number, hop);
        old.into_iter().chain(new).for_each(|own| self.lead_to_first(own));
        true
    }

    pub(super) fn remove_next_hop(&mut self, number: u32) -> bool {
        let old = self.next_hops.get(&number).map(|hop| self.addresses(*hop));
        self.next_hops.remove(&number);
        let is_one = old.is_some();
        old.into_iter().flatten().for_each(|own| self.lead_to_first(own));
        is_one
    }

    /// A route to the address of next hops leads to the first of them.
    fn lead_to_first(&mut self, own: Network) {
        match self.first_with(own) {
            Some(number) => self.routes.insert(own, To::NextHop(number)),
            None => drop(self.routes.remove(&own)),
        }
    }

    /// The lowest number of the next hops with an address.
    fn first_with(&self, own: Network) -> Option<u32> {
        let has = |(_, hop): &(&u32, &NextHop)| self.addresses(**hop).contains(&own);
        self.next_hops.iter().filter(has).map(|(number, _)| *number).min()
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
