//! The next hops towards the Internet: how they come and go; and what is known of these and of base
//! stations, which have an entry each.

use std::net::{IpAddr, Ipv4Addr};

use engine::Refusal;
use function_kit::SetupError;
use packet::{PortId, Verdict};
use wire::MacAddr;

use super::{NextHop, State, insert, macs};
use crate::config::{self, Config, UserToUser};
use crate::gateway::{ACCESS, CORE, side};
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
        let slot = self.free_hops.take().ok_or(Refusal::Full)?;
        self.hops[slot as usize] = Some(hop);
        self.asked_for[side(CORE)] += u32::from(hop.mac.is_none());
        self.resolve(self.base_stations.len() as u32 + slot, hop.mac.map(|mac| mac.0));
        self.by_hop.insert(hop.address, slot);
        Ok(())
    }

    /// Says what the MAC address of a neighbour is by its entry; none while it is asked for.
    pub fn resolve(&mut self, entry: u32, mac: Option<MacAddr>) {
        let (port, hop) = match self.core_slot(entry) {
            Some(slot) => (CORE, self.hops[slot]),
            None => (ACCESS, None),
        };
        let source = hop.and_then(|hop| hop.source_mac).map_or(self.gateway.mac, |mac| mac.0);
        self.next_hops[entry as usize] = match mac {
            Some(mac) => NextHop { macs: macs(mac, source), verdict: Verdict::Forward(port) },
            None => NextHop { macs: [0; 12], verdict: reasons::drop(reasons::UNRESOLVED) },
        };
    }

    /// Whether a neighbour behind a port is asked for its MAC address; always of one towards a
    /// worker, which may know of a neighbour that this one is yet to be told of.
    pub fn asks(&self, port: PortId) -> bool {
        self.asked_for.get(side(port)).is_none_or(|count| *count > 0)
    }

    /// Whether the neighbour that has this address behind a port is asked for its MAC address.
    pub fn is_asked_for(&self, port: PortId, address: IpAddr) -> bool {
        let is_there = |slot: u32| self.hops[slot as usize].is_some_and(|hop| hop.mac.is_none());
        match (port, address) {
            (CORE, address) => self.by_hop.get(&address).is_some_and(|slot| is_there(*slot)),
            (_, IpAddr::V4(address)) => {
                self.station(address).is_some_and(|slot| self.asked_stations[slot as usize])
            }
            (_, IpAddr::V6(_)) => false,
        }
    }

    /// The port and the address of the neighbour that has an entry.
    pub fn neighbour(&self, entry: u32) -> Option<(PortId, IpAddr)> {
        match self.core_slot(entry) {
            Some(slot) => Some((CORE, self.hops.get(slot)?.as_ref()?.address)),
            None => {
                let address = self.base_stations.get(entry as usize)?;
                Some((ACCESS, Ipv4Addr::from_bits(*address).into()))
            }
        }
    }

    /// The port by which packets to a neighbour leave, by its entry; none of the one of users.
    pub fn port_of(&self, entry: u32) -> Option<PortId> {
        match self.is_users(entry) {
            true => None,
            false => Some(if self.core_slot(entry).is_some() { CORE } else { ACCESS }),
        }
    }

    /// Most next hops.
    pub fn hop_capacity(&self) -> usize {
        self.hops.len()
    }

    /// Whether an entry is the last one, which is of no neighbour: packets go to users there.
    #[inline(always)]
    pub fn is_users(&self, entry: u32) -> bool {
        entry as usize + 1 == self.next_hops.len()
    }

    /// Has packets to networks of users go there.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn lead_to_users(&mut self, config: &Config) -> Result<(), SetupError> {
        let users = self.next_hops.len() as u32 - 1;
        if let Some(entry) = self.next_hops.last_mut() {
            // A tunnel packet finds no way by it.
            *entry = NextHop { macs: [0; 12], verdict: reasons::drop(reasons::NO_ROUTE) };
        }
        if config.user_to_user == UserToUser::Core {
            return Ok(());
        }
        for network in &config.user_networks {
            let led = match network.address {
                IpAddr::V4(address) => {
                    insert(&mut self.routes, address.to_bits(), network.len, users)
                }
                IpAddr::V6(_) if !config.ipv6 => Ok(()),
                IpAddr::V6(address) => {
                    insert(&mut self.routes_ipv6, address.to_bits(), network.len, users)
                }
            };
            let refused = |why| {
                let why = format!("{}/{}: {why}", network.address, network.len);
                SetupError::Table { what: "networks of users", why }
            };
            led.map_err(refused)?;
        }
        Ok(())
    }

    /// The entry of a next hop by its address.
    pub fn entry_of(&self, address: IpAddr) -> Option<u32> {
        Some(self.base_stations.len() as u32 + self.by_hop.get(&address)?)
    }

    /// The slot of a next hop by its entry; none of base stations.
    fn core_slot(&self, entry: u32) -> Option<usize> {
        (entry as usize).checked_sub(self.base_stations.len())
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
        self.asked_for[side(CORE)] -= u32::from(gone.is_some_and(|hop| hop.mac.is_none()));
        self.free_hops.give_back(slot);
        Ok(())
    }
}
