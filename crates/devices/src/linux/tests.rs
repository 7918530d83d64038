//! The kernel takes what is told to it, and ready means that it is there. Without the right to make
//! a namespace there is nothing to test.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use machine::clock::Clock;
use model_kit::service::{
    Gateway, GatewayTunnel, GatewayUser, Interface, NextHop, ReversePath, Route, Router,
};
use packet::PortId;
use wire::MacAddr;

use super::*;

fn interface(number: u8) -> Interface {
    Interface {
        mac: MacAddr([2, 0, 0, 0, 1, number]),
        ipv4: Some((Ipv4Addr::new(198, 18, number, 1), 24)),
        ipv6: None,
        reverse_path: ReversePath::None,
        vrf: 0,
    }
}

fn router(routes: u32) -> Router {
    let hop = |number: u8| NextHop {
        port: PortId(number),
        vlan: None,
        mac: MacAddr([2, 0, 0, 0, 2, number]),
        source: (number == 1).then_some(MacAddr([2, 0, 0, 0, 3, number])),
        ipv4: (number == 0).then_some(Ipv4Addr::new(198, 18, 0, 2)),
        ipv6: None,
    };
    let ipv4 = (0..routes).map(|number| Route {
        prefix: Ipv4Addr::from_bits(0x1400_0000 + (number << 8)).into(),
        len: 24,
        next_hop: number % 2,
        vrf: 0,
    });
    let ipv6 = (0..routes).map(|number| Route {
        prefix: std::net::Ipv6Addr::from_bits(0x3fff << 112 | u128::from(number) << 64).into(),
        len: 64,
        next_hop: number % 2,
        vrf: 0,
    });
    Router {
        interfaces: vec![interface(0), interface(1)],
        next_hops: vec![hop(0), hop(1)],
        routes: ipv4.chain(ipv6).collect(),
        ..Router::default()
    }
}

fn gateway(users: u32) -> Gateway {
    let user = |number| GatewayUser {
        ipv4: Ipv4Addr::from_bits(0x0303_0001 + number),
        ipv6_prefix: Some(0x3fff_0003_0000_0000 + u64::from(number)),
        teid: number + 1,
        base_station: Ipv4Addr::new(20, 0, 0, 1),
    };
    Gateway {
        router: router(4),
        address: Ipv4Addr::new(198, 18, 0, 1),
        tunnel: GatewayTunnel::Vxlan { down: [interface(0).mac, MacAddr::BROADCAST] },
        users: (0..users).map(user).collect(),
        rate_bytes_per_s: 10_000.0,
        burst_bytes: 2000.0,
    }
}

/// Applies a service in a new namespace; the tester's ends stay closed.
fn carried_out(service: &Service) -> Option<(Namespace, Wires, Plan)> {
    if !netns::may_make_namespaces() || PROGRAMS.iter().any(|(name, _)| !netns::is_installed(name))
    {
        eprintln!("skipped: needs root and iproute2, ethtool and nftables");
        return None;
    }
    let options = Options::default();
    let device = Namespace::new().expect("the right is there");
    set_sysctls(&device, service, options.icmp).expect("sysctls");
    let wires = Wires::join(&device, service.ports(), 1514).expect("links");
    let plan = plan::plan(service, &wires.near(), &options).expect("a plan");
    let stop = Arc::new(AtomicBool::new(false));
    let request = request(service, stop);
    let has_rules = matches!(service, Service::MobileGateway(_) | Service::Nat(_));
    carry_out(&device, &plan, has_rules, &request).expect("the kernel takes it");
    Some((device, wires, plan))
}

fn request(service: &Service, stop: Arc<AtomicBool>) -> Start<'_> {
    static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    Start {
        service,
        function: "test",
        port_names: &[],
        configuration: &Value::Null,
        initial: &|| Ok(Vec::new()),
        beside: &[],
        standby: None,
        options: &NOTHING,
        workers: 1,
        cores: &[0],
        frame_bytes_max: 1514,
        clock: Clock::with_rate(1e9),
        stop,
    }
}

#[test]
fn a_router_has_its_routes_and_nothing_else() {
    let Some((device, wires, plan)) = carried_out(&Service::Router(router(500))) else { return };
    // With the one for nothing else, and the one neighbour that has an address.
    assert_eq!((plan.expected.ipv4_routes, plan.expected.ipv6_routes), (502, 501));
    let way = device.ip("route get 20.0.1.7 from 198.18.9.9 iif lo");
    assert!(way.is_ok(), "{way:?}");
    let [near, ..] = wires.near()[..] else { panic!("two ports") };
    let way = device.ip(&format!("route get 20.0.1.7 from 198.18.9.9 iif {near}")).expect("a way");
    assert!(way.contains(wires.near()[1]), "{way}");
    let none = device.ip(&format!("route get 21.0.0.1 from 198.18.9.9 iif {near}"));
    assert!(none.is_err(), "{none:?}");
    let neighbour = device.ip(&format!("route get 198.18.0.2 from 198.18.9.9 iif {near}"));
    assert!(neighbour.is_ok(), "{neighbour:?}");
    let on_link = device.ip(&format!("route get 198.18.1.77 from 198.18.9.9 iif {near}"));
    assert!(on_link.is_err(), "the service has no such route: {on_link:?}");
    let none = device.ip(&format!("-6 route get 3ffe::1 from 3ffe::2 iif {near}"));
    assert!(none.is_err(), "{none:?}");
    let rules = device.command("nft", &["list", "ruleset"], None).expect("rules");
    assert!(rules.contains("02:00:00:00:02:01 : 02:00:00:00:03:01"), "{rules}");
    assert!(usage::tables(&device, false).ipv4_bytes > 0);
}

#[test]
fn a_bridge_has_its_stations_and_ages_as_told() {
    let station = |number| (MacAddr([2, 0, 0, 0, 9, number]), PortId(number % 2));
    let bridge = Bridge {
        ports: 2,
        beyond: vec![],
        stations: (0..50).map(station).collect(),
        ageing_s: Some(12.5),
        floods: false,
        patch: None,
    };
    let Some((device, _wires, _)) = carried_out(&Service::Bridge(bridge)) else { return };
    let ageing = device.attribute(bridge::BRIDGE, "bridge/ageing_time").expect("told");
    assert_eq!(ageing, "1250");
    let table = device.command("bridge", &["fdb", "show"], None).expect("a table");
    assert!(table.contains("02:00:00:00:09:31"), "{table}");
}

#[test]
fn two_ports_are_patched_by_rules() {
    let patch = Some([None, Some(MacAddr([2, 0, 0, 0, 7, 7]))]);
    let bridge =
        Bridge { ports: 2, beyond: vec![], stations: vec![], ageing_s: None, floods: false, patch };
    let Some((device, wires, _)) = carried_out(&Service::Bridge(bridge)) else { return };
    let rules = device.command("nft", &["list", "ruleset"], None).expect("rules");
    for name in wires.near() {
        assert!(rules.contains(&format!("fwd to \"{name}\"")), "{rules}");
    }
    assert!(rules.contains("02:00:00:00:07:07"), "{rules}");
}

#[test]
fn a_gateway_has_its_users_tunnels_and_owners() {
    let Some((device, _wires, _)) = carried_out(&Service::MobileGateway(gateway(300))) else {
        return;
    };
    let route = device.ip("-d route show 3.3.0.5").expect("a route");
    assert!(route.contains("encap ip id 5") && route.contains("dst 20.0.0.1"), "{route}");
    let inside = device.ip(&format!("route get 3.3.0.5 from 4.4.4.4 iif {}", gateway::TUNNEL));
    assert!(inside.is_err(), "users do not reach each other: {inside:?}");
    let rules = device.command("nft", &["list", "ruleset"], None).expect("rules");
    assert!(rules.contains("0x12c . 0x303012c"), "the last user owns its tunnel: {rules}");
    assert!(rules.contains("limit rate over 10000 bytes/second burst 2000 bytes"), "{rules}");
}

#[test]
fn what_the_kernel_cannot_do_is_refused_or_said() {
    let mut gtp = gateway(1);
    gtp.tunnel = GatewayTunnel::GtpU;
    let refused = Linux.limitations(&Service::MobileGateway(gtp), &Map::new()).expect_err("no GTP");
    assert!(refused.remedy.contains("tunnel: vxlan"), "{refused:?}");
    let told = Linux.limitations(&Service::MobileGateway(gateway(1)), &Map::new()).expect("told");
    assert!(told.iter().any(|one| one.verdicts.contains(&"rate-exceeded")), "{told:?}");
    let unknown = Map::from_iter([("policer".to_owned(), Value::Bool(true))]);
    let refused =
        Linux.limitations(&Service::Router(router(1)), &unknown).expect_err("no such key");
    assert!(refused.what.contains("policer"), "{refused:?}");
}

#[test]
fn a_user_who_stops_is_heard_while_the_device_is_set_up() {
    if !netns::may_make_namespaces() {
        eprintln!("skipped: no right to make network namespaces; run as root");
        return;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let service = Service::Router(router(10));
    let device = Namespace::new().expect("the right is there");
    let request = request(&service, stop.clone());
    let plan = Plan { links: "link show lo\n".to_owned(), ..Plan::default() };
    carry_out(&device, &plan, false, &request).expect("nothing to do");
    stop.store(true, Ordering::Relaxed);
    let refused = carry_out(&device, &plan, false, &request).expect_err("stopped");
    assert!(refused.what.contains("stopped"), "{refused:?}");
}

#[test]
fn threads_stand_on_the_devices_cores_and_their_time_is_told() {
    let service = Service::Router(router(1));
    let Some((device, wires, _)) = carried_out(&service) else { return };
    let cores = machine::cpu::available_cores();
    for forwarding in [Forwarding::Threaded, Forwarding::Rps, Forwarding::Softirq] {
        let place = Place::settle(&device, &wires, forwarding, &cores).expect("settled");
        let (used, of) = place.cpu();
        assert!(
            used.is_some_and(|used| used < Duration::from_secs(3600).as_nanos() as u64),
            "{of}"
        );
        assert!(of.contains("core"), "{of}");
    }
    let threaded = device.attribute(wires.near()[0], "threaded").expect("readable");
    assert_eq!(threaded, "1");
}
