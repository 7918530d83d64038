//! The outside addresses: pools that subscribers share, and those of rules.
//!
//! Each has a number; the numbers of a network follow one another, so that the few networks are all
//! there is to search.

use std::net::Ipv4Addr;

use crate::config::{Config, Prefixed};
use crate::port_forwarding::Hosts;

/// The outside addresses, by number.
#[derive(Clone, Debug)]
pub struct Addresses {
    networks: Vec<Network>,
    count: u32,
    capacity: u32,
    /// Hosts that share addresses by fixed ports.
    pub hosts: Hosts,
}

/// Consecutive addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    first: u32,
    count: u32,
    /// The number of the first.
    number: u32,
    kind: Kind,
    /// Whose it is, where it is a pool: 0 for all, else the place of a VRF, plus one.
    group: u16,
    /// Whether it was taken away; its numbers stay, in case that it comes back.
    is_gone: bool,
}

/// Whose the addresses of a network are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A pool, for all.
    Shared,
    /// Of a one-to-one rule: the first one stands for this inside address.
    Own(u32),
    /// Of a port forwarding rule.
    Forwarded,
    /// Of a deterministic rule.
    Deterministic,
}

impl Addresses {
    /// Those of a configuration, and room for as many more as it says.
    pub fn new(config: &Config) -> Addresses {
        let capacity = config.address_count() + config.spare_addresses;
        let hosts = Hosts::new(&config.port_forwarding);
        let mut all = Addresses { networks: Vec::new(), count: 0, capacity, hosts };
        for &pool in &config.pools {
            all.add_pool(pool);
        }
        for rule in &config.static_rules {
            all.add(rule.outside, Kind::Own(first_of(rule.inside)));
        }
        for rule in &config.port_forwarding {
            all.add(Prefixed { address: rule.outside, len: 32 }, Kind::Forwarded);
        }
        for rule in &config.deterministic {
            all.add(rule.outside, Kind::Deterministic);
        }
        for (group, vrf) in (1..).zip(&config.vrfs) {
            let first = all.networks.len();
            for &pool in &vrf.pools {
                all.add_pool(pool);
            }
            all.networks[first..].iter_mut().for_each(|network| network.group = group);
        }
        all
    }

    /// Adds a pool, or brings it back; tells the number of its first address. None without room, or
    /// where another network has some of it.
    pub fn add_pool(&mut self, pool: Prefixed<Ipv4Addr>) -> Option<u32> {
        self.add(pool, Kind::Shared)
    }

    /// Whether a pool that is not there has addresses of another one, or of a rule.
    pub fn overlaps(&self, pool: Prefixed<Ipv4Addr>) -> bool {
        let (first, count) = (first_of(pool), size(pool));
        let overlaps = |n: &Network| first < n.first + n.count && n.first < first + count;
        let is_same = |n: &Network| (n.first, n.count, n.kind) == (first, count, Kind::Shared);
        self.networks.iter().any(overlaps) && !self.networks.iter().any(is_same)
    }

    fn add(&mut self, outside: Prefixed<Ipv4Addr>, kind: Kind) -> Option<u32> {
        let (first, count) = (first_of(outside), size(outside));
        let same = |n: &&mut Network| (n.first, n.count, n.kind) == (first, count, kind);
        if let Some(known) = self.networks.iter_mut().find(same) {
            return std::mem::replace(&mut known.is_gone, false).then_some(known.number);
        }
        let overlaps = |n: &Network| first < n.first + n.count && n.first < first + count;
        if self.networks.iter().any(overlaps) || self.capacity - self.count < count {
            return None;
        }
        let number = self.count;
        self.networks.push(Network { first, count, number, kind, group: 0, is_gone: false });
        self.count += count;
        Some(number)
    }

    /// Takes a pool away; tells the number of its first address and how many it has. None where
    /// there is no such pool.
    pub fn remove(&mut self, pool: Prefixed<Ipv4Addr>) -> Option<(u32, u32)> {
        let network = self.networks.iter_mut().find(|network| is(network, pool))?;
        network.is_gone = true;
        Some((network.number, network.count))
    }

    /// The number of the first address of a pool and how many it has.
    pub fn pool(&self, pool: Prefixed<Ipv4Addr>) -> Option<(u32, u32)> {
        let network = self.networks.iter().find(|network| is(network, pool))?;
        Some((network.number, network.count))
    }

    /// How many there are, those that were taken away included.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How many there can be.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The numbers of all that subscribers share.
    pub fn shared(&self) -> impl Iterator<Item = u32> {
        let shared = self.networks.iter().filter(|n| n.kind == Kind::Shared && !n.is_gone);
        shared.flat_map(|network| network.number..network.number + network.count)
    }

    /// All networks that are there.
    pub fn networks(&self) -> impl Iterator<Item = Prefixed<Ipv4Addr>> {
        let there = self.networks.iter().filter(|network| !network.is_gone);
        there.map(|network| Prefixed {
            address: Ipv4Addr::from_bits(network.first),
            len: (32 - network.count.trailing_zeros()) as u8,
        })
    }

    /// All pools, each with the number of its first address and how many it has.
    pub fn pools(&self) -> impl Iterator<Item = (Prefixed<Ipv4Addr>, u32, u32)> {
        let there = self.networks.iter().filter(|n| n.kind == Kind::Shared && !n.is_gone);
        there.map(|network| {
            let address = Ipv4Addr::from_bits(network.first);
            let len = (32 - network.count.trailing_zeros()) as u8;
            (Prefixed { address, len }, network.number, network.count)
        })
    }

    /// For whom the pool of an address is: 0 for all, else the place of a VRF, plus one.
    pub fn group(&self, number: u32) -> u16 {
        let has = |n: &&Network| number.wrapping_sub(n.number) < n.count;
        self.networks.iter().find(has).map_or(0, |network| network.group)
    }

    /// Whether an address is of a pool.
    pub fn is_shared(&self, number: u32) -> bool {
        let has = |n: &&Network| number.wrapping_sub(n.number) < n.count;
        self.networks.iter().find(has).is_some_and(|network| network.kind == Kind::Shared)
    }

    /// The number of an address; none of others.
    #[inline]
    pub fn number(&self, address: u32) -> Option<u32> {
        self.network(address).map(|network| network.number + (address - network.first))
    }

    /// The address of a number.
    #[inline]
    pub fn address(&self, number: u32) -> u32 {
        let at = self.networks.partition_point(|network| network.number <= number);
        let network = at.checked_sub(1).and_then(|at| self.networks.get(at));
        network.map_or(0, |network| network.first + (number - network.number))
    }

    /// The outside address that a subscriber has for itself by a one-to-one rule.
    pub fn of_subscriber(&self, inside: u32) -> Option<u32> {
        self.networks.iter().find_map(|network| {
            let Kind::Own(first) = network.kind else { return None };
            let offset = inside.wrapping_sub(first);
            (offset < network.count).then(|| network.first + offset)
        })
    }

    /// The subscriber that has an outside address for itself.
    pub fn subscriber(&self, address: u32) -> Option<u32> {
        let network = self.network(address)?;
        match network.kind {
            Kind::Own(first) => Some(first + (address - network.first)),
            Kind::Shared | Kind::Forwarded | Kind::Deterministic => None,
        }
    }

    /// The inside end that an outside end always stands for, by a one-to-one or a port forwarding
    /// rule.
    pub fn fixed(&self, protocol: u8, (address, port): (u32, u16)) -> Option<(u32, u16)> {
        match self.subscriber(address) {
            Some(inside) => Some((inside, port)),
            None => self.hosts.inside_end(protocol, (address, port)),
        }
    }

    fn network(&self, address: u32) -> Option<&Network> {
        let has = |n: &&Network| address.wrapping_sub(n.first) < n.count && !n.is_gone;
        self.networks.iter().find(has)
    }
}

/// Whether a network is this pool, and there.
fn is(network: &Network, pool: Prefixed<Ipv4Addr>) -> bool {
    let same = (network.first, network.count) == (first_of(pool), size(pool));
    same && network.kind == Kind::Shared && !network.is_gone
}

/// The first address of a network.
fn first_of(network: Prefixed<Ipv4Addr>) -> u32 {
    network.address.to_bits() & !(size(network).wrapping_sub(1))
}

/// Addresses of a network.
fn size(network: Prefixed<Ipv4Addr>) -> u32 {
    1u32.checked_shl(32 - u32::from(network.len)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StaticRule;

    #[test]
    fn numbers_and_addresses_are_each_others_inverse() {
        let prefix = |text: &str| Prefixed::try_from(text.to_owned()).expect("a prefix");
        let config = Config {
            pools: vec![prefix("198.18.0.0/30"), prefix("203.0.113.9/32")],
            static_rules: vec![StaticRule {
                inside: prefix("10.9.0.0/31"),
                outside: prefix("203.0.113.64/31"),
            }],
            spare_addresses: 257,
            ..Config::default()
        };
        let addresses = Addresses::new(&config);
        assert_eq!(addresses.shared().collect::<Vec<u32>>(), [0, 1, 2, 3, 4]);
        for number in 0..7 {
            assert_eq!(addresses.number(addresses.address(number)), Some(number));
        }
        let bits = |text: &str| text.parse::<Ipv4Addr>().expect("an address").to_bits();
        assert_eq!(addresses.number(bits("198.18.0.4")), None);
        assert_eq!(addresses.number(bits("203.0.113.9")), Some(4));
        assert_eq!(addresses.of_subscriber(bits("10.9.0.1")), Some(bits("203.0.113.65")));
        assert_eq!(addresses.of_subscriber(bits("10.9.0.2")), None);
        assert_eq!(addresses.subscriber(bits("203.0.113.64")), Some(bits("10.9.0.0")));
        assert_eq!(addresses.subscriber(bits("198.18.0.1")), None);

        let mut addresses = addresses;
        let pool = prefix("198.18.0.0/30");
        assert_eq!(addresses.add_pool(pool), None, "it is there");
        assert_eq!(addresses.add_pool(prefix("198.18.0.2/31")), None, "a part of it is");
        assert_eq!(addresses.remove(pool), Some((0, 4)));
        assert_eq!(addresses.remove(pool), None);
        assert_eq!(addresses.number(bits("198.18.0.1")), None);
        assert_eq!(addresses.shared().collect::<Vec<u32>>(), [4]);
        assert_eq!(addresses.add_pool(pool), Some(0), "it comes back");
        assert_eq!(addresses.number(bits("198.18.0.1")), Some(1));
        assert_eq!(addresses.add_pool(prefix("198.19.0.0/24")), Some(7));
        assert_eq!(addresses.add_pool(prefix("198.20.0.0/31")), None, "no room");
    }
}
