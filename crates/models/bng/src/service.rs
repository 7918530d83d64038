//! What a gateway does, for devices of another making.

use function_bng::config::NextHop;
use function_bng::gateway::CORE;
use model_kit::service::{
    self, Beyond, BroadbandGateway, BroadbandSession, Interface, ReversePath, Route, Router,
    Service,
};
use packet::PortId;
use wire::MacAddr;

use crate::catalogue::{self, Subscriber};
use crate::generated;
use crate::section::{Section, SetUp};

/// Subscribers, and the routes and neighbours around the gateway.
pub(super) fn service(section: &Section) -> Service {
    let session = |number| {
        let session = Subscriber::new(section, number).session(section);
        let vlan = |vlan| (vlan > 0).then_some(vlan);
        let (outer, inner) = (vlan(session.line.outer), vlan(session.line.inner));
        BroadbandSession {
            vlans: if outer.is_some() { (outer, inner) } else { (inner, None) },
            mac: session.mac.0,
            pppoe: session.pppoe.map(|pppoe| pppoe.id),
            ipv4: session.ipv4,
            ipv6: session.na,
            prefix: session.delegated.map(|prefix| (prefix.address, prefix.len)),
        }
    };
    Service::BroadbandGateway(BroadbandGateway {
        router: router(section),
        sessions: (0..section.generated.subscribers).map(session).collect(),
    })
}

fn router(section: &Section) -> Router {
    let config = generated::config(section);
    let generated = &section.generated;
    let own =
        |mac| Interface { mac, ipv4: None, ipv6: None, reverse_path: ReversePath::None, vrf: 0 };
    let hop = |number| {
        let NextHop { mac, .. } = catalogue::next_hop(number);
        hop(CORE, mac.map_or(MacAddr::ZERO, |mac| mac.0))
    };
    let route = |number: u32| {
        let prefixes = catalogue::server_prefixes(generated.stack, number);
        let next_hop = number % generated.nhop;
        prefixes.map(move |one| Route { prefix: one.address, len: one.len, next_hop, vrf: 0 })
    };
    let keys = [
        ("rules-generated", "a list of rules for each subscriber", generated.rules_generated > 0),
        (
            "policers",
            "policers of classes under those of subscriber and node",
            generated.policers > 0,
        ),
        ("set-up", "sessions by protocols", generated.set_up == SetUp::Protocol),
        ("queues", "queues of classes under those of subscriber and node", generated.queues > 0),
    ];
    Router {
        interfaces: vec![own(config.access_mac), own(config.core_mac)],
        next_hops: (0..generated.nhop).map(hop).collect(),
        routes: (0..generated.server).flat_map(route).collect(),
        beyond: Beyond::of(&keys),
        ..Router::default()
    }
}

fn hop(port: PortId, mac: MacAddr) -> service::NextHop {
    service::NextHop { port, vlan: None, mac, source: None, ipv4: None, ipv6: None }
}
