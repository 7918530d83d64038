//! What a function does, said so that a device of another making can be set up to do it.
//!
//! A driver (a kernel, a switch) reads a [`Service`], not a function's configuration: the same few
//! words for all functions of a kind. Ports are numbered as the function numbers them. What stands
//! on the far side of each port, hosts or routers, is part of the tester, and named here so that a
//! device can be told its neighbours instead of asking for them.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use packet::PortId;
use wire::MacAddr;

pub use self::access::{Access, Bucket, Part, PoliceBy, Rule};

mod access;

/// A service that devices may be able to give.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Frames by their Ethernet addresses (IEEE 802.1D).
    Bridge(Bridge),
    /// Packets by their IP addresses (RFC 1812, RFC 8200).
    Router(Router),
    /// Packets of users in tunnels (TS 23.501 section 6.2.3, user plane).
    MobileGateway(Gateway),
    /// Subscribers' addresses and ports become those of the operator (RFC 3022, RFC 6888).
    Nat(Nat),
    /// Packets of subscribers by their lines and sessions (RFC 2516, TR-101).
    BroadbandGateway(BroadbandGateway),
    /// Several services in one device, one behind the other.
    Chain(Vec<Service>),
}

impl Service {
    /// How many ports there are.
    pub fn ports(&self) -> usize {
        match self {
            Service::Bridge(bridge) => usize::from(bridge.ports),
            Service::Router(router) => router.interfaces.len(),
            Service::MobileGateway(gateway) => gateway.router.interfaces.len(),
            Service::Nat(nat) => nat.router.interfaces.len(),
            Service::BroadbandGateway(gateway) => gateway.router.interfaces.len(),
            // Its ends, and what each has beside the two by which it is joined to others.
            Service::Chain(all) => 2 + all.iter().map(|one| one.ports() - 2).sum::<usize>(),
        }
    }

    /// What it does beyond the words that there are here.
    pub fn beyond(&self) -> Vec<Beyond> {
        match self {
            Service::Bridge(bridge) => bridge.beyond.clone(),
            Service::Router(router) => router.beyond.clone(),
            Service::MobileGateway(gateway) => gateway.router.beyond.clone(),
            Service::Nat(nat) => nat.router.beyond.clone(),
            Service::BroadbandGateway(gateway) => gateway.router.beyond.clone(),
            Service::Chain(parts) => parts.iter().flat_map(Service::beyond).collect(),
        }
    }
}

/// Something that a key of the function asks for and that no other words here say: a device of
/// another making does not do it, unless a person sees to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// The key, within the function's section.
    pub key: &'static str,
    /// What it asks for.
    pub what: &'static str,
}

impl Beyond {
    /// Those of a list of keys, what they ask for and whether they do.
    pub fn of(keys: &[(&'static str, &'static str, bool)]) -> Vec<Beyond> {
        let asked = keys.iter().filter(|(_, _, is_asked)| *is_asked);
        asked.map(|&(key, what, _)| Beyond { key, what }).collect()
    }
}

/// A bridge with its ports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bridge {
    /// How many ports.
    pub ports: u8,
    /// Stations that it knows from the start.
    pub stations: Vec<(MacAddr, PortId)>,
    /// Whether it learns from source addresses, and after how many seconds it forgets; none for
    /// learning nothing.
    pub ageing_s: Option<f64>,
    /// Whether a frame for an unknown station goes out of all other ports; else it is dropped.
    pub floods: bool,
    /// What else it does, for which there are no words here.
    pub beyond: Vec<Beyond>,
    /// Whether every frame goes out of the other one of two ports, whatever its addresses, and what
    /// source address it then bears (none: its own). TIPSY's `portfwd`.
    pub patch: Option<[Option<MacAddr>; 2]>,
}

/// A router with its ports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Router {
    /// Its ports.
    pub interfaces: Vec<Interface>,
    /// Further interfaces that share the ports by tags of IEEE 802.1Q.
    pub vlans: Vec<Vlan>,
    /// Who is reached through which port.
    pub next_hops: Vec<NextHop>,
    /// Routes of IPv4 and IPv6.
    pub routes: Vec<Route>,
    /// What it lets pass.
    pub access: Access,
    /// What else it does, for which there are no words here.
    pub beyond: Vec<Beyond>,
}

impl Router {
    /// The VRF in which a neighbour's own addresses are: that of its port, or of its VLAN there.
    pub fn vrf_of(&self, hop: &NextHop) -> u16 {
        let own = match hop.vlan {
            None => self.interfaces.get(usize::from(hop.port.0)),
            Some(vlan) => {
                let is_its = |one: &&Vlan| (one.port, one.vlan) == (hop.port, vlan);
                self.vlans.iter().find(is_its).map(|one| &one.interface)
            }
        };
        own.map_or(0, |own| own.vrf)
    }

    /// The networks of the links, with their VRFs, for which no route is listed: nobody is there
    /// but neighbours, whatever routes cover them.
    pub fn links(&self) -> BTreeSet<(u16, IpAddr, u8)> {
        let of_vlans = self.vlans.iter().map(|one| &one.interface);
        let links = self.interfaces.iter().chain(of_vlans).flat_map(|own| {
            let ipv4 = own.ipv4.map(|(address, len)| (own.vrf, network(address.into(), len), len));
            let ipv6 = own.ipv6.map(|(address, len)| (own.vrf, network(address.into(), len), len));
            [ipv4, ipv6].into_iter().flatten()
        });
        let listed = |&(vrf, prefix, len): &(u16, IpAddr, u8)| {
            self.routes.iter().any(|one| (one.vrf, one.prefix, one.len) == (vrf, prefix, len))
        };
        let is_shared =
            |(_, prefix, len): &(u16, IpAddr, u8)| *len < if prefix.is_ipv4() { 32 } else { 128 };
        links.filter(is_shared).filter(|link| !listed(link)).collect()
    }

    /// The VRFs in which something is, from 0, the main one.
    pub fn vrfs(&self) -> BTreeSet<u16> {
        let of_vlans = self.vlans.iter().map(|one| &one.interface);
        let interfaces = self.interfaces.iter().chain(of_vlans).map(|own| own.vrf);
        interfaces.chain(self.routes.iter().map(|route| route.vrf)).chain([0]).collect()
    }
}

/// An address without the bits of its host.
pub fn network(address: IpAddr, len: u8) -> IpAddr {
    let of_host = |bits: u8| u32::from(bits - len.min(bits));
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(of_host(32)).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(of_host(128)).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

/// An interface of a router behind a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// Its port.
    pub port: PortId,
    /// The tag's VLAN.
    pub vlan: u16,
    /// Its addresses, and what it asks of sources.
    pub interface: Interface,
}

/// What the source of a packet must have to be let in (RFC 3704).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReversePath {
    /// Nothing.
    #[default]
    None,
    /// A route.
    Loose,
    /// A route that leads back by the interface at which the packet came in.
    Strict,
}

/// A port of a router or gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its Ethernet address.
    pub mac: MacAddr,
    /// Its IPv4 address and prefix length.
    pub ipv4: Option<(Ipv4Addr, u8)>,
    /// Its IPv6 address and prefix length.
    pub ipv6: Option<(Ipv6Addr, u8)>,
    /// What it asks of sources.
    pub reverse_path: ReversePath,
    /// The VRF in whose table packets find their routes that come in by it; 0 is the main one.
    pub vrf: u16,
}

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// Behind which port.
    pub port: PortId,
    /// By which VLAN of the port; none for frames without a tag.
    pub vlan: Option<u16>,
    /// Its Ethernet address.
    pub mac: MacAddr,
    /// What frames to it bear as their source address, where that is not the port's own.
    pub source: Option<MacAddr>,
    /// Its address on the link, IPv4.
    pub ipv4: Option<Ipv4Addr>,
    /// Its address on the link, IPv6.
    pub ipv6: Option<Ipv6Addr>,
}

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network's address, host bits zero.
    pub prefix: IpAddr,
    /// Length of the prefix in bits.
    pub len: u8,
    /// Which of the next hops.
    pub next_hop: u32,
    /// The VRF in whose table it is.
    pub vrf: u16,
}

/// The user plane of a mobile gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Gateway {
    /// The routes and neighbours around it: base stations behind port 0, servers behind port 1.
    pub router: Router,
    /// Its own address in the tunnels.
    pub address: Ipv4Addr,
    /// What carries packets to base stations.
    pub tunnel: GatewayTunnel,
    /// Its users.
    pub users: Vec<GatewayUser>,
    /// What each user may send and receive.
    pub rate_bytes_per_s: f64,
    /// How much more at once.
    pub burst_bytes: f64,
}

/// A translator of addresses and ports.
#[derive(Clone, Debug, PartialEq)]
pub struct Nat {
    /// The routes and neighbours around it: subscribers behind port 0, the Internet behind port 1.
    pub router: Router,
    /// Networks of subscribers, and the lengths of their prefixes.
    pub inside: Vec<(Ipv4Addr, u8)>,
    /// Networks of addresses that they share.
    pub pools: Vec<(Ipv4Addr, u8)>,
    /// One-to-one rules: inside network, outside network, length of both prefixes.
    pub one_to_one: Vec<(Ipv4Addr, Ipv4Addr, u8)>,
    /// The lowest outside port that is given away.
    pub first_port: u16,
    /// Most sessions at a time.
    pub sessions: u32,
    /// Whether a TCP segment without SYN opens a session.
    pub tcp_pick_up: bool,
    /// Seconds without packets after which a session ends: UDP, TCP established, that opens, that
    /// closes, ICMP.
    pub timeouts_s: [f64; 5],
}

/// A gateway of subscribers' lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BroadbandGateway {
    /// The routes and neighbours around it: lines behind port 0, the Internet behind port 1.
    pub router: Router,
    /// Sessions of its subscribers.
    pub sessions: Vec<BroadbandSession>,
}

/// A session of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BroadbandSession {
    /// VLANs of its line, the outer one first; none for frames without a tag.
    pub vlans: (Option<u16>, Option<u16>),
    /// Its Ethernet address.
    pub mac: MacAddr,
    /// The number of its session of PPPoE; none for IP over Ethernet.
    pub pppoe: Option<u16>,
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// The prefix that is delegated to it, and its length.
    pub prefix: Option<(Ipv6Addr, u8)>,
}

/// What carries packets between gateway and base stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayTunnel {
    /// GTP-U (TS 29.281).
    GtpU,
    /// VXLAN (RFC 7348), the tunnel endpoint identifier as its network identifier; the inner frame
    /// bears these addresses, source first.
    Vxlan {
        /// Towards users.
        down: [MacAddr; 2],
    },
}

/// A user of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewayUser {
    /// Its address.
    pub ipv4: Ipv4Addr,
    /// Its IPv6 prefix, a /64, as the upper half; none where it has no IPv6.
    pub ipv6_prefix: Option<u64>,
    /// Its tunnel endpoint identifier.
    pub teid: u32,
    /// The address of its base station.
    pub base_station: Ipv4Addr,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_no_host_bits() {
        let of = |text: &str, len| network(text.parse().expect("an address"), len).to_string();
        assert_eq!(of("10.1.2.3", 16), "10.1.0.0");
        assert_eq!(of("10.1.2.3", 0), "0.0.0.0");
        assert_eq!(of("10.1.2.3", 32), "10.1.2.3");
        assert_eq!(of("3fff::1:2", 112), "3fff::1:0");
        assert_eq!(of("3fff::1:2", 0), "::");
    }
}
