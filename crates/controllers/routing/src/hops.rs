//! Next hops of the router: each neighbour once, for as long as something leads to it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Bound;

use function_l3_router::Update;
use function_l3_router::config::NextHop;

use crate::account::Account;
use crate::places::Places;
use crate::router::{Network, Router, addresses, host};

/// The next hops.
pub(crate) struct Hops {
    /// Numbers by interface and address.
    by_place: BTreeMap<(u16, IpAddr), u32>,
    /// The same by VRF and address, which several interfaces of a VRF may have.
    by_address: BTreeSet<(u16, IpAddr, u32)>,
    held: BTreeMap<u32, Held>,
    /// Those that the router has refused.
    refused: BTreeSet<u32>,
    /// The one of them that it was told again last.
    retried: u32,
    places: Places,
}

/// A next hop of the controller's own.
struct Held {
    interface: u16,
    address: IpAddr,
    /// How often it is led to.
    holders: u32,
    /// Whether anything has ever led to it.
    was_held: bool,
}

impl Hops {
    /// Those of the configuration.
    pub fn new(router: &Router) -> Hops {
        let mut hops = Hops {
            by_place: BTreeMap::new(),
            by_address: BTreeSet::new(),
            held: BTreeMap::new(),
            refused: BTreeSet::new(),
            retried: 0,
            places: Places::new(router.next_hops.len() as u32, router.next_hops_end),
        };
        for (number, next_hop) in (0..).zip(&router.next_hops) {
            hops.name(number, next_hop, router);
        }
        hops
    }

    /// Takes a next hop over that the router has beyond its configuration. One that the controller
    /// cannot have made stays for ever.
    pub fn adopt(&mut self, number: u32, next_hop: &NextHop, router: &Router) {
        if number < router.next_hops.len() as u32 {
            self.by_place.retain(|_, other| *other != number);
            self.by_address.retain(|(_, _, other)| *other != number);
            return self.name(number, next_hop, router);
        }
        self.places.reserve(number);
        self.name(number, next_hop, router);
        let Some(interface) = router.interface_of(next_hop) else { return };
        let Some(address) = addresses(next_hop).next() else { return };
        if router.next_hop(interface, address) == Some(*next_hop) {
            let held = Held { interface, address, holders: 0, was_held: false };
            self.held.insert(number, held);
        }
    }

    /// The number of a neighbour at an interface; `None` if there is none.
    pub fn find(&self, interface: u16, address: IpAddr) -> Option<u32> {
        self.by_place.get(&(interface, address)).copied()
    }

    /// Whether an address is that of a next hop.
    pub fn has(&self, network: &Network) -> bool {
        let &Network { vrf, address, .. } = network;
        self.by_address.range((vrf, address, 0)..=(vrf, address, u32::MAX)).next().is_some()
    }

    /// Makes a next hop of a neighbour that there is none of; `None` if no number is left.
    pub fn add(
        &mut self,
        interface: u16,
        address: IpAddr,
        router: &Router,
        account: &mut Account,
    ) -> Option<u32> {
        let next_hop = router.next_hop(interface, address)?;
        let number = self.places.take()?;
        self.name(number, &next_hop, router);
        let held = Held { interface, address, holders: 0, was_held: false };
        self.held.insert(number, held);
        account.push(Update::SetNextHop { number, next_hop });
        Some(number)
    }

    /// Something leads to a next hop.
    pub fn hold(&mut self, number: u32) {
        if let Some(held) = self.held.get_mut(&number) {
            held.holders += 1;
            held.was_held = true;
        }
    }

    /// Something leads to it no more; whether nothing does.
    pub fn release(&mut self, number: u32) -> bool {
        let Some(held) = self.held.get_mut(&number) else { return false };
        held.holders = held.holders.saturating_sub(1);
        held.holders == 0
    }

    /// Removes a next hop if nothing leads to it, and returns the route that it was and whether
    /// anything has ever led to it.
    pub fn remove_unheld(
        &mut self,
        number: u32,
        router: &Router,
        account: &mut Account,
    ) -> Option<(Network, bool)> {
        let held = self.held.get(&number).filter(|held| held.holders == 0)?;
        let &Held { interface, address, was_held, .. } = held;
        let vrf = router.vrf(interface).unwrap_or_default();
        self.held.remove(&number);
        self.by_place.remove(&(interface, address));
        self.by_address.remove(&(vrf, address, number));
        self.places.give(number);
        if !self.refused.remove(&number) {
            account.push(Update::RemoveNextHop { number });
        }
        Some((host(vrf, address), was_held))
    }

    /// The router has refused a next hop.
    pub fn refuse(&mut self, number: u32) {
        if self.held.contains_key(&number) {
            self.refused.insert(number);
        }
    }

    /// The router has taken a next hop; whether it had refused it before.
    pub fn take(&mut self, number: u32) -> bool {
        self.refused.remove(&number)
    }

    /// Whether the router has refused any.
    pub fn any_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Tells the router one of those again that it has refused, each in its turn.
    pub fn retry(&mut self, router: &Router, account: &mut Account) {
        let behind = (Bound::Excluded(self.retried), Bound::Unbounded);
        let next = self.refused.range(behind).next().or(self.refused.first()).copied();
        let Some(number) = next else { return };
        self.retried = number;
        let held = self.held.get(&number);
        if let Some(next_hop) = held.and_then(|held| router.next_hop(held.interface, held.address))
        {
            account.push(Update::SetNextHop { number, next_hop });
        }
    }

    /// The numbers of the controller's own.
    pub fn numbers(&self) -> Vec<u32> {
        self.held.keys().copied().collect()
    }

    /// How many are the controller's own.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    fn name(&mut self, number: u32, next_hop: &NextHop, router: &Router) {
        let Some(interface) = router.interface_of(next_hop) else { return };
        let vrf = router.vrf(interface).unwrap_or_default();
        for address in addresses(next_hop) {
            self.by_place.insert((interface, address), number);
            self.by_address.insert((vrf, address, number));
        }
    }
}
