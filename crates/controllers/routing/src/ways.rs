//! What the router has been told, and who leads to what: routes to groups and next hops, groups to
//! next hops. What a change leads to is told before it, and what nothing leads to any more goes
//! after it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use function_l3_router::Update;
use function_l3_router::config::{GROUPS, NextHop};
use protocol_netlink::Hop;

use crate::account::Account;
use crate::groups::{Groups, Members};
use crate::hops::Hops;
use crate::router::{Network, Router, host};
use crate::routes::Routes;

/// The tables of the router, as they are when all changes have taken effect.
pub(crate) struct Ways {
    pub router: Router,
    pub account: Account,
    pub routes: Routes,
    pub hops: Hops,
    pub groups: Groups,
    /// The interfaces by the kernel's numbers.
    pub links: BTreeMap<u32, u16>,
    /// What may be led to by nothing any more.
    idle: Vec<u32>,
    /// Routes to look at again.
    pub revisit: Vec<Network>,
    /// Whether something could not be for want of a number.
    is_starved: bool,
    /// Whether something of that is there again.
    pub is_relieved: bool,
    /// Next hops and groups for which there was no number.
    pub no_room: u64,
}

/// Where something leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// Nowhere yet.
    Open,
    /// To a number of a next hop or a group.
    To(u32),
    /// To a group of its own.
    Among(Members),
}

impl Ways {
    /// A router as it was configured.
    pub fn new(router: Router) -> Ways {
        let (hops, groups) = (Hops::new(&router), Groups::new(&router));
        Ways {
            router,
            account: Account::default(),
            routes: Routes::default(),
            hops,
            groups,
            links: BTreeMap::new(),
            idle: Vec::new(),
            revisit: Vec::new(),
            is_starved: false,
            is_relieved: false,
            no_room: 0,
        }
    }

    /// Takes over what a router has beyond its configuration, and returns what is to be held for
    /// as long as it may be told again.
    pub fn adopt(&mut self, state: &[Update]) -> Vec<u32> {
        let mut next_hops: BTreeMap<u32, NextHop> = BTreeMap::new();
        for update in state {
            if let Update::SetNextHop { number, next_hop } = *update {
                next_hops.insert(number, next_hop);
            }
        }
        for (number, next_hop) in &next_hops {
            self.hops.adopt(*number, next_hop, &self.router);
        }
        for update in state {
            if let Update::SetGroupMember { group, next_hop, weight } = *update
                && group >= self.router.groups
                && group != self.router.nobody
            {
                self.groups.adopt(group, next_hop, weight);
                self.hold(next_hop);
            }
        }
        for update in state {
            let Update::SetRoute { prefix, next_hop, vrf } = *update else { continue };
            let network = Network::of(vrf, prefix);
            if !self.router.is_taken(&network) {
                self.routes.adopt(network, next_hop);
                self.hold(next_hop);
            }
        }
        let groups = self.groups.numbers();
        groups.iter().for_each(|group| self.groups.abandon(*group));
        let groups = groups.into_iter().map(|group| GROUPS + group);
        let kept: Vec<u32> = self.hops.numbers().into_iter().chain(groups).collect();
        kept.iter().for_each(|number| self.hold(*number));
        kept
    }

    /// Makes a route lead elsewhere, or be gone.
    pub fn install(&mut self, network: Network, to: Option<u32>) {
        let before = self.routes.installed(&network);
        if before != to {
            self.install_anew(network, before, to);
        }
    }

    /// The same of a route that leads elsewhere.
    pub fn install_anew(&mut self, network: Network, before: Option<u32>, to: Option<u32>) {
        self.routes.set_installed(&network, to);
        let (prefix, vrf) = (network.prefix(), network.vrf);
        match to {
            Some(next_hop) => {
                self.hold(next_hop);
                self.account.push(Update::SetRoute { prefix, next_hop, vrf });
            }
            None => self.account.push(Update::RemoveRoute { prefix, vrf }),
        }
        if let Some(before) = before {
            self.release(before);
        }
    }

    /// A route is not there, because the router has refused it.
    pub fn lose(&mut self, network: &Network) {
        if let Some(before) = self.routes.installed(network) {
            self.routes.set_installed(network, None);
            self.release(before);
        }
    }

    /// Makes a lead of something another one, with its group if it has one; whether it leads to
    /// another number now.
    pub fn point(&mut self, at: &mut Option<u32>, lead: Lead) -> bool {
        let before = *at;
        let own = before.and_then(|number| self.own_group(number));
        let to = match lead {
            Lead::Open => None,
            Lead::To(number) => Some(number),
            Lead::Among(members) => match own {
                Some(group) => {
                    self.set_members(group, &members);
                    before
                }
                None => self.group_of(&members, before),
            },
        };
        if to == before {
            return false;
        }
        if let Some(number) = to {
            self.hold(number);
        }
        *at = to;
        if let Some(number) = before {
            self.let_go(number);
            self.release(number);
        }
        true
    }

    /// What leads to a number is no owner of it any more.
    pub fn let_go(&mut self, number: u32) {
        if let Some(group) = self.own_group(number) {
            self.groups.abandon(group);
        }
    }

    /// The number of a next hop; `None` if it cannot be, or not yet.
    pub fn number_of(&mut self, hop: &Hop, vrf: u16) -> Option<u32> {
        let gateway = hop.gateway?;
        let interface = match hop.interface {
            Some(kernel) => self.links.get(&kernel.0).copied(),
            None => self.router.at_link(vrf, gateway),
        }?;
        if let Some(number) = self.hops.find(interface, gateway) {
            return Some(number);
        }
        let own = host(self.router.vrf(interface)?, gateway);
        if self.router.is_taken(&own) || gateway.is_ipv6() && !self.router.ipv6 {
            return None;
        }
        self.add_hop(interface, gateway, own)
    }

    /// Something leads to a number.
    pub fn hold(&mut self, number: u32) {
        match number.checked_sub(GROUPS) {
            Some(group) => self.groups.hold(group),
            None => self.hops.hold(number),
        }
    }

    /// Something leads to it no more.
    pub fn release(&mut self, number: u32) {
        let is_idle = match number.checked_sub(GROUPS) {
            Some(group) => self.groups.release(group),
            None => self.hops.release(number),
        };
        if is_idle {
            self.idle.push(number);
        }
    }

    /// Removes something that nothing leads to; false if there is no such thing.
    pub fn collect(&mut self) -> bool {
        let Some(number) = self.idle.pop() else { return false };
        match number.checked_sub(GROUPS) {
            Some(group) => {
                let members = self.groups.remove_unheld(group, &mut self.account);
                self.is_relieved |= self.is_starved && members.is_some();
                for (next_hop, _) in members.into_iter().flatten() {
                    self.release(next_hop);
                }
            }
            None => {
                let removed = self.hops.remove_unheld(number, &self.router, &mut self.account);
                // One that was made in vain has left no room that was not there before.
                self.is_relieved |= self.is_starved && removed.is_some_and(|(_, was)| was);
                self.revisit.extend(removed.map(|(own, _)| own));
            }
        }
        true
    }

    /// Everything that wanted for something is looked at again.
    pub fn relieve(&mut self) {
        (self.is_relieved, self.is_starved) = (false, false);
    }

    fn own_group(&self, number: u32) -> Option<u32> {
        number.checked_sub(GROUPS).filter(|group| self.groups.has(*group))
    }

    /// A group with these members; without a place for one, the member to which all has led before,
    /// or the first one.
    fn group_of(&mut self, members: &Members, before: Option<u32>) -> Option<u32> {
        if let Some(group) = self.groups.claim(members) {
            return Some(GROUPS + group);
        }
        let Some(group) = self.groups.add() else {
            self.starve();
            let before = before.filter(|number| members.contains_key(number));
            return before.or(members.keys().next().copied());
        };
        self.set_members(group, members);
        Some(GROUPS + group)
    }

    fn set_members(&mut self, group: u32, members: &Members) {
        members.keys().for_each(|next_hop| self.hold(*next_hop));
        let before = self.groups.set(group, members, &mut self.account);
        before.keys().for_each(|next_hop| self.release(*next_hop));
    }

    fn add_hop(&mut self, interface: u16, gateway: IpAddr, own: Network) -> Option<u32> {
        // The router takes no next hop to whose address there is a route.
        if self.routes.installed(&own).is_some() && !self.hops.has(&own) {
            self.install(own, None);
        }
        let added = self.hops.add(interface, gateway, &self.router, &mut self.account);
        match added {
            // Until something leads to it.
            Some(number) => self.idle.push(number),
            None => {
                self.starve();
                self.revisit.push(own);
            }
        }
        added
    }

    fn starve(&mut self) {
        self.no_room += 1;
        self.is_starved = true;
    }
}
