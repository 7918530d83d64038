//! The ports of a router as the bench numbers them: traffic goes between the first two.

use std::net::{Ipv4Addr, Ipv6Addr};

use function_l3_router::config::{Config, PortName, Prefixed};
use packet::PortId;

/// The first port, behind which users are.
pub const DOWNLINK: PortId = PortId(0);

/// The second port, behind which the Internet is.
pub const UPLINK: PortId = PortId(1);

/// Both sides of the traffic.
pub const SIDES: [PortId; 2] = [DOWNLINK, UPLINK];

/// The other side of the traffic.
pub const fn other(port: PortId) -> PortId {
    match port {
        DOWNLINK => UPLINK,
        _ => DOWNLINK,
    }
}

/// What a configuration says of ports by their numbers.
pub trait Numbered {
    /// The numbers of all ports.
    fn numbers(&self) -> Vec<PortId>;

    /// The name of a port.
    fn name_of(&self, port: PortId) -> PortName;

    /// The number of a port by its name; of an unknown one, a number that no port has.
    fn number_of(&self, name: PortName) -> PortId;

    /// The IPv4 address of a port; none's where it has none.
    fn ip(&self, port: PortId) -> Prefixed<Ipv4Addr>;

    /// The IPv6 address of a port; none's where it has none.
    fn ipv6_of(&self, port: PortId) -> Prefixed<Ipv6Addr>;
}

impl Numbered for Config {
    fn numbers(&self) -> Vec<PortId> {
        (0..self.all_ports().len() as u8).map(PortId).collect()
    }

    fn name_of(&self, port: PortId) -> PortName {
        self.all_ports()[usize::from(port.0)].name
    }

    fn number_of(&self, name: PortName) -> PortId {
        let number = self.all_ports().iter().position(|port| port.name == name);
        PortId(number.map_or(u8::MAX, |number| number as u8))
    }

    fn ip(&self, port: PortId) -> Prefixed<Ipv4Addr> {
        let own = self.all_ports()[usize::from(port.0)].ip;
        own.unwrap_or(Prefixed { address: Ipv4Addr::UNSPECIFIED, len: 32 })
    }

    fn ipv6_of(&self, port: PortId) -> Prefixed<Ipv6Addr> {
        let own = self.all_ports()[usize::from(port.0)].ipv6;
        own.unwrap_or(Prefixed { address: Ipv6Addr::UNSPECIFIED, len: 128 })
    }
}
