//! Frames and configurations that several tests use.

use functions::NetworkFunction;
use functions::check::Step;
use functions::l2_switch::config::acl::{Action, Rule};
use functions::l2_switch::config::features::{
    Attachment, Direction, Domain, Erspan, ErspanType, Flapping, Mirror, MoveLimit, Storm,
    StormUnit, Tpid,
};
use functions::l2_switch::config::{Config, Mac, Mode, Port, Station, Traffic, Unknown, WhenFull};
use functions::l2_switch::sample::sample;
use functions::l2_switch::{L2Switch, Stations};
use machine::clock::Clock;
use traffic::{Stamp, Workload};
use wire::MacAddr;

/// A small bridge of every kind.
pub fn kinds() -> Vec<Config> {
    let small = Config { upstream_table_size: 20, ..Config::default() };
    let station =
        |last, port| Station { mac: Mac(MacAddr([0x0a, 0, 0, 0, 1, last])), port, domain: 0 };
    let stations = vec![station(1, Port::Uplink), station(2, Port::Downlink)];
    let swap = Some(Mac(MacAddr([0x0a, 0, 0, 0, 2, 1])));
    vec![
        small.clone(),
        Config { learning: false, unknown: Some(Unknown::Drop), ..small.clone() },
        Config { unknown: Some(Unknown::Drop), stations: stations.clone(), ..small.clone() },
        Config { preload: false, fluct_table: 10.0, station_limit: 60, ..small.clone() },
        Config { station_limit: 8, when_full: WhenFull::Drop, ageing_s: 10.0, ..small },
        Config { upstream_table_size: 0, downstream_table_size: 0, stations, ..Config::default() },
        Config { ports: 4, ..Config::default() },
        vlans(),
        watched(),
        guarded(),
        guarded_out(),
        Config { acl: guarded().acl, egress_acl: guarded().acl, ..Config::default() },
        restless(Flapping::Report),
        restless(Flapping::Drop),
        Config { move_limit: restless(Flapping::Hold).move_limit, ..vlans() },
        Config { mode: Mode::Patch, mac_swap_upstream: swap, ..Config::default() },
    ]
}

/// A bridge whose stations may move twice in a hundred seconds.
pub fn restless(action: Flapping) -> Config {
    let move_limit = MoveLimit { moves: 2, interval_s: 100.0, hold_s: 170.0, action };
    Config { move_limit: Some(move_limit), ..Config::default() }
}

/// Three domains: one with limits and tags of all sorts, one that floods nothing, one of a single circuit.
pub fn vlans() -> Config {
    let circuit = |port, domain, vlan, inner_vlan| {
        let (tpid, untagged) = (Tpid::Customer, false);
        Attachment { port, domain, vlan, inner_vlan, tpid, untagged }
    };
    let service = |circuit| Attachment { tpid: Tpid::Service, ..circuit };
    let domain = |id| Domain { id, station_limit: None, flood_pps: None, unknown: None };
    Config {
        ports: 3,
        upstream_table_size: 9,
        downstream_table_size: 7,
        when_full: WhenFull::Drop,
        domains: vec![
            Domain { station_limit: Some(20), flood_pps: Some(1000.0), ..domain(10) },
            Domain { unknown: Some(Unknown::Drop), ..domain(20) },
        ],
        attachments: vec![
            circuit(Port::Downlink, 10, Some(100), None),
            service(circuit(Port::Downlink, 20, Some(200), Some(7))),
            circuit(Port::Downlink, 30, Some(200), None),
            service(circuit(Port::Uplink, 10, Some(300), None)),
            circuit(Port::Uplink, 20, None, None),
            Attachment { untagged: true, ..circuit(Port::Port3, 10, None, None) },
            circuit(Port::Port3, 20, Some(100), Some(100)),
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
        Some(functions::sections::Prefixed { address, len })
    };
    let mac = |last| Some(Mac(MacAddr([0x0a, 0, 0, 0, 9, last])));
    let mut acl = Vec::new();
    for port in Port::ALL {
        let first = 100 * (port as u32 + 1);
        let rule = |number| Rule { port: Some(port), ..any(first + number) };
        acl.extend((0..3).map(|n| Rule { source_mac: mac(n as u8 + 1), ..rule(n) }));
        acl.extend((3..5).map(|n| Rule { vlan: Some(n as u16), ..rule(n) }));
        let permit = Rule { action: Action::Permit, protocol: Some(17), ..rule(5) };
        acl.extend([
            Rule { source: network("3.0.0.0", 31), source_ports: Some([1024, 9999]), ..permit },
            Rule { destination: network("192.0.2.0", 24), ..rule(6) },
            Rule { source: network("198.51.100.128", 25), protocol: Some(6), ..rule(7) },
            Rule { source: network("2001:db8::", 32), ..rule(8) },
            Rule { destination_ports: Some([2000, 2001]), protocol: Some(17), ..rule(9) },
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
pub fn vlans_out() -> Config {
    let deny = |priority, vlan| Rule { vlan, ..any(priority) };
    let station = Some(Mac(MacAddr([0x0a, 0, 0, 0, 1, 3])));
    let egress_acl = vec![
        Rule { port: Some(Port::Port3), destination_mac: station, ..any(1) },
        deny(2, Some(300)),
        Rule { ether_type: Some(0x0806), ..any(3) },
    ];
    Config { egress_acl, ..vlans() }
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
    let mirror = |port, direction, erspan| Mirror { port, direction, to: Port::Port4, erspan };
    let [broadcast, multicast, unknown] = [500.0, 300.0, 400.0].map(Some);
    let storm = Storm {
        port: Port::Uplink,
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
            mirror(Port::Downlink, Direction::Receive, None),
            mirror(Port::Uplink, Direction::Transmit, Some(erspan)),
            mirror(Port::Uplink, Direction::Receive, Some(erspan)),
        ],
        ..Config::default()
    }
}

/// The configuration as the lab would hand it on.
pub fn valid(config: &Config, traffic: &Traffic) -> (Config, Traffic) {
    let (mut config, mut traffic) = (config.clone(), traffic.clone());
    L2Switch::validate(&mut config, &mut traffic).expect("a valid configuration");
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

/// The workload of a bridge.
pub fn workload(config: &Config, traffic: &Traffic) -> Stations {
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
