//! What is there now, in the words of the configuration.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::sections::{Mac, Prefixed};
use units::BytesPerSec;
use wire::MacAddr;

use super::{Bearer, State, USER_PREFIX_LEN};
use crate::config::{BaseStation, NextHop, Route, User};

impl State {
    /// Users, in no order.
    pub fn users(&self) -> impl Iterator<Item = User> + '_ {
        self.by_ipv4.iter().map(|(_, slot)| self.user(&self.bearers[slot as usize]))
    }

    /// The user of a bearer.
    pub fn user(&self, bearer: &Bearer) -> User {
        let [uplink_rate, downlink_rate] =
            bearer.own_rates.map(|rate| (rate > 0.0).then_some(BytesPerSec(f64::from(rate))));
        let prefix = Ipv6Addr::from_bits(u128::from(bearer.ipv6_prefix) << 64);
        User {
            ipv4: Ipv4Addr::from_bits(bearer.ipv4),
            ipv6: (bearer.ipv6_prefix != 0)
                .then_some(Prefixed { address: prefix, len: USER_PREFIX_LEN }),
            teid: bearer.teid,
            base_station: Ipv4Addr::from_bits(self.base_stations[bearer.base_station as usize]),
            uplink_rate,
            downlink_rate,
        }
    }

    /// Base stations, in no order.
    pub fn stations(&self) -> impl Iterator<Item = BaseStation> + '_ {
        self.by_station.iter().filter(|&(_, slot)| self.is_there(slot)).map(|(address, slot)| {
            let [a, b, c, d, e, f, ..] = self.next_hops[slot as usize].macs;
            let is_asked = self.asked_stations[slot as usize];
            let mac = (!is_asked).then_some(Mac(MacAddr([a, b, c, d, e, f])));
            BaseStation { address: Ipv4Addr::from_bits(address), mac }
        })
    }

    /// Next hops towards the Internet.
    pub fn core_hops(&self) -> impl Iterator<Item = NextHop> + '_ {
        self.hops.iter().flatten().copied()
    }

    /// Routes towards the Internet, each version of IP in the order of its prefixes.
    pub fn core_routes(&self) -> impl Iterator<Item = Route> + '_ {
        let first = self.base_stations.len() as u32;
        let ipv4 = self.routes.iter().map(|(bits, len, hop)| {
            (Prefixed { address: IpAddr::V4(Ipv4Addr::from_bits(bits)), len }, hop)
        });
        let ipv6 = self.routes_ipv6.iter().map(|(bits, len, hop)| {
            (Prefixed { address: IpAddr::V6(Ipv6Addr::from_bits(bits)), len }, hop)
        });
        ipv4.chain(ipv6).filter_map(move |(prefix, hop)| {
            let hop = self.hops.get(hop.checked_sub(first)? as usize)?.as_ref()?;
            Some(Route { prefix, next_hop: hop.address })
        })
    }
}
