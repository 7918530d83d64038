//! What the router is by its configuration: its interfaces, and the numbers that are free in it.

use std::collections::BTreeSet;
use std::net::IpAddr;

use controller_kit::keys::invalid;
use function_kit::Invalid;
use function_kit::erased::{Configured, config_of};
use function_kit::sections::{Mac, function_key};
use function_l3_router::L3Router;
use function_l3_router::config::{Config, GROUPS, Link, NextHop, PortName, Resolved, network};

use crate::tables::Table;

pub(crate) use function_l3_router::config::Network;

/// A router, as it was configured.
#[derive(PartialEq)]
pub(crate) struct Router {
    ports: Vec<PortName>,
    interfaces: Vec<Resolved>,
    links: Vec<Link>,
    /// Prefixes of the links, the router's own addresses, and the routes of its configuration:
    /// none of them is the controller's.
    taken: BTreeSet<Network>,
    /// Its last VRF.
    pub vrfs: u16,
    /// Whether it routes IPv6.
    pub ipv6: bool,
    /// The next hops of its configuration, by number.
    pub next_hops: Vec<NextHop>,
    /// The end of the numbers of next hops that are the controller's.
    pub next_hops_end: u32,
    /// Groups of its configuration, which have the first places.
    pub groups: u32,
    /// The group without members to which routes lead whose packets are dropped, behind the places
    /// that are the controller's.
    pub nobody: u32,
}

impl Router {
    /// Looks at a function, which has to be a router with room for what zebra tells.
    ///
    /// # Errors
    /// What does not fit.
    pub fn of(function: Option<&dyn Configured>, tables: &[Table]) -> Result<Router, Invalid> {
        let config = function.and_then(|function| config_of::<L3Router>(function));
        let config = config.ok_or_else(|| {
            let what = "controls an l3-router alone".to_owned();
            invalid("name", what, "Remove the controller, or choose another function")
        })?;
        check(config, tables)?;
        let links: Vec<Link> = config.links().collect();
        let prefix = |link: &Link| {
            let address = network(link.address, link.len);
            Network { vrf: link.vrf, address, len: link.len }
        };
        let own = links.iter().flat_map(|link| [prefix(link), host(link.vrf, link.address)]);
        let taken = own.chain(config.all_routes().map(|(network, _)| network)).collect();
        Ok(Router {
            ports: config.port_names(),
            interfaces: config.all_interfaces(),
            taken,
            links,
            vrfs: config.vrfs,
            ipv6: config.ipv6,
            next_hops: config.next_hops.clone(),
            next_hops_end: match config.next_hop_capacity {
                0 => lasting_end(config.next_hops.len() as u32, config.next_hops_max()),
                capacity => capacity,
            },
            groups: config.groups(),
            nobody: match config.ecmp_capacity {
                0 => lasting_end(config.groups(), config.groups_max()) - 1,
                capacity => capacity - 1,
            },
        })
    }

    /// Whether a prefix is that of a link, an address of the router or a route that is configured.
    pub fn is_taken(&self, network: &Network) -> bool {
        self.taken.contains(network)
    }

    /// The VRF of an interface; `None` if there is no such one.
    pub fn vrf(&self, interface: u16) -> Option<u16> {
        self.interfaces.get(usize::from(interface)).map(|one| one.vrf)
    }

    /// The interface at whose link a neighbour is: that of the longest prefix.
    pub fn at_link(&self, vrf: u16, neighbour: IpAddr) -> Option<u16> {
        let is_there = |link: &&Link| {
            let is_same = link.address.is_ipv4() == neighbour.is_ipv4();
            let prefix = network(neighbour, link.len) == network(link.address, link.len);
            link.vrf == vrf && is_same && prefix
        };
        let link = self.links.iter().filter(is_there).max_by_key(|link| link.len);
        link.map(|link| link.interface)
    }

    /// The next hop of a neighbour at an interface, whose Ethernet address it asks for; `None` if
    /// there is no such interface.
    pub fn next_hop(&self, interface: u16, neighbour: IpAddr) -> Option<NextHop> {
        let one = self.interfaces.get(usize::from(interface))?;
        let (ip, ipv6) = match neighbour {
            IpAddr::V4(address) => (Some(address), None),
            IpAddr::V6(address) => (None, Some(address)),
        };
        Some(NextHop {
            port: *self.ports.get(usize::from(one.port.0))?,
            vlan: (one.vlan > 0).then_some(one.vlan),
            mac: Mac(wire::MacAddr::ZERO),
            source: None,
            ip,
            ipv6,
            bfd: None,
            name: None,
        })
    }

    /// The interface of a next hop.
    pub fn interface_of(&self, next_hop: &NextHop) -> Option<u16> {
        let is_its = |one: &Resolved| {
            self.ports.get(usize::from(one.port.0)) == Some(&next_hop.port)
                && one.vlan == next_hop.vlan.unwrap_or(0)
        };
        self.interfaces.iter().position(is_its).map(|number| number as u16)
    }

    /// The number by which routes lead to the group without members.
    pub fn nowhere(&self) -> u32 {
        GROUPS + self.nobody
    }
}

/// The end of a table whose room is counted from what is configured, of which there is so much:
/// what it has had with nothing configured. It stays as large as it was when a reload brings more.
fn lasting_end(configured: u32, room: u32) -> u32 {
    let spare = room - configured;
    if spare > configured { spare } else { room }
}

/// The addresses of a next hop.
pub(crate) fn addresses(next_hop: &NextHop) -> impl Iterator<Item = IpAddr> {
    let v4 = next_hop.ip.map(IpAddr::from);
    v4.into_iter().chain(next_hop.ipv6.map(IpAddr::from))
}

/// The route of an address alone.
pub(crate) fn host(vrf: u16, address: IpAddr) -> Network {
    Network { vrf, address, len: if address.is_ipv4() { 32 } else { 128 } }
}

/// Whether a prefix is one address.
pub(crate) fn is_host(network: &Network) -> bool {
    host(network.vrf, network.address) == *network
}

fn check(config: &Config, tables: &[Table]) -> Result<(), Invalid> {
    let refuse = |key, what: &str, remedy| Err(function_key(key, what.to_owned(), remedy));
    if !config.resolve {
        let what = "is false, and routes tell no Ethernet addresses";
        return refuse("resolve", what, "Set 'resolve: true', or remove the controller");
    }
    if config.next_hops.len() as u64 >= u64::from(config.next_hops_max()) {
        let what = "has no room for next hops beside the configured ones";
        return refuse("next-hop-capacity", what, "Give more, or remove the key");
    }
    if config.groups_max() <= config.groups() {
        let what = "has no room for groups beside the configured ones";
        return refuse("ecmp-capacity", what, "Give at least one more; 1024 is a good choice");
    }
    if let Some(one) = tables.iter().find(|one| one.vrf > config.vrfs) {
        let what = format!("has VRF {}, which the router does not have", one.vrf);
        return Err(invalid("tables", what, "Raise the router's 'vrfs', or choose another"));
    }
    Ok(())
}
