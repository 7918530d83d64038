//! Sections and frames that several tests use.

use function_bng::config::{Config, OuterTag};
use machine::clock::Clock;
use model_bng::sample::sample;
use model_bng::section::{Kind, Stack, Vlans};
use model_bng::{BroadbandGateway, Generated, Section, Subscribers, Traffic};
use model_kit::Model;
use model_kit::check::Step;
use traffic::{Frames, Stamp};

/// A small gateway of every kind: what carries packets, versions of IP, tags, and what else a key
/// decides.
pub fn kinds() -> Vec<Section> {
    let kinds = [
        (Kind::Ipoe, Stack::Dual, Vlans::Two, OuterTag::Service),
        (Kind::Pppoe, Stack::Dual, Vlans::Two, OuterTag::Customer),
        (Kind::Mixed, Stack::Dual, Vlans::One, OuterTag::Service),
        (Kind::Mixed, Stack::Ipv4, Vlans::None, OuterTag::Service),
        (Kind::Mixed, Stack::Ipv6, Vlans::Two, OuterTag::Service),
    ];
    let section = |(number, (kind, stack, vlans, outer_tag)): (usize, _)| Section {
        generated: Generated {
            subscribers: 20,
            kind,
            stack,
            vlans,
            line_hosts: 1 + number as u32 % 2,
            server: 5,
            nhop: 3,
            nodes_generated: number as u32 % 3,
            policers: number as u32 % 4,
            queues: (number as u32 + 1) % 4,
            rules_generated: if number == 1 { 0 } else { 12 },
            lists_generated: if number == 2 { 3 } else { 1 },
            ..Generated::default()
        },
        config: Config {
            outer_tag,
            access_mtu: if number == 1 { 1400 } else { 0 },
            core_mtu: if number == 2 { 1300 } else { 0 },
            mss_clamp: if number % 2 == 0 { 1200 } else { 0 },
            first_packets: number == 3,
            icmp_errors_per_s: 997,
            icmp_error_burst: 1000,
            session_capacity: 100,
            buffer_kib: 1024,
            pings_per_s: if number == 4 { 0 } else { 3 },
            ..Config::default()
        },
    };
    kinds.into_iter().enumerate().map(section).collect()
}

/// The sections as the lab would hand them on.
pub fn valid(section: &Section, traffic: &Traffic) -> (Section, Traffic) {
    let (mut section, mut traffic) = (section.clone(), traffic.clone());
    BroadbandGateway::validate(&mut section, &mut traffic).expect("valid sections");
    (section, traffic)
}

/// The frames of the functional check.
pub fn sample_frames(section: &Section) -> Vec<Vec<u8>> {
    let frames = sample(section, &Traffic::default()).into_iter().filter_map(|step| match step {
        Step::Frame { frame, .. } => Some(frame),
        Step::Answer { .. } | Step::Update(_) | Step::Wait(_) => None,
    });
    frames.collect()
}

/// The workload of a gateway.
pub fn subscribers(section: &Section, traffic: &Traffic) -> Subscribers {
    let (section, traffic) = valid(section, traffic);
    BroadbandGateway::workload(&section, &traffic, Clock::with_rate(1e9))
}

/// Frame `sequence` of a direction of a workload.
pub fn workload_frame(subscribers: &Subscribers, direction: usize, sequence: u64) -> Vec<u8> {
    let draw = subscribers.draw(direction, sequence);
    let mut frame = vec![0xee; subscribers.frame_len(&draw)];
    let stamp = Stamp { stream: direction as u16, sequence, time: 1000 * sequence };
    subscribers.write(&draw, stamp, &mut frame);
    frame
}
