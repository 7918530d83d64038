//! The interfaces of the router, as bfdd's sessions name them.

use std::collections::BTreeMap;

use controller_kit::Link;
use controller_kit::keys::invalid;
use function_kit::Invalid;
use function_kit::erased::{Configured, config_of};
use function_l3_router::L3Router;
use function_l3_router::config::{PortName, Resolved, network};
use protocol_bfddp::Session;

/// The interfaces of a router, and those of the kernel that are the same.
pub(crate) struct Places {
    ports: Vec<PortName>,
    interfaces: Vec<Resolved>,
    /// Sessions for which the router has room.
    pub sessions_max: u32,
    /// The function's number by the kernel's.
    numbers: BTreeMap<u32, u16>,
}

impl Places {
    /// Looks at a function, which has to be a router with room for sessions.
    ///
    /// # Errors
    /// What does not fit.
    pub fn of(function: Option<&dyn Configured>) -> Result<Places, Invalid> {
        let config = function.and_then(|function| config_of::<L3Router>(function));
        let config = config.ok_or_else(|| {
            let what = "controls an l3-router alone".to_owned();
            invalid("name", what, "Remove the controller, or choose another function")
        })?;
        let sessions_max = config.bfd_sessions_max();
        if sessions_max == 0 {
            let what = "controls a router without room for sessions of BFD".to_owned();
            return Err(invalid("name", what, "Give the router a `bfd-capacity`"));
        }
        Ok(Places {
            ports: config.port_names(),
            interfaces: config.all_interfaces(),
            sessions_max,
            numbers: BTreeMap::new(),
        })
    }

    /// Whether another router has the same ones.
    pub fn is_like(&self, other: &Places) -> bool {
        self.ports == other.ports
            && self.interfaces == other.interfaces
            && self.sessions_max == other.sessions_max
    }

    /// The host's interfaces are these.
    pub fn set(&mut self, links: &[Link]) {
        self.numbers = links.iter().map(|link| (link.kernel.0, link.number)).collect();
    }

    /// The port and the VLAN of the interface of a session: that which bfdd names, or the one on
    /// whose link the peer is.
    pub fn place(&self, session: &Session) -> Option<(PortName, Option<u16>)> {
        let number = match session.interface {
            Some(kernel) => self.numbers.get(&kernel.0).copied().map(usize::from),
            None => self.interfaces.iter().position(|one| is_near(one, session)),
        };
        let one = self.interfaces.get(number?)?;
        let port = self.ports.get(usize::from(one.port.0)).copied()?;
        Some((port, (one.vlan > 0).then_some(one.vlan)))
    }
}

/// Whether the peer of a session is on the link of an interface.
fn is_near(one: &Resolved, session: &Session) -> bool {
    let ipv4 = one.ip.map(|ip| (ip.address.into(), ip.len));
    let ipv6 = one.ipv6.map(|ip| (ip.address.into(), ip.len));
    [ipv4, ipv6].into_iter().flatten().any(|(address, len)| {
        network(address, len) == network(session.peer, len)
            && session.peer.is_ipv4() == address.is_ipv4()
    })
}
