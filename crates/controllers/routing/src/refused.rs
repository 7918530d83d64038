//! Routes that the router has refused, until there is room for them.

use std::collections::BTreeMap;

use crate::router::Network;

/// Routes that the router has refused, with what they were to lead to.
#[derive(Default)]
pub(crate) struct Refused {
    /// Those of IPv4, and those of IPv6, which have room of their own.
    routes: [BTreeMap<Network, u32>; 2],
    /// How many of each may be tried again.
    room: [usize; 2],
}

impl Refused {
    /// A route was refused.
    pub fn insert(&mut self, network: Network, to: u32) {
        self.routes[of(&network)].insert(network, to);
    }

    /// A route is tried again, or is wanted no more.
    pub fn remove(&mut self, network: &Network) {
        self.routes[of(network)].remove(network);
    }

    /// To what a route was to lead when it was refused.
    pub fn get(&self, network: &Network) -> Option<u32> {
        self.routes[of(network)].get(network).copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.routes.iter().map(BTreeMap::len).sum()
    }

    /// There is room for one more, if any is wanted.
    pub fn make_room(&mut self, is_ipv6: bool) {
        let at = usize::from(is_ipv6);
        self.room[at] = (self.room[at] + 1).min(self.routes[at].len().max(1));
    }

    /// All may be tried again.
    pub fn make_room_for_all(&mut self) {
        self.room = [0, 1].map(|at| self.routes[at].len());
    }

    /// Whether any may be tried again.
    pub fn has_room(&self) -> bool {
        (0..2).any(|at| self.room[at] > 0 && !self.routes[at].is_empty())
    }

    /// Takes the next one that may be tried again.
    pub fn next(&mut self) -> Option<Network> {
        let at = (0..2).find(|&at| self.room[at] > 0 && !self.routes[at].is_empty())?;
        self.room[at] -= 1;
        self.routes[at].pop_first().map(|(network, _)| network)
    }
}

fn of(network: &Network) -> usize {
    usize::from(network.address.is_ipv6())
}
