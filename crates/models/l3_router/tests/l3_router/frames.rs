//! Frames and configurations that several tests use.

use function_l3_router::config::{
    AclRule, Action, Algorithm, Config, DOWNLINK, EarlyFragments, Group, HostPlace, Interface, Mac,
    Member, NextHop, PoliceBy, Policer, Port, PortName, Ports, Prefixed, PuntRates, Remark,
    ReversePath, Route, ToHop, UPLINK, Vxlan,
};
use machine::clock::Clock;
use model_kit::Model;
use model_kit::check::Step;
use model_l3_router::generated::SourceMac;
use model_l3_router::sample::sample;
use model_l3_router::{Generated, L3Router, Routed, Section, Traffic};
use traffic::{Frames, Stamp};
use wire::MacAddr;

/// A small router of every kind.
pub fn kinds() -> Vec<Section> {
    let small = Generated { upstream_l3_table_size: 20, ..Generated::default() };
    let sources = Generated { source_mac: SourceMac::NextHop, ..small.clone() };
    let none = Generated {
        upstream_l3_table_size: 0,
        upstream_group_table_size: 0,
        downstream_l3_table_size: 0,
        downstream_group_table_size: 0,
        ..Generated::default()
    };
    let passing = Generated { fluct_l3_table: 10.0, fluct_group_table: 5.0, ..sources.clone() };
    let rules = Generated { acl_generated: 100, ..Generated::default() };
    let copies = Generated { policers_generated: 500, ..small.clone() };
    let grouped_by_four = Generated { ecmp_members: 4, ..Generated::default() };
    let weighted =
        Generated { ecmp_members: 2, ecmp_weights: vec![1, 3], fluct_l3_table: 5.0, ..internet() };
    let plain = Config::default();
    let usual = Generated::default();
    let marked = Remark { red: Some(8), ..Remark::default() };
    let configs = [
        (&small, plain.clone()),
        (&small, Config { ipv6: true, ..plain.clone() }),
        (&sources, Config { fakedrop: true, ..plain.clone() }),
        (&small, Config { ipv6: true, fakedrop: true, ..plain.clone() }),
        (&passing, plain.clone()),
        (&usual, listed()),
        (&none, listed()),
        (&usual, divided()),
        (&small, serving(PoliceBy::Port)),
        (&rules, serving(PoliceBy::Acl)),
        (&rules, plain.clone()),
        (&small, Config { remark: marked, ..serving(PoliceBy::Dscp) }),
        (&copies, serving(PoliceBy::Source)),
        (&small, Config { egress_acl: Vec::new(), acl_capacity: 40, ..serving(PoliceBy::None) }),
        (&usual, host()),
        (&usual, Config { punt: true, ping: true, ..listed() }),
        (&usual, Config { resolve: true, neighbour_capacity: 20, pending_capacity: 12, ..host() }),
        (&usual, Config { resolve: true, ..listed() }),
        (&usual, advertising()),
        (&usual, hosted(Config { resolve: true, ..host() })),
        (&usual, hosted(tunnelled())),
        (&usual, tunnelled()),
        (&internet(), listed()),
        (&usual, grouped()),
        (&usual, reassembling()),
        (&usual, Config { early_fragments: EarlyFragments::Pass, resolve: true, ..reassembling() }),
        (&usual, Config { virtual_reassembly: true, reassembly_capacity: 1, ..plain.clone() }),
        (&grouped_by_four, Config { ecmp_seed: 7, resolve: true, ..divided_into_groups() }),
        (&weighted, listed()),
        (&small, of_four_ports(plain.clone())),
        (&usual, of_four_ports(Config { resolve: true, ping: true, ..divided_into_groups() })),
        (&rules, of_four_ports(serving(PoliceBy::Port))),
    ];
    let both =
        |(generated, config): (&Generated, _)| Section { generated: generated.clone(), config };
    configs.into_iter().map(both).collect()
}

/// The same router, whose uplink port and interfaces by VLAN the host has, too.
fn hosted(mut config: Config) -> Config {
    let own = |one: &Interface| one.port == UPLINK && one.vlan.is_none();
    if !config.interfaces.iter().any(own) {
        config.interfaces.push(untagged(UPLINK));
    }
    for (number, one) in config.interfaces.iter_mut().enumerate() {
        if one.vlan.is_some() || own(one) {
            one.host_interface = Some(HostPlace::Here(PortName::numbered("host", number as u16)));
        }
    }
    config
}

/// A port's own interface, of which nothing else is said.
fn untagged(port: PortName) -> Interface {
    Interface {
        port,
        vlan: None,
        vrf: 0,
        ip: None,
        ipv6: None,
        mtu: 0,
        urpf: ReversePath::None,
        vxlan: None,
        host_interface: None,
    }
}

/// The same router with two more ports, all by names of their own, and with neighbours and routes
/// behind the new ones; where there are interfaces, with one by VLAN.
pub fn of_four_ports(mut config: Config) -> Config {
    let names = ["ge-1", "ge-2", "ge-3", "ge-4"].map(PortName::new);
    let named = |port: PortName| names[usize::from(port == UPLINK)];
    config.next_hops.iter_mut().for_each(|hop| hop.port = named(hop.port));
    config.interfaces.iter_mut().for_each(|one| one.port = named(one.port));
    for rule in config.ingress_acl.iter_mut().chain(&mut config.egress_acl) {
        rule.port = rule.port.map(named);
    }
    let two = Config::default().all_ports();
    let more = [(2, Some("10.20.0.1/24"), "3fff:0:0:20::1/64"), (3, None, "3fff:0:0:21::1/64")];
    let more = more.map(|(number, ip, ipv6)| Port {
        name: names[number],
        mac: Mac(MacAddr([0xde, 0xdd, 0xdd, 0xdd, 0, number as u8])),
        ip: ip.and_then(|ip| Prefixed::try_from(ip.to_owned()).ok()),
        ipv6: Prefixed::try_from(ipv6.to_owned()).ok(),
        host_interface: None,
    });
    config.ports = two.into_iter().zip(names).map(|(port, name)| Port { name, ..port }).collect();
    config.ports.extend(more);
    let hop = |number: usize, last, vlan, ip: &str| NextHop {
        port: names[number],
        vlan,
        mac: Mac(MacAddr([0x0a, 0, 0, 0, 3, last])),
        source: None,
        ip: ip.parse().ok(),
        ipv6: None,
        bfd: None,
        name: None,
    };
    let first = config.next_hops.len() as u32;
    config.next_hops.extend([hop(2, 1, None, "10.20.0.2"), hop(3, 2, None, "none")]);
    if !config.interfaces.is_empty() {
        let like = config.interfaces[0];
        let ip = Prefixed::try_from("10.22.0.1/24".to_owned()).ok();
        let tagged = Interface { port: names[3], vlan: Some(100), vrf: 1, ip, ipv6: None, ..like };
        config.interfaces.push(tagged);
        config.next_hops.push(hop(3, 3, Some(100), "10.22.0.2"));
    }
    for (text, next_hop) in [("198.0.0.0/8", first), ("203.0.113.0/24", first + 1)] {
        let prefix = Prefixed::try_from(text.to_owned()).expect("a prefix");
        config.routes.push(Route { prefix, next_hop: Some(next_hop.into()), group: None, vrf: 0 });
    }
    config
}

/// A router with interfaces by VLAN that hosts find by themselves.
pub fn advertising() -> Config {
    let advertise = serde_json::json!([
        {"port": "downlink"},
        {
            "port": "downlink", "vlan": 100, "interval-s": 4, "lifetime-s": 9000, "mtu": 1400,
            "hop-limit": 0, "managed": true, "other-config": true, "preference": "high",
            "prefixes": [
                {"prefix": "2001:db8:7::1/64", "valid-s": 100, "preferred-s": 50},
                {"prefix": "2001:db8:8::/56", "autonomous": false, "on-link": false},
            ],
            "routes": [{"prefix": "2001:db8::1/32", "preference": "low", "lifetime-s": 30}],
            "rdnss": ["2001:db8::53", "2001:db8::54"],
        },
    ]);
    let advertise = serde_json::from_value(advertise).expect("advertisements");
    Config { resolve: true, ping: true, advertise, ..divided() }
}

/// The usual tables beside a configuration.
pub fn usual(config: Config) -> Section {
    Section { generated: Generated::default(), config }
}

/// A router whose rules and groups see the ports of few datagrams in fragments.
pub fn reassembling() -> Config {
    let Config { ingress_acl, egress_acl, .. } = serving(PoliceBy::None);
    Config {
        ingress_acl,
        egress_acl,
        virtual_reassembly: true,
        reassembly_capacity: 7,
        reassembly_timeout_ms: 300,
        ..grouped()
    }
}

/// A router whose listed routes lead to groups.
pub fn grouped() -> Config {
    let mut config = listed();
    let group = |members: &[(u32, u16)]| Group {
        members: members
            .iter()
            .map(|&(hop, weight): &(u32, u16)| Member { next_hop: hop.into(), weight })
            .collect(),
    };
    config.next_hop_groups = vec![group(&[(0, 2), (2, 1)]), group(&[(1, 1)]), group(&[])];
    for (route, number) in [(0, 0), (1, 1), (4, 0), (5, 1)] {
        config.routes[route].next_hop = None;
        config.routes[route].group = Some(number);
    }
    Config { ecmp_buckets: 64, ..config }
}

/// The same with interfaces, VRFs and sources that are looked for.
pub fn divided_into_groups() -> Config {
    let mut config = divided();
    let members = [0, 2, 5].map(|hop: u32| Member { next_hop: hop.into(), weight: 1 });
    config.next_hop_groups = vec![Group { members: members.to_vec() }];
    for route in &mut config.routes {
        if route.next_hop.is_some_and(|hop| matches!(hop.number, 0 | 2)) {
            (route.next_hop, route.group) = (None, Some(0));
        }
    }
    config
}

/// A router with tunnels in a VRF and in the main one, and neighbours that are asked for.
pub fn tunnelled() -> Config {
    let mut config = Config { resolve: true, vrfs: 2, ..listed() };
    let by = |port, vlan, vrf, ip: &str, remote| Interface {
        vlan: Some(vlan),
        vrf,
        ip: Prefixed::try_from(ip.to_owned()).ok(),
        mtu: 1450,
        vxlan: Some(Vxlan { vni: 5000 + u32::from(vlan), remote }),
        ..untagged(port)
    };
    config.interfaces = vec![
        by(UPLINK, 10, 0, "10.7.0.1/24", [10, 1, 9, 1].into()),
        by(UPLINK, 20, 2, "10.8.0.1/24", [10, 1, 0, 99].into()),
        by(DOWNLINK, 10, 2, "10.9.0.1/24", [203, 0, 113, 1].into()),
    ];
    config
}

/// A router that tells senders, answers pings, has narrow links, and limits what is for itself.
pub fn host() -> Config {
    let mut config = divided();
    config.interfaces[4].mtu = 1280;
    Config {
        icmp_errors_per_s: 97,
        icmp_error_burst: 40,
        ping: true,
        punt_rates: PuntRates {
            icmp: 101,
            arp: 103,
            nd: 107,
            fragments: 109,
            ttl_expired: 113,
            local: 127,
            burst: 50,
        },
        ..config
    }
}

/// Routes like the Internet's beside the usual tables.
fn internet() -> Generated {
    Generated {
        internet_routes: 300,
        internet_routes_ipv6: 200,
        upstream_group_table_size: 7,
        ..Generated::default()
    }
}

/// A router with access lists at both ends, and policers under a parent.
pub fn serving(police_by: PoliceBy) -> Config {
    let permit = AclRule::for_all(Action::Permit);
    let prefix = |text: &str| Prefixed::try_from(text.to_owned()).ok();
    let rules = vec![
        AclRule { action: Action::Deny, destination: prefix("192.0.2.0/24"), ..permit },
        AclRule {
            action: Action::Deny,
            source: prefix("2001:db8:bad::/48"),
            destination_ports: Some(Ports { first: 1, last: 1023 }),
            ..permit
        },
        permit,
    ];
    let generous = Policer {
        algorithm: Algorithm::Rfc2698,
        committed_rate: 1 << 40,
        committed_burst: 1 << 30,
        excess_rate: 1 << 41,
        excess_burst: 1 << 31,
        colour_aware: true,
        parent: None,
    };
    let child = Policer { algorithm: Algorithm::Rfc4115, parent: Some(2), ..generous };
    let policers = match police_by {
        PoliceBy::None => Vec::new(),
        _ => vec![generous, generous, generous, child],
    };
    Config {
        ipv6: true,
        ingress_acl: rules.clone(),
        egress_acl: rules,
        police_by,
        policers,
        remark: Remark { yellow: Some(12), ..Remark::default() },
        ..Config::default()
    }
}

/// A router with interfaces by VLAN, two VRFs beside the main one, and sources that are looked for.
pub fn divided() -> Config {
    let plain = untagged(DOWNLINK);
    let by = |vlan, vrf, ip: &str, ipv6: &str| Interface {
        vlan: Some(vlan),
        vrf,
        ip: Prefixed::try_from(ip.to_owned()).ok(),
        ipv6: Prefixed::try_from(ipv6.to_owned()).ok(),
        ..plain
    };
    let mut config = listed();
    config.vrfs = 2;
    config.interfaces = vec![
        by(100, 1, "10.2.0.1/24", "3fff:0:0:2::1/64"),
        Interface { urpf: ReversePath::Strict, ..plain },
        by(200, 2, "10.2.0.1/24", "none"),
        Interface { port: UPLINK, urpf: ReversePath::Loose, ..by(100, 2, "none", "none") },
        Interface {
            port: UPLINK,
            urpf: ReversePath::Strict,
            ..by(4094, 0, "10.9.0.1/31", "3fff:0:0:9::1/127")
        },
    ];
    config.routes.remove(0);
    for (at, (port, vlan, ip)) in
        [(DOWNLINK, 100, "10.2.0.2"), (DOWNLINK, 200, "10.2.0.2"), (UPLINK, 4094, "10.9.0.0")]
            .into_iter()
            .enumerate()
    {
        let mac = Mac(MacAddr([0x0a, 0, 0, 0, 2, at as u8]));
        let (vlan, ip) = (Some(vlan), ip.parse().ok());
        config.next_hops.push(NextHop {
            port,
            vlan,
            mac,
            source: None,
            ip,
            ipv6: None,
            bfd: None,
            name: None,
        });
    }
    for (text, next_hop, vrf) in [
        ("0.0.0.0/0", 3, 1),
        ("198.18.0.0/15", 0, 2),
        ("172.16.0.0/12", 4, 2),
        ("172.17.0.0/16", 5, 0),
        ("2001:db8::/32", 5, 1),
    ] {
        let prefix = Prefixed::try_from(text.to_owned()).expect("a prefix");
        config.routes.push(Route {
            prefix,
            next_hop: Some(ToHop::from(next_hop)),
            group: None,
            vrf,
        });
    }
    config
}

/// A router with routes and next hops of its own, default routes among them.
pub fn listed() -> Config {
    let hop = |port, last, ip: &str, ipv6: &str| NextHop {
        port,
        vlan: None,
        mac: Mac(MacAddr([0x0a, 0, 0, 0, 1, last])),
        source: None,
        ip: ip.parse().ok(),
        ipv6: ipv6.parse().ok(),
        bfd: None,
        name: None,
    };
    let route = |text: &str, next_hop: u32| Route {
        prefix: Prefixed::try_from(text.to_owned()).expect("a prefix"),
        next_hop: Some(next_hop.into()),
        group: None,
        vrf: 0,
    };
    Config {
        ipv6: true,
        next_hops: vec![
            hop(UPLINK, 1, "10.1.9.1", "3fff:0:0:1::9:1"),
            hop(DOWNLINK, 2, "10.0.9.2", "none"),
            hop(UPLINK, 3, "none", "none"),
        ],
        routes: vec![
            route("0.0.0.0/0", 0),
            route("172.16.0.0/12", 1),
            route("172.16.7.0/24", 2),
            route("172.16.7.1/32", 1),
            route("::/0", 0),
            route("2001:db8::/32", 1),
            route("2001:db8:1::/48", 2),
        ],
        ..Config::default()
    }
}

/// The configuration as the lab would hand it on.
pub fn valid(config: &Section, traffic: &Traffic) -> (Section, Traffic) {
    let (mut config, mut traffic) = (config.clone(), traffic.clone());
    L3Router::validate(&mut config, &mut traffic).expect("a valid configuration");
    (config, traffic)
}

/// The frames of the functional check.
pub fn sample_frames(config: &Section) -> Vec<Vec<u8>> {
    let frames = sample(config, &Traffic::default()).into_iter().filter_map(|step| match step {
        Step::Frame { frame, .. } => Some(frame),
        Step::Answer { .. } | Step::Update(_) | Step::Wait(_) => None,
    });
    frames.collect()
}

/// The workload of a router.
pub fn workload(config: &Section, traffic: &Traffic) -> Routed {
    let (config, traffic) = valid(config, traffic);
    L3Router::workload(&config, &traffic, Clock::with_rate(1e9))
}

/// Frame `sequence` of a direction of a workload.
pub fn workload_frame(routed: &Routed, direction: usize, sequence: u64) -> Vec<u8> {
    let draw = routed.draw(direction, sequence);
    let mut frame = vec![0xee; routed.frame_len(&draw)];
    let stamp = Stamp { stream: direction as u16, sequence, time: 1000 * sequence };
    routed.write(&draw, stamp, &mut frame);
    frame
}
