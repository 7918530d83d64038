//! The router in words that devices of another making understand.

use super::config::{Config, Port};
use crate::service::{Interface, NextHop, Route, Router, Service};

/// Its ports, its neighbours and its routes; next hops that come and go are not among them.
pub(super) fn service(config: &Config) -> Service {
    let interface = |port| {
        let (ipv4, ipv6) = (config.ip(port), config.ipv6_of(port));
        Interface {
            mac: config.mac(port),
            ipv4: Some((ipv4.address, ipv4.len)),
            ipv6: config.ipv6.then_some((ipv6.address, ipv6.len)),
        }
    };
    let numbers: Vec<u32> = config.all_next_hops().map(|(number, _)| number).collect();
    let place = |number: u32| numbers.binary_search(&number).unwrap_or(0) as u32;
    let next_hops = config.all_next_hops().map(|(_, hop)| NextHop {
        port: hop.port.id(),
        mac: hop.mac.0,
        source: hop.source.map(|mac| mac.0),
        ipv4: hop.ip,
        ipv6: hop.ipv6,
    });
    let main = config.all_routes().filter(|(network, _)| network.vrf == 0);
    let routes = main.map(|(network, number)| Route {
        prefix: network.address,
        len: network.len,
        next_hop: place(number),
    });
    Service::Router(Router {
        interfaces: Port::ALL.map(interface).to_vec(),
        next_hops: next_hops.collect(),
        routes: routes.collect(),
    })
}
