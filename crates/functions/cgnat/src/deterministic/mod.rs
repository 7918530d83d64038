//! Deterministic translation (RFC 7422): who has a port follows from the configuration alone.
//!
//! A rule maps the addresses of an inside network to blocks of ports of an outside network, and
//! back. With I subscribers on O addresses, C = I/O (rounded up) subscribers share an address, and
//! each has 1/(C + D) of its usable ports (section 2); D times as many at the end of the address
//! are a pool from which a subscriber takes more, and what it takes must be logged. Nothing need be
//! a power of two.
//!
//! Both ways are a few divisions after a binary search among the rules, and exact inverses: see
//! [`Plan::forward`] and [`Plan::reverse`]. Nothing here remembers which ports are in use; the
//! caller draws one of [`Block::nth`] at random, as section 2 asks for.
//!
//! Not here: the assignments round robin, interlaced and by a cipher (A = 2 to 4), and inside
//! networks of IPv6. With `staggered`, a block may have ports of one parity only, and never two in
//! sequence.

pub(crate) mod config;
pub(crate) mod plan;

use std::net::Ipv4Addr;

use crate::config::{Assignment, DeterministicRule};

#[cfg(test)]
mod tests;

/// The ports of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// On which address.
    pub outside: Ipv4Addr,
    /// The lowest.
    pub first_port: u16,
    /// How many, at least one.
    pub len: u16,
    /// How far each is from the one before; 1 for a range.
    pub step: u16,
}

impl Block {
    /// A port of the block, from 0 to one less than its length.
    #[inline]
    pub fn nth(&self, number: u16) -> u16 {
        debug_assert!(number < self.len, "port {number} of a block of {}", self.len);
        (u32::from(self.first_port) + u32::from(number) * u32::from(self.step)) as u16
    }

    /// The highest port.
    pub fn last_port(&self) -> u16 {
        self.nth(self.len - 1)
    }

    /// Whether a port of the address is the block's.
    #[inline]
    pub fn holds(&self, port: u16) -> bool {
        let offset = port.wrapping_sub(self.first_port);
        port >= self.first_port && port <= self.last_port() && offset.is_multiple_of(self.step)
    }
}

/// Whose a port of an outside address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This subscriber's, always.
    Subscriber {
        /// The realm in which it has its address.
        realm: u16,
        /// Its address.
        inside: Ipv4Addr,
    },
    /// Of the pool that the subscribers of a rule share: the log tells whose it was.
    Dynamic,
    /// Nobody's: reserved, or left over where there is no pool.
    Nobody,
}

/// All deterministic rules of a configuration; made by [`crate::config::deterministic_plan`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// By realm and inside address.
    by_inside: Vec<Mapping>,
    /// By outside address.
    by_outside: Vec<Mapping>,
}

impl Plan {
    /// Of rules that share no addresses.
    pub(crate) fn new(mut mappings: Vec<Mapping>) -> Plan {
        mappings.sort_unstable_by_key(|one| one.outside_first);
        let by_outside = mappings.clone();
        mappings.sort_unstable_by_key(|one| (one.realm, one.inside_first));
        Plan { by_inside: mappings, by_outside }
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.by_inside.is_empty()
    }

    /// The ports of a subscriber; none where no rule has the address.
    #[inline]
    pub fn forward(&self, realm: u16, inside: Ipv4Addr) -> Option<Block> {
        let address = inside.to_bits();
        let key = (realm, address);
        let behind = self.by_inside.partition_point(|one| (one.realm, one.inside_first) <= key);
        let rule = self.by_inside[..behind].last().filter(|rule| rule.realm == realm)?;
        rule.block(address - rule.inside_first)
    }

    /// Whose a port is; none where no rule has the address.
    #[inline]
    pub fn reverse(&self, outside: Ipv4Addr, port: u16) -> Option<Owner> {
        let rule = self.rule_of(outside)?;
        Some(rule.owner(outside.to_bits() - rule.outside_first, port))
    }

    /// The shared ports of an outside address, behind the subscribers'; none where there are none.
    pub fn dynamic(&self, outside: Ipv4Addr) -> Option<Block> {
        let rule = self.rule_of(outside).filter(|rule| rule.dynamic_factor > 0)?;
        let first = rule.first_port + rule.subscribers * rule.ports;
        let len = (rule.first_port + rule.usable).checked_sub(first).filter(|&len| len > 0)?;
        Some(Block { outside, first_port: first as u16, len: len as u16, step: 1 })
    }

    fn rule_of(&self, outside: Ipv4Addr) -> Option<&Mapping> {
        let address = outside.to_bits();
        let behind = self.by_outside.partition_point(|one| one.outside_first <= address);
        let rule = self.by_outside[..behind].last()?;
        (address - rule.outside_first < rule.outside_count).then_some(rule)
    }
}

/// A rule, worked out. Numbers of subscribers and addresses count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    realm: u16,
    assignment: Assignment,
    inside_first: u32,
    inside_count: u32,
    outside_first: u32,
    outside_count: u32,
    first_port: u32,
    /// Ports of an address that are not reserved.
    usable: u32,
    /// Subscribers of an address (C).
    subscribers: u32,
    dynamic_factor: u32,
    /// Ports of a subscriber.
    ports: u32,
}

impl Mapping {
    /// Of a rule whose networks and ports are such; whether its ports suffice tells
    /// [`Mapping::ports_most`].
    pub fn new(rule: &DeterministicRule) -> Mapping {
        let count = |len: u8| 1_u32 << (32 - u32::from(len));
        let skipped = u32::from(rule.skip_boundary);
        let inside_count = count(rule.inside.len) - 2 * skipped;
        let outside_count = count(rule.outside.len);
        let mut mapping = Mapping {
            realm: rule.realm,
            assignment: rule.assignment,
            inside_first: rule.inside.address.to_bits() + skipped,
            inside_count,
            outside_first: rule.outside.address.to_bits(),
            outside_count,
            first_port: rule.first_port.into(),
            usable: u32::from(rule.last_port) + 1 - u32::from(rule.first_port),
            subscribers: inside_count.div_ceil(outside_count),
            dynamic_factor: rule.dynamic_factor.into(),
            ports: 0,
        };
        mapping.ports = rule.ports_per_subscriber.map_or(mapping.ports_most(), u32::from);
        mapping
    }

    /// The most ports that a subscriber can have: 1/(C + D) of those of an address.
    pub fn ports_most(&self) -> u32 {
        self.usable / (self.subscribers + self.dynamic_factor)
    }

    /// Subscribers that share an address (C).
    pub fn subscribers_per_address(&self) -> u32 {
        self.subscribers
    }

    /// The ports of a subscriber.
    #[inline]
    fn block(&self, subscriber: u32) -> Option<Block> {
        if subscriber >= self.inside_count {
            return None;
        }
        let (address, place) = match self.assignment {
            Assignment::Filled => (subscriber / self.subscribers, subscriber % self.subscribers),
            _ => (subscriber % self.outside_count, subscriber / self.outside_count),
        };
        let (offset, step) = match self.assignment {
            Assignment::Staggered => (place, self.subscribers),
            _ => (place * self.ports, 1),
        };
        Some(Block {
            outside: Ipv4Addr::from_bits(self.outside_first + address),
            first_port: (self.first_port + offset) as u16,
            len: self.ports as u16,
            step: step as u16,
        })
    }

    /// Whose a port of an address is.
    #[inline]
    fn owner(&self, address: u32, port: u16) -> Owner {
        let offset = u32::from(port).wrapping_sub(self.first_port);
        if offset >= self.usable {
            return Owner::Nobody;
        }
        if offset >= self.subscribers * self.ports {
            return if self.dynamic_factor > 0 { Owner::Dynamic } else { Owner::Nobody };
        }
        let place = match self.assignment {
            Assignment::Staggered => offset % self.subscribers,
            _ => offset / self.ports,
        };
        let subscriber = match self.assignment {
            Assignment::Filled => address * self.subscribers + place,
            _ => place * self.outside_count + address,
        };
        if subscriber >= self.inside_count {
            return Owner::Nobody;
        }
        let inside = Ipv4Addr::from_bits(self.inside_first + subscriber);
        Owner::Subscriber { realm: self.realm, inside }
    }
}
