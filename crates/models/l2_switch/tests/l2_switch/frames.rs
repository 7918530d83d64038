//! Frames and configurations that several tests use.

use function_l2_switch::config::acl::{Action, Ports, Rule};
use function_l2_switch::config::features::{
    Attachment, Direction, Domain, Erspan, ErspanType, Flapping, Mirror, MoveLimit, Storm,
    StormUnit, Tpid,
};
use function_l2_switch::config::{Config, Mac, Mode, Port, Station, Unknown, WhenFull};
use machine::clock::Clock;
use model_kit::Model;
use model_kit::check::Step;
use model_l2_switch::sample::sample;
use model_l2_switch::{Generated, L2Switch, Section, Stations, Traffic};
use packet::PortId;
use traffic::{Frames, Stamp};
use wire::MacAddr;

/// A small bridge of every kind.
pub fn kinds() -> Vec<Section> {
    let usual = Generated::default();
    let twenty = Generated { upstream_table_size: 20, ..usual.clone() };
    let none = Generated { upstream_table_size: 0, downstream_table_size: 0, ..usual.clone() };
    let learned = Generated { preload: false, fluct_table: 10.0, ..twenty.clone() };
    let small = Config::default();
    let station =
        |last, port| Station { mac: Mac(MacAddr([0x0a, 0, 0, 0, 1, last])), port, domain: 0 };
    let stations = vec![station(1, Port::UPLINK), station(2, Port::DOWNLINK)];
    let swap = Some(Mac(MacAddr([0x0a, 0, 0, 0, 2, 1])));
    let configs = [
        (&twenty, small.clone()),
        (&twenty, Config { learning: false, unknown: Some(Unknown::Drop), ..small.clone() }),
        (
            &twenty,
            Config { unknown: Some(Unknown::Drop), stations: stations.clone(), ..small.clone() },
        ),
        (&learned, Config { station_limit: 60, ..small.clone() }),
        (
            &twenty,
            Config { station_limit: 8, when_full: WhenFull::Drop, ageing_s: 10.0, ..small.clone() },
        ),
        (&none, Config { stations, ..small.clone() }),
        (&usual, Config { ports: 4, ..small.clone() }),
        (&usual, Config { ports: 12, ..small.clone() }),
        (&in_domains(), vlans()),
        (&usual, watched()),
        (&usual, guarded()),
        (&usual, guarded_out()),
        (&usual, Config { acl: guarded().acl, egress_acl: guarded().acl, ..small.clone() }),
        (&usual, restless(Flapping::Report)),
        (&usual, restless(Flapping::Drop)),
        (&in_domains(), Config { move_limit: restless(Flapping::Hold).move_limit, ..vlans() }),
        (&usual, Config { mode: Mode::Patch, mac_swap_upstream: swap, ..small }),
    ];
    let section =
        |(generated, config): (&Generated, _)| Section { generated: generated.clone(), config };
    configs.map(section).into()
}

/// A configuration with the usual generated stations.
pub fn usual(config: Config) -> Section {
    Section { generated: Generated::default(), config }
}

/// Stations for several domains.
fn in_domains() -> Generated {
    Generated { upstream_table_size: 9, downstream_table_size: 7, ..Generated::default() }
}

/// A bridge whose stations may move twice in a hundred seconds.
pub fn restless(action: Flapping) -> Config {
    let move_limit = MoveLimit { moves: 2, interval_s: 100.0, hold_s: 170.0, action };
    Config { move_limit: Some(move_limit), ..Config::default() }
}

/// Three domains: one with limits and tags of all sorts, one that floods nothing, one of a single
/// circuit.
pub fn vlans() -> Config {
    let circuit = |port, domain, vlan, inner_vlan| {
        let (tpid, untagged) = (Tpid::Customer, false);
        Attachment { port, domain, vlan, inner_vlan, tpid, untagged }
    };
    let service = |circuit| Attachment { tpid: Tpid::Service, ..circuit };
    let domain = |id| Domain { id, station_limit: None, flood_pps: None, unknown: None };
    Config {
        ports: 3,
        when_full: WhenFull::Drop,
        domains: vec![
            Domain { station_limit: Some(20), flood_pps: Some(1000.0), ..domain(10) },
            Domain { unknown: Some(Unknown::Drop), ..domain(20) },
        ],
        attachments: vec![
            circuit(Port::DOWNLINK, 10, Some(100), None),
            service(circuit(Port::DOWNLINK, 20, Some(200), Some(7))),
            circuit(Port::DOWNLINK, 30, Some(200), None),
            service(circuit(Port::UPLINK, 10, Some(300), None)),
            circuit(Port::UPLINK, 20, None, None),
            Attachment { untagged: true, ..circuit(Port::of(PortId(2)), 10, None, None) },
            circuit(Port::of(PortId(2)), 20, Some(100), Some(100)),
        ],
        ..Config::default()
    }
}

/// A rule that denies every frame.
pub fn any(priority: u32) -> Rule {
    Rule {
        priority,
        action: Action::Deny,
        port: None,
        source_mac: None,
        destination_mac: None,
        vlan: None,
        ether_type: None,
        source: None,
        destination: None,
        protocol: None,
        source_ports: None,
        destination_ports: None,
    }
}

/// A bridge with the rules of a customer's premises: by MAC, VLAN and IP, on both sides.
pub fn guarded() -> Config {
    let network = |text: &str, len| {
        let address = text.parse().expect("an address");
        Some(function_kit::sections::Prefixed { address, len })
    };
    let mac = |last| Some(Mac(MacAddr([0x0a, 0, 0, 0, 9, last])));
    let mut acl = Vec::new();
    for port in Port::ALL {
        let first = 100 * (u32::from(port.id().0) + 1);
        let rule = |number| Rule { port: Some(port), ..any(first + number) };
        acl.extend((0..3).map(|n| Rule { source_mac: mac(n as u8 + 1), ..rule(n) }));
        acl.extend((3..5).map(|n| Rule { vlan: Some(n as u16), ..rule(n) }));
        let permit = Rule { action: Action::Permit, protocol: Some(17), ..rule(5) };
        acl.extend([
            Rule {
                source: network("3.0.0.0", 31),
                source_ports: Some(Ports { first: 1024, last: 9999 }),
                ..permit
            },
            Rule { destination: network("192.0.2.0", 24), ..rule(6) },
            Rule { source: network("198.51.100.128", 25), protocol: Some(6), ..rule(7) },
            Rule { source: network("2001:db8::", 32), ..rule(8) },
            Rule {
                destination_ports: Some(Ports { first: 2000, last: 2001 }),
                protocol: Some(17),
                ..rule(9)
            },
        ]);
    }
    Config { acl, ..Config::default() }
}

/// A bridge with the same rules for what leaves, a few of VLANs, and mirrors that tell the time.
pub fn guarded_out() -> Config {
    let mut watched = watched();
    for mirror in &mut watched.mirrors {
        mirror.erspan = mirror.erspan.map(|to| Erspan { kind: ErspanType::Iii, ..to });
    }
    Config { egress_acl: guarded().acl, ..watched }
}

/// VLANs of which one may not leave, and a station neither.
pub fn vlans_out() -> Section {
    let deny = |priority, vlan| Rule { vlan, ..any(priority) };
    let station = Some(Mac(MacAddr([0x0a, 0, 0, 0, 1, 3])));
    let egress_acl = vec![
        Rule { port: Some(Port::of(PortId(2))), destination_mac: station, ..any(1) },
        deny(2, Some(300)),
        Rule { ether_type: Some(0x0806), ..any(3) },
    ];
    Section { generated: in_domains(), config: Config { egress_acl, ..vlans() } }
}

/// A bridge whose ports are limited and watched.
pub fn watched() -> Config {
    let mac = |last| Mac(MacAddr([2, 0, 0, 0, 0, last]));
    let erspan = Erspan {
        kind: ErspanType::Ii,
        session: 5,
        source: [192, 0, 2, 1].into(),
        destination: [192, 0, 2, 99].into(),
        source_mac: mac(1),
        destination_mac: mac(2),
    };
    let mirror =
        |port, direction, erspan| Mirror { port, direction, to: Port::of(PortId(3)), erspan };
    let [broadcast, multicast, unknown] = [500.0, 300.0, 400.0].map(Some);
    let storm = Storm {
        port: Port::UPLINK,
        broadcast,
        multicast,
        unknown,
        unit: StormUnit::Pps,
        link_gbps: 10.0,
    };
    Config {
        ports: 4,
        storm_control: vec![storm],
        mirrors: vec![
            mirror(Port::DOWNLINK, Direction::Receive, None),
            mirror(Port::UPLINK, Direction::Transmit, Some(erspan)),
            mirror(Port::UPLINK, Direction::Receive, Some(erspan)),
        ],
        ..Config::default()
    }
}

/// The configuration as the lab would hand it on.
pub fn valid(config: &Section, traffic: &Traffic) -> (Section, Traffic) {
    let (mut config, mut traffic) = (config.clone(), traffic.clone());
    L2Switch::validate(&mut config, &mut traffic).expect("a valid configuration");
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

/// The workload of a bridge.
pub fn workload(config: &Section, traffic: &Traffic) -> Stations {
    let (config, traffic) = valid(config, traffic);
    L2Switch::workload(&config, &traffic, Clock::with_rate(1e9))
}

/// Frame `sequence` of a direction of a workload.
pub fn workload_frame(stations: &Stations, direction: usize, sequence: u64) -> Vec<u8> {
    let draw = stations.draw(direction, sequence);
    let mut frame = vec![0xee; stations.frame_len(&draw)];
    let stamp = Stamp { stream: direction as u16, sequence, time: 1000 * sequence };
    stations.write(&draw, stamp, &mut frame);
    frame
}
