//! Pipeline and oracle over random frames and random changes: they agree on every byte.
//!
//! Everything follows from the printed seed. Time stands still or leaps, so that no packet comes
//! next to a meter's border.

use std::time::Duration;

use functions::Shard;
use functions::mobile_gateway::catalogue::{self, User};
use functions::mobile_gateway::config::Config;
use functions::mobile_gateway::{MobileGateway, Update};
use packet::PortId;
use testkit::check::Pair;
use testkit::mutate::mutate;
use testkit::random::Random;

use crate::frames::{kinds, sample_frames};

/// Frames for each kind of gateway.
const CASES: usize = 20_000;
const SEED: u64 = 0x91f5_0006;
const FRAME_LEN_MAX: usize = 2014;

#[test]
fn pipeline_and_oracle_agree_on_damaged_frames() {
    println!("seed {SEED:#x}, {CASES} frames for each kind");
    for (number, config) in kinds().iter().enumerate() {
        let mut random = Random::new(SEED + number as u64);
        let corpus = sample_frames(config);
        let mut pair = Pair::<MobileGateway>::new(config, Shard::WHOLE);
        let visitor = catalogue::passing_user(0, config.user, config.bst);
        pair.update(&Update::AddUser(visitor)).expect("there is room");
        pair.elapsed = LEAP;
        for case in 0..CASES {
            step(&mut pair, config, &corpus, &mut random)
                .unwrap_or_else(|what| panic!("kind {number}, case {case}: {what}"));
        }
        let of_many = ["access", "core", "inner-malformed", "rate-exceeded"];
        let few = of_many.iter().find(|name| pair.coverage.get(**name).copied().unwrap_or(0) < 20);
        assert_eq!(few, None, "the frames are too much alike: {:?}", pair.coverage);
    }
}

/// A change, or a frame.
fn step(
    pair: &mut Pair<MobileGateway>,
    config: &Config,
    corpus: &[Vec<u8>],
    random: &mut Random,
) -> Result<(), String> {
    match random.below(40) {
        0 => {
            pair.update(&update(config, random))?;
            // A user who has just come stands at the border of its meter.
            pair.elapsed += LEAP;
        }
        1 => pair.elapsed += LEAP,
        _ => {}
    }
    let mut frame = random.one_of(corpus).clone();
    match random.below(8) {
        // A few in a row, so that some bearer exceeds its rate.
        0 => (0..4).try_for_each(|_| pair.frame(PortId(0), &frame).map(drop))?,
        1 => {}
        _ => mutate(&mut frame, corpus, FRAME_LEN_MAX, random),
    }
    if frame.is_empty() {
        return Ok(());
    }
    pair.frame(PortId(random.below(2) as u8), &frame).map(drop)
}

/// A change of few users and routes, so that many are impossible.
fn update(config: &Config, random: &mut Random) -> Update {
    let number = random.below(6) as u32;
    let passing = catalogue::passing_user(number, config.user, config.bst);
    let configured = catalogue::user(number, config.bst);
    let teid = *random.one_of(&[passing.teid, configured.teid, 0, 1 << 30]);
    let server = catalogue::passing_server_ipv4(number);
    let len = *random.one_of(&[0, 8, 23, 24, 32, 33]);
    let mask = u32::MAX.checked_shl(32 - u32::from(len.min(32))).unwrap_or(0);
    let network = server & std::net::Ipv4Addr::from_bits(mask);
    let prefix = *random.one_of(&[network, server, catalogue::base_station_ipv4(number)]);
    match random.below(8) {
        0 | 1 => Update::AddUser(passing),
        2 => Update::AddUser(User { teid, ..configured }),
        3 => Update::AddUser(User { base_station: random.below(5) as u32, teid, ..passing }),
        4 => Update::RemoveUser { teid },
        5 => Update::Handover { teid, base_station: random.below(5) as u32 },
        6 => Update::AddServer { prefix, len, next_hop: random.below(4) as u32 },
        _ => Update::RemoveServer { prefix, len },
    }
}

/// Longer than any burst of the configurations takes to be earned back, of one bearer.
const LEAP: Duration = Duration::from_secs(1);
