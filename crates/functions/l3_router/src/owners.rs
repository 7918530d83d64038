//! Whose an address on a link is: next hops of several interfaces of a VRF may have the same one,
//! as link-local ones and those of unnumbered links often are. The route to it leads to the next
//! hop with the lowest number, whichever came first.
use std::collections::BTreeMap;

use super::config::Network;

/// The addresses of next hops: the interface of each, by address and number.
#[derive(Default)]
pub(super) struct Owners(BTreeMap<(Network, u32), u16>);

impl Owners {
    /// The next hop to which the route to an address leads.
    pub fn first(&self, address: Network) -> Option<u32> {
        self.of(address).next().map(|(number, _)| number)
    }

    /// Whether another next hop at the same interface has an address.
    pub fn has_other(&self, address: Network, interface: u16, number: u32) -> bool {
        self.of(address).any(|(other, at)| other != number && at == interface)
    }

    /// The next hops at an interface that have an address.
    pub fn at(&self, address: Network, interface: u16) -> impl Iterator<Item = u32> + '_ {
        self.of(address).filter(move |(_, at)| *at == interface).map(|(number, _)| number)
    }

    /// A next hop has an address, at another interface than before or for the first time.
    pub fn add(&mut self, address: Network, number: u32, interface: u16) {
        self.0.insert((address, number), interface);
    }

    /// A next hop has an address no more.
    pub fn remove(&mut self, address: Network, number: u32) {
        self.0.remove(&(address, number));
    }

    fn of(&self, address: Network) -> impl Iterator<Item = (u32, u16)> + '_ {
        let all = self.0.range((address, 0)..=(address, u32::MAX));
        all.map(|(&(_, number), &interface)| (number, interface))
    }
}
