//! Next hops towards the Internet, and the routes of all VRFs that lead to them.

use std::collections::HashMap;
use std::net::IpAddr;

use engine::Refusal;
use function_kit::SetupError;
use function_kit::sections::Prefixed;
use packet::Verdict;
use tables::lpm::{Limits, LpmError, NONE, Pool, Table};
use wire::MacAddr;

use super::config::{Config, Name, NextHop, Route};
use super::gateway::CORE;
use super::parse::Packet;
use super::reasons;

/// What a frame's Ethernet header becomes, and where it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    /// Destination and source MAC address as they stand in the frame.
    pub macs: [u8; 12],
    /// The VLAN, 0 for none.
    pub vlan: u16,
    /// Where it leaves, or why not.
    pub verdict: Verdict,
}

/// Next hops and routes.
pub(super) struct Hops {
    /// Next hops by their entries.
    hops: Vec<Hop>,
    listed: Vec<Option<NextHop>>,
    by_address: HashMap<(u8, IpAddr), u32>,
    /// Entries that have been given back.
    free: Vec<u32>,
    ipv4: Pool<u32>,
    ipv6: Pool<u128>,
    own: MacAddr,
    /// The names of the VRFs by their numbers, and their VLANs.
    vrfs: Vec<(Option<Name>, u16)>,
    capacity: usize,
    /// How many next hops are asked for their MAC address.
    pub asked_for: u32,
    scratch: Box<Scratch>,
}

/// What a batch looks up.
struct Scratch {
    tables: [Table; 256],
    ipv4: [u32; 256],
    ipv6: [u128; 256],
    found: [u32; 256],
    slots: [u8; 256],
}

impl Hops {
    /// None, and room for those of a configuration.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(config: &Config) -> Result<Hops, SetupError> {
        let memory = |what| move |source| SetupError::Memory { what, source };
        let tables = config.vrfs.len() as u16 + 1;
        let routes = config.route_capacity as usize;
        let room = |any: Limits, most: usize| Limits {
            tables,
            nodes: any.nodes.min(most) + usize::from(tables),
            ..any
        };
        let vrfs = config.vrfs.iter().map(|vrf| (Some(vrf.name), vrf.vlan));
        Ok(Hops {
            hops: Vec::with_capacity(config.next_hop_capacity as usize),
            listed: Vec::with_capacity(config.next_hop_capacity as usize),
            by_address: HashMap::with_capacity(config.next_hop_capacity as usize),
            free: Vec::new(),
            ipv4: Pool::new(room(Limits::for_any::<u32>(routes), 3 * routes))
                .map_err(memory("IPv4 routes"))?,
            // Routes of up to 64 bits that share nothing, and longer ones that share nodes.
            ipv6: Pool::new(room(Limits::for_any::<u128>(routes), 8 * routes))
                .map_err(memory("IPv6 routes"))?,
            own: config.core_mac,
            vrfs: [(None, 0)].into_iter().chain(vrfs).collect(),
            capacity: config.next_hop_capacity as usize,
            asked_for: 0,
            scratch: Box::new(Scratch {
                tables: [Table::MAIN; 256],
                ipv4: [0; 256],
                ipv6: [0; 256],
                found: [NONE; 256],
                slots: [0; 256],
            }),
        })
    }

    /// The numbers of all VRFs.
    pub fn vrfs(&self) -> std::ops::Range<u8> {
        0..self.vrfs.len() as u8
    }

    /// The VLAN of a VRF towards the Internet, 0 for none.
    #[inline(always)]
    pub fn vlan(&self, vrf: u8) -> u16 {
        self.vrfs.get(usize::from(vrf)).map_or(0, |(_, vlan)| *vlan)
    }

    /// The number of a VRF by its name.
    pub fn vrf(&self, name: Option<Name>) -> Option<u8> {
        self.vrfs.iter().position(|(known, _)| *known == name).map(|at| at as u8)
    }

    /// The name of a VRF.
    pub fn vrf_name(&self, number: u8) -> Option<Name> {
        self.vrfs.get(usize::from(number)).and_then(|(name, _)| *name)
    }

    /// Adds a next hop.
    ///
    /// # Errors
    /// When it is there, its VRF is not, or there is no room.
    pub fn add(&mut self, hop: NextHop) -> Result<(), Refusal> {
        let vrf = self.vrf(hop.vrf).ok_or(Refusal::Invalid)?;
        if self.by_address.contains_key(&(vrf, hop.address)) {
            return Err(Refusal::Exists);
        }
        let entry = match self.free.pop() {
            Some(entry) => entry,
            None if self.hops.len() == self.capacity => return Err(Refusal::Full),
            None => {
                let verdict = reasons::drop(reasons::UNRESOLVED);
                self.hops.push(Hop { macs: [0; 12], vlan: 0, verdict });
                self.listed.push(None);
                self.hops.len() as u32 - 1
            }
        };
        self.listed[entry as usize] = Some(hop);
        self.by_address.insert((vrf, hop.address), entry);
        self.asked_for += u32::from(hop.mac.is_none());
        self.resolve(entry, hop.mac.map(|mac| mac.0));
        Ok(())
    }

    /// Removes a next hop, and returns its entry.
    ///
    /// # Errors
    /// When there is none, or a route names it.
    pub fn remove(&mut self, address: IpAddr, vrf: Option<Name>) -> Result<u32, Refusal> {
        let vrf = self.vrf(vrf).ok_or(Refusal::NotFound)?;
        let entry = *self.by_address.get(&(vrf, address)).ok_or(Refusal::NotFound)?;
        let is_named = self.routes_to().any(|to| to == entry);
        if is_named {
            return Err(Refusal::Invalid);
        }
        self.by_address.remove(&(vrf, address));
        let gone = self.listed[entry as usize].take();
        self.asked_for -= u32::from(gone.is_some_and(|hop| hop.mac.is_none()));
        self.resolve(entry, None);
        self.free.push(entry);
        Ok(entry)
    }

    /// Says what the MAC address of a next hop is; none while it is asked for.
    pub fn resolve(&mut self, entry: u32, mac: Option<MacAddr>) {
        let vrf = self.neighbour(entry).map_or(0, |(vrf, _)| vrf);
        let vlan = self.vlan(vrf);
        let Some(hop) = self.hops.get_mut(entry as usize) else { return };
        let mut macs = [0; 12];
        macs[..6].copy_from_slice(&mac.unwrap_or(MacAddr::ZERO).0);
        macs[6..].copy_from_slice(&self.own.0);
        let verdict = match mac {
            Some(_) => Verdict::Forward(CORE),
            None => reasons::drop(reasons::UNRESOLVED),
        };
        *hop = Hop { macs, vlan, verdict };
    }

    /// A next hop by its entry.
    #[inline(always)]
    pub fn get(&self, entry: u32) -> Option<&Hop> {
        self.hops.get(entry as usize)
    }

    /// The VRF and the address of a next hop that has an entry.
    pub fn neighbour(&self, entry: u32) -> Option<(u8, IpAddr)> {
        let hop = self.listed.get(entry as usize)?.as_ref()?;
        Some((self.vrf(hop.vrf)?, hop.address))
    }

    /// The entry of a next hop.
    pub fn entry_of(&self, vrf: u8, address: IpAddr) -> Option<u32> {
        self.by_address.get(&(vrf, address)).copied()
    }

    /// Adds a route.
    ///
    /// # Errors
    /// When it is there, its next hop or VRF is not, or there is no room.
    pub fn add_route(&mut self, route: &Route) -> Result<(), Refusal> {
        let vrf = self.vrf(route.vrf).ok_or(Refusal::Invalid)?;
        let entry = self.entry_of(vrf, route.next_hop).ok_or(Refusal::Invalid)?;
        let Prefixed { address, len } = route.prefix;
        match address {
            IpAddr::V4(prefix) => insert(&mut self.ipv4, vrf, (prefix.to_bits(), len), entry),
            IpAddr::V6(prefix) => insert(&mut self.ipv6, vrf, (prefix.to_bits(), len), entry),
        }
    }

    /// Removes a route.
    ///
    /// # Errors
    /// When there is no such route.
    pub fn remove_route(
        &mut self,
        prefix: Prefixed<IpAddr>,
        vrf: Option<Name>,
    ) -> Result<(), Refusal> {
        let vrf = self.vrf(vrf).ok_or(Refusal::NotFound)?;
        let len = prefix.len;
        let removed = match prefix.address {
            IpAddr::V4(prefix) => {
                let table = self.ipv4.table(vrf.into());
                table.and_then(|table| self.ipv4.remove(table, prefix.to_bits(), len))
            }
            IpAddr::V6(prefix) => {
                let table = self.ipv6.table(vrf.into());
                table.and_then(|table| self.ipv6.remove(table, prefix.to_bits(), len))
            }
        };
        removed.map(drop).ok_or(Refusal::NotFound)
    }

    /// Looks up the routes of packets, in their VRFs: [`NONE`] where there is none.
    pub fn look_up(&mut self, slots: &[u8], packets: &[Packet; 256], hop: &mut [u32; 256]) {
        let Hops { ipv4, ipv6, scratch, .. } = self;
        let Scratch { tables, ipv4: keys, ipv6: long_keys, found, slots: kept } = &mut **scratch;
        for is_ipv6 in [false, true] {
            let mut count = 0;
            for &slot in slots {
                let packet = &packets[usize::from(slot)];
                if packet.is_ipv6 != is_ipv6 {
                    continue;
                }
                let table = match is_ipv6 {
                    false => ipv4.table(packet.vrf.into()),
                    true => ipv6.table(packet.vrf.into()),
                };
                tables[count] = table.unwrap_or(Table::MAIN);
                keys[count] = packet.destination as u32;
                long_keys[count] = packet.destination;
                kept[count] = slot;
                count += 1;
            }
            let (tables, found) = (&tables[..count], &mut found[..count]);
            match is_ipv6 {
                false => ipv4.lookup_batch_in(tables, &keys[..count], found),
                true => ipv6.lookup_batch_in(tables, &long_keys[..count], found),
            }
            for (&slot, &entry) in kept[..count].iter().zip(&*found) {
                hop[usize::from(slot)] = entry;
            }
        }
    }

    /// The next hop of an address.
    pub fn route(&self, vrf: u8, address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => {
                self.ipv4.lookup(self.ipv4.table(vrf.into())?, address.to_bits())
            }
            IpAddr::V6(address) => {
                self.ipv6.lookup(self.ipv6.table(vrf.into())?, address.to_bits())
            }
        }
    }

    /// All next hops.
    pub fn all(&self) -> impl Iterator<Item = NextHop> + '_ {
        self.listed.iter().flatten().copied()
    }

    /// All routes.
    pub fn routes(&self) -> impl Iterator<Item = Route> + '_ {
        let tables = (0..self.vrfs.len() as u8).zip(&self.vrfs);
        tables.flat_map(|(number, (vrf, _))| {
            let ipv4 = self.ipv4.table(number.into()).into_iter();
            let ipv4 = ipv4.flat_map(|table| self.ipv4.iter(table));
            let ipv4 = ipv4.map(|(prefix, len, entry)| (IpAddr::V4(prefix.into()), len, entry));
            let ipv6 = self.ipv6.table(number.into()).into_iter();
            let ipv6 = ipv6.flat_map(|table| self.ipv6.iter(table));
            let ipv6 = ipv6.map(|(prefix, len, entry)| (IpAddr::V6(prefix.into()), len, entry));
            ipv4.chain(ipv6).filter_map(|(address, len, entry)| {
                let (_, next_hop) = self.neighbour(entry)?;
                Some(Route { prefix: Prefixed { address, len }, vrf: *vrf, next_hop })
            })
        })
    }

    /// How many routes there are, and how many there can be.
    pub fn route_counts(&self) -> (usize, usize) {
        let limits = self.ipv4.limits().routes + self.ipv6.limits().routes;
        (self.ipv4.len() + self.ipv6.len(), limits)
    }

    /// How many next hops there can be.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        let listed = self.capacity * (size_of::<Hop>() + size_of::<Option<NextHop>>());
        self.ipv4.bytes() + self.ipv6.bytes() + listed + size_of::<Scratch>()
    }

    /// The entries to which routes lead.
    fn routes_to(&self) -> impl Iterator<Item = u32> + '_ {
        let tables = 0..self.vrfs.len() as u16;
        tables.flat_map(|number| {
            let ipv4 = self.ipv4.table(number).into_iter();
            let ipv6 = self.ipv6.table(number).into_iter();
            let ipv4 = ipv4.flat_map(|table| self.ipv4.iter(table)).map(|(_, _, entry)| entry);
            ipv4.chain(ipv6.flat_map(|table| self.ipv6.iter(table)).map(|(_, _, entry)| entry))
        })
    }
}

fn insert<A: tables::lpm::Address>(
    routes: &mut Pool<A>,
    vrf: u8,
    (prefix, len): (A, u8),
    entry: u32,
) -> Result<(), Refusal> {
    let table = routes.table(vrf.into()).ok_or(Refusal::Invalid)?;
    if routes.get(table, prefix, len).is_some() {
        return Err(Refusal::Exists);
    }
    routes.insert(table, prefix, len, entry).map(drop).map_err(|why| match why {
        LpmError::Routes { .. } | LpmError::Nodes { .. } => Refusal::Full,
        _ => Refusal::Invalid,
    })
}
