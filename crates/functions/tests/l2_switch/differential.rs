//! Pipeline and oracle over random frames, changes and pauses: they agree on every byte.
//!
//! Everything follows from the printed seed. Stations are few, so that they are often known, and
//! time leaps past the ageing time now and then.

use std::time::Duration;

use functions::Shard;
use functions::l2_switch::config::{Config, Mac, Port};
use functions::l2_switch::{L2Switch, Update};
use packet::PortId;
use testkit::check::Pair;
use testkit::mutate::mutate;
use testkit::random::Random;
use wire::MacAddr;

use crate::frames::{kinds, sample_frames};

/// Frames for each kind of bridge.
const CASES: usize = 20_000;
const SEED: u64 = 0x91f5_0007;
const FRAME_LEN_MAX: usize = 2014;

#[test]
fn pipeline_and_oracle_agree_on_damaged_frames() {
    println!("seed {SEED:#x}, {CASES} frames for each kind");
    for (number, config) in kinds().iter().enumerate() {
        let mut random = Random::new(SEED + number as u64);
        let corpus = sample_frames(config);
        let mut pair = Pair::<L2Switch>::new(config, Shard::WHOLE);
        for case in 0..CASES {
            step(&mut pair, config, &corpus, &mut random)
                .unwrap_or_else(|what| panic!("kind {number}, case {case}: {what}"));
        }
        let few = ["downlink", "uplink", "truncated"]
            .into_iter()
            .find(|name| pair.coverage.get(*name).copied().unwrap_or(0) < 20);
        assert_eq!(few, None, "the frames are too much alike: {:?}", pair.coverage);
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
            pair.update(&update(random))?;
        }
        // Not a multiple of the parts into which the ageing time is divided.
        1 => pair.elapsed += Duration::from_secs_f64(config.ageing_s * 1.3),
        2 => pair.elapsed += Duration::from_secs_f64(config.ageing_s * 0.2127),
        _ => {}
    }
    let mut frame = random.one_of(corpus).clone();
    match random.below(4) {
        0 => {}
        1 => mutate(&mut frame, corpus, FRAME_LEN_MAX, random),
        _ if frame.len() >= 12 => {
            frame[..6].copy_from_slice(&station(random).0);
            frame[6..12].copy_from_slice(&station(random).0);
        }
        _ => {}
    }
    if frame.is_empty() {
        return Ok(());
    }
    pair.frame(PortId(random.below(2) as u8), &frame).map(drop)
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

fn update(random: &mut Random) -> Update {
    let mac = Mac(station(random));
    let port = Port::of(PortId(random.below(2) as u8));
    match random.below(3) {
        0 => Update::SetStation { mac, port },
        1 => Update::RemoveStation { mac },
        _ => Update::Learn { mac, port },
    }
}
