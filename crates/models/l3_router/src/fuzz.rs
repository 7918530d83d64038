//! The router against its oracle.

use std::time::Duration;

use function_l3_router::config::{
    Config, DOWNLINK, HostPlace, Interface, Mac, PortName, ReversePath,
};
use model_kit::fuzz::{Fuzzed, Target, beside, frames};
use wire::MacAddr;

use crate::{Generated, L3Router, Section, Traffic};

impl Fuzzed for L3Router {
    const TARGETS: &'static [Target] = &[Target {
        name: "l3_router",
        body: || beside::<L3Router>(sections(), Duration::from_millis(7)),
        examples,
    }];
}

/// Frames to routes.
fn examples() -> Vec<Vec<u8>> {
    let frames_of = |section: Section| {
        let ipv6_share = if section.config.ipv6 { 0.5 } else { 0.0 };
        frames::<L3Router>(&section, &Traffic { ipv6_share, ..Traffic::default() }, 4)
    };
    sections().flat_map(frames_of).collect()
}

fn sections() -> impl Iterator<Item = Section> {
    // The station of the other examples.
    let downlink_mac = Mac(MacAddr([2, 0, 0, 0, 0, 1]));
    let simple =
        move |(ipv6, fakedrop)| Config { downlink_mac, ipv6, fakedrop, ..Config::default() };
    let tagged = Interface {
        port: DOWNLINK,
        vlan: Some(7),
        vrf: 1,
        ip: None,
        ipv6: None,
        mtu: 1280,
        urpf: ReversePath::Loose,
        vxlan: None,
        host_interface: None,
    };
    let host_interface = Some(HostPlace::Here(PortName::new("down0")));
    // Everything that is done for hosts, with few neighbours and little room to wait.
    let host = Config {
        vrfs: 1,
        interfaces: vec![tagged, Interface { vlan: None, vrf: 0, host_interface, ..tagged }],
        icmp_errors_per_s: 97,
        ping: true,
        punt: true,
        resolve: true,
        neighbour_capacity: 8,
        neighbour_lifetime_s: 5,
        pending_capacity: 16,
        ..simple((true, false))
    };
    let all = [(false, false), (true, false), (true, true)].into_iter().map(simple);
    // Flows over next hops of unequal weight, and few datagrams in fragments.
    let generated = Generated {
        upstream_group_table_size: 5,
        ecmp_members: 3,
        ecmp_weights: vec![1, 4],
        ..Generated::default()
    };
    let grouped =
        Config { virtual_reassembly: true, reassembly_capacity: 5, ..simple((true, false)) };
    let usual = |config| Section { config, ..Section::default() };
    all.chain([host]).map(usual).chain([Section { generated, config: grouped }])
}
