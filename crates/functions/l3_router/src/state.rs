//! The state of one worker: routes of both versions of IP, and next hops.
//!
//! A route's value is the number of its next hop, and a next hop's entry of 16 bytes is all that a
//! frame needs to leave: its new Ethernet addresses and the verdict. What is not forwarded is a
//! next hop too: the router's own addresses lead to an entry that drops, and so do those on its
//! links that nobody has.
//!
//! | part | bytes |
//! |---|---|
//! | routes | 256 KiB for each version of IP; 2.2 KiB a VRF; 128 bytes for each 8 bits on the way to some; about 9 a route |
//! | next hops | 16 bytes for each that there is room for |
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use engine::Refusal;
use function_kit::SetupError;
use packet::{PortId, Verdict};
use tables::lpm::LpmError;
use wire::MacAddr;

use super::config::{self, Config, GROUPS, HopName, Link, Network, NextHop};
use super::entries::Entries;
use super::groups::Groups;
use super::interfaces::Interfaces;
use super::owners::Owners;
use super::reasons;
use super::routes::Routes;

/// What becomes of a packet that has found its next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Destination and source Ethernet address as they stand in the frame.
    pub macs: [u8; 12],
    /// Where it leaves, or why not.
    pub verdict: Verdict,
    /// By which interface; of an address on a link, that of the link.
    pub interface: u16,
}

/// Everything a worker knows.
pub struct State {
    /// The interfaces by their numbers, the ports' own first.
    pub interfaces: Interfaces,
    /// Whether packets without a route are sent out of the other port.
    pub fakedrop: bool,
    /// Whether neighbours are asked for their Ethernet addresses.
    pub resolves: bool,
    /// The routes of all VRFs.
    pub routes: Routes,
    /// Next hops by number, and behind them the entries of what is not forwarded.
    pub hops: Vec<Hop>,
    /// Where those stand.
    pub entries: Entries,
    /// The neighbours among the next hops.
    pub neighbours: BTreeMap<u32, NextHop>,
    /// Their numbers by their names.
    names: BTreeMap<HopName, u32>,
    /// Whose their addresses are.
    owners: Owners,
    /// Next hops whose paths are down, each as it will be when its path is up again.
    down: BTreeMap<u32, Hop>,
    /// Ports whose links are down.
    dead_ports: Vec<PortId>,
    /// Groups of next hops, where there is room for any.
    pub groups: Option<Groups>,
    /// Far ends of tunnels that are neighbours on a link and no next hops, with their places among
    /// those.
    pub(super) far_ends: BTreeMap<(u16, Ipv4Addr), u32>,
}

impl State {
    /// The state that the configuration describes.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn new(config: &Config) -> Result<State, SetupError> {
        let interfaces = Interfaces::new(config);
        let mut hops =
            vec![Hop::absent(reasons::NO_NEXT_HOP, NOWHERE); config.next_hops_max() as usize];
        hops.push(Hop::absent(reasons::LOCAL, NOWHERE));
        hops.push(Hop::absent(reasons::NO_ROUTE, NOWHERE));
        hops.push(Hop::absent(reasons::NO_NEXT_HOP, NOWHERE));
        hops.extend((0..interfaces.len()).map(|link| Hop::absent(reasons::NO_NEXT_HOP, link)));
        if config.resolve {
            let dynamic = config.neighbour_capacity as usize;
            let entry = Hop::absent(reasons::NO_NEXT_HOP, NOWHERE);
            hops.resize(hops.len() + dynamic, entry);
        }
        let mut state = State {
            interfaces,
            fakedrop: config.fakedrop,
            resolves: config.resolve,
            routes: Routes::new(config)?,
            hops,
            entries: Entries::of(config),
            neighbours: BTreeMap::new(),
            names: BTreeMap::new(),
            owners: Owners::default(),
            down: BTreeMap::new(),
            dead_ports: Vec::new(),
            groups: Groups::new(config)?,
            far_ends: BTreeMap::new(),
        };
        state
            .load(config)
            .map_err(|(what, refusal)| SetupError::Table { what, why: refusal.to_string() })?;
        state.reach_tunnels();
        Ok(state)
    }

    fn load(&mut self, config: &Config) -> Result<(), (&'static str, Refusal)> {
        let own = |refusal| ("an interface's own address", refusal);
        for Link { address, len, interface, vrf } in config.links() {
            let link = Network { vrf, address: config::network(address, len), len };
            self.insert(link, self.entries.link + u32::from(interface)).map_err(own)?;
            self.insert(host(vrf, address), self.entries.local).map_err(own)?;
        }
        for (number, hop) in config.all_next_hops() {
            self.set_next_hop(number, hop).map_err(|refusal| ("a next hop", refusal))?;
        }
        for (network, hop) in config.all_routes() {
            self.insert(network, hop).map_err(|refusal| ("a route", refusal))?;
        }
        Ok(())
    }

    /// Makes a route lead to a next hop that is there, or to a group.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn set_route(&mut self, network: Network, hop: u32) -> Result<(), Refusal> {
        if !self.neighbours.contains_key(&hop) && !self.has_group(hop) {
            return Err(Refusal::NotFound);
        }
        if self.is_connected(network) {
            return Err(Refusal::Exists);
        }
        self.insert(network, hop)
    }

    /// Removes a route.
    ///
    /// # Errors
    /// When there is no such one.
    pub fn remove_route(&mut self, network: Network) -> Result<(), Refusal> {
        if self.is_connected(network) {
            return Err(Refusal::NotFound);
        }
        self.remove(network).ok_or(Refusal::NotFound).map(|_| ())
    }

    /// Sets a next hop, and the routes to its own addresses.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn set_next_hop(&mut self, number: u32, next: NextHop) -> Result<(), Refusal> {
        if number >= self.entries.local || next.mac.0.is_multicast() {
            return Err(Refusal::Invalid);
        }
        let is_asked_for = next.mac.0 == MacAddr::ZERO;
        if is_asked_for && !(self.resolves && (next.ip.is_some() || next.ipv6.is_some())) {
            return Err(Refusal::Invalid);
        }
        let interface = self.interfaces.named(next.port, next.vlan).ok_or(Refusal::NotFound)?;
        if next.name.and_then(|name| self.named(name)).is_some_and(|one| one != number) {
            return Err(Refusal::Exists);
        }
        let old = self.neighbours.get(&number).copied();
        let before = old.map_or([None; 2], |old| self.addresses(old));
        let after = self.addresses(next);
        let is_in_the_way = |own: Network| {
            let is_routed = self.owners.first(own).is_none() && self.get(own).is_some();
            is_routed || self.owners.has_other(own, interface, number)
        };
        if after.into_iter().flatten().any(is_in_the_way) {
            return Err(Refusal::Exists);
        }
        let arriving = after.into_iter().flatten().filter(|own| !before.contains(&Some(*own)));
        let mut added = Vec::new();
        for own in arriving {
            let first = self.owners.first(own).map_or(number, |first| first.min(number));
            if let Err(refusal) = self.insert(own, first) {
                added.into_iter().for_each(|own| self.disown(own, number));
                return Err(refusal);
            }
            self.owners.add(own, number, interface);
            added.push(own);
        }
        for own in before.into_iter().flatten() {
            match after.contains(&Some(own)) {
                true => self.owners.add(own, number, interface),
                false => self.disown(own, number),
            }
        }
        let own = self.interfaces.get(interface);
        let source = next.source.unwrap_or(own.mac).0;
        let hop = match is_asked_for {
            true => Hop::absent(reasons::UNRESOLVED, interface),
            false => Hop::to(next.mac.0, source, own.port, interface),
        };
        self.set_hop(number, hop);
        if let Some(name) = old.and_then(|old| old.name) {
            self.names.remove(&name);
        }
        self.names.extend(next.name.map(|name| (name, number)));
        self.neighbours.insert(number, next);
        self.attend_groups(number);
        Ok(())
    }

    /// The number of the next hop that has a name.
    pub fn named(&self, name: HopName) -> Option<u32> {
        self.names.get(&name).copied()
    }

    /// Says how a next hop is reached, now or when its path is up again.
    pub(super) fn set_hop(&mut self, number: u32, hop: Hop) {
        match self.down.get_mut(&number) {
            Some(kept) => *kept = hop,
            None => self.hops[number as usize] = hop,
        }
    }

    /// How a next hop is reached, whether its path is up or not.
    pub(super) fn way_of(&self, number: u32) -> Hop {
        self.down.get(&number).copied().unwrap_or(self.hops[number as usize])
    }

    /// The path to a next hop is up, or it is down: then the next hop leaves all its groups, and
    /// what else is to go by it is dropped.
    pub(super) fn set_path(&mut self, number: u32, is_up: bool) {
        if is_up {
            let Some(hop) = self.down.remove(&number) else { return };
            self.hops[number as usize] = hop;
        } else if !self.down.contains_key(&number) {
            let hop = &mut self.hops[number as usize];
            let down = Hop::absent(reasons::NO_NEXT_HOP, hop.interface);
            self.down.insert(number, std::mem::replace(hop, down));
        }
        self.attend_groups(number);
    }

    /// The link of a port is up, or it is down: then the next hops behind it leave all their
    /// groups, and what else is to go by it the port drops.
    pub(super) fn set_link(&mut self, port: PortId, is_up: bool) {
        self.dead_ports.retain(|one| *one != port);
        if !is_up {
            self.dead_ports.push(port);
        }
        let is_behind = |next: &NextHop| self.port_of(next) == Some(port);
        let behind = self.neighbours.iter().filter(|(_, next)| is_behind(next));
        let numbers: Vec<u32> = behind.map(|(number, _)| *number).collect();
        numbers.into_iter().for_each(|number| self.attend_groups(number));
    }

    /// A next hop has its share of its groups if it is there, and else none.
    fn attend_groups(&mut self, number: u32) {
        let is_there = self.is_there(number);
        match &mut self.groups {
            Some(groups) if is_there => groups.arrive(number),
            Some(groups) => groups.leave(number),
            None => {}
        }
    }

    /// Whether there is such a next hop, its path is up, and so is the link of its port.
    fn is_there(&self, number: u32) -> bool {
        let port = self.neighbours.get(&number).and_then(|next| self.port_of(next));
        !self.is_down(number) && port.is_some_and(|port| !self.dead_ports.contains(&port))
    }

    fn port_of(&self, next: &NextHop) -> Option<PortId> {
        let interface = self.interfaces.named(next.port, next.vlan)?;
        Some(self.interfaces.get(interface).port)
    }

    /// The next hops at an interface that have an address.
    pub(super) fn hops_at(&self, interface: u16, address: IpAddr) -> Vec<u32> {
        let vrf = self.interfaces.get(interface).vrf;
        self.owners.at(host(vrf, address), interface).collect()
    }

    /// Whose Ethernet address a next hop needs that has none of its own: an address at an
    /// interface.
    pub(super) fn asks_for(&self, number: u32) -> Option<(u16, IpAddr)> {
        let next = self.neighbours.get(&number).filter(|next| next.mac.0 == MacAddr::ZERO)?;
        let address = next.ip.map(IpAddr::from).or(next.ipv6.map(IpAddr::from))?;
        Some((self.interfaces.named(next.port, next.vlan)?, address))
    }

    /// The next hop that needs the Ethernet address of a neighbour.
    pub(super) fn asked_at(&self, interface: u16, address: IpAddr) -> Option<u32> {
        let needs = |hop: &u32| self.asks_for(*hop) == Some((interface, address));
        self.hops_at(interface, address).into_iter().find(needs)
    }

    /// Whether the path to a next hop is down.
    pub fn is_down(&self, number: u32) -> bool {
        self.down.contains_key(&number)
    }

    /// Removes a next hop; its routes stay.
    ///
    /// # Errors
    /// When there is no such one.
    pub fn remove_next_hop(&mut self, number: u32) -> Result<(), Refusal> {
        let old = self.neighbours.remove(&number).ok_or(Refusal::NotFound)?;
        for own in self.addresses(old).into_iter().flatten() {
            self.disown(own, number);
        }
        if let Some(name) = old.name {
            self.names.remove(&name);
        }
        self.down.remove(&number);
        self.hops[number as usize] = Hop::absent(reasons::NO_NEXT_HOP, NOWHERE);
        self.attend_groups(number);
        Ok(())
    }

    /// Adds a member to a group, or changes its weight; its next hop may come later.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn set_member(&mut self, group: u32, hop: u32, weight: u16) -> Result<(), Refusal> {
        let is_there = self.is_there(hop);
        self.groups.as_mut().ok_or(Refusal::NotFound)?.set(group, hop, weight, is_there)
    }

    /// Removes a member of a group.
    ///
    /// # Errors
    /// When there is no such one.
    pub fn remove_member(&mut self, group: u32, hop: u32) -> Result<(), Refusal> {
        self.groups.as_mut().ok_or(Refusal::NotFound)?.remove(group, hop)
    }

    /// The next hop of exactly this route.
    pub fn get(&self, network: Network) -> Option<u32> {
        let Routes { ipv4, ipv6 } = &self.routes;
        let Network { vrf, address, len } = network;
        match address {
            IpAddr::V4(address) => ipv4.get(ipv4.table(vrf)?, address.to_bits(), len),
            IpAddr::V6(address) => ipv6.get(ipv6.table(vrf)?, address.to_bits(), len),
        }
    }

    /// All routes but those to the links, the router's own and its neighbours' addresses.
    pub fn listed_routes(&self) -> impl Iterator<Item = (Network, u32)> + '_ {
        let all = (0..self.routes.ipv4.limits().tables).flat_map(|vrf| self.routes.iter(vrf));
        all.filter(|&(network, _)| !self.is_connected(network))
    }

    /// Those of them that follow one, which need not be there.
    pub fn listed_routes_behind(&self, last: Network) -> impl Iterator<Item = (Network, u32)> + '_ {
        let others = last.vrf + 1..self.routes.ipv4.limits().tables;
        let others = others.flat_map(|vrf| self.routes.iter(vrf));
        let all = self.routes.iter_behind(last).chain(others);
        all.filter(|&(network, _)| !self.is_connected(network))
    }

    /// Whether an address is the router's own in a VRF.
    pub fn is_own_ipv4(&self, vrf: u16, address: u32) -> bool {
        self.routes.ipv4.lookup(self.routes.table(vrf), address) == Some(self.entries.local)
    }

    /// The same for IPv6.
    pub fn is_own_ipv6(&self, vrf: u16, address: u128) -> bool {
        self.routes.ipv6.lookup(self.routes.table(vrf), address) == Some(self.entries.local)
    }

    /// The first place among the next hops of a neighbour that is not listed.
    pub fn first_dynamic(&self) -> u32 {
        self.entries.link + u32::from(self.interfaces.len())
    }

    /// What frames to a next hop bear as their source address.
    pub fn source_of(&self, hop: u32, own: MacAddr) -> MacAddr {
        self.neighbours.get(&hop).and_then(|next| next.source).map_or(own, |mac| mac.0)
    }

    /// Bytes held, without the tree of neighbours.
    pub fn bytes(&self) -> usize {
        let routes = self.routes.ipv4.bytes() + self.routes.ipv6.bytes();
        let groups = self.groups.as_ref().map_or(0, Groups::bytes);
        routes + groups + self.hops.len() * size_of::<Hop>()
    }

    fn has_group(&self, number: u32) -> bool {
        self.groups.as_ref().is_some_and(|groups| groups.has(number))
    }

    /// Whether a route leads to a link, the router itself or a neighbour's own address.
    fn is_connected(&self, network: Network) -> bool {
        let Some(hop) = self.get(network) else { return false };
        let is_its = |next: &NextHop| self.addresses(*next).contains(&Some(network));
        (self.entries.local..GROUPS).contains(&hop) || self.neighbours.get(&hop).is_some_and(is_its)
    }

    /// A neighbour's own addresses as routes, in the VRF of its interface.
    fn addresses(&self, next: NextHop) -> [Option<Network>; 2] {
        let interface = self.interfaces.named(next.port, next.vlan);
        let vrf = interface.map_or(0, |number| self.interfaces.get(number).vrf);
        let own = |address: Option<IpAddr>| address.map(|address| host(vrf, address));
        [own(next.ip.map(IpAddr::from)), own(next.ipv6.map(IpAddr::from))]
    }

    /// A next hop has an address no more: the route to it leads to the next one that has it.
    fn disown(&mut self, own: Network, number: u32) {
        self.owners.remove(own, number);
        match self.owners.first(own) {
            // In the place of a route there is room for another.
            Some(first) => self.insert(own, first).unwrap_or_default(),
            None => drop(self.remove(own)),
        }
    }

    /// Makes a route lead to a next hop or another entry.
    pub(super) fn insert(&mut self, network: Network, hop: u32) -> Result<(), Refusal> {
        let Network { vrf, address, len } = network;
        let Routes { ipv4, ipv6 } = &mut self.routes;
        let table = ipv4.table(vrf).ok_or(Refusal::NotFound)?;
        let inserted = match address {
            IpAddr::V4(address) => ipv4.insert(table, address.to_bits(), len, hop),
            IpAddr::V6(address) => ipv6.insert(table, address.to_bits(), len, hop),
        };
        inserted.map(|_| ()).map_err(|error| match error {
            LpmError::Routes { .. } | LpmError::Nodes { .. } => Refusal::Full,
            _ => Refusal::Invalid,
        })
    }

    /// Removes a route; returns to what it led.
    pub(super) fn remove(&mut self, network: Network) -> Option<u32> {
        let Routes { ipv4, ipv6 } = &mut self.routes;
        let table = ipv4.table(network.vrf)?;
        match network.address {
            IpAddr::V4(address) => ipv4.remove(table, address.to_bits(), network.len),
            IpAddr::V6(address) => ipv6.remove(table, address.to_bits(), network.len),
        }
    }
}

impl Hop {
    /// Frames leave to this station.
    pub fn to(mac: MacAddr, source: MacAddr, port: PortId, interface: u16) -> Hop {
        let mut macs = [0; 12];
        macs[..6].copy_from_slice(&mac.0);
        macs[6..].copy_from_slice(&source.0);
        Hop { macs, verdict: Verdict::Forward(port), interface }
    }

    /// Frames do not leave.
    pub fn absent(reason: packet::Reason, interface: u16) -> Hop {
        Hop { macs: [0; 12], verdict: reasons::drop(reason), interface }
    }
}

/// The route of an address alone.
pub(super) fn host(vrf: u16, address: IpAddr) -> Network {
    Network { vrf, address, len: bits(address) }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The interface of what is behind none.
const NOWHERE: u16 = u16::MAX;
