//! Routes as a list, searched from one end to the other.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::sections::Prefixed;
use function_mobile_gateway::config::{BaseStation, NextHop, UserToUser};
use function_mobile_gateway::gateway::{ACCESS, CORE};
use packet::PortId;
use wire::MacAddr;

use crate::catalogue;
use crate::section::{HOPS_SPARE, PASSING_SERVERS_MIN, Section};

/// Where a frame goes next.
#[derive(Clone, Copy)]
pub(super) struct Hop {
    pub port: PortId,
    pub to: Station,
    pub source: MacAddr,
}

/// Where a route leads.
#[derive(Clone, Copy)]
pub(super) enum Leads {
    ToHop(Hop),
    /// To whichever user has the address.
    ToUsers,
}

impl Leads {
    /// The neighbour.
    pub fn hop(self) -> Option<Hop> {
        match self {
            Leads::ToHop(hop) => Some(hop),
            Leads::ToUsers => None,
        }
    }
}

/// Which station that is.
#[derive(Clone, Copy)]
pub(super) enum Station {
    Known(MacAddr),
    /// The one that has this address.
    Asked(IpAddr),
}

/// What is routed to where.
pub(super) struct Routes {
    ipv4: Vec<Route<u32>>,
    ipv6: Vec<Route<u128>>,
    /// Those without a MAC address are asked for it.
    stations: BTreeMap<Ipv4Addr, Option<MacAddr>>,
    hops: BTreeMap<IpAddr, NextHop>,
    own_mac: MacAddr,
    stations_max: usize,
    hops_max: usize,
    ipv4_max: usize,
    ipv6_max: usize,
}

struct Route<A> {
    prefix: A,
    len: u8,
    to: To,
}

#[derive(Clone, Copy, PartialEq)]
enum To {
    BaseStation(Ipv4Addr),
    NextHop(IpAddr),
    Users,
}

impl Routes {
    /// A /32 to every base station, a /24 and if there is IPv6 a /64 to every server; servers take
    /// the next hops in turn.
    pub fn new(section: &Section) -> Routes {
        let mut ipv4 = Vec::new();
        let mut ipv6 = Vec::new();
        let mut stations = BTreeMap::new();
        for number in 0..section.bst {
            let address = catalogue::base_station_ipv4(number);
            stations.insert(address, Some(catalogue::base_station_mac(number)));
            let to = To::BaseStation(address);
            ipv4.push(Route { prefix: address.to_bits(), len: 32, to });
        }
        for number in 0..section.server {
            let to = To::NextHop(catalogue::next_hop_address(number % section.nhop));
            let prefix = catalogue::server_ipv4(number).to_bits() & 0xffff_ff00;
            ipv4.push(Route { prefix, len: 24, to });
            if section.ipv6 {
                let prefix = u128::from(catalogue::server_ipv6_prefix(number)) << 64;
                ipv6.push(Route { prefix, len: 64, to });
            }
        }
        let is_led = section.user_to_user != UserToUser::Core;
        for network in section.user_networks.iter().filter(|_| is_led) {
            let (to, len) = (To::Users, network.len);
            match network.address {
                IpAddr::V4(address) => ipv4.push(Route { prefix: address.to_bits(), len, to }),
                IpAddr::V6(address) if section.ipv6 => {
                    ipv6.push(Route { prefix: address.to_bits(), len, to });
                }
                IpAddr::V6(_) => {}
            }
        }
        let more = section.user_networks.len();
        let hops = (0..section.nhop).map(catalogue::core_hop).map(|hop| (hop.address, hop));
        let passing = section.fluct_server.ceil() as usize + PASSING_SERVERS_MIN as usize;
        let routes_max = section.server as usize + passing;
        Routes {
            ipv4_max: stations.len() + routes_max + more,
            ipv6_max: if section.ipv6 { routes_max + more } else { 0 },
            stations_max: stations.len(),
            hops_max: (section.nhop + HOPS_SPARE) as usize,
            ipv4,
            ipv6,
            stations,
            hops: hops.collect(),
            own_mac: section.gw_mac,
        }
    }

    pub fn to_ipv4(&self, address: Ipv4Addr) -> Option<Leads> {
        let address = address.to_bits();
        let covers = |route: &&Route<u32>| {
            let host_bits = 32 - u32::from(route.len);
            u64::from(address) >> host_bits == u64::from(route.prefix) >> host_bits
        };
        let longest = self.ipv4.iter().filter(covers).max_by_key(|route| route.len);
        self.hop(longest?.to)
    }

    pub fn to_ipv6(&self, address: Ipv6Addr) -> Option<Leads> {
        let address = address.to_bits();
        let covers = |route: &&Route<u128>| {
            let host_bits = 128 - u32::from(route.len);
            let network = |address: u128| address.checked_shr(host_bits).unwrap_or(0);
            network(address) == network(route.prefix)
        };
        let longest = self.ipv6.iter().filter(covers).max_by_key(|route| route.len);
        self.hop(longest?.to)
    }

    /// Whether a neighbour behind a port is asked for its MAC address.
    pub fn asks(&self, port: PortId) -> bool {
        match port {
            ACCESS => self.stations.values().any(Option::is_none),
            _ => self.hops.values().any(|hop| hop.mac.is_none()),
        }
    }

    /// Whether the neighbour that has this address is asked for its MAC address.
    pub fn is_asked(&self, (port, address): (PortId, IpAddr)) -> bool {
        match (port, address) {
            (ACCESS, IpAddr::V4(address)) => self.stations.get(&address) == Some(&None),
            (ACCESS, IpAddr::V6(_)) => false,
            _ => self.hops.get(&address).is_some_and(|hop| hop.mac.is_none()),
        }
    }

    /// Whether a base station is there.
    pub fn has_station(&self, address: Ipv4Addr) -> bool {
        self.stations.contains_key(&address)
    }

    /// Adds a base station, while users are still behind so many that disappeared; whether it is
    /// possible.
    pub fn add_station(&mut self, station: BaseStation, lingering: usize) -> bool {
        let BaseStation { address, mac } = station;
        let prefix = address.to_bits();
        let is_new = !self.ipv4.iter().any(|route| (route.prefix, route.len) == (prefix, 32));
        let has_room = self.stations.len() + lingering < self.stations_max;
        let is_possible = is_new && has_room && self.ipv4.len() < self.ipv4_max;
        if is_possible {
            self.stations.insert(address, mac.map(|mac| mac.0));
            self.ipv4.push(Route { prefix, len: 32, to: To::BaseStation(address) });
        }
        is_possible
    }

    /// Removes a base station; whether there was one.
    pub fn remove_station(&mut self, address: Ipv4Addr) -> bool {
        self.ipv4.retain(|route| route.to != To::BaseStation(address));
        self.stations.remove(&address).is_some()
    }

    /// Adds a next hop; whether it is possible.
    pub fn add_hop(&mut self, hop: NextHop) -> bool {
        let is_possible = !self.hops.contains_key(&hop.address) && self.hops.len() < self.hops_max;
        if is_possible {
            self.hops.insert(hop.address, hop);
        }
        is_possible
    }

    /// Removes a next hop that no route names; whether it is possible.
    pub fn remove_hop(&mut self, address: IpAddr) -> bool {
        let to = To::NextHop(address);
        let is_named = self.ipv4.iter().any(|route| route.to == to)
            || self.ipv6.iter().any(|route| route.to == to);
        !is_named && self.hops.remove(&address).is_some()
    }

    /// Adds a route to servers; whether it is possible.
    pub fn add(&mut self, prefix: Prefixed<IpAddr>, next_hop: IpAddr) -> bool {
        let (to, len) = (To::NextHop(next_hop), prefix.len);
        let is_known = self.hops.contains_key(&next_hop);
        match prefix.address {
            IpAddr::V4(address) => {
                let prefix = address.to_bits();
                let is_network = len <= 32 && u64::from(prefix) << len & 0xffff_ffff == 0;
                let is_new =
                    !self.ipv4.iter().any(|route| (route.prefix, route.len) == (prefix, len));
                let has_room = self.ipv4.len() < self.ipv4_max;
                let is_possible = is_known && is_network && is_new && has_room;
                if is_possible {
                    self.ipv4.push(Route { prefix, len, to });
                }
                is_possible
            }
            IpAddr::V6(address) => {
                let prefix = address.to_bits();
                let is_network = len <= 128 && prefix.checked_shl(u32::from(len)).unwrap_or(0) == 0;
                let is_new =
                    !self.ipv6.iter().any(|route| (route.prefix, route.len) == (prefix, len));
                let has_room = self.ipv6.len() < self.ipv6_max;
                let is_possible = is_known && is_network && is_new && has_room;
                if is_possible {
                    self.ipv6.push(Route { prefix, len, to });
                }
                is_possible
            }
        }
    }

    /// Removes a route to servers; whether there was one. Those to base stations stay.
    pub fn remove(&mut self, prefix: Prefixed<IpAddr>) -> bool {
        let len = prefix.len;
        let before = self.ipv4.len() + self.ipv6.len();
        match prefix.address {
            IpAddr::V4(address) => self.ipv4.retain(|route| {
                (route.prefix, route.len) != (address.to_bits(), len)
                    || !matches!(route.to, To::NextHop(_))
            }),
            IpAddr::V6(address) => {
                self.ipv6.retain(|route| {
                    (route.prefix, route.len) != (address.to_bits(), len)
                        || !matches!(route.to, To::NextHop(_))
                });
            }
        }
        self.ipv4.len() + self.ipv6.len() < before
    }

    fn hop(&self, to: To) -> Option<Leads> {
        Some(Leads::ToHop(match to {
            To::Users => return Some(Leads::ToUsers),
            To::BaseStation(address) => Hop {
                port: ACCESS,
                to: match *self.stations.get(&address)? {
                    Some(mac) => Station::Known(mac),
                    None => Station::Asked(address.into()),
                },
                source: self.own_mac,
            },
            To::NextHop(address) => {
                let hop = self.hops.get(&address)?;
                let source = hop.source_mac.map_or(self.own_mac, |source| source.0);
                let to = hop.mac.map_or(Station::Asked(address), |mac| Station::Known(mac.0));
                Hop { port: CORE, to, source }
            }
        }))
    }
}
