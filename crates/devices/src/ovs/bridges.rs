//! What can be told to the switch: bridges with their ports, flows and meters.

use std::fmt::{self, Write};
use std::net::IpAddr;

use super::openflow::Meter;

/// Complete configuration of the switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Bridges; the first has the device's ports unless stated otherwise.
    pub bridges: Vec<Bridge>,
    /// Commands of `ip` for the kernel tables that the switch uses.
    pub ip: Vec<String>,
    /// Commands of `ovs-appctl`.
    pub appctl: Vec<Vec<String>>,
}

/// A bridge of the switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Bridge {
    /// Name of the bridge.
    pub name: &'static str,
    /// Columns of the bridge's row in the database: `other-config:hwaddr=…`.
    pub columns: Vec<String>,
    /// Ports of the bridge.
    pub ports: Vec<BridgePort>,
    /// Flows, one per line, as `ovs-ofctl` reads them.
    pub flows: String,
    /// Number of flows.
    pub flow_count: usize,
    /// Meters, which are added before the flows.
    pub meters: Vec<Meter>,
    /// Whether the first fragment of a datagram shows its ports to flows.
    pub reads_first_fragments: bool,
}

/// A port of a bridge.
#[derive(Clone, Debug)]
pub(super) struct BridgePort {
    /// Name of the port.
    pub name: String,
    /// OpenFlow number of the port.
    pub number: u32,
    /// Columns of the port's row in the database: `type=afxdp`.
    pub columns: Vec<String>,
    /// Whether to wait for the port's link.
    pub has_link: bool,
}

impl Bridge {
    /// Creates a bridge that drops frames without a matching flow.
    pub fn new(name: &'static str, ports: Vec<BridgePort>) -> Bridge {
        Bridge { name, ports, ..Bridge::default() }
    }

    /// Adds a flow.
    pub fn flow(&mut self, flow: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.flows, "{flow}");
        self.flow_count += 1;
    }
}

/// Returns the OpenFlow number of a port of the device.
pub(super) fn number(port: usize) -> u32 {
    port as u32 + 1
}

/// Returns the match of a prefix.
pub(super) fn matching(prefix: IpAddr, len: u8, word: &str) -> String {
    match prefix {
        IpAddr::V4(prefix) => format!("ip,nw_{word}={prefix}/{len}"),
        IpAddr::V6(prefix) => format!("ipv6,ipv6_{word}={prefix}/{len}"),
    }
}
