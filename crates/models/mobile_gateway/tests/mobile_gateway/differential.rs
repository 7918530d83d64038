//! Pipeline and oracle over random frames and random changes: they agree on every byte.
//!
//! Everything follows from the printed seed. Time stands still or leaps, so that no packet comes
//! next to a meter's border.

use std::net::Ipv4Addr;
use std::time::Duration;

use function_kit::Shard;
use function_kit::sections::Mac;
use function_mobile_gateway::Update;
use function_mobile_gateway::config::{BaseStation, NextHop, User as AddedUser};
use model_mobile_gateway::MobileGateway;
use model_mobile_gateway::Section;
use model_mobile_gateway::catalogue::{self, User};
use packet::PortId;
use testkit::mutate::mutate;
use testkit::pair::Pair;
use testkit::random::Random;
use testkit::walk::Steps;
use units::BytesPerSec;
use wire::MacAddr;

use crate::frames::{kinds, sample_frames};

/// Most frames for each kind of gateway.
const CASES: usize = 20_000;
const SEED: u64 = 0x91f5_0006;
const FRAME_LEN_MAX: usize = 2014;

#[test]
fn pipeline_and_oracle_agree_on_damaged_frames() {
    println!("seed {SEED:#x}, at most {CASES} frames for each kind");
    for (number, config) in kinds().iter().enumerate() {
        let mut random = Random::new(SEED + number as u64);
        let corpus = sample_frames(config);
        let mut pair = Pair::<MobileGateway>::new(config, Shard::WHOLE);
        let visitor = catalogue::passing_user(0, config.user, config.bst);
        pair.update(&visitor.added()).expect("there is room");
        pair.elapsed = LEAP;
        let mut steps = Steps::new(CASES, &["access", "core", "inner-malformed", "rate-exceeded"]);
        while let Some(case) = steps.next(&pair.coverage) {
            step(&mut pair, config, &corpus, &mut random)
                .unwrap_or_else(|what| panic!("kind {number}, case {case}: {what}"));
        }
        steps.assert_met(&pair.coverage);
    }
}

/// A change, or a frame.
fn step(
    pair: &mut Pair<MobileGateway>,
    config: &Section,
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
fn update(config: &Section, random: &mut Random) -> Update {
    let number = random.below(6) as u32;
    let passing = catalogue::passing_user(number, config.user, config.bst);
    let configured = catalogue::user(number, config.bst);
    let teid = *random.one_of(&[passing.teid, configured.teid, 0, 1 << 30]);
    let server = catalogue::passing_server_ipv4(number);
    let len = *random.one_of(&[0, 8, 23, 24, 32, 33]);
    let mask = u32::MAX.checked_shl(32 - u32::from(len.min(32))).unwrap_or(0);
    let network = server & Ipv4Addr::from_bits(mask);
    let prefix = *random.one_of(&[network, server, catalogue::base_station_ipv4(number)]);
    let ipv6 = catalogue::ipv6_host(catalogue::server_ipv6_prefix(number + 3), 0);
    let ipv6_len = *random.one_of(&[0, 20, 63, 64, 128, 129]);
    let station = catalogue::base_station_ipv4(random.below(6) as u32);
    let hop = random.below(5) as u32;
    match random.below(16) {
        0 | 1 => passing.added(),
        2 => User { teid, ..configured }.added(),
        3 => User { base_station: random.below(5) as u32, teid, ..passing }.added(),
        4 => with_rates(passing.added(), random),
        5 | 6 => random.one_of(&[passing, configured]).removed(),
        7 | 8 => random.one_of(&[passing, configured]).moved(random.below(5) as u32),
        9 => catalogue::add_route(prefix, len, hop),
        10 => catalogue::remove_route(prefix, len),
        11 => catalogue::add_route(ipv6, ipv6_len, hop),
        12 => catalogue::remove_route(ipv6, ipv6_len),
        13 => Update::AddNextHop(NextHop { source_mac: None, ..catalogue::core_hop(hop) }),
        14 => Update::RemoveNextHop { address: catalogue::next_hop_address(hop) },
        _ if random.below(3) == 0 => Update::RemoveBaseStation { address: station },
        _ => {
            let mac = Mac(MacAddr([2, 0, 0, 0, 1, random.below(4) as u8]));
            let mac = (random.below(4) > 0).then_some(mac);
            Update::AddBaseStation(BaseStation { address: station, mac })
        }
    }
}

/// A user with one rate of its own, out of range at times, and perhaps without IPv6.
fn with_rates(update: Update, random: &mut Random) -> Update {
    let Update::AddUser(user) = update else { return update };
    let rate = BytesPerSec(*random.one_of(&[0.0, 50_000.0, 1e13]));
    let ipv6 = user.ipv6.filter(|_| random.below(2) == 0);
    Update::AddUser(AddedUser { ipv6, downlink_rate: Some(rate), ..user })
}

/// Longer than any burst of the configurations takes to be earned back, of one bearer.
const LEAP: Duration = Duration::from_secs(1);
