//! Frames and configurations that several tests use.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::sections::{Dir, Prefixed};
use function_mobile_gateway::config::{Fragment, Tunnel};
use machine::clock::Clock;
use model_kit::Model;
use model_kit::check::Step;
use model_mobile_gateway::Section;
use model_mobile_gateway::Traffic;
use model_mobile_gateway::catalogue;
use model_mobile_gateway::sample::sample;
use model_mobile_gateway::{MobileGateway, Users};
use packet::PortId;
use traffic::{Frames, Stamp};
use units::BytesPerSec;

/// Towards base stations.
pub const ACCESS: PortId = PortId(0);
/// Towards the Internet.
pub const CORE: PortId = PortId(1);

/// A small gateway of every kind: tunnel, IPv6, fakedrop.
pub fn kinds() -> Vec<Section> {
    let mut kinds = Vec::new();
    for tunnel in [Tunnel::GtpU, Tunnel::Vxlan] {
        for (ipv6, fakedrop) in [(false, false), (false, true), (true, false), (true, true)] {
            kinds.push(Section {
                tunnel: Some(tunnel),
                ipv6,
                fakedrop,
                user: 20,
                bst: 4,
                server: 5,
                nhop: 3,
                // A burst that no sum of packet lengths comes near.
                rate_limit: BytesPerSec(100_000.0),
                burst_ms: 25.003,
                mss_clamp: if fakedrop { 1200 } else { 0 },
                check_ports: ipv6 && fakedrop,
                access_mtu: if fakedrop { 1400 } else { 0 },
                core_mtu: if ipv6 { 1300 } else { 0 },
                fragment: if ipv6 { Fragment::Tunnel } else { Fragment::Packet },
                user_networks: if fakedrop { Vec::new() } else { user_networks() },
                user_counters: true,
                icmp_errors_per_s: 997,
                icmp_error_burst: 1000,
                gtp_errors_per_s: if ipv6 { 0 } else { 997 },
                gw_ipv6: Some(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe)),
                ..Section::default()
            });
        }
    }
    kinds
}

/// Networks that all users are in.
pub fn user_networks() -> Vec<Prefixed<IpAddr>> {
    let ipv6 = catalogue::user(0, 1).ipv6_prefix & !0xffff_ffff;
    let ipv6 = catalogue::ipv6_host(ipv6, 0).into();
    let ipv4 = |first| Prefixed { address: Ipv4Addr::new(first, 0, 0, 0).into(), len: 8 };
    vec![ipv4(3), ipv4(4), Prefixed { address: ipv6, len: 32 }]
}

/// The configuration as the lab would hand it on.
pub fn valid(config: &Section, traffic: &Traffic) -> (Section, Traffic) {
    let (mut config, mut traffic) = (config.clone(), traffic.clone());
    MobileGateway::validate(&mut config, &mut traffic).expect("a valid configuration");
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

/// The workload of a gateway.
pub fn users(config: &Section, traffic: &Traffic) -> Users {
    let (config, traffic) = valid(config, traffic);
    MobileGateway::workload(&config, &traffic, Clock::with_rate(1e9))
}

/// Frame `sequence` of a direction of a workload.
pub fn workload_frame(users: &Users, direction: usize, sequence: u64) -> Vec<u8> {
    let draw = users.draw(direction, sequence);
    let mut frame = vec![0xee; users.frame_len(&draw)];
    let stamp = Stamp { stream: direction as u16, sequence, time: 1000 * sequence };
    users.write(&draw, stamp, &mut frame);
    frame
}

/// Traffic in both directions.
pub fn both_ways() -> Traffic {
    Traffic { dir: Dir::Bidir, ..Traffic::default() }
}
