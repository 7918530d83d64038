//! The router's own addresses at present, those of the configuration and those that came at run
//! time.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::sections::Prefixed;

use super::config::{Link, network};

/// The addresses of a router's interfaces, with the lengths of their links' prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses(BTreeMap<(u16, IpAddr), u8>);

impl Addresses {
    /// Those of links.
    pub fn new(links: impl Iterator<Item = Link>) -> Addresses {
        Addresses(links.map(|link| ((link.interface, link.address), link.len)).collect())
    }

    /// All of them, by the number of the interface.
    pub fn iter(&self) -> impl Iterator<Item = (u16, IpAddr, u8)> + '_ {
        self.0.iter().map(|(&(interface, address), &len)| (interface, address, len))
    }

    /// The length of the prefix of an interface's address.
    pub fn len_of(&self, interface: u16, address: IpAddr) -> Option<u8> {
        self.0.get(&(interface, address)).copied()
    }

    /// How many there are at an interface.
    pub fn count(&self, interface: u16) -> usize {
        self.of(interface).count()
    }

    /// Whether an address of an interface has a link's prefix.
    pub fn has_link(&self, interface: u16, link: IpAddr, len: u8) -> bool {
        self.of(interface).any(|(address, of)| of == len && network(address, len) == link)
    }

    /// The address by which an interface speaks to a neighbour, if the neighbour is on a link.
    pub fn towards(&self, interface: u16, neighbour: IpAddr) -> Option<IpAddr> {
        let is_near = |&(address, len): &(IpAddr, u8)| {
            address.is_ipv4() == neighbour.is_ipv4()
                && network(address, len) == network(neighbour, len)
        };
        self.of(interface).filter(is_near).max_by_key(|(_, len)| *len).map(|(address, _)| address)
    }

    pub(super) fn set(&mut self, interface: u16, address: IpAddr, len: u8) {
        self.0.insert((interface, address), len);
    }

    pub(super) fn remove(&mut self, interface: u16, address: IpAddr) -> Option<u8> {
        self.0.remove(&(interface, address))
    }

    pub(super) fn first_ipv4(&self, interface: u16) -> Option<Prefixed<Ipv4Addr>> {
        self.of(interface).find_map(|(address, len)| match address {
            IpAddr::V4(address) => Some(Prefixed { address, len }),
            IpAddr::V6(_) => None,
        })
    }

    pub(super) fn first_ipv6(&self, interface: u16) -> Option<Prefixed<Ipv6Addr>> {
        self.of(interface).find_map(|(address, len)| match address {
            IpAddr::V6(address) => Some(Prefixed { address, len }),
            IpAddr::V4(_) => None,
        })
    }

    fn of(&self, interface: u16) -> impl Iterator<Item = (IpAddr, u8)> + '_ {
        let first = (interface, IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let rest = self.0.range(first..);
        rest.take_while(move |((at, _), _)| *at == interface).map(|((_, one), len)| (*one, *len))
    }
}
