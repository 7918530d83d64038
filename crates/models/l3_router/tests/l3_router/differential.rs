//! Pipeline and oracle over random frames and random changes: they agree on every byte.
//!
//! Everything follows from the printed seed.

use model_l3_router::ports::{DOWNLINK, Numbered, UPLINK};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::Shard;
use function_l3_router::config::{HopName, Mac, NextHop, Prefixed, ToHop};
use function_l3_router::{Said, Update};
use model_l3_router::generated::{hop_number, passing_hop_number};
use model_l3_router::{L3Router, Section, catalogue};
use packet::PortId;
use testkit::mutate::mutate;
use testkit::pair::Pair;
use testkit::random::Random;
use testkit::walk::Steps;
use wire::MacAddr;

use crate::frames::{kinds, sample_frames};

/// Most frames for each kind of router.
const CASES: usize = 60_000;
const SEED: u64 = 0x91f5_0008;
const FRAME_LEN_MAX: usize = 2014;

#[test]
fn pipeline_and_oracle_agree_on_damaged_frames() {
    println!("seed {SEED:#x}, at most {CASES} frames for each kind");
    for (number, config) in kinds().iter().enumerate() {
        let mut random = Random::new(SEED + number as u64);
        let corpus = sample_frames(config);
        let mut pair = Pair::<L3Router>::new(config, Shard::WHOLE);
        let names = config.config.port_names();
        let needed = names.iter().map(|name| &**name);
        let needed = needed.chain(["ip-malformed", "ip-checksum", "martian"]);
        let mut steps = Steps::new(CASES, &needed.collect::<Vec<_>>());
        while let Some(case) = steps.next(&pair.coverage) {
            step(&mut pair, config, &corpus, &mut random)
                .unwrap_or_else(|what| panic!("kind {number}, case {case}: {what}"));
        }
        steps.assert_met(&pair.coverage);
    }
}

/// A change, or a frame.
fn step(
    pair: &mut Pair<L3Router>,
    config: &Section,
    corpus: &[Vec<u8>],
    random: &mut Random,
) -> Result<(), String> {
    if random.below(40) == 0 {
        pair.update(&update(config, random))?;
    }
    let mut frame = random.one_of(corpus).clone();
    if random.below(8) > 0 {
        mutate(&mut frame, corpus, FRAME_LEN_MAX, random);
    }
    // Mostly at a port whose address it has.
    let ports = config.config.numbers();
    let own = |port: PortId| frame.starts_with(&config.config.mac(port).0);
    let port = match ports.iter().copied().find(|&port| own(port)) {
        Some(port) if random.below(8) > 0 => port,
        _ => *random.one_of(&ports),
    };
    if frame.is_empty() {
        return Ok(());
    }
    pair.frame(port, &frame).map(drop)
}

/// A change of few routes and next hops, so that many are impossible.
fn update(config: &Section, random: &mut Random) -> Said {
    let number = said(hop(config, random), random);
    match random.below(5) {
        4 => {
            let group = random.below(4) as u32;
            match random.below(3) {
                0 => Update::RemoveGroupMember { group, next_hop: number },
                _ => Update::SetGroupMember {
                    group,
                    next_hop: number,
                    weight: *random.one_of(&[0, 1, 1, 2, 7, 65_535]),
                },
            }
        }
        0 | 1 => Update::SetRoute { prefix: prefix(random), next_hop: number, vrf: vrf(random) },
        2 => match random.below(2) {
            0 => Update::RemoveRoute { prefix: prefix(random), vrf: vrf(random) },
            _ => Update::RemoveNextHop { number },
        },
        _ => {
            let last = random.byte() % 4;
            let names = config.config.port_names();
            let own = config.config.ip(DOWNLINK).address;
            let ips = [None, Some(Ipv4Addr::new(10, 0, 0, last)), Some(own)];
            let ipv6 = Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, u16::from(last) + 1);
            let called = (random.below(2) == 0).then(|| name(random));
            let next_hop = NextHop {
                port: *random.one_of(&names),
                vlan: *random.one_of(&[None, None, Some(100), Some(4094), Some(7)]),
                mac: Mac(MacAddr([0x0a + u8::from(random.below(8) == 0), 0, 0, 0, 7, last])),
                source: None,
                ip: *random.one_of(&ips),
                ipv6: *random.one_of(&[None, Some(ipv6)]),
                bfd: None,
                name: called,
            };
            Update::SetNextHop { number, next_hop }
        }
    }
}

/// A next hop as somebody says it, now and then by a name that one may have.
fn said(number: u32, random: &mut Random) -> ToHop {
    match random.below(4) {
        0 => ToHop { number: u32::MAX, name: Some(name(random)) },
        _ => number.into(),
    }
}

fn name(random: &mut Random) -> HopName {
    let name = *random.one_of(&["isp-a", "isp-b", "isp-c"]);
    HopName::try_from(name.to_owned()).expect("a name")
}

/// Mostly the main one, now and then one that is not there.
fn vrf(random: &mut Random) -> u16 {
    *random.one_of(&[0, 0, 0, 1, 2, 3])
}

fn hop(config: &Section, random: &mut Random) -> u32 {
    let number = random.below(3) as u32;
    *random.one_of(&[
        hop_number(config, UPLINK, number),
        hop_number(config, DOWNLINK, number),
        number,
        passing_hop_number(config, number),
        catalogue::HOPS - 1 + number,
        catalogue::group_number(number),
    ])
}

/// Prefixes of the addresses that frames go to.
fn prefix(random: &mut Random) -> Prefixed<IpAddr> {
    let v4 = [[198, 19, 0, 9], [50, 0, 1, 2], [150, 0, 2, 2], [10, 0, 0, 2], [203, 0, 113, 9]];
    let v6 = ["3fff:ffe:1::9", "3fff:50:1::2", "3fff:150:1::2", "3fff::2", "2001:db8::2"];
    let (address, lens): (IpAddr, &[u8]) = match random.below(3) {
        0 => {
            let address: Ipv6Addr = random.one_of(&v6).parse().expect("an address");
            (address.into(), &[0, 16, 32, 48, 64, 127, 128, 129])
        }
        _ => {
            let [a, b, c, d] = *random.one_of(&v4);
            (Ipv4Addr::new(a, b, c, d).into(), &[0, 8, 16, 17, 24, 25, 31, 32, 33])
        }
    };
    let len = *random.one_of(lens);
    // Now and then with bits behind its length.
    match random.below(10) {
        0 => Prefixed { address, len },
        _ => Prefixed { address: catalogue::network(address, len), len },
    }
}
