//! The next hops towards the Internet: how they come and go, and what is known of them.

use std::net::IpAddr;

use engine::Refusal;
use packet::Verdict;
use wire::MacAddr;

use super::{CORE, NextHop, State, macs};
use crate::config;
use crate::reasons;

impl State {
    /// Adds a next hop.
    ///
    /// # Errors
    /// When it is there already, or there is no room.
    pub fn add_next_hop(&mut self, hop: config::NextHop) -> Result<(), Refusal> {
        if self.by_hop.contains_key(&hop.address) {
            return Err(Refusal::Exists);
        }
        if hop.mac.is_none() && !self.resolves {
            return Err(Refusal::Invalid);
        }
        let slot = self.free_hops.take().ok_or(Refusal::Full)?;
        self.hops[slot as usize] = Some(hop);
        self.asked_for += u32::from(hop.mac.is_none());
        self.resolve(slot, hop.mac.map(|mac| mac.0));
        self.by_hop.insert(hop.address, slot);
        Ok(())
    }

    /// Says what the MAC address of a next hop is; none while it is asked for.
    pub fn resolve(&mut self, slot: u32, mac: Option<MacAddr>) {
        let hop = self.hops[slot as usize];
        let source = hop.and_then(|hop| hop.source_mac).map_or(self.gateway.mac, |mac| mac.0);
        self.next_hops[self.base_stations.len() + slot as usize] = match mac {
            Some(mac) => NextHop { macs: macs(mac, source), verdict: Verdict::Forward(CORE) },
            None => NextHop { macs: [0; 12], verdict: reasons::drop(reasons::UNRESOLVED) },
        };
    }

    /// What frames to a next hop need, by its slot.
    pub fn core_entry(&self, slot: u32) -> &NextHop {
        &self.next_hops[self.base_stations.len() + slot as usize]
    }

    /// The slot and the address of the next hop that has an entry.
    pub fn core_hop(&self, entry: u32) -> Option<(u32, IpAddr)> {
        let slot = entry.checked_sub(self.base_stations.len() as u32)?;
        Some((slot, self.hops.get(slot as usize)?.as_ref()?.address))
    }

    /// The slot of a next hop by its address.
    pub fn slot_of(&self, address: IpAddr) -> Option<u32> {
        self.by_hop.get(&address).copied()
    }

    /// Removes a next hop.
    ///
    /// # Errors
    /// When there is no such next hop, or a route names it.
    pub fn remove_next_hop(&mut self, address: IpAddr) -> Result<(), Refusal> {
        let slot = *self.by_hop.get(&address).ok_or(Refusal::NotFound)?;
        let hop = self.base_stations.len() as u32 + slot;
        let is_named = self.routes.iter().any(|(_, _, to)| to == hop)
            || self.routes_ipv6.iter().any(|(_, _, to)| to == hop);
        if is_named {
            return Err(Refusal::Invalid);
        }
        self.by_hop.remove(&address);
        let gone = self.hops[slot as usize].take();
        self.asked_for -= u32::from(gone.is_some_and(|hop| hop.mac.is_none()));
        self.free_hops.give_back(slot);
        Ok(())
    }
}
