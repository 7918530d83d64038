//! The state of one worker: bearers with their meters, the ways to find them, base stations, next
//! hops, routes.
//!
//! | part | bytes a user | cache lines a packet |
//! |---|---|---|
//! | bearer, with a meter for each direction | 64 | 1 |
//! | index by tunnel endpoint identifier | 16 | 1 |
//! | index by IPv4 address | 16 | 1 |
//! | index by IPv6 prefix, if users have one | 25.6 | 1 |
//!
//! Base stations, next hops and routes are shared by all users; a packet reads them from the
//! second-level cache at 10,000 of each.
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use engine::Refusal;
use engine::steering::worker_of;
use function_kit::sections::Prefixed;
use function_kit::{SetupError, Shard};
use machine::clock::{Clock, Ticks};
use machine::memory::HugeArray;
use packet::Verdict;
use tables::index::Index;
use tables::lpm::{Limits, Lpm, LpmError};
use tables::meter::Meter;
use units::BytesPerSec;
use wire::MacAddr;
use zerocopy::FromZeros;

use super::config::{self, BaseStation, Config, User, burst_bytes};
use super::control;
use super::counts::Counts;
use super::gateway::{ACCESS, CORE, Gateway, side};
use super::parse::Addresses;
use super::steering;

mod changes;
mod next_hops;
mod present;

/// A bearer in one cache line.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub struct Bearer {
    /// What the user may send.
    pub uplink: Meter,
    /// What the user may receive.
    pub downlink: Meter,
    /// The user's IPv6 prefix, its upper 64 bits; 0 for none.
    pub ipv6_prefix: u64,
    /// The user's IPv4 address.
    pub ipv4: u32,
    /// Tunnel endpoint identifier in both directions; 0 where there is no bearer.
    pub teid: u32,
    /// Slot of the base station.
    pub base_station: u32,
    /// Rates of the user's own in byte/s, uplink and downlink; 0 for the gateway's.
    pub own_rates: [f32; 2],
    unused: u32,
}

impl Bearer {
    /// Whether a packet comes from its user.
    #[inline(always)]
    pub(crate) fn has(&self, addresses: &Addresses) -> bool {
        match *addresses {
            Addresses::V4 { source, .. } => source == self.ipv4,
            // Prefix 0 is no prefix, and not that of the unspecified address.
            Addresses::V6 { source, .. } => {
                self.ipv6_prefix != 0 && (source >> 64) as u64 == self.ipv6_prefix
            }
        }
    }
}

/// What a frame's Ethernet header becomes, and where it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// Destination and source MAC address as they stand in the frame.
    pub macs: [u8; 12],
    /// Where it leaves, or why not.
    pub verdict: Verdict,
}

/// Everything a worker knows.
pub struct State {
    /// The gateway itself.
    pub gateway: Gateway,
    /// Whether unmatched frames are sent out of the other port.
    pub fakedrop: bool,
    /// Bearers by slot.
    pub bearers: HugeArray<Bearer>,
    /// What the users of bearers have sent and got, by slot; empty where that is not counted.
    pub counts: HugeArray<Counts>,
    /// Slot by tunnel endpoint identifier.
    pub by_teid: Index<u32>,
    /// Slot by IPv4 address.
    pub by_ipv4: Index<u32>,
    /// Slot by IPv6 prefix.
    pub by_ipv6: Index<u64>,
    /// IPv4 address of each base station by slot.
    pub base_stations: Vec<u32>,
    /// Whether each of them is asked for its MAC address.
    asked_stations: Vec<bool>,
    /// Next hop by IPv4 destination: the Internet and base stations.
    pub routes: Lpm<u32>,
    /// Next hop by IPv6 destination: the Internet.
    pub routes_ipv6: Lpm<u128>,
    /// Next hops: base stations first, by their slots, then those towards the Internet.
    pub next_hops: Vec<NextHop>,
    /// Slot by address of a base station; one that disappeared keeps its slot while users are
    /// behind it.
    by_station: Index<u32>,
    /// Users behind each base station.
    behind: Vec<u32>,
    /// Next hops towards the Internet, by their slots.
    hops: Vec<Option<config::NextHop>>,
    by_hop: HashMap<IpAddr, u32>,
    /// How many neighbours behind each port, that of base stations first, have no configured MAC
    /// address.
    pub asked_for: [u32; 2],
    meters: Meters,
    free_bearers: Places,
    free_stations: Places,
    free_hops: Places,
}

/// Makes the meters of bearers.
struct Meters {
    default: Meter,
    burst_ms: f64,
    ticks_per_s: f64,
}

impl Meters {
    fn new(config: &Config, clock: Clock) -> Meters {
        let Config { rate_limit, burst_ms, .. } = *config;
        let ticks_per_s = clock.ticks_per_second();
        let burst = burst_bytes(rate_limit, burst_ms);
        Meters { default: Meter::new(rate_limit.0, burst, ticks_per_s), burst_ms, ticks_per_s }
    }

    fn of(&self, own: Option<BytesPerSec>, now: Ticks) -> Meter {
        let meter = own.map_or(self.default, |rate| {
            Meter::new(rate.0, burst_bytes(rate, self.burst_ms), self.ticks_per_s)
        });
        meter.emptied_at(now)
    }
}

/// Slots of a table of fixed size that are not in use.
struct Places {
    returned: Vec<u32>,
    used: u32,
    capacity: u32,
}

impl Places {
    fn new(capacity: usize) -> Places {
        Places { returned: Vec::new(), used: 0, capacity: capacity as u32 }
    }

    fn take(&mut self) -> Option<u32> {
        self.returned.pop().or_else(|| {
            (self.used < self.capacity).then(|| {
                self.used += 1;
                self.used - 1
            })
        })
    }

    fn give_back(&mut self, slot: u32) {
        self.returned.push(slot);
    }
}

impl State {
    /// The state that the configuration describes at `now`, for the users of one worker.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn new(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<State, SetupError> {
        let bearers = users_max(config.user_capacity, shard);
        let ipv6_bearers = if config.ipv6 { bearers } else { 0 };
        let stations = config.base_station_capacity as usize;
        let hops = config.next_hop_capacity as usize;
        let routes = config.route_capacity as usize;
        let memory = |what| move |source| SetupError::Memory { what, source };
        let networks = config.user_networks.len();
        let counted = if config.user_counters { bearers } else { 0 };
        let limits = Limits::for_any::<u32>(stations + routes + networks);
        let limits_ipv6 = limits_ipv6(if config.ipv6 { routes + networks } else { 0 });
        let none = NextHop { macs: [0; 12], verdict: Verdict::Forward(CORE) };
        let mut state = State {
            gateway: Gateway::new(config),
            fakedrop: config.fakedrop,
            bearers: HugeArray::zeroed(bearers).map_err(memory("bearers"))?,
            counts: HugeArray::zeroed(counted).map_err(memory("counters of users"))?,
            by_teid: Index::with_capacity(bearers).map_err(memory("index by TEID"))?,
            by_ipv4: Index::with_capacity(bearers).map_err(memory("index by IPv4 address"))?,
            by_ipv6: Index::with_capacity(ipv6_bearers).map_err(memory("index by IPv6 prefix"))?,
            base_stations: vec![0; stations],
            asked_stations: vec![false; stations],
            routes: Lpm::new(limits).map_err(memory("IPv4 routes"))?,
            routes_ipv6: Lpm::new(limits_ipv6).map_err(memory("IPv6 routes"))?,
            next_hops: vec![none; stations + hops + 1],
            by_station: Index::with_capacity(stations).map_err(memory("base stations"))?,
            behind: vec![0; stations],
            hops: vec![None; hops],
            by_hop: HashMap::with_capacity(hops),
            asked_for: [0; 2],
            meters: Meters::new(config, clock),
            free_bearers: Places::new(bearers),
            free_stations: Places::new(stations),
            free_hops: Places::new(hops),
        };
        state.lead_to_users(config)?;
        for update in control::listed(config) {
            let bits = steering::of_update(config, &update);
            if bits.is_none_or(|bits| worker_of(bits, shard.count) == shard.index) {
                let what = "what the configuration lists";
                let refused =
                    |why: Refusal| SetupError::Table { what, why: format!("{update:?}: {why}") };
                state.apply(&update, now).map_err(refused)?;
            }
        }
        Ok(state)
    }

    /// Adds a user with its bearer, whose meters have earned nothing at `now`.
    ///
    /// # Errors
    /// When its identifier or address is taken, its base station unknown, or there is no room.
    pub fn add_user(&mut self, user: &User, now: Ticks) -> Result<(), Refusal> {
        let has_ipv6 = self.by_ipv6.capacity() > 0;
        let prefix = user.ipv6.filter(|_| has_ipv6).map(prefix_bits).transpose()?;
        let rates = [user.uplink_rate, user.downlink_rate];
        let station = self.station(user.base_station).ok_or(Refusal::Invalid)?;
        let is_valid = (1..=self.gateway.tunnel.teid_max()).contains(&user.teid)
            && rates.iter().flatten().all(|rate| config::is_rate(*rate));
        if !is_valid {
            return Err(Refusal::Invalid);
        }
        let ipv4 = user.ipv4.to_bits();
        let taken = self.by_teid.get(user.teid).is_some()
            || self.by_ipv4.get(ipv4).is_some()
            || prefix.is_some_and(|prefix| self.by_ipv6.get(prefix).is_some());
        if taken {
            return Err(Refusal::Exists);
        }
        let slot = self.free_bearers.take().ok_or(Refusal::Full)?;
        self.bearers[slot as usize] = Bearer {
            uplink: self.meters.of(user.uplink_rate, now),
            downlink: self.meters.of(user.downlink_rate, now),
            ipv6_prefix: prefix.unwrap_or(0),
            ipv4,
            teid: user.teid,
            base_station: station,
            own_rates: rates.map(|rate| rate.map_or(0.0, |rate| rate.0 as f32)),
            unused: 0,
        };
        if let Some(counts) = self.counts.get_mut(slot as usize) {
            *counts = Counts::new_zeroed();
        }
        self.behind[station as usize] += 1;
        // The indexes have room for as many keys as there are bearers, and the keys are new.
        let full = |_| Refusal::Full;
        self.by_teid.insert(user.teid, slot).map_err(full)?;
        self.by_ipv4.insert(ipv4, slot).map_err(full)?;
        if let Some(prefix) = prefix {
            self.by_ipv6.insert(prefix, slot).map_err(full)?;
        }
        Ok(())
    }

    /// Removes a user with its bearer.
    ///
    /// # Errors
    /// When there is no such user.
    pub fn remove_user(&mut self, ipv4: Ipv4Addr) -> Result<(), Refusal> {
        let slot = self.by_ipv4.remove(ipv4.to_bits()).ok_or(Refusal::NotFound)?;
        let bearer = self.bearers[slot as usize];
        self.by_teid.remove(bearer.teid);
        if bearer.ipv6_prefix != 0 {
            self.by_ipv6.remove(bearer.ipv6_prefix);
        }
        self.bearers[slot as usize] = Bearer::new_zeroed();
        self.free_bearers.give_back(slot);
        self.leave(bearer.base_station);
        Ok(())
    }

    /// Moves a user to another base station.
    ///
    /// # Errors
    /// When there is no such user or base station.
    pub fn hand_over(&mut self, ipv4: Ipv4Addr, base_station: Ipv4Addr) -> Result<(), Refusal> {
        let station = self.station(base_station).ok_or(Refusal::Invalid)?;
        let slot = self.by_ipv4.get(ipv4.to_bits()).ok_or(Refusal::NotFound)?;
        let from = std::mem::replace(&mut self.bearers[slot as usize].base_station, station);
        self.behind[station as usize] += 1;
        self.leave(from);
        Ok(())
    }

    /// Adds a base station, with a route of its own.
    ///
    /// # Errors
    /// When it is there already, or there is no room.
    pub fn add_base_station(&mut self, station: BaseStation) -> Result<(), Refusal> {
        let address = station.address.to_bits();
        if self.routes.get(address, 32).is_some() {
            return Err(Refusal::Exists);
        }
        let known = self.by_station.get(address);
        let slot = known.or_else(|| self.free_stations.take()).ok_or(Refusal::Full)?;
        if let Err(error) = self.routes.insert(address, 32, slot) {
            if known.is_none() {
                self.free_stations.give_back(slot);
            }
            return Err(refusal(error));
        }
        self.by_station.insert(address, slot).map_err(|_| Refusal::Full)?;
        self.base_stations[slot as usize] = address;
        self.asked_stations[slot as usize] = station.mac.is_none();
        self.asked_for[side(ACCESS)] += u32::from(station.mac.is_none());
        self.resolve(slot, station.mac.map(|mac| mac.0));
        Ok(())
    }

    /// Removes a base station and its route; its slot is free once no user is behind it.
    ///
    /// # Errors
    /// When there is no such base station.
    pub fn remove_base_station(&mut self, address: Ipv4Addr) -> Result<(), Refusal> {
        let slot = self.station(address).ok_or(Refusal::NotFound)?;
        self.routes.remove(address.to_bits(), 32);
        self.asked_for[side(ACCESS)] -= u32::from(self.asked_stations[slot as usize]);
        self.free_if_unused(slot);
        Ok(())
    }

    /// Adds a route.
    ///
    /// # Errors
    /// When it is there already, its next hop unknown, or there is no room.
    pub fn add_route(&mut self, prefix: Prefixed<IpAddr>, hop: IpAddr) -> Result<(), Refusal> {
        let slot = self.by_hop.get(&hop).ok_or(Refusal::Invalid)?;
        let hop = self.base_stations.len() as u32 + slot;
        let Prefixed { address, len } = prefix;
        match address {
            IpAddr::V4(address) => insert(&mut self.routes, address.to_bits(), len, hop),
            IpAddr::V6(address) => insert(&mut self.routes_ipv6, address.to_bits(), len, hop),
        }
    }

    /// Removes a route; those to base stations stay.
    ///
    /// # Errors
    /// When there is no such route.
    pub fn remove_route(&mut self, prefix: Prefixed<IpAddr>) -> Result<(), Refusal> {
        let Prefixed { address, len } = prefix;
        let first = self.base_stations.len() as u32;
        let removed = match address {
            IpAddr::V4(address) => {
                let hop = self.routes.get(address.to_bits(), len);
                let is_route = hop.is_some_and(|hop| hop >= first && !self.is_users(hop));
                is_route.then(|| self.routes.remove(address.to_bits(), len)).flatten()
            }
            IpAddr::V6(address) => {
                let hop = self.routes_ipv6.get(address.to_bits(), len);
                let is_route = hop.is_some_and(|hop| !self.is_users(hop));
                is_route.then(|| self.routes_ipv6.remove(address.to_bits(), len)).flatten()
            }
        };
        removed.map(drop).ok_or(Refusal::NotFound)
    }

    /// Bytes held for users, base stations and routes.
    pub fn bytes(&self) -> usize {
        self.bearers.len() * size_of::<Bearer>()
            + self.counts.len() * size_of::<Counts>()
            + self.by_teid.bytes()
            + self.by_ipv4.bytes()
            + self.by_ipv6.bytes()
            + self.base_stations.len() * size_of::<u32>()
            + self.routes.bytes()
            + self.routes_ipv6.bytes()
            + self.next_hops.len() * size_of::<NextHop>()
    }

    /// The slot of a base station that is there.
    pub(crate) fn station(&self, address: Ipv4Addr) -> Option<u32> {
        let slot = self.by_station.get(address.to_bits())?;
        self.is_there(slot).then_some(slot)
    }

    /// A base station is there while its route is.
    fn is_there(&self, slot: u32) -> bool {
        self.routes.get(self.base_stations[slot as usize], 32) == Some(slot)
    }

    /// A user is no longer behind a base station.
    fn leave(&mut self, slot: u32) {
        self.behind[slot as usize] -= 1;
        if !self.is_there(slot) {
            self.free_if_unused(slot);
        }
    }

    fn free_if_unused(&mut self, slot: u32) {
        if self.behind[slot as usize] == 0 {
            self.by_station.remove(self.base_stations[slot as usize]);
            self.free_stations.give_back(slot);
        }
    }
}

/// Users for whom one of several workers has room: its share, and as many more as chance gives it.
fn users_max(capacity: u32, shard: Shard) -> usize {
    let capacity = capacity as usize;
    if shard.count == 1 {
        return capacity;
    }
    let share = capacity.div_ceil(shard.count as usize);
    capacity.min(share + 8 * share.isqrt() + 64)
}

/// The upper half of a user's prefix, which is a /64 and not zero.
fn prefix_bits(prefix: Prefixed<Ipv6Addr>) -> Result<u64, Refusal> {
    let bits = prefix.address.to_bits();
    let upper = (bits >> 64) as u64;
    let is_prefix = prefix.len == USER_PREFIX_LEN && bits as u64 == 0 && upper != 0;
    is_prefix.then_some(upper).ok_or(Refusal::Invalid)
}

/// Room for IPv6 routes of up to 64 bits that share nothing, and for longer ones that share nodes.
fn limits_ipv6(routes: usize) -> Limits {
    let any = Limits::for_any::<u128>(routes);
    Limits { nodes: any.nodes.min(8 * routes), ..any }
}

fn insert<A: tables::lpm::Address>(
    routes: &mut Lpm<A>,
    prefix: A,
    len: u8,
    hop: u32,
) -> Result<(), Refusal> {
    if routes.get(prefix, len).is_some() {
        return Err(Refusal::Exists);
    }
    routes.insert(prefix, len, hop).map(drop).map_err(refusal)
}

fn macs(destination: MacAddr, source: MacAddr) -> [u8; 12] {
    let mut macs = [0; 12];
    macs[..6].copy_from_slice(&destination.0);
    macs[6..].copy_from_slice(&source.0);
    macs
}

fn refusal(error: LpmError) -> Refusal {
    match error {
        LpmError::Routes { .. } | LpmError::Nodes { .. } => Refusal::Full,
        _ => Refusal::Invalid,
    }
}

/// The length of a user's IPv6 prefix (TS 23.501 section 5.8.2.2.2).
const USER_PREFIX_LEN: u8 = 64;

#[cfg(test)]
mod tests;
