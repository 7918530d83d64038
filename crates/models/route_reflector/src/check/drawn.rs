//! Routes as they are drawn: few prefixes and few attributes, so that much of it meets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Asked, Course, Draws};
use crate::oracle::NO_ADVERTISE;
use crate::path::{Attributes, Prefix};

impl Course<'_> {
    pub(super) fn prefix(&self, draws: &mut Draws) -> Prefix {
        let Asked { ipv4, ipv6, .. } = &self.asked;
        let has_asked = !ipv4.is_empty() || self.check.has_ipv6 && !ipv6.is_empty();
        if has_asked && draws.one_in(4) {
            let is_ipv6 = ipv4.is_empty() || self.check.has_ipv6 && draws.one_in(2);
            let list = if is_ipv6 && !ipv6.is_empty() { ipv6 } else { ipv4 };
            // The same ones again and again, so that they change.
            return list[draws.below(PREFIXES) as usize * 7 % list.len()];
        }
        let number = draws.below(PREFIXES);
        if self.check.has_ipv6 && number.is_multiple_of(3) {
            let address = Ipv6Addr::from(0x2001_0db8_u128 << 96 | u128::from(number) << 80);
            return Prefix { address: address.into(), len: 48 };
        }
        let address = Ipv4Addr::from(198 << 24 | 51 << 16 | (number as u32) << 8);
        Prefix { address: address.into(), len: 24 }
    }

    pub(super) fn next_hop(&self, peer: usize, prefix: Prefix) -> IpAddr {
        let last = peer as u16 + 1;
        match prefix.address {
            IpAddr::V4(_) => Ipv4Addr::new(10, 0, 0, last as u8).into(),
            IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, last).into(),
        }
    }

    pub(super) fn attributes(&self, peer: usize, prefix: Prefix, draws: &mut Draws) -> Attributes {
        let mut some = Attributes::new(self.next_hop(peer, prefix));
        some.origin = draws.below(3) as u8;
        some.path = (0..draws.below(4)).map(|_| 65_001 + draws.below(3) as u32).collect();
        some.preference = Some(100 + draws.below(2) as u32);
        some.med = (!draws.one_in(2)).then(|| draws.below(3) as u32);
        let communities = (0..draws.below(3)).map(|it| 64_500 << 16 | it as u32);
        some.communities = communities.collect();
        let Asked { ases, communities, .. } = &self.asked;
        if !ases.is_empty() {
            // Most of those that are usual here are private ones, which policies reject.
            some.path = (0..draws.below(4)).map(|_| 1000 + draws.below(3) as u32).collect();
            if draws.one_in(6) {
                some.path.push(ases[draws.below(ases.len() as u64) as usize]);
            }
        }
        if !communities.is_empty() && draws.one_in(2) {
            let one = communities[draws.below(communities.len() as u64) as usize];
            if !some.communities.contains(&one) {
                some.communities.push(one);
            }
        }
        if draws.one_in(12) {
            some.communities.push(NO_ADVERTISE);
        }
        if draws.one_in(4) {
            // Of another cluster, or one that has been here.
            let own = draws.one_in(3);
            let other = Ipv4Addr::new(192, 0, 2, 100 + draws.below(2) as u8);
            some.clusters = vec![if own { self.check.own.cluster } else { other }];
            some.originator = Some(Ipv4Addr::new(192, 0, 2, 200 + draws.below(3) as u8));
            if draws.one_in(6) {
                some.originator = Some(self.check.own.identifier);
            }
        }
        if draws.one_in(6) {
            some.unknown.insert(UNKNOWN, (false, vec![draws.below(256) as u8; 3]));
        }
        if draws.one_in(20) {
            some.path.push(self.check.own.asn);
        }
        some.sorted()
    }
}

const PREFIXES: u64 = 24;

/// An attribute that nobody knows, optional and transitive.
const UNKNOWN: u8 = 200;
