//! The gateway in words that devices of another making understand.
use std::net::{IpAddr, Ipv4Addr};

use crate::catalogue::{self, IPV6_PREFIX_LEN, SERVER_PREFIX_LEN};
use crate::section::Section;
use function_mobile_gateway::config::Tunnel;
use function_mobile_gateway::gateway::{ACCESS, CORE};
use model_kit::service::{
    Gateway, GatewayTunnel, GatewayUser, Interface, NextHop, ReversePath, Route, Router, Service,
};
use packet::PortId;
use wire::MacAddr;

/// Users, their tunnels, and the routes and neighbours around the gateway.
pub(super) fn service(config: &Section) -> Service {
    let user = |number| {
        let user = catalogue::user(number, config.bst);
        GatewayUser {
            ipv4: user.ipv4,
            ipv6_prefix: config.ipv6.then_some(user.ipv6_prefix),
            teid: user.teid,
            base_station: catalogue::base_station_ipv4(user.base_station),
        }
    };
    let tunnel = match config.tunnel() {
        Tunnel::GtpU => GatewayTunnel::GtpU,
        Tunnel::Vxlan => GatewayTunnel::Vxlan { down: [config.gw_mac, MacAddr::BROADCAST] },
    };
    Service::MobileGateway(Gateway {
        router: router(config),
        address: config.gw_ip,
        tunnel,
        users: (0..config.user).map(user).collect(),
        rate_bytes_per_s: config.rate_limit.0,
        burst_bytes: config.burst_bytes(),
    })
}

fn router(config: &Section) -> Router {
    let own = Interface {
        mac: config.gw_mac,
        ipv4: Some((config.gw_ip, 32)),
        ipv6: None,
        reverse_path: ReversePath::None,
        vrf: 0,
    };
    let station = |number| hop(ACCESS, catalogue::base_station_mac(number), None);
    let core = |number| {
        let macs = catalogue::next_hop(number);
        hop(CORE, macs.dmac, Some(macs.smac))
    };
    let to_station = |number| Route {
        prefix: catalogue::base_station_ipv4(number).into(),
        len: 32,
        next_hop: number,
        vrf: 0,
    };
    let to_server = |number: u32| {
        let next_hop = config.bst + number % config.nhop;
        let bits = catalogue::server_ipv4(number).to_bits() & 0xffff_ff00;
        let ipv4: IpAddr = Ipv4Addr::from_bits(bits).into();
        let ipv6 = catalogue::ipv6_host(catalogue::server_ipv6_prefix(number), 0).into();
        let route = |prefix, len| Route { prefix, len, next_hop, vrf: 0 };
        let ipv6 = config.ipv6.then_some(route(ipv6, IPV6_PREFIX_LEN));
        [Some(route(ipv4, SERVER_PREFIX_LEN)), ipv6].into_iter().flatten()
    };
    Router {
        interfaces: vec![own.clone(), own],
        next_hops: (0..config.bst).map(station).chain((0..config.nhop).map(core)).collect(),
        routes: (0..config.bst)
            .map(to_station)
            .chain((0..config.server).flat_map(to_server))
            .collect(),
        ..Router::default()
    }
}

fn hop(port: PortId, mac: MacAddr, source: Option<MacAddr>) -> NextHop {
    NextHop { port, vlan: None, mac, source, ipv4: None, ipv6: None }
}
