//! What is told to the switch: bridges with their ports, flows and meters.

use std::fmt::{self, Write};

use functions::service::Service;

use super::openflow::Meter;
use super::options::{Datapath, Interfaces, Options};
use super::{bridge, gateway, router};

/// Everything that is told to the switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// The bridges; the first one has the device's ports, unless they say otherwise.
    pub bridges: Vec<Bridge>,
    /// Commands of `ip` for what the switch looks up in the kernel's tables.
    pub ip: Vec<String>,
    /// Commands of `ovs-appctl`.
    pub appctl: Vec<Vec<String>>,
}

/// A bridge of the switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Bridge {
    /// Its name.
    pub name: &'static str,
    /// Columns of its row in the database: `other-config:hwaddr=…`.
    pub columns: Vec<String>,
    /// Its ports.
    pub ports: Vec<BridgePort>,
    /// Flows, one a line, as `ovs-ofctl` reads them.
    pub flows: String,
    /// How many flows these are.
    pub flow_count: usize,
    /// Meters, which are there before the flows.
    pub meters: Vec<Meter>,
}

/// A port of a bridge.
#[derive(Clone, Debug)]
pub(super) struct BridgePort {
    /// Its name.
    pub name: String,
    /// Its number in flows.
    pub number: u32,
    /// Columns of its row in the database: `type=afxdp`.
    pub columns: Vec<String>,
    /// Whether its link is to be waited for.
    pub has_link: bool,
}

/// The plan of a service between the device's ends of links with these names.
pub(super) fn plan(service: &Service, names: &[String], options: &Options) -> Plan {
    let ports: Vec<BridgePort> =
        names.iter().enumerate().map(|(index, name)| device_port(index, name, options)).collect();
    match service {
        Service::Bridge(bridge) => bridge::plan(bridge, ports),
        Service::Router(router) => router::plan(router, ports),
        Service::MobileGateway(gateway) => gateway::plan(gateway, ports, options),
        // Refused before, as a limitation.
        Service::Nat(_) | Service::Chain(_) => Plan::default(),
    }
}

impl Bridge {
    /// A bridge that drops what no flow wants.
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

/// The number in flows of a device's port.
pub(super) fn number(port: usize) -> u32 {
    port as u32 + 1
}

fn device_port(index: usize, name: &str, options: &Options) -> BridgePort {
    let (name, columns) = match (options.interfaces(), options.datapath) {
        (Interfaces::AfXdp, _) => (name.to_owned(), vec!["type=afxdp".to_owned()]),
        (Interfaces::VhostUser, _) => (name.to_owned(), vec!["type=dpdkvhostuser".to_owned()]),
        (_, Datapath::Dpdk) => {
            let arguments = format!("options:dpdk-devargs=net_af_packet{index},iface={name}");
            (format!("dpdk{index}"), vec!["type=dpdk".to_owned(), arguments])
        }
        _ => (name.to_owned(), Vec::new()),
    };
    BridgePort { name, number: number(index), columns, has_link: true }
}
