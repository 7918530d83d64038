//! Frames and configurations that several tests use.

use functions::NetworkFunction;
use functions::check::Step;
use functions::l3_router::config::{
    AclRule, Action, Algorithm, Config, EarlyFragments, Group, Interface, Mac, Member, NextHop,
    PoliceBy, Policer, Port, Ports, Prefixed, PuntRates, Remark, ReversePath, Route, SourceMac,
    Traffic, Vxlan,
};
use functions::l3_router::sample::sample;
use functions::l3_router::{L3Router, Routed};
use machine::clock::Clock;
use traffic::{Stamp, Workload};
use wire::MacAddr;

/// A small router of every kind.
pub fn kinds() -> Vec<Config> {
    let small = Config { upstream_l3_table_size: 20, ..Config::default() };
    let sources = Config { source_mac: SourceMac::NextHop, ..small.clone() };
    let none = Config {
        upstream_l3_table_size: 0,
        upstream_group_table_size: 0,
        downstream_l3_table_size: 0,
        downstream_group_table_size: 0,
        ..listed()
    };
    vec![
        small.clone(),
        Config { ipv6: true, ..small.clone() },
        Config { fakedrop: true, ..sources.clone() },
        Config { ipv6: true, fakedrop: true, ..small },
        Config { fluct_l3_table: 10.0, fluct_group_table: 5.0, ..sources },
        listed(),
        none,
        divided(),
        serving(PoliceBy::Port),
        Config { acl_generated: 100, ..serving(PoliceBy::Acl) },
        Config { acl_generated: 100, ..Config::default() },
        Config { remark: Remark { red: Some(8), ..Remark::default() }, ..serving(PoliceBy::Dscp) },
        Config { policers_generated: 500, ..serving(PoliceBy::Source) },
        Config { egress_acl: Vec::new(), acl_capacity: 40, ..serving(PoliceBy::None) },
        host(),
        Config { punt: true, ping: true, ..listed() },
        Config { resolve: true, neighbour_capacity: 20, pending_capacity: 12, ..host() },
        Config { resolve: true, ..listed() },
        tunnelled(),
        internet(),
        grouped(),
        reassembling(),
        Config { early_fragments: EarlyFragments::Pass, resolve: true, ..reassembling() },
        Config { virtual_reassembly: true, reassembly_capacity: 1, ..Config::default() },
        Config { ecmp_members: 4, ecmp_seed: 7, resolve: true, ..divided_into_groups() },
        Config { ecmp_members: 2, ecmp_weights: vec![1, 3], fluct_l3_table: 5.0, ..internet() },
    ]
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
        members: members.iter().map(|&(next_hop, weight)| Member { next_hop, weight }).collect(),
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
    let members = [0, 2, 5].map(|next_hop| Member { next_hop, weight: 1 });
    config.next_hop_groups = vec![Group { members: members.to_vec() }];
    for route in &mut config.routes {
        if matches!(route.next_hop, Some(0 | 2)) {
            (route.next_hop, route.group) = (None, Some(0));
        }
    }
    config
}

/// A router with tunnels in a VRF and in the main one, and neighbours that are asked for.
pub fn tunnelled() -> Config {
    let mut config = Config { resolve: true, vrfs: 2, ..listed() };
    let by = |port, vlan, vrf, ip: &str, remote| Interface {
        port,
        vlan: Some(vlan),
        vrf,
        ip: Prefixed::try_from(ip.to_owned()).ok(),
        ipv6: None,
        mtu: 1450,
        urpf: ReversePath::None,
        vxlan: Some(Vxlan { vni: 5000 + u32::from(vlan), remote }),
    };
    config.interfaces = vec![
        by(Port::Uplink, 10, 0, "10.7.0.1/24", [10, 1, 9, 1].into()),
        by(Port::Uplink, 20, 2, "10.8.0.1/24", [10, 1, 0, 99].into()),
        by(Port::Downlink, 10, 2, "10.9.0.1/24", [203, 0, 113, 1].into()),
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

/// A router with routes like the Internet's beside listed ones.
pub fn internet() -> Config {
    Config {
        internet_routes: 300,
        internet_routes_ipv6: 200,
        upstream_group_table_size: 7,
        ..listed()
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
        upstream_l3_table_size: 20,
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
    let plain = Interface {
        port: Port::Downlink,
        vlan: None,
        vrf: 0,
        ip: None,
        ipv6: None,
        mtu: 0,
        urpf: ReversePath::None,
        vxlan: None,
    };
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
        Interface { port: Port::Uplink, urpf: ReversePath::Loose, ..by(100, 2, "none", "none") },
        Interface {
            port: Port::Uplink,
            urpf: ReversePath::Strict,
            ..by(4094, 0, "10.9.0.1/31", "3fff:0:0:9::1/127")
        },
    ];
    config.routes.remove(0);
    for (at, (port, vlan, ip)) in [
        (Port::Downlink, 100, "10.2.0.2"),
        (Port::Downlink, 200, "10.2.0.2"),
        (Port::Uplink, 4094, "10.9.0.0"),
    ]
    .into_iter()
    .enumerate()
    {
        let mac = Mac(MacAddr([0x0a, 0, 0, 0, 2, at as u8]));
        let (vlan, ip) = (Some(vlan), ip.parse().ok());
        config.next_hops.push(NextHop { port, vlan, mac, source: None, ip, ipv6: None });
    }
    for (text, next_hop, vrf) in [
        ("0.0.0.0/0", 3, 1),
        ("198.18.0.0/15", 0, 2),
        ("172.16.0.0/12", 4, 2),
        ("172.17.0.0/16", 5, 0),
        ("2001:db8::/32", 5, 1),
    ] {
        let prefix = Prefixed::try_from(text.to_owned()).expect("a prefix");
        config.routes.push(Route { prefix, next_hop: Some(next_hop), group: None, vrf });
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
    };
    let route = |text: &str, next_hop| Route {
        prefix: Prefixed::try_from(text.to_owned()).expect("a prefix"),
        next_hop: Some(next_hop),
        group: None,
        vrf: 0,
    };
    Config {
        ipv6: true,
        next_hops: vec![
            hop(Port::Uplink, 1, "10.1.9.1", "3fff:0:0:1::9:1"),
            hop(Port::Downlink, 2, "10.0.9.2", "none"),
            hop(Port::Uplink, 3, "none", "none"),
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
pub fn valid(config: &Config, traffic: &Traffic) -> (Config, Traffic) {
    let (mut config, mut traffic) = (config.clone(), traffic.clone());
    L3Router::validate(&mut config, &mut traffic).expect("a valid configuration");
    (config, traffic)
}

/// The frames of the functional check.
pub fn sample_frames(config: &Config) -> Vec<Vec<u8>> {
    let frames = sample(config, &Traffic::default()).into_iter().filter_map(|step| match step {
        Step::Frame { frame, .. } => Some(frame),
        Step::Answer { .. } | Step::Update(_) | Step::Wait(_) => None,
    });
    frames.collect()
}

/// The workload of a router.
pub fn workload(config: &Config, traffic: &Traffic) -> Routed {
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
