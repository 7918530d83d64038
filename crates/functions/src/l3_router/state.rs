//! The state of one worker: routes of both versions of IP, and next hops.
//!
//! A route's value is the number of its next hop, and a next hop's entry of 16 bytes is all that a
//! frame needs to leave: its new Ethernet addresses and the verdict. What is not forwarded is a next
//! hop too: the router's own addresses lead to an entry that drops, and so do those on its links that
//! nobody has.
//!
//! | part | bytes |
//! |---|---|
//! | routes of IPv4 | 1.1 KiB for each /8, 128 for each /16 and each /24 with longer routes; about 9 a route |
//! | routes of IPv6 | 1.1 KiB for each /8 and each /16, 128 for each 8 bits behind; about 9 a route |
//! | next hops | 4 MB, of which packets touch 16 bytes each |

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use engine::Refusal;
use packet::Verdict;
use tables::lpm::{Limits, Lpm, LpmError};
use wire::MacAddr;

use super::catalogue::{self, HOPS};
use super::config::{Config, NextHop, Port};
use super::reasons;
use crate::unit::SetupError;

/// What becomes of a packet that has found its next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Destination and source Ethernet address as they stand in the frame.
    pub macs: [u8; 12],
    /// Where it leaves, or why not.
    pub verdict: Verdict,
}

/// Everything a worker knows.
pub struct State {
    /// The Ethernet addresses of the ports.
    pub macs: [MacAddr; 2],
    /// Their IPv4 addresses.
    pub ipv4: [Ipv4Addr; 2],
    /// Their IPv6 addresses.
    pub ipv6: [Ipv6Addr; 2],
    /// Whether packets without a route are sent out of the other port.
    pub fakedrop: bool,
    /// Number of the next hop by IPv4 destination.
    pub routes: Lpm<u32>,
    /// Number of the next hop by IPv6 destination; no room for any where there is no IPv6.
    pub routes_ipv6: Lpm<u128>,
    /// Next hops by number, and behind them the entries that drop.
    pub hops: Vec<Hop>,
    /// The neighbours among the next hops.
    pub neighbours: BTreeMap<u32, NextHop>,
}

impl State {
    /// The state that the configuration describes.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn new(config: &Config) -> Result<State, SetupError> {
        let memory = |what| move |source| SetupError::Memory { what, source };
        let mut hops = vec![Hop::absent(reasons::NO_NEXT_HOP); HOPS as usize + 2];
        hops[LOCAL as usize] = Hop::absent(reasons::LOCAL);
        let mut state = State {
            macs: Port::ALL.map(|port| config.mac(port)),
            ipv4: Port::ALL.map(|port| config.ip(port).address),
            ipv6: Port::ALL.map(|port| config.ipv6_of(port).address),
            fakedrop: config.fakedrop,
            routes: Lpm::new(limits_ipv4(config)).map_err(memory("IPv4 routes"))?,
            routes_ipv6: Lpm::new(limits_ipv6(config)).map_err(memory("IPv6 routes"))?,
            hops,
            neighbours: BTreeMap::new(),
        };
        state
            .load(config)
            .map_err(|(what, refusal)| SetupError::Table { what, why: refusal.to_string() })?;
        Ok(state)
    }

    fn load(&mut self, config: &Config) -> Result<(), (&'static str, Refusal)> {
        let own = |refusal| ("a port's own address", refusal);
        for (address, len) in config.links() {
            self.insert(catalogue::network(address, len), len, LINK).map_err(own)?;
            self.insert(address, bits(address), LOCAL).map_err(own)?;
        }
        for (number, hop) in config.all_next_hops() {
            self.set_next_hop(number, hop).map_err(|refusal| ("a next hop", refusal))?;
        }
        for (address, len, hop) in config.all_routes() {
            self.insert(address, len, hop).map_err(|refusal| ("a route", refusal))?;
        }
        for number in 0..config.passing_hops() {
            let network = catalogue::passing_hop_route_ipv4(passing_side(number), number);
            let hop = catalogue::passing_hop_number(number);
            self.insert(network.into(), catalogue::IPV4_LEN, hop)
                .map_err(|refusal| ("the route of a passing next hop", refusal))?;
        }
        Ok(())
    }

    /// Makes a route lead to a next hop that is there.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn set_route(&mut self, address: IpAddr, len: u8, hop: u32) -> Result<(), Refusal> {
        if !self.neighbours.contains_key(&hop) {
            return Err(Refusal::NotFound);
        }
        if self.is_connected(address, len) {
            return Err(Refusal::Exists);
        }
        self.insert(address, len, hop)
    }

    /// Removes a route.
    ///
    /// # Errors
    /// When there is no such one.
    pub fn remove_route(&mut self, address: IpAddr, len: u8) -> Result<(), Refusal> {
        if self.is_connected(address, len) {
            return Err(Refusal::NotFound);
        }
        self.remove(address, len).ok_or(Refusal::NotFound).map(|_| ())
    }

    /// Sets a next hop, and the routes to its own addresses.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn set_next_hop(&mut self, number: u32, next: NextHop) -> Result<(), Refusal> {
        if number >= HOPS || next.mac.0.is_multicast() {
            return Err(Refusal::Invalid);
        }
        let old = self.neighbours.get(&number).copied();
        let (before, after) = (old.map_or([None; 2], addresses), addresses(next));
        for address in
            after.into_iter().flatten().filter(|address| !before.contains(&Some(*address)))
        {
            if self.get(address, bits(address)).is_some() {
                return Err(Refusal::Exists);
            }
        }
        let mut added = Vec::new();
        for address in
            after.into_iter().flatten().filter(|address| !before.contains(&Some(*address)))
        {
            if let Err(refusal) = self.insert(address, bits(address), number) {
                for address in added {
                    self.remove(address, bits(address));
                }
                return Err(refusal);
            }
            added.push(address);
        }
        for address in
            before.into_iter().flatten().filter(|address| !after.contains(&Some(*address)))
        {
            self.remove(address, bits(address));
        }
        let source = next.source.map_or(self.macs[next.port as usize], |mac| mac.0);
        self.hops[number as usize] = Hop::to(next.mac.0, source, next.port);
        self.neighbours.insert(number, next);
        Ok(())
    }

    /// Removes a next hop; its routes stay.
    ///
    /// # Errors
    /// When there is no such one.
    pub fn remove_next_hop(&mut self, number: u32) -> Result<(), Refusal> {
        let old = self.neighbours.remove(&number).ok_or(Refusal::NotFound)?;
        for address in addresses(old).into_iter().flatten() {
            self.remove(address, bits(address));
        }
        self.hops[number as usize] = Hop::absent(reasons::NO_NEXT_HOP);
        Ok(())
    }

    /// The next hop of exactly this route.
    pub fn get(&self, address: IpAddr, len: u8) -> Option<u32> {
        match address {
            IpAddr::V4(address) => self.routes.get(address.to_bits(), len),
            IpAddr::V6(address) => self.routes_ipv6.get(address.to_bits(), len),
        }
    }

    /// All routes but those to the links, the router's own and its neighbours' addresses.
    pub fn listed_routes(&self) -> impl Iterator<Item = (IpAddr, u8, u32)> + '_ {
        let ipv4 = self
            .routes
            .iter()
            .map(|(network, len, hop)| (IpAddr::V4(Ipv4Addr::from_bits(network)), len, hop));
        let ipv6 = self
            .routes_ipv6
            .iter()
            .map(|(network, len, hop)| (IpAddr::V6(Ipv6Addr::from_bits(network)), len, hop));
        ipv4.chain(ipv6).filter(|&(address, len, _)| !self.is_connected(address, len))
    }

    /// Bytes held, without the tree of neighbours.
    pub fn bytes(&self) -> usize {
        self.routes.bytes() + self.routes_ipv6.bytes() + self.hops.len() * size_of::<Hop>()
    }

    /// Whether a route leads to a link, the router itself or a neighbour's own address.
    fn is_connected(&self, address: IpAddr, len: u8) -> bool {
        let Some(hop) = self.get(address, len) else { return false };
        let is_its = |next: &NextHop| addresses(*next).contains(&Some(address));
        let is_host = len == bits(address);
        hop >= LOCAL || is_host && self.neighbours.get(&hop).is_some_and(is_its)
    }

    fn insert(&mut self, address: IpAddr, len: u8, hop: u32) -> Result<(), Refusal> {
        let inserted = match address {
            IpAddr::V4(address) => self.routes.insert(address.to_bits(), len, hop),
            IpAddr::V6(address) => self.routes_ipv6.insert(address.to_bits(), len, hop),
        };
        inserted.map(|_| ()).map_err(|error| match error {
            LpmError::Routes { .. } | LpmError::Nodes { .. } => Refusal::Full,
            _ => Refusal::Invalid,
        })
    }

    fn remove(&mut self, address: IpAddr, len: u8) -> Option<u32> {
        match address {
            IpAddr::V4(address) => self.routes.remove(address.to_bits(), len),
            IpAddr::V6(address) => self.routes_ipv6.remove(address.to_bits(), len),
        }
    }
}

impl Hop {
    fn to(mac: MacAddr, source: MacAddr, port: Port) -> Hop {
        let mut macs = [0; 12];
        macs[..6].copy_from_slice(&mac.0);
        macs[6..].copy_from_slice(&source.0);
        Hop { macs, verdict: Verdict::Forward(port.id()) }
    }

    fn absent(reason: packet::Reason) -> Hop {
        Hop { macs: [0; 12], verdict: reasons::drop(reason) }
    }
}

/// Behind which port passing next hop `number` is: they take turns.
pub fn passing_side(number: u32) -> Port {
    Port::of(packet::PortId((number % 2) as u8)).other()
}

fn addresses(next: NextHop) -> [Option<IpAddr>; 2] {
    [next.ip.map(IpAddr::from), next.ipv6.map(IpAddr::from)]
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Room for any routes.
fn limits_ipv4(config: &Config) -> Limits {
    Limits::for_any::<u32>(config.capacity())
}

/// Generated routes lie close together and share nodes; all others may need 15 each.
fn limits_ipv6(config: &Config) -> Limits {
    if !config.ipv6 {
        return Limits::for_any::<u128>(0);
    }
    let routes = config.capacity();
    let generated = (config.upstream_l3_table_size + config.downstream_l3_table_size) as usize;
    let others = Limits::for_any::<u128>(routes.saturating_sub(generated));
    Limits { routes, nodes: generated / 128 + 1024 + others.nodes, ..others }
}

/// The entry of the router's own addresses.
pub const LOCAL: u32 = HOPS;

/// The entry of the addresses on the links that nobody has.
const LINK: u32 = HOPS + 1;
