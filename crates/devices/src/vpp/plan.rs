//! What is told to VPP for each service, as text for its CLI: it can be read and tested without
//! being done.
//!
//! The interfaces have the names `port0`, `port1` … whatever they are, so that the same commands
//! set up the process that the check and the tester see and the one of the closed loop.

use std::fmt::Write as _;
use std::net::IpAddr;

use model_kit::service::{Bridge, Interface, NextHop, Router, Service};
use packet::PortId;

use crate::driver::{DriverError, no_broadband, no_chain, no_nat};
use crate::neighbours::{address_ipv4, address_ipv6, no_port, unknown_hop};

/// Commands that configure VPP, and the state by which it is checked that it has applied them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Commands, one a line.
    pub commands: String,
    /// Number of IPv4 prefixes among them.
    pub ipv4_routes: usize,
    /// Number of IPv6 prefixes among them.
    pub ipv6_routes: usize,
    /// Number of stations among them.
    pub stations: usize,
}

/// Returns the plan of a service.
///
/// # Errors
/// When VPP cannot be set up for it here.
pub(super) fn plan(service: &Service) -> Result<Plan, DriverError> {
    let mut plan = Plan::default();
    match service {
        Service::Router(router) => plan.router(router)?,
        Service::Bridge(bridge) => plan.bridge(bridge),
        Service::MobileGateway(_) => return Err(super::limits::no_gateway().into()),
        Service::Nat(_) => return Err(no_nat().into()),
        Service::BroadbandGateway(_) => return Err(no_broadband().into()),
        Service::Chain(_) => return Err(no_chain().into()),
    }
    Ok(plan)
}

/// Returns the name of a port's interface.
pub(super) fn name_of(port: usize) -> String {
    format!("port{port}")
}

impl Plan {
    fn line(&mut self, command: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.commands, "{command}");
    }

    fn router(&mut self, router: &Router) -> Result<(), DriverError> {
        let is_ipv6 = router.routes.iter().any(|route| route.prefix.is_ipv6())
            || router.interfaces.iter().any(|interface| interface.ipv6.is_some());
        for (port, interface) in router.interfaces.iter().enumerate() {
            self.interface(port, interface, is_ipv6);
        }
        // By family: routes to next hops that have no address use one that stands for them.
        let mut addresses = Vec::with_capacity(router.next_hops.len());
        for (index, hop) in router.next_hops.iter().enumerate() {
            if usize::from(hop.port.0) >= router.interfaces.len() {
                return Err(no_port(hop.port));
            }
            let of =
                [Some(address_ipv4(hop, index)?.into()), Some(address_ipv6(hop, index).into())];
            let of: [Option<IpAddr>; 2] = if is_ipv6 { of } else { [of[0], None] };
            for address in of.into_iter().flatten() {
                self.neighbour(hop, address);
            }
            addresses.push(of);
        }
        // Routes of the scenario to a neighbour's own address say where that is.
        let mut known: std::collections::HashSet<IpAddr> = router
            .routes
            .iter()
            .filter(|route| route.len == bits(route.prefix))
            .map(|r| r.prefix)
            .collect();
        for hop in &router.next_hops {
            let own = [hop.ipv4.map(IpAddr::from), hop.ipv6.map(IpAddr::from)];
            for address in own.into_iter().flatten() {
                if known.insert(address) {
                    self.route((address, bits(address)), address, hop.port);
                }
            }
        }
        for route in &router.routes {
            let hop = router.next_hops.get(route.next_hop as usize);
            let via = addresses.get(route.next_hop as usize);
            let via = via.and_then(|via| via[usize::from(route.prefix.is_ipv6())]);
            let Some((hop, via)) = hop.zip(via) else { return Err(unknown_hop(route.next_hop)) };
            self.route((route.prefix, route.len), via, hop.port);
        }
        for network in ["0.0.0.0/8", "127.0.0.0/8"] {
            self.line(format_args!("ip route add {network} via drop"));
        }
        self.ipv4_routes += 2;
        Ok(())
    }

    fn interface(&mut self, port: usize, interface: &Interface, is_ipv6: bool) {
        let name = name_of(port);
        self.line(format_args!("set interface mac address {name} {}", interface.mac));
        if let Some((address, len)) = interface.ipv4 {
            self.line(format_args!("set interface ip address {name} {address}/{len}"));
        }
        if let Some((address, len)) = interface.ipv6 {
            self.line(format_args!("set interface ip address {name} {address}/{len}"));
        }
        if is_ipv6 {
            if interface.ipv6.is_none() {
                self.line(format_args!("enable ip6 interface {name}"));
            }
            self.line(format_args!("ip6 nd {name} ra-suppress"));
        }
    }

    /// Adds a neighbour that is never asked for. One whose address stands for it is in no table.
    fn neighbour(&mut self, hop: &NextHop, address: IpAddr) {
        let own = [hop.ipv4.map(IpAddr::from), hop.ipv6.map(IpAddr::from)];
        let more = if own.contains(&Some(address)) { "" } else { " no-fib-entry" };
        let (name, mac) = (name_of(hop.port.0.into()), hop.mac);
        self.line(format_args!("set ip neighbor {name} {address} {mac} static{more}"));
    }

    fn route(&mut self, (prefix, len): (IpAddr, u8), via: IpAddr, port: PortId) {
        let name = name_of(port.0.into());
        self.line(format_args!("ip route add {prefix}/{len} via {via} {name}"));
        match prefix {
            IpAddr::V4(_) => self.ipv4_routes += 1,
            IpAddr::V6(_) => self.ipv6_routes += 1,
        }
    }

    fn bridge(&mut self, bridge: &Bridge) {
        if bridge.patch.is_some() {
            self.line(format_args!("set interface l2 xconnect port0 port1"));
            self.line(format_args!("set interface l2 xconnect port1 port0"));
            return;
        }
        let learns = u8::from(bridge.ageing_s.is_some());
        let floods = u8::from(bridge.floods);
        let minutes = ageing_minutes(bridge.ageing_s);
        self.line(format_args!(
            "create bridge-domain {DOMAIN} learn {learns} forward 1 uu-flood {floods} flood 1 \
             arp-term 0 mac-age {minutes}"
        ));
        for port in 0..bridge.ports {
            self.line(format_args!("set interface l2 bridge port{port} {DOMAIN}"));
        }
        for (mac, port) in &bridge.stations {
            self.line(format_args!("l2fib add {mac} {DOMAIN} port{} static", port.0));
            self.stations += 1;
        }
    }
}

/// Returns the ageing time in whole minutes, which VPP has, at least one; 0 for none.
fn ageing_minutes(ageing_s: Option<f64>) -> u8 {
    ageing_s.map_or(0, |seconds| (seconds / 60.0).ceil().clamp(1.0, 255.0) as u8)
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Number of the bridge domain.
const DOMAIN: u32 = 1;
