//! What is told to the switch for each service.

use model_kit::service::Service;

use super::bridges::{BridgePort, Plan, number};
use super::options::{Datapath, Interfaces, Options};
use super::{bridge, gateway, router};

/// Returns the plan of a service between the device's ends of links with these names.
pub(super) fn plan(service: &Service, names: &[String], options: &Options) -> Plan {
    let ports: Vec<BridgePort> =
        names.iter().enumerate().map(|(index, name)| device_port(index, name, options)).collect();
    match service {
        Service::Bridge(bridge) => bridge::plan(bridge, ports),
        Service::Router(router) => router::plan(router, ports),
        Service::MobileGateway(gateway) => gateway::plan(gateway, ports, options),
        // Refused before, as a limitation.
        Service::Nat(_) | Service::BroadbandGateway(_) | Service::Chain(_) => Plan::default(),
    }
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
