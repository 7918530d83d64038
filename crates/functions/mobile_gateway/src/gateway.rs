//! The gateway itself: its ports, its addresses, and how packets are carried to base stations.
//!
//! Behind its two ports, one of several workers has one towards each of them; by these they tell
//! each other what neighbours say, and nothing else.

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::PortId;
use wire::MacAddr;

use super::config::{Config, Tunnel};

/// Towards base stations.
pub const ACCESS: PortId = PortId(0);
/// Towards the Internet.
pub const CORE: PortId = PortId(1);

/// Towards a worker of this gateway.
pub fn towards_worker(index: u32) -> PortId {
    PortId(FIRST_WORKER + index as u8)
}

/// Whether a port is towards another worker.
pub(crate) fn is_worker(port: PortId) -> bool {
    port.0 >= FIRST_WORKER
}

/// The place of a port in what there is of both.
pub(crate) fn side(port: PortId) -> usize {
    usize::from(port.0)
}

/// The gateway itself.
#[derive(Clone, Copy, Debug)]
pub struct Gateway {
    /// Its address.
    pub ip: Ipv4Addr,
    /// Its IPv6 address, if it has one.
    pub ipv6: Option<Ipv6Addr>,
    /// Its MAC address.
    pub mac: MacAddr,
    /// How packets are carried to base stations.
    pub tunnel: Tunnel,
}

impl Gateway {
    /// The gateway of a configuration.
    pub fn new(config: &Config) -> Gateway {
        let Config { gw_ip: ip, gw_ipv6: ipv6, gw_mac: mac, tunnel, .. } = *config;
        Gateway { ip, ipv6, mac, tunnel }
    }
}

/// Behind the two.
const FIRST_WORKER: u8 = 2;
