//! How the far ends of tunnels are reached at present: by the main table, a next hop or a host on
//! the link of the tunnel's port, and which of those are to be asked for.
use std::net::{IpAddr, Ipv4Addr};

use packet::Verdict;

use super::config::{GROUPS, Vxlan};
use super::flow;
use super::interfaces::own_of;
use super::state::State;
use super::vxlan::Underlay;

impl State {
    /// Finds out anew how the far ends of tunnels are reached.
    pub fn reach_tunnels(&mut self) {
        if !self.interfaces.has_tunnels() {
            return;
        }
        let tunnels: Vec<(u16, Vxlan)> = self.interfaces.tunnels().collect();
        for (number, tunnel) in tunnels {
            let own = *self.interfaces.get(number);
            let at = own_of(own.port);
            let way = self.way_to(tunnel.remote);
            let way = way.map(|way| match way == self.entries.link + u32::from(at) {
                true => self.far_ends.get(&(at, tunnel.remote)).copied().unwrap_or(way),
                false => way,
            });
            let hop = way.map(|way| self.hops[way as usize]).filter(|hop| {
                // By the port's own interface: neither a tag nor another tunnel.
                hop.verdict == Verdict::Forward(own.port) && hop.interface == at
            });
            let source = self.interfaces.get(at).ip.map(|ip| ip.address);
            let underlay = hop.zip(source).map(|(hop, source)| Underlay { macs: hop.macs, source });
            self.interfaces.reach(number, underlay);
        }
    }

    /// The place of the next hop, or of the link, that leads to the far end of a tunnel.
    fn way_to(&self, remote: Ipv4Addr) -> Option<u32> {
        let found = self.routes.ipv4.lookup(self.routes.table(0), remote.to_bits())?;
        Some(self.first_way(found, remote))
    }

    /// Neighbours by which tunnels are to lead that are not reached: a link, an address on it, and
    /// the next hop if it is one.
    pub(super) fn sought(&self) -> impl Iterator<Item = (u16, IpAddr, Option<u32>)> + '_ {
        self.interfaces.unreached().filter_map(|(number, tunnel)| {
            let at = own_of(self.interfaces.get(number).port);
            let way = self.way_to(tunnel.remote)?;
            if way == self.entries.link + u32::from(at) {
                return Some((at, tunnel.remote.into(), None));
            }
            let (link, address) = self.asks_for(way).filter(|(link, _)| *link == at)?;
            Some((link, address, Some(way)))
        })
    }

    /// A neighbour has this place among the next hops from now on, or none: of note where tunnels
    /// lead to it.
    pub(super) fn place_neighbour(&mut self, (link, address): (u16, IpAddr), place: Option<u32>) {
        let IpAddr::V4(address) = address else { return };
        let is_far_end = self.interfaces.tunnels().any(|(_, tunnel)| tunnel.remote == address);
        match place.filter(|_| is_far_end) {
            Some(place) => drop(self.far_ends.insert((link, address), place)),
            None => drop(self.far_ends.remove(&(link, address))),
        }
    }

    /// The next hop by which a tunnel reaches its far end: of a group, one for all its packets.
    fn first_way(&self, number: u32, remote: Ipv4Addr) -> u32 {
        match &self.groups {
            Some(groups) if number >= GROUPS => {
                let hash = flow::hash_of_addresses(0, remote.to_bits(), groups.seed());
                groups.pick(number, hash)
            }
            _ => number,
        }
    }
}
