//! Routes of virtual private networks that provider edges advertise (RFC 4364, RFC 4659): nothing
//! of them is kept.

use protocol_bgp::Family;

use crate::nlri;
use crate::routes::Routes;
use crate::source::members::{AS, Members, target};
use crate::source::plain::{Plain, next_hop};

/// Routes to /32 of IPv4 and /64 of IPv6, spread evenly over pairs of an edge and a network; each
/// pair has a Route Distinguisher and a label of its own.
#[derive(Clone, Debug)]
pub struct Vpn {
    members: Members,
    ipv4: u32,
    ipv6: u32,
}

impl Vpn {
    /// Describes a number of routes of each family.
    ///
    /// # Errors
    /// In words, if a family has some, but fewer than pairs of an edge and a network, or there are
    /// none at all.
    pub fn new(members: Members, ipv4: u32, ipv6: u32) -> Result<Vpn, String> {
        let pairs = members.count();
        let is_few = |count: u32| count > 0 && count < pairs;
        if is_few(ipv4) || is_few(ipv6) || ipv4.checked_add(ipv6).is_none_or(|all| all == 0) {
            return Err(format!(
                "{ipv4} and {ipv6} routes: each family has none, or at least as many as the \
                 {pairs} pairs of an edge and a network"
            ));
        }
        Ok(Vpn { members, ipv4, ipv6 })
    }

    /// Returns which edge is a member of which network.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// The family of a route, its pair, and its number among those of the pair.
    fn place(&self, route: u32) -> (Family, u32, u32) {
        let pairs = u64::from(self.members.count());
        let (family, at, count) = match route.checked_sub(self.ipv4) {
            None => (Family::VpnV4, u64::from(route), u64::from(self.ipv4)),
            Some(at) => (Family::VpnV6, u64::from(at), u64::from(self.ipv6)),
        };
        let pair = at * pairs / count;
        let first = (pair * count).div_ceil(pairs);
        (family, pair as u32, (at - first) as u32)
    }

    /// Whether a set is of IPv6, and its pair.
    fn pair_of(&self, set: u32) -> (bool, u32) {
        let pairs = self.members.count();
        (self.ipv4 == 0 || set >= pairs, set % pairs)
    }
}

impl Routes for Vpn {
    fn count(&self) -> u32 {
        self.ipv4 + self.ipv6
    }

    fn sets(&self) -> u32 {
        let families = [self.ipv4, self.ipv6].iter().filter(|count| **count > 0).count();
        self.members.count() * families as u32
    }

    fn set(&self, route: u32) -> u32 {
        let (family, pair, _) = self.place(route);
        let is_second = family == Family::VpnV6 && self.ipv4 > 0;
        pair + if is_second { self.members.count() } else { 0 }
    }

    fn family(&self, set: u32) -> Family {
        if self.pair_of(set).0 { Family::VpnV6 } else { Family::VpnV4 }
    }

    fn wire(&self, route: u32, out: &mut Vec<u8>) {
        let (family, pair, number) = self.place(route);
        let address = if family == Family::VpnV4 { 32 } else { 64 };
        out.push(24 + 64 + address);
        let label = (FIRST_LABEL + pair) << 4 | 1;
        out.extend(&label.to_be_bytes()[1..]);
        out.extend([0, 0]);
        out.extend(AS.to_be_bytes());
        out.extend(pair.to_be_bytes());
        if family == Family::VpnV4 {
            out.extend((FIRST_IPV4 + number).to_be_bytes());
        } else {
            out.extend(IPV6.to_be_bytes());
            out.extend(number.to_be_bytes());
        }
    }

    fn find(&self, family: Family, key: &[u8]) -> Option<u32> {
        let word = |at: usize| Some(u32::from_be_bytes(key.get(at..at + 4)?.try_into().ok()?));
        let pair = word(5)?;
        let (first_route, count, number) = match family {
            Family::VpnV4 => (0, self.ipv4, word(9)?.checked_sub(FIRST_IPV4)?),
            Family::VpnV6 => (self.ipv4, self.ipv6, word(13)?),
            _ => return None,
        };
        let pairs = u64::from(self.members.count());
        let first = (u64::from(pair) * u64::from(count)).div_ceil(pairs);
        let at = u32::try_from(first + u64::from(number)).ok().filter(|at| *at < count)?;
        let route = first_route + at;
        let mut wire = Vec::with_capacity(20);
        self.wire(route, &mut wire);
        (nlri::key(family, &wire) == key).then_some(route)
    }

    fn attributes(&self, set: u32, out: &mut Vec<u8>) {
        let (is_ipv6, pair) = self.pair_of(set);
        let (edge, network) = self.members.pair(pair);
        Plain {
            // A Route Distinguisher of 0 stands before the address.
            next_hop: &[vec![0; 8], next_hop(edge.into(), is_ipv6)].concat(),
            local_pref: 100,
            extended: &[target(network)],
            ..Plain::default()
        }
        .write(out);
    }

    fn feeder(&self, set: u32) -> Option<u16> {
        Some(self.members.pair(self.pair_of(set).1).0)
    }

    fn target(&self, set: u32) -> u32 {
        self.members.pair(self.pair_of(set).1).1
    }

    fn target_community(&self, number: u32) -> Option<[u8; 8]> {
        Some(target(number))
    }
}

const FIRST_LABEL: u32 = 16;

const FIRST_IPV4: u32 = 0x0a00_0000;

/// 2001:db8::/32, the prefix for documents.
const IPV6: u32 = 0x2001_0db8;
