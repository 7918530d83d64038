//! Routes as a list, searched from one end to the other.

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::PortId;
use wire::MacAddr;

use super::super::catalogue;
use super::super::config::Config;
use super::{ACCESS, CORE};

/// Where a frame goes next.
#[derive(Clone, Copy)]
pub(super) struct Hop {
    pub port: PortId,
    pub destination: MacAddr,
    pub source: MacAddr,
}

/// What is routed to where.
pub(super) struct Routes {
    ipv4: Vec<Route<u32>>,
    ipv6: Vec<Route<u128>>,
    base_station_mac: MacAddr,
    room: usize,
}

struct Route<A> {
    prefix: A,
    len: u8,
    to: To,
}

#[derive(Clone, Copy, PartialEq)]
enum To {
    BaseStation(u32),
    NextHop(u32),
}

impl Routes {
    /// A /32 to every base station, a /24 and if there is IPv6 a /64 to every server; servers take
    /// the next hops in turn.
    pub fn new(config: &Config) -> Routes {
        let mut ipv4 = Vec::new();
        let mut ipv6 = Vec::new();
        for number in 0..config.bst {
            let prefix = catalogue::base_station_ipv4(number).to_bits();
            ipv4.push(Route { prefix, len: 32, to: To::BaseStation(number) });
        }
        for number in 0..config.server {
            let to = To::NextHop(number % config.nhop);
            let prefix = catalogue::server_ipv4(number).to_bits() & 0xffff_ff00;
            ipv4.push(Route { prefix, len: 24, to });
            if config.ipv6 {
                let prefix = u128::from(catalogue::server_ipv6_prefix(number)) << 64;
                ipv6.push(Route { prefix, len: 64, to });
            }
        }
        let room = ipv4.len() + config.fluct_server.ceil() as usize + PASSING_SERVERS_MIN;
        Routes { ipv4, ipv6, base_station_mac: config.gw_mac, room }
    }

    pub fn to_ipv4(&self, address: Ipv4Addr) -> Option<Hop> {
        let address = address.to_bits();
        let covers = |route: &&Route<u32>| {
            let host_bits = 32 - u32::from(route.len);
            u64::from(address) >> host_bits == u64::from(route.prefix) >> host_bits
        };
        let longest = self.ipv4.iter().filter(covers).max_by_key(|route| route.len);
        longest.map(|route| self.hop(route.to))
    }

    pub fn to_ipv6(&self, address: Ipv6Addr) -> Option<Hop> {
        let address = address.to_bits();
        let covers = |route: &&Route<u128>| {
            let host_bits = 128 - u32::from(route.len);
            address >> host_bits == route.prefix >> host_bits
        };
        let longest = self.ipv6.iter().filter(covers).max_by_key(|route| route.len);
        longest.map(|route| self.hop(route.to))
    }

    /// Adds a route to servers; whether it is possible.
    pub fn add(&mut self, prefix: Ipv4Addr, len: u8, next_hop: u32) -> bool {
        let prefix = prefix.to_bits();
        let is_network = len <= 32 && u64::from(prefix) << len & 0xffff_ffff == 0;
        let is_new = !self.ipv4.iter().any(|route| (route.prefix, route.len) == (prefix, len));
        let is_possible = is_network && is_new && self.ipv4.len() < self.room;
        if is_possible {
            self.ipv4.push(Route { prefix, len, to: To::NextHop(next_hop) });
        }
        is_possible
    }

    /// Removes a route to servers; whether there was one. Those to base stations stay.
    pub fn remove(&mut self, prefix: Ipv4Addr, len: u8) -> bool {
        let wanted = (prefix.to_bits(), len);
        let position = self.ipv4.iter().position(|route| {
            (route.prefix, route.len) == wanted && matches!(route.to, To::NextHop(_))
        });
        position.map(|at| self.ipv4.swap_remove(at)).is_some()
    }

    fn hop(&self, to: To) -> Hop {
        match to {
            To::BaseStation(number) => Hop {
                port: ACCESS,
                destination: catalogue::base_station_mac(number),
                source: self.base_station_mac,
            },
            To::NextHop(number) => {
                let hop = catalogue::next_hop(number);
                Hop { port: CORE, destination: hop.dmac, source: hop.smac }
            }
        }
    }
}

/// Routes beyond the configured and fluctuating ones for which there is room.
const PASSING_SERVERS_MIN: usize = 64;
