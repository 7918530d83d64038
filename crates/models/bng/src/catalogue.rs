//! What the bench generates of a gateway, by number: subscribers, those that come and go, servers,
//! next hops, rules.
//!
//! | what | addresses |
//! |---|---|
//! | subscriber | 10.0.1.0 on, 3fff:100:: on (IA_NA), a /56 of 3fff:200::/32 (IA_PD) |
//! | server | a /24 of 50.0.0.0/8, a /48 of 3fff:800::/32 |
//! | next hop | 198.18.0.0/16 |
//!
//! Those of IPv6 are of the documentation prefix 3fff::/20 (RFC 9637).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_bng::Update;
use function_bng::config::{
    Action, Line, List, Matched, Name, Net, NextHop, Pppoe, Route, Rule, Session,
};
use function_kit::sections::{Mac, Ports, Prefixed};
use wire::MacAddr;

use crate::section::{Kind, Section, Stack, Vlans};

/// A subscriber with its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscriber {
    /// Its number, from 0.
    pub number: u32,
    /// Its line.
    pub line: Line,
    /// Its Ethernet address.
    pub mac: MacAddr,
    /// Its session of PPPoE; 0 for IPoE.
    pub pppoe: u16,
}

impl Subscriber {
    /// A subscriber of a section; numbers from the generated ones on are of those that come and go.
    #[inline(always)]
    pub fn new(section: &Section, number: u32) -> Subscriber {
        let generated = &section.generated;
        let line = number / generated.line_hosts.max(1);
        let line = match generated.vlans {
            Vlans::None => Line { outer: 0, inner: 0 },
            Vlans::One => Line { outer: 0, inner: 1 + (line % VLANS) as u16 },
            Vlans::Two => {
                let outer = line / CUSTOMER_VLANS % VLANS;
                Line { outer: 1 + outer as u16, inner: 1 + (line % CUSTOMER_VLANS) as u16 }
            }
        };
        let is_pppoe = match generated.kind {
            Kind::Ipoe => false,
            Kind::Pppoe => true,
            Kind::Mixed => number % 2 == 1,
        };
        let pppoe = if is_pppoe { 1 + (number % PPPOE_IDS) as u16 } else { 0 };
        let [_, a, b, c] = number.to_be_bytes();
        Subscriber { number, line, mac: MacAddr([0x02, 0x5b, 0x00, a, b, c]), pppoe }
    }

    /// Its IPv4 address.
    #[inline(always)]
    pub fn ipv4(&self) -> u32 {
        SUBSCRIBERS_IPV4 + self.number
    }

    /// Its address by DHCPv6.
    #[inline(always)]
    pub fn na(&self) -> u128 {
        SUBSCRIBERS_NA + u128::from(self.number)
    }

    /// The prefix that is delegated to it.
    #[inline(always)]
    pub fn delegated(&self) -> u128 {
        SUBSCRIBERS_PD | u128::from(self.number) << (128 - DELEGATED_LEN)
    }

    /// A host in that prefix.
    #[inline(always)]
    pub fn delegated_host(&self) -> u128 {
        host_in(self.delegated())
    }

    /// Its session, as changes have it.
    pub fn session(&self, section: &Section) -> Session {
        let generated = &section.generated;
        let (ipv4, ipv6) = generated.stack.versions();
        let delegated = Ipv6Addr::from_bits(self.delegated());
        let own_list = generated.lists_generated > 1 && generated.rules_generated > 0;
        let list = self.number % generated.lists_generated.max(1);
        Session {
            number: self.number + 1,
            line: self.line,
            mac: Mac(self.mac),
            pppoe: (self.pppoe > 0).then_some(Pppoe { id: self.pppoe, mru: generated.mru }),
            ipv4: ipv4.then(|| Ipv4Addr::from_bits(self.ipv4())),
            na: ipv6.then(|| Ipv6Addr::from_bits(self.na())),
            slaac: None,
            delegated: ipv6.then_some(Prefixed { address: delegated, len: DELEGATED_LEN }),
            profile: PROFILE,
            list: own_list.then(|| list_name(list)),
            node: (generated.nodes_generated > 0)
                .then(|| node_name(self.number % generated.nodes_generated)),
            vrf: None,
            user: None,
            circuit: None,
        }
    }

    /// Its session begins.
    pub fn added(&self, section: &Section) -> Update {
        Update::AddSession(self.session(section))
    }

    /// Its session ends.
    pub fn removed(&self) -> Update {
        Update::RemoveSession { number: self.number + 1 }
    }
}

/// The numbers of subscribers that may have an address, of which the wrong ones have another.
pub(crate) fn candidates(address: IpAddr) -> [u32; 2] {
    match address {
        IpAddr::V4(address) => [address.to_bits().wrapping_sub(SUBSCRIBERS_IPV4), u32::MAX],
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            let of_na = (bits as u32).wrapping_sub(SUBSCRIBERS_NA as u32);
            [of_na, (bits >> (128 - DELEGATED_LEN)) as u32 & 0xff_ffff]
        }
    }
}

/// A host in a delegated prefix.
#[inline(always)]
pub(crate) fn host_in(delegated: u128) -> u128 {
    delegated | 1 << 64 | 1
}

/// A host of a server's IPv4 network.
#[inline(always)]
pub fn server_ipv4(number: u32) -> u32 {
    SERVERS_IPV4 + (number << 8) + SERVER_HOST
}

/// A host of a server's IPv6 network.
#[inline(always)]
pub fn server_ipv6(number: u32) -> u128 {
    SERVERS_IPV6 | u128::from(number) << (128 - SERVER_IPV6_LEN) | SERVER_HOST as u128
}

/// The networks of a server that a stack has.
pub fn server_prefixes(stack: Stack, number: u32) -> impl Iterator<Item = Prefixed<IpAddr>> {
    let (ipv4, ipv6) = stack.versions();
    let four = Ipv4Addr::from_bits(server_ipv4(number) - SERVER_HOST);
    let six = Ipv6Addr::from_bits(server_ipv6(number) - SERVER_HOST as u128);
    let four = ipv4.then_some(Prefixed { address: four.into(), len: SERVER_IPV4_LEN });
    let six = ipv6.then_some(Prefixed { address: six.into(), len: SERVER_IPV6_LEN });
    [four, six].into_iter().flatten()
}

/// The routes to a server.
pub fn routes(section: &Section, number: u32) -> impl Iterator<Item = Route> {
    let next_hop = next_hop(number % section.generated.nhop).address;
    let prefixes = server_prefixes(section.generated.stack, number);
    prefixes.map(move |prefix| Route { prefix, vrf: None, next_hop })
}

/// A next hop, behind the port `core`.
pub fn next_hop(number: u32) -> NextHop {
    let address = Ipv4Addr::from_bits(NEXT_HOPS + 1 + number).into();
    NextHop { address, vrf: None, mac: Some(Mac(next_hop_mac(number))) }
}

/// Its Ethernet address.
#[inline(always)]
pub fn next_hop_mac(number: u32) -> MacAddr {
    let [_, a, b, c] = number.to_be_bytes();
    MacAddr([0x02, 0xc0, 0x00, a, b, c])
}

/// The name of a generated list.
pub fn list_name(number: u32) -> Name {
    Name::new(&format!("generated-{number}"))
}

/// The name of a generated access node.
pub fn node_name(number: u32) -> Name {
    Name::new(&format!("node-{number}"))
}

/// A list of so many rules, of which the last one alone matches what the bench sends: each of the
/// others looks for a network of documentation, half of them beside the subscriber's own addresses.
pub fn list(number: u32, rules: u32) -> List {
    let rule = |place: u32| match place + 1 == rules {
        true => Rule::for_all(Action::Permit),
        false => denied(number, place),
    };
    let rules = (0..rules).map(rule).collect();
    List { name: list_name(number), rules, otherwise: Action::Deny }
}

fn denied(list: u32, place: u32) -> Rule {
    let net = |address: IpAddr, len| Some(Matched::Network(Net { address, len }));
    let host = Ipv4Addr::from_bits(0xc633_0000 | ((list.wrapping_mul(131) + place) & 0xffff));
    let [four, six] = [Ipv4Addr::new(203, 0, 113, 0).into(), DOCUMENTATION.into()];
    let (source, destination) = match place % 4 {
        0 => (Some(Matched::Subscriber), net(four, 24)),
        1 => (net(host.into(), 32), net(four, 24)),
        2 => (Some(Matched::Subscriber), net(six, 32)),
        _ => (net(six, 32), Some(Matched::Subscriber)),
    };
    let ports = Ports { first: 1, last: 1024 + ((list + place) % 60_000) as u16 };
    Rule {
        source,
        destination,
        protocol: Some(wire::protocol::UDP),
        destination_ports: Some(ports),
        ..Rule::for_all(Action::Deny)
    }
}

/// Most generated subscribers.
pub const SUBSCRIBERS_MAX: u32 = 4_000_000;

/// Most servers or next hops.
pub const PAIRS_MAX: u32 = 65_000;

/// The profile of generated subscribers.
pub const PROFILE: Name = Name::new("generated");

/// The profile that some have for a while, with the same rates.
pub const OTHER_PROFILE: Name = Name::new("other");

/// Length of delegated prefixes.
pub const DELEGATED_LEN: u8 = 56;

/// The gateway's addresses on lines and towards the Internet where the section has none.
pub const GATEWAY: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(10, 255, 255, 254)),
    IpAddr::V6(Ipv6Addr::new(0x3fff, 0, 0xa, 0, 0, 0, 0, 1)),
];
/// The same towards the Internet.
pub const GATEWAY_CORE: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(198, 19, 255, 254)),
    IpAddr::V6(Ipv6Addr::new(0x3fff, 0, 0xc, 0, 0, 0, 0, 1)),
];

/// The router from which the Internet's packets come.
pub const ROUTER_MAC: MacAddr = MacAddr([0x02, 0xc0, 0xff, 0, 0, 1]);

/// VLANs from 1 on.
pub(crate) const VLANS: u32 = 4094;
/// Customers' VLANs within one of the service.
pub(crate) const CUSTOMER_VLANS: u32 = 4000;
/// Identifiers of sessions of PPPoE, from 1 on.
pub(crate) const PPPOE_IDS: u32 = 65_534;

/// Pools of subscribers' addresses and prefixes: what they are, and their ranges.
pub(crate) const POOLS: [(&str, &str); 3] =
    [("ipv4", "10.0.0.0/8"), ("na", "3fff:100::/64"), ("delegated", "3fff:200::/32")];

const SUBSCRIBERS_IPV4: u32 = 10 << 24 | 1 << 8;
const SUBSCRIBERS_NA: u128 = 0x3fff_0100 << 96 | 0x1000;
const SUBSCRIBERS_PD: u128 = 0x3fff_0200 << 96;
const SERVERS_IPV4: u32 = 50 << 24;
const SERVERS_IPV6: u128 = 0x3fff_0800 << 96;
const SERVER_IPV4_LEN: u8 = 24;
const SERVER_IPV6_LEN: u8 = 48;
const SERVER_HOST: u32 = 2;
const NEXT_HOPS: u32 = 198 << 24 | 18 << 16;
/// A prefix of documentation (RFC 3849).
const DOCUMENTATION: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0);

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::section::Generated;

    #[test]
    fn no_two_subscribers_have_anything_in_common_that_may_be_of_one() {
        for vlans in [Vlans::One, Vlans::Two] {
            let generated = Generated { kind: Kind::Mixed, vlans, ..Generated::default() };
            let section = Section { generated, ..Section::default() };
            let (mut stations, mut ids, mut addresses) =
                (HashSet::new(), HashSet::new(), HashSet::new());
            let beyond = (SUBSCRIBERS_MAX - 10)..SUBSCRIBERS_MAX;
            for number in (0..200_000).chain(beyond) {
                let one = Subscriber::new(&section, number);
                assert!(one.line.outer <= 4094 && (1..=4094).contains(&one.line.inner));
                assert!(stations.insert((one.line, one.mac)), "station of {number}");
                assert_eq!(one.pppoe != 0, number % 2 == 1);
                assert!(one.pppoe == 0 || ids.insert((one.line, one.pppoe)), "PPPoE of {number}");
                let all = [one.ipv4().into(), one.na(), one.delegated()];
                assert!(all.into_iter().all(|address| addresses.insert(address)), "{number}");
                assert_eq!(one.delegated_host() >> 72, one.delegated() >> 72);
            }
        }
    }

    #[test]
    fn of_a_list_the_last_rule_alone_is_for_all() {
        let lists = [list(0, 100), list(7, 100)];
        for one in &lists {
            let (last, others) = one.rules.split_last().expect("it has rules");
            assert_eq!((one.rules.len(), *last), (100, Rule::for_all(Action::Permit)));
            assert!(others.iter().all(|rule| rule.action == Action::Deny && rule.is_sound()));
        }
        assert_ne!(lists[0].rules, lists[1].rules);
    }
}
