//! The objects that TIPSY generates for a mobile gateway, by number: users, base stations, servers,
//! next hops, and those that come and go.
//!
//! TIPSY's scheme counts the last octet of an address from 1 to 254 and the one before from 0 to
//! 253 (`byte_seq`); more users than that continue in the second octet. IPv6, which TIPSY lacks,
//! follows the same numbers within the documentation prefix 3fff::/20 (RFC 9637).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::sections::{Mac, Prefixed};
use function_mobile_gateway::Update;
use function_mobile_gateway::config::{self, Route};
use wire::MacAddr;

/// Most users: three octets of TIPSY's scheme, counted from 3.3.0.1.
pub const USERS_MAX: u32 = 16_000_000;

/// Most base stations, servers or next hops: their MAC or prefix has two octets for the number.
pub const PAIRS_MAX: u32 = 255 * 254;

/// Highest VXLAN network identifier.
pub const VNI_MAX: u32 = (1 << 24) - 1;

/// A user with its one bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// IPv4 address.
    pub ipv4: Ipv4Addr,
    /// The upper 64 bits of the IPv6 prefix.
    pub ipv6_prefix: u64,
    /// Tunnel endpoint identifier, the same in both directions.
    pub teid: u32,
    /// Number of the base station it starts at.
    pub base_station: u32,
}

/// A next hop: the addresses of the frame's new Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHopMacs {
    /// Destination.
    pub dmac: MacAddr,
    /// Source.
    pub smac: MacAddr,
}

impl User {
    /// The change by which it arrives.
    pub fn added(&self) -> Update {
        Update::AddUser(config::User {
            ipv4: self.ipv4,
            ipv6: Some(Prefixed { address: ipv6_host(self.ipv6_prefix, 0), len: IPV6_PREFIX_LEN }),
            teid: self.teid,
            base_station: base_station_ipv4(self.base_station),
            uplink_rate: None,
            downlink_rate: None,
        })
    }

    /// The change by which it departs.
    pub fn removed(&self) -> Update {
        Update::RemoveUser { ipv4: self.ipv4 }
    }

    /// The change by which it moves to base station `number`.
    pub fn moved(&self, number: u32) -> Update {
        Update::Handover { ipv4: self.ipv4, base_station: base_station_ipv4(number) }
    }
}

/// User `number`, counted from 0, of a gateway with `base_stations`.
#[inline]
pub fn user(number: u32, base_stations: u32) -> User {
    User {
        ipv4: user_ipv4(number),
        ipv6_prefix: ipv6_prefix(3, number),
        teid: number + 1,
        base_station: number % base_stations,
    }
}

/// A user that arrives and departs: 4.4.0.1 and on, TEIDs behind those of the lasting ones.
#[inline]
pub fn passing_user(number: u32, users: u32, base_stations: u32) -> User {
    User {
        ipv4: Ipv4Addr::from_bits(four(4, 4, number)),
        ipv6_prefix: ipv6_prefix(4, number),
        teid: users + number + 1,
        base_station: number % base_stations,
    }
}

/// The IPv4 address of user `number`.
#[inline]
pub fn user_ipv4(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(four(3, 3, number))
}

/// The IPv4 address of base station `number`: 1.1.0.1 and on.
#[inline]
pub fn base_station_ipv4(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(four(1, 1, number))
}

/// The MAC address of base station `number`.
#[inline]
pub fn base_station_mac(number: u32) -> MacAddr {
    let [x, y] = pair(number);
    MacAddr([0xaa, 0xcc, 0xdd, 0xcc, x, y])
}

/// The address of server `number`, host 2 in its /24: 2.0.1.2 and on.
#[inline]
pub fn server_ipv4(number: u32) -> Ipv4Addr {
    let [a, b] = pair(number);
    Ipv4Addr::new(2, a, b, 2)
}

/// The upper 64 bits of server `number`'s IPv6 prefix; the server is host 2 in it.
#[inline]
pub fn server_ipv6_prefix(number: u32) -> u64 {
    ipv6_prefix(2, number)
}

/// The address of a server that comes and goes: 5.0.1.2 and on.
#[inline]
pub fn passing_server_ipv4(number: u32) -> Ipv4Addr {
    let [a, b] = pair(number);
    Ipv4Addr::new(5, a, b, 2)
}

/// The IPv6 address of host `host` in the /64 whose upper half is `prefix`.
#[inline]
pub fn ipv6_host(prefix: u64, host: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(u128::from(prefix) << 64 | u128::from(host))
}

/// Next hop `number` towards the Internet.
#[inline]
pub fn next_hop(number: u32) -> NextHopMacs {
    let [x, y] = pair(number);
    NextHopMacs {
        dmac: MacAddr([0xaa, 0xbb, 0xbb, 0xaa, x, y]),
        smac: MacAddr([0xee, 0xdd, 0xdd, 0xaa, x, y]),
    }
}

/// The name of next hop `number`: 6.0.0.1 and on.
pub fn next_hop_address(number: u32) -> IpAddr {
    let [x, y] = pair(number);
    Ipv4Addr::new(6, 0, x, y).into()
}

/// Next hop `number` as the gateway knows it.
pub fn core_hop(number: u32) -> config::NextHop {
    let NextHopMacs { dmac, smac } = next_hop(number);
    let address = next_hop_address(number);
    config::NextHop { address, mac: Some(Mac(dmac)), source_mac: Some(Mac(smac)) }
}

/// The change by which a route by next hop `number` appears.
pub fn add_route(network: impl Into<IpAddr>, len: u8, number: u32) -> Update {
    let prefix = Prefixed { address: network.into(), len };
    Update::AddRoute(Route { prefix, next_hop: next_hop_address(number) })
}

/// The change by which a route disappears.
pub fn remove_route(network: impl Into<IpAddr>, len: u8) -> Update {
    Update::RemoveRoute { prefix: Prefixed { address: network.into(), len } }
}

/// The network of a server.
pub fn network(server: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from_bits(server.to_bits() & 0xffff_ff00)
}

/// Whether an address lies where the catalogue places base stations, servers or users.
pub fn collides(address: Ipv4Addr) -> bool {
    (1..=5).contains(&address.octets()[0])
}

/// The network prefix length of a server.
pub const SERVER_PREFIX_LEN: u8 = 24;

/// The network prefix length of an IPv6 user or server.
pub const IPV6_PREFIX_LEN: u8 = 64;

/// TIPSY's `byte_seq` with two octets.
#[inline]
fn pair(number: u32) -> [u8; 2] {
    [(number / 254) as u8, (number % 254 + 1) as u8]
}

/// TIPSY's `byte_seq` with three octets behind a fixed one; the first of them counts from `offset`.
#[inline]
fn four(first: u32, offset: u32, number: u32) -> u32 {
    let [low, rest] = [number % 64_516, number / 64_516 + offset];
    first << 24 | (rest & 0xff) << 16 | (low / 254) << 8 | (low % 254 + 1)
}

/// 3fff:`kind`:xxxx:xxxx::/64 with `number` in place of the x.
#[inline]
fn ipv6_prefix(kind: u64, number: u32) -> u64 {
    0x3fff << 48 | kind << 32 | u64::from(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_tipsy() {
        assert_eq!(user_ipv4(0), Ipv4Addr::new(3, 3, 0, 1));
        assert_eq!(user_ipv4(253), Ipv4Addr::new(3, 3, 0, 254));
        assert_eq!(user_ipv4(254), Ipv4Addr::new(3, 3, 1, 1));
        assert_eq!(user_ipv4(64_515), Ipv4Addr::new(3, 3, 253, 254));
        assert_eq!(user_ipv4(64_516), Ipv4Addr::new(3, 4, 0, 1));
        assert_eq!(user_ipv4(USERS_MAX - 1).octets()[0..2], [3, 251]);
        assert_eq!(base_station_ipv4(255), Ipv4Addr::new(1, 1, 1, 2));
        assert_eq!(base_station_mac(255).to_string(), "aa:cc:dd:cc:01:02");
        assert_eq!(server_ipv4(0), Ipv4Addr::new(2, 0, 1, 2));
        assert_eq!(passing_server_ipv4(254), Ipv4Addr::new(5, 1, 1, 2));
        assert_eq!(next_hop(0).dmac.to_string(), "aa:bb:bb:aa:00:01");
        assert_eq!(next_hop(3).smac.to_string(), "ee:dd:dd:aa:00:04");
        assert_eq!(user(5, 2).teid, 6);
        assert_eq!(user(5, 2).base_station, 1);
        assert_eq!(passing_user(0, 100, 2).ipv4, Ipv4Addr::new(4, 4, 0, 1));
        assert_eq!(passing_user(0, 100, 2).teid, 101);
        assert_eq!(ipv6_host(ipv6_prefix(3, 0x1_0002), 2).to_string(), "3fff:3:1:2::2");
    }
}
