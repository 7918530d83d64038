//! The outside addresses: pools that subscribers share, and those of rules.
//!
//! Each has a number; the numbers of a network follow one another. Those of a rule that was taken
//! away are kept: it gets them again when it comes back, if no other network of its size has got
//! them since. So what comes and goes takes no more numbers than were in use at a time.

use std::net::Ipv4Addr;

use crate::config::{Config, PortForwarding, Prefixed, StaticRule};
use crate::port_forwarding::Hosts;

/// The outside addresses, by number.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// By number, those included that were taken away.
    networks: Vec<Network>,
    /// Places of those that are there, by their first address.
    by_outside: Vec<usize>,
    /// Places of those of one-to-one rules, by their first inside address.
    by_inside: Vec<(u32, usize)>,
    count: u32,
    capacity: u32,
    /// Hosts that share addresses by fixed ports.
    hosts: Hosts,
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
    /// Whether it was taken away.
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
        let mut all = Addresses {
            networks: Vec::new(),
            by_outside: Vec::new(),
            by_inside: Vec::new(),
            count: 0,
            capacity: config.address_count() + config.spare_addresses,
            hosts: Hosts::new(&config.port_forwarding),
        };
        for &pool in &config.pools {
            all.add_pool(pool);
        }
        for rule in &config.static_rules {
            all.add_static(rule);
        }
        for rule in &config.port_forwarding {
            all.add(host(rule.outside), Kind::Forwarded);
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

    /// Adds a pool; tells the number of its first address. None without room, or where another
    /// network has some of it.
    pub fn add_pool(&mut self, pool: Prefixed<Ipv4Addr>) -> Option<u32> {
        self.add(pool, Kind::Shared)
    }

    /// Adds a one-to-one rule, whose subscribers no other one has; whether that was possible, as
    /// of a pool.
    pub fn add_static(&mut self, rule: &StaticRule) -> bool {
        self.add(rule.outside, Kind::Own(first_of(rule.inside))).is_some()
    }

    /// Takes a one-to-one rule away; whether it was there.
    pub fn remove_static(&mut self, rule: &StaticRule) -> bool {
        self.remove(rule.outside, Kind::Own(first_of(rule.inside)))
    }

    /// Adds the port forwarding rule of an address, or makes it another one; whether that was
    /// possible, as of a pool.
    pub fn set_forwarding(&mut self, rule: PortForwarding) -> bool {
        let is_there = self.hosts.rule(rule.outside.to_bits()).is_some();
        let is_done = is_there || self.add(host(rule.outside), Kind::Forwarded).is_some();
        if is_done {
            self.hosts.set(rule);
        }
        is_done
    }

    /// Takes the port forwarding rule of an address away; whether it was there.
    pub fn remove_forwarding(&mut self, outside: Ipv4Addr) -> bool {
        self.hosts.remove(outside.to_bits()) && self.remove(host(outside), Kind::Forwarded)
    }

    /// Hosts that share addresses by fixed ports.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// The one-to-one rules, in the order of their inside addresses.
    pub fn statics(&self) -> impl ExactSizeIterator<Item = StaticRule> {
        self.by_inside.iter().map(|&(first, place)| {
            let outside = self.networks[place].prefixed();
            StaticRule { inside: Prefixed { address: first.into(), len: outside.len }, outside }
        })
    }

    /// The one-to-one rule that has some of a network of subscribers.
    pub fn static_of(&self, inside: Prefixed<Ipv4Addr>) -> Option<StaticRule> {
        let last = first_of(inside) + size(inside).wrapping_sub(1);
        let behind = self.by_inside.partition_point(|&(first, _)| first <= last);
        let &(first, place) = self.by_inside[..behind].last()?;
        let outside = self.networks[place].prefixed();
        let rule = StaticRule { inside: Prefixed { address: first.into(), ..outside }, outside };
        (first_of(inside) <= first + (self.networks[place].count - 1)).then_some(rule)
    }

    /// Whether another network has some of this one.
    pub fn overlaps(&self, network: Prefixed<Ipv4Addr>) -> bool {
        let (first, count) = (first_of(network), size(network));
        let behind = self.first_behind(first + count.wrapping_sub(1));
        let before = behind.checked_sub(1).map(|at| &self.networks[self.by_outside[at]]);
        before.is_some_and(|before| first <= before.first + (before.count - 1))
    }

    /// Whether there are numbers for a network: those of one that is gone, or new ones.
    pub fn has_room(&self, network: Prefixed<Ipv4Addr>) -> bool {
        self.gone_like(network).is_some() || self.capacity - self.count >= size(network)
    }

    fn add(&mut self, outside: Prefixed<Ipv4Addr>, kind: Kind) -> Option<u32> {
        if size(outside) == 0 || self.overlaps(outside) || !self.has_room(outside) {
            return None;
        }
        let (first, count) = (first_of(outside), size(outside));
        let new = Network { first, count, number: self.count, kind, group: 0, is_gone: false };
        let place = match self.gone_like(outside) {
            Some(place) => {
                let number = self.networks[place].number;
                self.networks[place] = Network { number, ..new };
                place
            }
            None => {
                self.networks.push(new);
                self.count += count;
                self.networks.len() - 1
            }
        };
        let at = self.first_behind(first);
        self.by_outside.insert(at, place);
        if let Kind::Own(inside) = kind {
            let at = self.by_inside.partition_point(|&(first, _)| first < inside);
            self.by_inside.insert(at, (inside, place));
        }
        Some(self.networks[place].number)
    }

    /// Takes a network away; whether it was there.
    fn remove(&mut self, outside: Prefixed<Ipv4Addr>, kind: Kind) -> bool {
        let key = (first_of(outside), size(outside), kind);
        let is = |n: &Network| (n.first, n.count, n.kind) == key && !n.is_gone;
        let Some(place) = self.networks.iter().position(is) else { return false };
        self.networks[place].is_gone = true;
        self.by_outside.retain(|&there| there != place);
        self.by_inside.retain(|&(_, there)| there != place);
        true
    }

    /// The place of a network that is gone, whose numbers a network may get: its own before others.
    fn gone_like(&self, network: Prefixed<Ipv4Addr>) -> Option<usize> {
        let (first, count) = (first_of(network), size(network));
        let fits = |n: &Network| n.is_gone && n.count == count;
        let is_own = |n: &Network| fits(n) && n.first == first;
        self.networks.iter().position(is_own).or_else(|| self.networks.iter().position(fits))
    }

    /// How many networks begin at or before an address.
    fn first_behind(&self, address: u32) -> usize {
        self.by_outside.partition_point(|&place| self.networks[place].first <= address)
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
        self.networks.iter().filter(|network| !network.is_gone).map(Network::prefixed)
    }

    /// All pools, each with the number of its first address and how many it has.
    pub fn pools(&self) -> impl Iterator<Item = (Prefixed<Ipv4Addr>, u32, u32)> {
        let there = self.networks.iter().filter(|n| n.kind == Kind::Shared && !n.is_gone);
        there.map(|network| (network.prefixed(), network.number, network.count))
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
        let behind = self.by_inside.partition_point(|&(first, _)| first <= inside);
        let &(first, place) = self.by_inside[..behind].last()?;
        let (network, offset) = (&self.networks[place], inside - first);
        (offset < network.count).then(|| network.first + offset)
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
        let place = *self.by_outside[..self.first_behind(address)].last()?;
        Some(&self.networks[place]).filter(|network| address - network.first < network.count)
    }
}

impl Network {
    fn prefixed(&self) -> Prefixed<Ipv4Addr> {
        let len = (32 - self.count.trailing_zeros()) as u8;
        Prefixed { address: Ipv4Addr::from_bits(self.first), len }
    }
}

/// The network of one address.
fn host(address: Ipv4Addr) -> Prefixed<Ipv4Addr> {
    Prefixed { address, len: 32 }
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
            spare_addresses: 512,
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
        assert_eq!(
            addresses.add_pool(prefix("198.18.2.0/23")),
            Some(7),
            "in the room of spare ones"
        );
        assert_eq!(addresses.add_pool(prefix("198.18.0.2/31")), None, "a part of it is");
        assert_eq!(addresses.add_pool(prefix("198.16.0.0/14")), None, "it is a part");
        assert_eq!(addresses.add_pool(prefix("198.20.0.0/31")), None, "no room");
    }

    #[test]
    fn rules_come_back_to_their_numbers_unless_others_of_their_size_have_got_them() {
        let prefix = |text: &str| Prefixed::try_from(text.to_owned()).expect("a prefix");
        let rule = |inside: &str, outside: &str| StaticRule {
            inside: prefix(inside),
            outside: prefix(outside),
        };
        let bits = |text: &str| text.parse::<Ipv4Addr>().expect("an address").to_bits();
        let two = rule("10.9.0.1/31", "203.0.113.64/31");
        let mut all = Addresses::new(&Config {
            pools: vec![prefix("198.18.0.0/30")],
            static_rules: vec![two],
            spare_addresses: 1,
            ..Config::default()
        });
        let normal = StaticRule { inside: prefix("10.9.0.0/31"), ..two };
        assert_eq!(all.statics().collect::<Vec<_>>(), [normal]);
        assert_eq!(all.static_of(prefix("10.0.0.0/8")), Some(normal));
        assert_eq!(all.static_of(prefix("10.9.0.1/32")), Some(normal));
        assert_eq!(all.static_of(prefix("10.9.0.2/31")), None);
        assert!(!all.remove_static(&rule("10.9.0.2/31", "203.0.113.64/31")), "another's");
        assert!(all.remove_static(&two) && !all.remove_static(&two));
        assert_eq!(all.number(bits("203.0.113.65")), None);
        assert_eq!(all.of_subscriber(bits("10.9.0.1")), None);
        assert_eq!(all.statics().count(), 0);
        assert!(all.add_static(&two), "it comes back");
        assert_eq!(all.number(bits("203.0.113.65")), Some(5));

        // Another one of its size, for other subscribers, and what is left for smaller ones.
        assert!(all.remove_static(&two));
        assert!(all.add_static(&rule("10.9.0.1/32", "203.0.113.65/32")), "a spare one");
        assert!(!all.add_static(&two), "a part of it is another's");
        assert!(all.add_static(&rule("10.8.0.0/31", "203.0.113.62/31")));
        assert_eq!(all.number(bits("203.0.113.62")), Some(4));
        assert!(!all.add_static(&rule("10.8.0.2/31", "203.0.113.60/31")), "no room");
        assert!(!all.add_static(&rule("10.8.0.2/32", "203.0.113.60/32")), "no room");
        assert_eq!(all.networks().count(), 3);
        for number in 0..7 {
            assert_eq!(all.number(all.address(number)), Some(number));
        }

        let forwarding = |outside: &str, inside: &str| {
            let text = format!(
                "{{outside: {outside}, hosts: [{{inside: {inside}, forwards: [{{first-port: 80}}]}}]}}"
            );
            serde_saphyr::from_str::<PortForwarding>(&text).expect("a rule")
        };
        let http = (wire::protocol::TCP, (bits("203.0.113.65"), 80));
        assert!(!all.set_forwarding(forwarding("203.0.113.65", "10.1.0.1")), "a rule's");
        assert!(all.remove_static(&rule("10.9.0.1/32", "203.0.113.65/32")));
        assert!(all.set_forwarding(forwarding("203.0.113.65", "10.1.0.1")));
        assert_eq!(all.number(bits("203.0.113.65")), Some(6), "the spare one");
        assert_eq!(all.fixed(http.0, http.1), Some((bits("10.1.0.1"), 80)));
        assert!(all.set_forwarding(forwarding("203.0.113.65", "10.1.0.2")));
        assert_eq!(all.fixed(http.0, http.1), Some((bits("10.1.0.2"), 80)));
        assert!(!all.remove_forwarding(Ipv4Addr::new(203, 0, 113, 66)));
        assert!(all.remove_forwarding(Ipv4Addr::new(203, 0, 113, 65)));
        assert_eq!(all.fixed(http.0, http.1), None);
        assert_eq!(all.number(bits("203.0.113.65")), None);
    }
}
