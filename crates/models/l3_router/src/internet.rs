//! Flows to a routing table like the Internet's.

use crate::ports::UPLINK;
use std::net::IpAddr;

use machine::memory::{HugeArray, Zeroable, prefetch_at};
use tables::lpm::{Limits, Lpm};
use traffic::Random;

use crate::generated::{Section, routes_but_the_internets};
use crate::prefixes::{prefixes, taken};
use crate::sections::Traffic;
use crate::unit::config::Network;

/// Destinations within the prefixes, each taking exactly the route it was drawn for.
#[derive(Debug, Default)]
pub(super) struct Flows {
    ipv4: Destinations<u32>,
    /// The upper half of each address; the lower one follows from it.
    ipv6: Destinations<u64>,
}

/// Where packets go, and which of the next hops they take. What a frame is written from stands
/// apart from what it is compared with, in huge pages: traffic that goes everywhere reads it out of
/// order.
#[derive(Debug)]
struct Destinations<A: Zeroable> {
    addresses: HugeArray<A>,
    groups: Vec<u32>,
}

impl Flows {
    /// As many as the traffic asks for, of the versions of IP that it has.
    pub fn new(section: &Section, traffic: &Traffic) -> Flows {
        let prefixes = prefixes(section);
        if prefixes.is_empty() {
            return Flows::default();
        }
        let random = Random::new(traffic.random_seed, STREAM);
        let (ipv4, ipv6): (Vec<_>, Vec<_>) =
            (0..).zip(prefixes).partition(|(_, (address, _))| address.is_ipv4());
        let count = |prefixes: usize| match traffic.internet_flows {
            0 => prefixes,
            flows if prefixes > 0 => flows as usize,
            _ => 0,
        };
        let groups = section.generated.targets(UPLINK);
        let mut flows = Flows::default();
        if traffic.ipv6_share < 1.0 {
            let (draws, count) = (Draws::new(section, &ipv4), count(ipv4.len()));
            let drawn = (0..count).filter_map(|flow| draws.ipv4(&random, flow, count));
            flows.ipv4 = Destinations::new(drawn.collect(), groups);
        }
        if traffic.ipv6_share > 0.0 {
            let (draws, count) = (Draws::new(section, &ipv6), count(ipv6.len()));
            let drawn = (0..count).filter_map(|flow| draws.ipv6(&random, flow, count));
            flows.ipv6 = Destinations::new(drawn.collect(), groups);
        }
        flows
    }

    /// How many there are; of two versions of IP, the more.
    pub fn count(&self) -> u32 {
        self.ipv4.groups.len().max(self.ipv6.groups.len()) as u32
    }

    /// Which version of IP flow `number` has, `wanted` if both are there.
    #[inline(always)]
    pub fn is_ipv6(&self, wanted: bool) -> bool {
        !self.ipv6.groups.is_empty() && (wanted || self.ipv4.groups.is_empty())
    }

    /// Where flow `number` of IPv4 goes.
    #[inline(always)]
    pub fn ipv4(&self, number: u32) -> u32 {
        of(&self.ipv4.addresses, number).copied().unwrap_or(0)
    }

    /// Where flow `number` of IPv6 goes.
    #[inline(always)]
    pub fn ipv6(&self, number: u32) -> u128 {
        of(&self.ipv6.addresses, number).copied().map_or(0, whole)
    }

    /// Asks the processor to fetch where flow `number` goes.
    #[inline(always)]
    pub fn prefetch(&self, number: u32, ipv6: bool) {
        match ipv6 {
            true => prefetch_at(&self.ipv6.addresses, number as usize),
            false => prefetch_at(&self.ipv4.addresses, number as usize),
        }
    }

    /// Which of the uplink's generated next hops, or of its groups, flow `number` takes.
    #[inline(always)]
    pub fn group(&self, number: u32, ipv6: bool) -> u32 {
        let groups = if ipv6 { &self.ipv6.groups } else { &self.ipv4.groups };
        of(groups, number).copied().unwrap_or(0)
    }
}

impl<A: Zeroable + Copy> Destinations<A> {
    /// Of addresses and the places of their prefixes, which take the next hops in turn. None where
    /// there is no memory for them.
    fn new(drawn: Vec<(A, u32)>, groups: u32) -> Destinations<A> {
        let Ok(mut addresses) = HugeArray::zeroed(drawn.len()) else {
            return Destinations::default();
        };
        addresses.iter_mut().zip(&drawn).for_each(|(to, (address, _))| *to = *address);
        let groups = drawn.into_iter().map(|(_, place)| place % groups).collect();
        Destinations { addresses, groups }
    }
}

impl<A: Zeroable> Default for Destinations<A> {
    fn default() -> Destinations<A> {
        Destinations { addresses: HugeArray::default(), groups: Vec::new() }
    }
}

/// That of a flow's number; the version with fewer flows has each more often.
#[inline(always)]
fn of<T>(all: &[T], number: u32) -> Option<&T> {
    let number = number as usize;
    if number < all.len() { all.get(number) } else { all.get(number % all.len().max(1)) }
}

/// An address whose lower half is random, too, but decided by the upper one.
#[inline(always)]
fn whole(high: u64) -> u128 {
    u128::from(high) << 64 | u128::from(Random::rehash(high))
}

/// What flows are drawn from.
struct Draws<'a> {
    /// Prefixes with their places among all.
    prefixes: &'a [(u32, (IpAddr, u8))],
    /// Which prefix an address belongs to: its place, or `OTHER`.
    ipv4: Option<Lpm<u32>>,
    ipv6: Option<Lpm<u128>>,
}

impl<'a> Draws<'a> {
    fn new(section: &Section, prefixes: &'a [(u32, (IpAddr, u8))]) -> Draws<'a> {
        let others: Vec<Network> = routes_but_the_internets(section).map(|(to, _)| to).collect();
        let others = others.into_iter().filter(|network| network.vrf == 0);
        let own = taken(section).into_iter().chain(others.map(|to| (to.address, to.len)));
        let others = own.map(|prefix| (OTHER, prefix));
        let all: Vec<_> = prefixes.iter().copied().chain(others).collect();
        // Where there is no memory for them there is none for the router either: no flows then.
        let mut ipv4 = Lpm::new(Limits::for_any::<u32>(all.len())).ok();
        let mut ipv6 = Lpm::new(Limits::for_any::<u128>(all.len())).ok();
        for (place, (address, len)) in all {
            // Both were made for as many, and every prefix here is sound.
            match address {
                IpAddr::V4(at) => ipv4.as_mut().map(|lpm| lpm.insert(at.to_bits(), len, place)),
                IpAddr::V6(at) => ipv6.as_mut().map(|lpm| lpm.insert(at.to_bits(), len, place)),
            };
        }
        Draws { prefixes, ipv4, ipv6 }
    }

    /// Flow `flow` of `count`: a host that no longer route takes away, and the place of its prefix.
    fn ipv4(&self, random: &Random, flow: usize, count: usize) -> Option<(u32, u32)> {
        let lpm = self.ipv4.as_ref()?;
        self.attempts(random, flow, count).find_map(|(place, address, len, bits)| {
            let IpAddr::V4(network) = address else { return None };
            let host = network.to_bits() | (bits as u32).checked_shr(len.into()).unwrap_or(0);
            let is_usual = !matches!(host >> 24, 0 | 127 | 224..);
            (is_usual && lpm.lookup(host) == Some(place)).then_some((host, place))
        })
    }

    fn ipv6(&self, random: &Random, flow: usize, count: usize) -> Option<(u64, u32)> {
        let lpm = self.ipv6.as_ref()?;
        self.attempts(random, flow, count).find_map(|(place, address, len, bits)| {
            let IpAddr::V6(network) = address else { return None };
            let network = (network.to_bits() >> 64) as u64;
            let high = network | bits.checked_shr(len.into()).unwrap_or(0);
            let is_usual = high >> 61 == 1;
            (is_usual && lpm.lookup(whole(high)) == Some(place)).then_some((high, place))
        })
    }

    /// Prefixes to try, first its own where each has one flow, and random bits for the host.
    fn attempts(
        &self,
        random: &Random,
        flow: usize,
        count: usize,
    ) -> impl Iterator<Item = (u32, IpAddr, u8, u64)> {
        (0..ATTEMPTS).filter_map(move |attempt| {
            let drawn = random.at((flow as u64) << 8 | attempt);
            let all = self.prefixes.len();
            let at = match count == all && attempt < ATTEMPTS / 2 {
                true => flow,
                false => ((u128::from(drawn) * all as u128) >> 64) as usize,
            };
            let &(place, (address, len)) = self.prefixes.get(at)?;
            Some((place, address, len, Random::rehash(drawn)))
        })
    }
}

/// Its flows are drawn apart from the packets.
const STREAM: u64 = 2;

/// Tries to find a host for a flow.
const ATTEMPTS: u64 = 32;

/// The place of what is not the Internet's.
const OTHER: u32 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::Generated;
    use crate::unit::config::Config;

    #[test]
    fn every_flow_takes_a_route_of_the_internet() {
        let generated = Generated {
            internet_routes: 3_000,
            internet_routes_ipv6: 2_000,
            upstream_group_table_size: 5,
            upstream_l3_table_size: 0,
            downstream_l3_table_size: 0,
            ..Generated::default()
        };
        let config = Config { ipv6: true, ..Config::default() };
        let config = Section { generated, config };
        for flows in [0, 700, 5_000] {
            let traffic = Traffic { internet_flows: flows, ipv6_share: 0.5, ..Traffic::default() };
            let drawn = Flows::new(&config, &traffic);
            // A prefix whose addresses all have longer ones, or that is longer than /64, has none.
            let wanted = if flows == 0 { 3_000 } else { flows };
            assert!(drawn.count() > wanted * 9 / 10, "{} of {wanted}", drawn.count());
            assert!(drawn.is_ipv6(true) && !drawn.is_ipv6(false));
            let mut groups = [0; 5];
            (0..drawn.count()).for_each(|flow| groups[drawn.group(flow, true) as usize] += 1);
            assert!(groups.iter().all(|&count| count > drawn.count() / 10), "{groups:?}");
        }
        let none = Flows::new(&Section::default(), &Traffic::default());
        assert_eq!((none.count(), none.ipv4(3), none.is_ipv6(true)), (0, 0, false));
    }
}
