//! Bridge, router and a chain of both against their oracles.

use std::cell::RefCell;
use std::time::Duration;

use function_kit::Shard;
use functions::l2_switch;
use functions::l3_router;
use model_kit::Model;
use models::Chain;
use models::l2_switch::L2Switch;
use models::l3_router::L3Router;
use packet::PortId;
use serde_json::json;
use traffic::{Stamp, Workload};

use crate::check::Pair;
use crate::mutate::repair;

/// The bridge: every frame becomes exactly what the oracle says, whatever was learned before.
pub fn fuzz_l2_switch(data: &[u8]) {
    BRIDGES.with_borrow_mut(|pairs| pass(pairs, data, false));
}

/// The router: every frame becomes exactly what the oracle says, as it is and with its checksums
/// made right.
pub fn fuzz_l3_router(data: &[u8]) {
    ROUTERS.with_borrow_mut(|pairs| {
        pass(pairs, data, false);
        pass(pairs, data, true);
    });
}

/// A bridge before a router: every frame becomes what the oracles say, one after the other.
pub fn fuzz_chain(data: &[u8]) {
    CHAINS.with_borrow_mut(|pairs| {
        pass(pairs, data, false);
        pass(pairs, data, true);
    });
}

fn pass<N: Model>(pairs: &mut [Pair<N>], data: &[u8], repaired: bool) {
    let port = PortId((data.len() % 2) as u8);
    let mut frame = data[..data.len().min(FRAME_LEN_MAX)].to_vec();
    if repaired {
        repair(&mut frame);
    }
    for pair in pairs {
        pair.elapsed += Duration::from_millis(7);
        if let Err(difference) = pair.frame(port, &frame) {
            panic!("{difference}");
        }
    }
}

thread_local! {
    /// Setting a function up takes longer than a frame, so that each thread does it once.
    static BRIDGES: RefCell<Vec<Pair<L2Switch>>> =
        RefCell::new(bridges().map(|config| Pair::new(&config, Shard::WHOLE)).collect());
    static ROUTERS: RefCell<Vec<Pair<L3Router>>> =
        RefCell::new(routers().map(|config| Pair::new(&config, Shard::WHOLE)).collect());
    static CHAINS: RefCell<Vec<Pair<Chain>>> =
        RefCell::new(chains().map(|config| Pair::new(&config, Shard::WHOLE)).collect());
}

/// Frames between stations and to routes, for the smoke run to damage.
pub(super) fn examples() -> Vec<Vec<u8>> {
    let mut examples = Vec::new();
    for config in bridges() {
        let traffic = models::l2_switch::Traffic { ipv6_share: 0.5, ..Default::default() };
        frames(&L2Switch::workload(&config, &traffic, crate::check::clock()), &mut examples);
    }
    for config in routers() {
        let ipv6_share = if config.config.ipv6 { 0.5 } else { 0.0 };
        let traffic = models::l3_router::Traffic { ipv6_share, ..Default::default() };
        frames(&L3Router::workload(&config, &traffic, crate::check::clock()), &mut examples);
    }
    examples
}

fn frames<W: Workload>(workload: &W, examples: &mut Vec<Vec<u8>>) {
    for sequence in 0..4 {
        let draw = workload.draw(0, sequence);
        let mut frame = vec![0; workload.frame_len(&draw)];
        workload.write(&draw, Stamp { stream: 0, sequence, time: 0 }, &mut frame);
        examples.push(frame);
    }
}

fn bridges() -> impl Iterator<Item = models::l2_switch::Section> {
    use l2_switch::config::{Config, Mode, Unknown, WhenFull};
    use models::l2_switch::{Generated, Section};
    let few = Config { station_limit: 32, ageing_s: 1.0, ..Config::default() };
    let usual = |config| Section { config, ..Section::default() };
    let learned = Generated { preload: false, ..Generated::default() };
    [
        usual(Config { unknown: Some(Unknown::Drop), ..few.clone() }),
        Section { generated: learned, config: Config { when_full: WhenFull::Drop, ..few } },
        usual(Config { mode: Mode::Patch, ..Config::default() }),
    ]
    .into_iter()
    .chain(switch())
}

/// Domains by VLAN, limits, mirrors and rules at once.
fn switch() -> Option<models::l2_switch::Section> {
    let mut config = serde_json::from_value(json!({
        "ports": 3,
        "attachments": [
            {"port": "downlink", "vlan": 1, "domain": 1},
            {"port": "downlink", "vlan": 2, "inner-vlan": 3, "tpid": "service", "domain": 2},
            {"port": "uplink", "untagged": true, "domain": 1},
            {"port": "uplink", "vlan": 2, "domain": 2},
            {"port": "port-3", "domain": 1},
        ],
        "domains": [{"id": 1, "flood-pps": 500, "station-limit": 9}],
        "storm-control": [{"port": "uplink", "broadcast": 0.01, "unknown": 0.01, "unit": "percent"}],
        "mirrors": [
            {"port": "downlink", "direction": "receive", "to": "uplink"},
            {"port": "uplink", "direction": "transmit", "to": "port-3", "erspan": {
                "type": "iii", "session": 1, "source": "192.0.2.1", "destination": "192.0.2.2",
                "source-mac": "02:00:00:00:00:01", "destination-mac": "02:00:00:00:00:02"}},
        ],
        "acl": [
            {"priority": 1, "action": "deny", "source": "3.0.0.0/31", "destination-ports": [7, 9]},
            {"priority": 2, "action": "deny", "vlan": 1, "source": "::/1", "protocol": 17},
        ],
        "egress-acl": [
            {"priority": 1, "action": "deny", "port": "uplink", "vlan": 2, "ether-type": 2048},
            {"priority": 2, "action": "deny", "destination": "3.0.0.0/9", "source-ports": [7, 9999]},
        ],
        "move-limit": {"moves": 3, "interval-s": 0.5, "hold-s": 0.3, "action": "drop"},
    }))
    .ok()?;
    L2Switch::validate(&mut config, &mut models::l2_switch::Traffic::default()).ok()?;
    Some(config)
}

fn routers() -> impl Iterator<Item = models::l3_router::Section> {
    use l3_router::config::{Config, DOWNLINK, Interface, Mac, ReversePath};
    use models::l3_router::{Generated, Section};
    use wire::MacAddr;
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
    };
    // Everything that is done for hosts, with few neighbours and little room to wait.
    let host = Config {
        vrfs: 1,
        interfaces: vec![tagged, Interface { vlan: None, vrf: 0, ..tagged }],
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

fn chains() -> impl Iterator<Item = models::chain::Section> {
    let router = json!({"name": "l3-router", "downlink-mac": "02:00:00:00:00:01"});
    let bridge = json!({"name": "l2-switch", "preload": false});
    [json!([bridge, router]), json!([router, bridge])].into_iter().filter_map(|sections| {
        let mut config = serde_json::from_value(json!({"chain": sections})).ok()?;
        Chain::validate(&mut config, &mut models::chain::Traffic::default()).ok()?;
        Some(config)
    })
}

/// The longest frame that a worker has room for.
const FRAME_LEN_MAX: usize = 2014;
