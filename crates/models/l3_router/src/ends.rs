//! Where the tester's packets come from and go to: the hosts of generated and of listed routes, and
//! how frames to each next hop look.
use crate::ports::{Numbered, SIDES};
use packet::PortId;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_l3_router::config::{Config, Network, Prefixed, Route};

use super::paths::{macs_of, own_mac};
use crate::catalogue;
use crate::generated::Section;

/// One side of the router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    port: PortId,
    /// Generated routes behind the port.
    pub routes: u32,
    groups: u32,
    /// Destination and source of frames that come in at the port.
    pub macs_in: [u8; 12],
    /// Those of frames to the generated next hops, but for the numbers at their ends.
    macs_out: [u8; 12],
    /// Whether next hops have a source address of their own, with a number at its end.
    has_sources: bool,
}

impl Side {
    pub fn new(section: &Section, port: PortId) -> Side {
        let first = catalogue::next_hop(section, port, 0);
        let own = section.config.mac(port).0;
        let mut macs_in = [0; 12];
        macs_in[..6].copy_from_slice(&own);
        macs_in[6..].copy_from_slice(&first.mac.0.0);
        Side {
            port,
            routes: section.generated.table_size(port),
            groups: section.generated.group_size(port),
            macs_in,
            macs_out: macs_of(&first, own),
            has_sources: first.source.is_some(),
        }
    }

    /// Destination and source of frames on generated route `number`.
    #[inline(always)]
    pub fn macs_out(&self, number: u32) -> [u8; 12] {
        let [x, y] = catalogue::pair(number % self.groups.max(1));
        let mut macs = self.macs_out;
        (macs[4], macs[5]) = (x, y);
        if self.has_sources {
            (macs[10], macs[11]) = (x, y);
        }
        macs
    }

    /// A host on this side that sends to route `number` of the other one.
    #[inline(always)]
    pub fn host_ipv4(&self, number: u32) -> u32 {
        match self.routes {
            0 => HOST_IPV4.to_bits(),
            routes => catalogue::host_ipv4(catalogue::route_ipv4(self.port, number % routes)),
        }
    }

    /// The same for IPv6.
    #[inline(always)]
    pub fn host_ipv6(&self, number: u32) -> u128 {
        match self.routes {
            0 => HOST_IPV6.to_bits(),
            routes => catalogue::host_ipv6(catalogue::route_ipv6(self.port, number % routes)),
        }
    }
}

/// The routes of the list that packets can be sent to, by the port behind which they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Listed {
    sides: [Vec<End>; 2],
}

/// A listed route that packets can be sent to.
#[derive(Clone, Copy, Debug)]
struct End {
    /// A host of it.
    host: IpAddr,
    /// How frames to its next hop look.
    macs: [u8; 12],
    /// The number of the group to which it leads instead.
    group: Option<u32>,
}

impl Listed {
    pub fn new(section: &Section) -> Listed {
        let config = &section.config;
        let mut listed = Listed::default();
        // The tester sends and expects frames without tags, so it is in the main VRF alone.
        for route in config.routes.iter().filter(|route| route.vrf == 0) {
            if let Some(port) = behind(config, route)
                && let Some(host) = host_of(section, route.prefix)
            {
                let hop = route.next_hop.and_then(|hop| config.next_hops.get(hop.number as usize));
                let macs = hop.map_or([0; 12], |hop| macs_of(hop, own_mac(config, hop).0));
                let group = route.group.map(catalogue::group_number);
                listed.sides[usize::from(port.0)].push(End { host, macs, group });
            }
        }
        listed
    }

    pub fn count(&self, behind: PortId) -> u32 {
        self.sides[usize::from(behind.0)].len() as u32
    }

    /// A host of route `number`; where there is none, an address without a route.
    #[inline(always)]
    pub fn host(&self, behind: PortId, number: u32) -> IpAddr {
        self.get(behind, number).map_or(IpAddr::V4(HOST_IPV4), |end| end.host)
    }

    #[inline(always)]
    pub fn macs_out(&self, behind: PortId, number: u32) -> [u8; 12] {
        self.get(behind, number).map_or([0; 12], |end| end.macs)
    }

    /// The number of the group to which route `number` leads, if it does.
    #[inline(always)]
    pub fn group(&self, behind: PortId, number: u32) -> Option<u32> {
        self.get(behind, number)?.group
    }

    #[inline(always)]
    fn get(&self, behind: PortId, number: u32) -> Option<&End> {
        self.sides[usize::from(behind.0)].get(number as usize)
    }
}

/// The port behind which a route leads without a tag, whichever next hop is taken; of a group with
/// a next hop that is watched, that of the first member.
fn behind(config: &Config, route: &Route) -> Option<PortId> {
    let members: Vec<u32> = match route.group {
        None => route.next_hop.into_iter().map(|hop| hop.number).collect(),
        Some(group) => {
            let group = config.next_hop_groups.get(group as usize)?;
            group.members.iter().map(|member| member.next_hop.number).collect()
        }
    };
    let mut hops = members.iter().filter_map(|&hop| config.next_hops.get(hop as usize));
    let port = hops.clone().next()?.port;
    let is_watched = hops.clone().any(|hop| hop.bfd.is_some());
    let is_alike = hops.all(|hop| (is_watched || hop.port == port) && hop.vlan.is_none());
    let port = config.number_of(port);
    (is_alike && SIDES.contains(&port)).then_some(port)
}

/// A host whose packets take exactly this route, and that may have packets; none where longer
/// routes or the links leave it no such one.
fn host_of(section: &Section, route: Prefixed<IpAddr>) -> Option<IpAddr> {
    let config = &section.config;
    let Prefixed { address, len } = route;
    let candidates: Vec<IpAddr> = match address {
        IpAddr::V4(network) => {
            let bits = network.to_bits();
            let hosts = [bits | 2, bits | 1, bits, bits | 5 << 24 | 3].map(Ipv4Addr::from_bits);
            hosts.into_iter().chain([HOST_IPV4]).map(IpAddr::from).collect()
        }
        IpAddr::V6(network) => {
            let bits = network.to_bits();
            let hosts = [bits | 2, bits | 1, bits].map(Ipv6Addr::from_bits);
            hosts.into_iter().chain([HOST_IPV6]).map(IpAddr::from).collect()
        }
    };
    let takes_it = |host: &IpAddr| {
        let covers = |network: IpAddr, len: u8| {
            network.is_ipv4() == host.is_ipv4() && catalogue::network(*host, len) == network
        };
        let longer = |(other, _): (Network, u32)| {
            other.vrf == 0 && other.len > len && covers(other.address, other.len)
        };
        covers(address, len)
            && !config.all_routes().any(longer)
            && !catalogue::is_generated(section, *host, 128)
            && !is_on_a_link(config, *host)
            && is_ordinary(*host)
    };
    candidates.into_iter().find(takes_it)
}

fn is_on_a_link(config: &Config, host: IpAddr) -> bool {
    let is_listed = |hop: &function_l3_router::config::NextHop| {
        hop.ip.map(IpAddr::from) == Some(host) || hop.ipv6.map(IpAddr::from) == Some(host)
    };
    let on_link = config.links().any(|link| {
        link.address.is_ipv4() == host.is_ipv4()
            && catalogue::network(link.address, link.len) == catalogue::network(host, link.len)
    });
    on_link || config.next_hops.iter().any(is_listed)
}

fn is_ordinary(host: IpAddr) -> bool {
    match host {
        IpAddr::V4(host) => !matches!(host.octets()[0], 0 | 127 | 224..),
        IpAddr::V6(host) => {
            !(host.is_unspecified()
                || host.is_loopback()
                || host.is_multicast()
                || host.is_unicast_link_local())
        }
    }
}

/// A host where no route is generated: of the networks for benchmarks (RFC 2544 appendix C.2.2, RFC
/// 5180 section 8).
const HOST_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const HOST_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);
