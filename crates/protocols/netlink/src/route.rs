//! Routes, next hops and groups of them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use protocol_kit::Interface;

/// What a route replaces another one by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The number of its table; 254 is the main one.
    pub table: u32,
    /// The addresses that it is for.
    pub prefix: Prefix,
}

/// The table of the kernel of a VRF, unless an operator says otherwise: the main one for VRF 0.
pub fn table_of(vrf: u16) -> u32 {
    if vrf == 0 { MAIN } else { VRFS + u32::from(vrf) }
}

/// The kernel's main table.
const MAIN: u32 = 254;

/// What is added to the number of a VRF, so that none has the kernel's own tables, up to 255.
const VRFS: u32 = 1000;

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The number of its table; 254 is the main one.
    pub table: u32,
    /// The addresses that it is for.
    pub prefix: Prefix,
    /// Its metric; zebra of FRR 8.4 says 20 for every route.
    pub metric: u32,
    /// Who has made it, as Linux numbers them (`/etc/iproute2/rt_protos`): 196 is FRR's staticd.
    pub protocol: u8,
    /// Where packets go.
    pub destination: Destination,
    /// Whether packets are to get another header, labels of MPLS for instance. Which one is not
    /// read, so such a route leads astray if it is used as it is.
    pub is_encapsulated: bool,
}

/// What holds of routes from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteChange {
    /// A route, which replaces one with its table and prefix.
    Route(Route),
    /// A route is gone.
    Withdrawn(Key),
    /// A next hop, which replaces what had its number.
    NextHop {
        /// Its number.
        id: u32,
        /// Where packets go.
        next_hop: NextHop,
        /// As [`Route::is_encapsulated`].
        is_encapsulated: bool,
    },
    /// A group of next hops, which replaces what had its number.
    Group {
        /// Its number.
        id: u32,
        /// Its next hops; those that were not told yet may follow.
        members: Vec<Member>,
    },
    /// A next hop or a group is gone.
    NextHopGone {
        /// Its number.
        id: u32,
    },
}

impl Route {
    /// What it replaces another one by.
    pub fn key(&self) -> Key {
        Key { table: self.table, prefix: self.prefix }
    }
}

/// Where the packets of a route go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To one of these next hops, in shares of their weights.
    Hops(Vec<Hop>),
    /// To a next hop or a group of this number, which may be told behind the route.
    Object(u32),
    /// Nowhere.
    Blackhole,
    /// Nowhere, and the sender is told that the destination is unreachable.
    Unreachable,
    /// Nowhere, and the sender is told that it is prohibited.
    Prohibited,
}

/// A next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The router, of either family whatever that of the route; `None` if the destination itself is
    /// a neighbour.
    pub gateway: Option<IpAddr>,
    /// The interface, by the kernel's number; `None` if it follows from the gateway.
    pub interface: Option<Interface>,
    /// Its share among several, at least 1.
    pub weight: u16,
    /// Whether the gateway is a neighbour at the interface even if no address there says so.
    pub is_onlink: bool,
}

/// What the number of a single next hop stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// A next hop.
    Hop(Hop),
    /// Packets go nowhere.
    Blackhole,
}

/// A next hop in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The number of the next hop, which may be told behind the group.
    pub id: u32,
    /// Its share, at least 1.
    pub weight: u16,
}

/// Addresses with the same first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    /// Returns the prefix of an address, whose further bits become zero; `None` if the length is
    /// above that of the address.
    pub fn new(address: IpAddr, len: u8) -> Option<Prefix> {
        let address = match address {
            IpAddr::V4(address) if len <= 32 => {
                let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) if len <= 128 => {
                let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
            _ => return None,
        };
        Some(Prefix { address, len })
    }

    /// Returns its lowest address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns the number of bits that are the same.
    pub fn bits(&self) -> u8 {
        self.len
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_no_bits_behind_its_length() {
        let of = |text: &str, len| {
            Prefix::new(text.parse().expect("an address"), len).map(|prefix| prefix.to_string())
        };
        assert_eq!(of("10.1.2.3", 24).as_deref(), Some("10.1.2.0/24"));
        assert_eq!(of("10.1.2.3", 32).as_deref(), Some("10.1.2.3/32"));
        assert_eq!(of("10.1.2.3", 0).as_deref(), Some("0.0.0.0/0"));
        assert_eq!(of("2001:db8::1", 47).as_deref(), Some("2001:db8::/47"));
        assert_eq!(of("2001:db8::1", 128).as_deref(), Some("2001:db8::1/128"));
        assert_eq!(of("ffff::", 0).as_deref(), Some("::/0"));
        assert_eq!((of("10.1.2.3", 33), of("::", 129)), (None, None));
    }
}
