//! The interfaces of the router, as changes name them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use controller_kit::Link;
use function_l3_router::config::{Config, PortName, Resolved};

/// The interfaces of a router, and those of the kernel that are the same.
pub(crate) struct Places {
    ports: Vec<PortName>,
    interfaces: Vec<Resolved>,
    has_ipv6: bool,
    /// The function's number by the kernel's, and the other way round.
    numbers: BTreeMap<u32, u16>,
    kernels: BTreeMap<u16, u32>,
}

impl Places {
    /// Those of a configured router, of which the kernel has none yet.
    pub fn new(config: &Config) -> Places {
        Places {
            ports: config.port_names(),
            interfaces: config.all_interfaces(),
            has_ipv6: config.ipv6,
            numbers: BTreeMap::new(),
            kernels: BTreeMap::new(),
        }
    }

    /// Whether a router has these interfaces, unchanged.
    pub fn is_of(&self, config: &Config) -> bool {
        let is_same = self.interfaces == config.all_interfaces();
        is_same && self.ports == config.port_names() && self.has_ipv6 == config.ipv6
    }

    /// The host's interfaces are these.
    pub fn set(&mut self, links: &[Link]) {
        self.numbers = links.iter().map(|link| (link.kernel.0, link.number)).collect();
        self.kernels = links.iter().map(|link| (link.number, link.kernel.0)).collect();
    }

    /// The number of an interface of the kernel.
    pub fn number(&self, kernel: u32) -> Option<u16> {
        self.numbers.get(&kernel).copied()
    }

    /// The kernel's number of an interface.
    pub fn kernel(&self, number: u16) -> Option<u32> {
        self.kernels.get(&number).copied()
    }

    /// The port and the VLAN of an interface.
    pub fn place(&self, number: u16) -> Option<(PortName, Option<u16>)> {
        let one = self.interfaces.get(usize::from(number))?;
        let port = self.ports.get(usize::from(one.port.0)).copied()?;
        Some((port, (one.vlan > 0).then_some(one.vlan)))
    }

    /// The number of the interface of a port's VLAN.
    pub fn of_place(&self, port: PortName, vlan: Option<u16>) -> Option<u16> {
        let is_its = |one: &Resolved| {
            self.ports.get(usize::from(one.port.0)) == Some(&port) && one.vlan == vlan.unwrap_or(0)
        };
        self.interfaces.iter().position(is_its).map(|number| number as u16)
    }

    /// Whether the router can have an address of the kernel's. Those that are link-local end on
    /// their link, and the host has them alone.
    pub fn takes(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => !address.is_loopback() && !address.is_unspecified(),
            IpAddr::V6(address) => {
                self.has_ipv6 && !address.is_unicast_link_local() && !address.is_loopback()
            }
        }
    }
}
