//! Pipeline and oracle over random frames, changes and pauses: they agree on every byte.
//!
//! Everything follows from the printed seed. Stations are few, so that they are often known, and
//! time leaps past the ageing time now and then.

use std::time::Duration;

use function_kit::Shard;
use function_l2_switch::Update;
use function_l2_switch::config::acl::{Ports, Rule};
use function_l2_switch::config::features::{Direction, Mirror, Storm, StormUnit};
use function_l2_switch::config::{Config, Mac, Port};
use model_l2_switch::L2Switch;
use packet::PortId;
use testkit::frames::LEN_MAX;
use testkit::mutate::mutate;
use testkit::pair::Pair;
use testkit::random::Random;
use testkit::walk::Steps;
use wire::MacAddr;

use crate::frames::{kinds, sample_frames, vlans_out};

/// Most frames for each kind of bridge.
const CASES: usize = 20_000;
const SEED: u64 = 0x91f5_0007;

#[test]
fn pipeline_and_oracle_agree_on_damaged_frames() {
    println!("seed {SEED:#x}, at most {CASES} frames for each kind");
    for (number, config) in kinds().iter().chain([&vlans_out()]).enumerate() {
        let mut random = Random::new(SEED + number as u64);
        let corpus = sample_frames(config);
        let mut pair = Pair::<L2Switch>::new(config, Shard::WHOLE);
        let mut steps = Steps::new(CASES, &["downlink", "uplink", "truncated"]);
        while let Some(case) = steps.next(&pair.coverage) {
            step(&mut pair, &config.config, &corpus, &mut random)
                .unwrap_or_else(|what| panic!("kind {number}, case {case}: {what}"));
        }
        steps.assert_met(&pair.coverage);
    }
}

/// A change, a pause or a frame.
fn step(
    pair: &mut Pair<L2Switch>,
    config: &Config,
    corpus: &[Vec<u8>],
    random: &mut Random,
) -> Result<(), String> {
    match random.below(100) {
        0 => {
            pair.update(&update(config, random))?;
        }
        // Not a multiple of the parts into which the ageing time is divided.
        1 => pair.elapsed += Duration::from_secs_f64(config.ageing_s * 1.3),
        2 => pair.elapsed += Duration::from_secs_f64(config.ageing_s * 0.2127),
        _ => {}
    }
    let mut frame = random.one_of(corpus).clone();
    match random.below(4) {
        0 => {}
        1 => mutate(&mut frame, corpus, LEN_MAX, random),
        _ if frame.len() >= 12 => {
            frame[..6].copy_from_slice(&station(random).0);
            frame[6..12].copy_from_slice(&station(random).0);
        }
        _ => {}
    }
    if frame.is_empty() {
        return Ok(());
    }
    if random.below(3) == 0 {
        tag(&mut frame, config, random);
    }
    pair.frame(port(config, random).id(), &frame).map(drop)
}

/// One of few stations, groups and reserved addresses among them.
fn station(random: &mut Random) -> MacAddr {
    let last = random.byte() % 8;
    *random.one_of(&[
        MacAddr([0x0a, 0, 0, 0, 1, last]),
        MacAddr([0x0a, 0, 0, 0, 9, last]),
        MacAddr([0xaa, 0xcc, 0xdd, 0xcc, 0, last]),
        MacAddr([0xac, 0xdc, 0xac, 0xdc, 0, last]),
        MacAddr([0x01, 0x80, 0xc2, 0, 0, last * 3]),
        if last == 0 { MacAddr::ZERO } else { MacAddr::BROADCAST },
    ])
}

/// Puts the tags of some circuit into a frame, or nearly those.
fn tag(frame: &mut Vec<u8>, config: &Config, random: &mut Random) {
    let Some(circuit) = config.attachments.get(random.below(config.attachments.len().max(1)))
    else {
        return;
    };
    let inner = circuit.inner_vlan.map(|vlan| (0x8100, vlan));
    let outer = circuit.vlan.map(|vlan| (circuit.tpid.ether_type(), vlan));
    for (kind, vlan) in [inner, outer].into_iter().flatten() {
        let kind: u16 = if random.below(8) == 0 { 0x88a8 } else { kind };
        let vlan = if random.below(8) == 0 { 0 } else { vlan };
        let tag = (u16::from(random.byte()) << 12 | vlan).to_be_bytes();
        if frame.len() > 12 && frame.len() + 4 <= LEN_MAX {
            frame.splice(12..12, [kind.to_be_bytes(), tag].concat());
        }
    }
}

fn port(config: &Config, random: &mut Random) -> Port {
    Port::of(PortId(random.below(usize::from(config.ports)) as u8))
}

fn update(config: &Config, random: &mut Random) -> Update {
    let mac = Mac(station(random));
    // One more than there are, now and then.
    let port = match random.below(20) {
        0 => Port::of(PortId(config.ports)),
        _ => port(config, random),
    };
    let domain = match config.attachments.get(random.below(config.attachments.len() + 1)) {
        Some(circuit) => circuit.domain,
        None => 0,
    };
    let direction = *random.one_of(&[Direction::Receive, Direction::Transmit]);
    match random.below(10) {
        0 => Update::SetStation { mac, port, domain },
        1 => Update::RemoveStation { mac, domain },
        2 => Update::Learn { mac, port, domain },
        3 if config.is_switch() => Update::SetStormControl(storm(port, random)),
        4 if config.is_switch() => {
            let to = Port::of(PortId(random.below(4) as u8));
            let erspan = config.mirrors.iter().find_map(|mirror| mirror.erspan);
            Update::SetMirror(Mirror { port, direction, to, erspan })
        }
        5 if config.is_switch() => Update::RemoveMirror { port, direction },
        6 if config.is_switch() => Update::SetRule(rule(config, port, random)),
        7 if config.is_switch() => Update::RemoveRule { priority: random.below(5) as u32 },
        8 if config.is_switch() => Update::SetEgressRule(rule(config, port, random)),
        9 if config.is_switch() => Update::RemoveEgressRule { priority: random.below(5) as u32 },
        _ => Update::Learn { mac, port, domain },
    }
}

/// A rule that matches few frames, so that others still pass.
fn rule(config: &Config, port: Port, random: &mut Random) -> Rule {
    let mut rule = Rule { port: Some(port), ..crate::frames::any(random.below(5) as u32) };
    match random.below(4) {
        0 => rule.source_mac = Some(Mac(station(random))),
        1 => rule.vlan = config.attachments.first().and_then(|one| one.vlan).or(Some(3)),
        2 => {
            rule.source_ports = Some(Ports { first: u16::from(random.byte()) << 8, last: 1 << 15 })
        }
        _ => rule.ether_type = Some(0x0800 + u16::from(random.byte())),
    }
    rule
}

fn storm(port: Port, random: &mut Random) -> Storm {
    let mut limit = || [None, Some(300.0), Some(5000.0), Some(-1.0)][random.below(4)];
    let [broadcast, multicast, unknown] = [limit(), limit(), limit()];
    Storm { port, broadcast, multicast, unknown, unit: StormUnit::Pps, link_gbps: 10.0 }
}
