//! The state of one worker: bearers with their meters, the ways to find them, base stations, routes.
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

use std::net::Ipv4Addr;

use engine::Refusal;
use machine::clock::{Clock, Ticks};
use machine::memory::HugeArray;
use packet::PortId;
use tables::index::Index;
use tables::lpm::{Limits, Lpm, LpmError};
use tables::meter::Meter;
use traffic::workload::worker_of;
use wire::MacAddr;
use zerocopy::FromZeros;

use super::catalogue::{self, User};
use super::config::{Config, Tunnel};
use super::workload::steering;
use crate::unit::{SetupError, Shard};

/// Towards base stations.
pub const ACCESS: PortId = PortId(0);
/// Towards the Internet.
pub const CORE: PortId = PortId(1);

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
    /// Tunnel endpoint identifier in both directions.
    pub teid: u32,
    /// Index of the base station.
    pub base_station: u32,
    unused: [u32; 3],
}

/// What a frame's Ethernet header becomes, and where it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// Destination and source MAC address as they stand in the frame.
    pub macs: [u8; 12],
    /// The port.
    pub port: PortId,
}

/// Everything a worker knows.
pub struct State {
    /// The gateway's address.
    pub gateway_ip: Ipv4Addr,
    /// The gateway's MAC address.
    pub gateway_mac: MacAddr,
    /// How packets are carried to base stations.
    pub tunnel: Tunnel,
    /// Whether unmatched frames are sent out of the other port.
    pub fakedrop: bool,
    /// Bearers by slot.
    pub bearers: HugeArray<Bearer>,
    /// Slot by tunnel endpoint identifier.
    pub by_teid: Index<u32>,
    /// Slot by IPv4 address.
    pub by_ipv4: Index<u32>,
    /// Slot by IPv6 prefix.
    pub by_ipv6: Index<u64>,
    /// IPv4 address of each base station.
    pub base_stations: Vec<u32>,
    /// Next hop by IPv4 destination: servers and base stations.
    pub routes: Lpm<u32>,
    /// Next hop by IPv6 destination: servers.
    pub routes_ipv6: Lpm<u128>,
    /// Next hops: base stations first, then those towards the Internet.
    pub next_hops: Vec<NextHop>,
    meter: Meter,
    free: Vec<u32>,
    used: u32,
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
        let users = users_of(config, shard);
        let bearers = users as usize + passing_users(config) as usize;
        let ipv6_bearers = if config.ipv6 { bearers } else { 0 };
        let memory = |what| move |source| SetupError::Memory { what, source };
        let mut state = State {
            gateway_ip: config.gw_ip,
            gateway_mac: config.gw_mac,
            tunnel: config.tunnel(),
            fakedrop: config.fakedrop,
            bearers: HugeArray::zeroed(bearers).map_err(memory("bearers"))?,
            by_teid: Index::with_capacity(bearers).map_err(memory("index by TEID"))?,
            by_ipv4: Index::with_capacity(bearers).map_err(memory("index by IPv4 address"))?,
            by_ipv6: Index::with_capacity(ipv6_bearers).map_err(memory("index by IPv6 prefix"))?,
            base_stations: (0..config.bst)
                .map(|number| catalogue::base_station_ipv4(number).to_bits())
                .collect(),
            routes: Lpm::new(route_limits(config)).map_err(memory("IPv4 routes"))?,
            routes_ipv6: Lpm::new(route_limits(config)).map_err(memory("IPv6 routes"))?,
            next_hops: next_hops(config),
            meter: Meter::new(config.rate_limit.0, config.burst_bytes(), clock.ticks_per_second()),
            free: Vec::with_capacity(passing_users(config) as usize),
            used: 0,
        };
        state.load(config, shard, now)?;
        Ok(state)
    }

    /// Adds a user with its bearer, whose meters have earned nothing at `now`.
    ///
    /// # Errors
    /// When its identifier or address is taken, its base station unknown, or there is no room.
    pub fn add_user(&mut self, user: &User, now: Ticks) -> Result<(), Refusal> {
        let has_ipv6 = self.by_ipv6.capacity() > 0;
        let is_valid = (user.base_station as usize) < self.base_stations.len()
            && (1..=self.teid_max()).contains(&user.teid)
            && (user.ipv6_prefix != 0 || !has_ipv6);
        if !is_valid {
            return Err(Refusal::Invalid);
        }
        let ipv4 = user.ipv4.to_bits();
        let taken = self.by_teid.get(user.teid).is_some()
            || self.by_ipv4.get(ipv4).is_some()
            || has_ipv6 && self.by_ipv6.get(user.ipv6_prefix).is_some();
        if taken {
            return Err(Refusal::Exists);
        }
        let slot = self.take_slot().ok_or(Refusal::Full)?;
        let meter = self.meter.emptied_at(now);
        self.bearers[slot as usize] = Bearer {
            uplink: meter,
            downlink: meter,
            ipv6_prefix: if has_ipv6 { user.ipv6_prefix } else { 0 },
            ipv4,
            teid: user.teid,
            base_station: user.base_station,
            unused: [0; 3],
        };
        // The indexes have room for as many keys as there are bearers, and the keys are new.
        let full = |_| Refusal::Full;
        self.by_teid.insert(user.teid, slot).map_err(full)?;
        self.by_ipv4.insert(ipv4, slot).map_err(full)?;
        if has_ipv6 {
            self.by_ipv6.insert(user.ipv6_prefix, slot).map_err(full)?;
        }
        Ok(())
    }

    /// Removes the user of a bearer.
    ///
    /// # Errors
    /// When there is no such bearer.
    pub fn remove_user(&mut self, teid: u32) -> Result<(), Refusal> {
        let slot = self.by_teid.remove(teid).ok_or(Refusal::NotFound)?;
        let bearer = self.bearers[slot as usize];
        self.by_ipv4.remove(bearer.ipv4);
        if bearer.ipv6_prefix != 0 {
            self.by_ipv6.remove(bearer.ipv6_prefix);
        }
        self.bearers[slot as usize] = Bearer::new_zeroed();
        self.free.push(slot);
        Ok(())
    }

    /// Moves a user to another base station.
    ///
    /// # Errors
    /// When there is no such bearer or base station.
    pub fn hand_over(&mut self, teid: u32, base_station: u32) -> Result<(), Refusal> {
        if base_station as usize >= self.base_stations.len() {
            return Err(Refusal::Invalid);
        }
        let slot = self.by_teid.get(teid).ok_or(Refusal::NotFound)?;
        self.bearers[slot as usize].base_station = base_station;
        Ok(())
    }

    /// Adds a route to a server.
    ///
    /// # Errors
    /// When it is there already, its next hop unknown, or there is no room.
    pub fn add_server(&mut self, prefix: Ipv4Addr, len: u8, next_hop: u32) -> Result<(), Refusal> {
        let hop = self.base_stations.len() + next_hop as usize;
        if hop >= self.next_hops.len() {
            return Err(Refusal::Invalid);
        }
        if self.routes.get(prefix.to_bits(), len).is_some() {
            return Err(Refusal::Exists);
        }
        self.routes.insert(prefix.to_bits(), len, hop as u32).map_err(refusal)?;
        Ok(())
    }

    /// Removes a route to a server; those to base stations stay.
    ///
    /// # Errors
    /// When there is no such route.
    pub fn remove_server(&mut self, prefix: Ipv4Addr, len: u8) -> Result<(), Refusal> {
        let hop = self.routes.get(prefix.to_bits(), len);
        if hop.is_none_or(|hop| (hop as usize) < self.base_stations.len()) {
            return Err(Refusal::NotFound);
        }
        self.routes.remove(prefix.to_bits(), len).map(|_| ()).ok_or(Refusal::NotFound)
    }

    /// Bytes held for users, base stations and routes.
    pub fn bytes(&self) -> usize {
        self.bearers.len() * size_of::<Bearer>()
            + self.by_teid.bytes()
            + self.by_ipv4.bytes()
            + self.by_ipv6.bytes()
            + self.base_stations.len() * size_of::<u32>()
            + self.routes.bytes()
            + self.routes_ipv6.bytes()
            + self.next_hops.len() * size_of::<NextHop>()
    }

    fn load(&mut self, config: &Config, shard: Shard, now: Ticks) -> Result<(), SetupError> {
        let refused =
            |what| move |why: &dyn ToString| SetupError::Table { what, why: why.to_string() };
        for number in users_in(config, shard) {
            self.add_user(&catalogue::user(number, config.bst), now)
                .map_err(|refusal| refused("a user")(&refusal))?;
        }
        for number in 0..config.bst {
            let address = catalogue::base_station_ipv4(number).to_bits();
            self.routes
                .insert(address, 32, number)
                .map_err(|error| refused("a base station's route")(&error))?;
        }
        for number in 0..config.server {
            let hop = config.bst + number % config.nhop;
            let prefix = catalogue::server_ipv4(number).to_bits() & 0xffff_ff00;
            self.routes
                .insert(prefix, catalogue::SERVER_PREFIX_LEN, hop)
                .map_err(|error| refused("a server's route")(&error))?;
            if config.ipv6 {
                let prefix = u128::from(catalogue::server_ipv6_prefix(number)) << 64;
                self.routes_ipv6
                    .insert(prefix, catalogue::IPV6_PREFIX_LEN, hop)
                    .map_err(|error| refused("a server's IPv6 route")(&error))?;
            }
        }
        Ok(())
    }

    /// The highest identifier that the tunnel can carry.
    fn teid_max(&self) -> u32 {
        match self.tunnel {
            Tunnel::GtpU => u32::MAX,
            Tunnel::Vxlan => catalogue::VNI_MAX,
        }
    }

    fn take_slot(&mut self) -> Option<u32> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let slot = self.used;
        ((slot as usize) < self.bearers.len()).then(|| {
            self.used += 1;
            slot
        })
    }
}

/// Users of the configuration that live on this worker.
fn users_in(config: &Config, shard: Shard) -> impl Iterator<Item = u32> + use<> {
    (0..config.user).filter(move |&number| worker_of(steering(number), shard.count) == shard.index)
}

fn users_of(config: &Config, shard: Shard) -> u32 {
    if shard.count == 1 { config.user } else { users_in(config, shard).count() as u32 }
}

/// Room for users that come and go: as many as arrive within a second.
fn passing_users(config: &Config) -> u32 {
    config.fluct_user.ceil() as u32 + PASSING_USERS_MIN
}

fn route_limits(config: &Config) -> Limits {
    let passing = config.fluct_server.ceil() as usize + PASSING_SERVERS_MIN;
    Limits::for_any::<u32>(config.bst as usize + config.server as usize + passing)
}

fn next_hops(config: &Config) -> Vec<NextHop> {
    let macs = |dmac: MacAddr, smac: MacAddr| {
        let mut macs = [0; 12];
        macs[..6].copy_from_slice(&dmac.0);
        macs[6..].copy_from_slice(&smac.0);
        macs
    };
    let access = (0..config.bst).map(|number| NextHop {
        macs: macs(catalogue::base_station_mac(number), config.gw_mac),
        port: ACCESS,
    });
    let core = (0..config.nhop).map(|number| {
        let hop = catalogue::next_hop(number);
        NextHop { macs: macs(hop.dmac, hop.smac), port: CORE }
    });
    access.chain(core).collect()
}

fn refusal(error: LpmError) -> Refusal {
    match error {
        LpmError::Routes { .. } | LpmError::Nodes { .. } => Refusal::Full,
        _ => Refusal::Invalid,
    }
}

/// Users beyond the configured ones that fit in any case, so that control can be tried by hand.
const PASSING_USERS_MIN: u32 = 64;
/// The same for routes to servers.
const PASSING_SERVERS_MIN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn state(config: &Config) -> State {
        State::new(config, Shard::WHOLE, Clock::with_rate(1e9), 0).expect("a small state")
    }

    #[test]
    fn a_bearer_is_one_cache_line() {
        assert_eq!((size_of::<Bearer>(), align_of::<Bearer>()), (64, 64));
    }

    #[test]
    fn a_user_costs_at_most_128_bytes() {
        for ipv6 in [false, true] {
            let config = Config { user: 300_000, ipv6, ..Config::default() };
            let few = state(&Config { user: 1, ..config.clone() }).bytes();
            let each = (state(&config).bytes() - few) as f64 / 300_000.0;
            assert!(each <= 128.0, "{each} bytes a user");
        }
    }

    #[test]
    fn users_and_routes_come_and_go() {
        let mut state = state(&Config { user: 10, bst: 3, ipv6: true, ..Config::default() });
        let passing = catalogue::passing_user(0, 10, 3);
        assert_eq!(state.add_user(&passing, 0), Ok(()));
        assert_eq!(state.add_user(&passing, 0), Err(Refusal::Exists));
        assert_eq!(state.hand_over(passing.teid, 2), Ok(()));
        assert_eq!(state.hand_over(passing.teid, 3), Err(Refusal::Invalid));
        assert_eq!(state.remove_user(passing.teid), Ok(()));
        assert_eq!(state.remove_user(passing.teid), Err(Refusal::NotFound));
        assert_eq!(state.by_ipv6.get(passing.ipv6_prefix), None);
        let [net, len] = [Ipv4Addr::new(5, 0, 1, 0).to_bits(), 24];
        let net = Ipv4Addr::from_bits(net);
        assert_eq!(state.add_server(net, len as u8, 1), Ok(()));
        assert_eq!(state.add_server(net, len as u8, 1), Err(Refusal::Exists));
        assert_eq!(state.add_server(net, len as u8, 2), Err(Refusal::Invalid));
        assert_eq!(state.routes.lookup(net.to_bits() + 7), Some(4));
        assert_eq!(state.remove_server(net, len as u8), Ok(()));
        assert_eq!(state.remove_server(net, len as u8), Err(Refusal::NotFound));
    }

    #[test]
    fn what_no_packet_could_tell_apart_is_refused() {
        let vxlan = Some(Tunnel::Vxlan);
        let mut state = state(&Config { ipv6: true, tunnel: vxlan, ..Config::default() });
        let user = catalogue::passing_user(0, 1, 1);
        let no_prefix = User { ipv6_prefix: 0, ..user };
        let too_high = User { teid: catalogue::VNI_MAX + 1, ..user };
        assert_eq!(state.add_user(&no_prefix, 0), Err(Refusal::Invalid));
        assert_eq!(state.add_user(&too_high, 0), Err(Refusal::Invalid));
        assert_eq!(state.add_user(&User { teid: catalogue::VNI_MAX, ..user }, 0), Ok(()));
    }

    #[test]
    fn routes_to_base_stations_stay() {
        let mut state = state(&Config::default());
        let station = catalogue::base_station_ipv4(0);
        assert_eq!(state.remove_server(station, 32), Err(Refusal::NotFound));
        assert_eq!(state.routes.lookup(station.to_bits()), Some(0));
    }

    #[test]
    fn a_full_state_refuses_and_recovers() {
        let mut state = state(&Config { user: 1, ..Config::default() });
        let user = |number| catalogue::passing_user(number, 1, 1);
        (0..PASSING_USERS_MIN)
            .for_each(|number| assert_eq!(state.add_user(&user(number), 0), Ok(())));
        assert_eq!(state.add_user(&user(PASSING_USERS_MIN), 0), Err(Refusal::Full));
        assert_eq!(state.remove_user(user(3).teid), Ok(()));
        assert_eq!(state.add_user(&user(PASSING_USERS_MIN), 0), Ok(()));
    }

    #[test]
    fn shards_hold_every_user_once() {
        let config = Config { user: 1000, ..Config::default() };
        let shards: Vec<u32> =
            (0..3).map(|index| users_of(&config, Shard { index, count: 3 })).collect();
        assert_eq!(shards.iter().sum::<u32>(), 1000);
        assert!(shards.iter().all(|&users| (250..420).contains(&users)), "{shards:?}");
    }
}
