//! Function and oracle over random frames and random changes: they agree on every byte.
//!
//! Everything follows from the printed seed. Time stands still or leaps, so that no packet comes
//! next to a meter's border.

use std::net::Ipv4Addr;
use std::time::Duration;

use function_bng::Update;
use function_bng::config::{Line, List, Name, NextHop, Pppoe, Route, Session};
use function_kit::Shard;
use function_kit::sections::Prefixed;
use model_bng::catalogue::{self, OTHER_PROFILE, PROFILE, Subscriber};
use model_bng::sample::sample;
use model_bng::{BroadbandGateway, Section, Traffic};
use model_kit::check::Step;
use packet::PortId;
use testkit::mutate::mutate;
use testkit::pair::Pair;
use testkit::random::Random;
use testkit::walk::Steps;

use crate::frames::{kinds, sample_frames};

/// Most frames for each kind of gateway.
const CASES: usize = 20_000;
const SEED: u64 = 0x91f5_0b06;
const FRAME_LEN_MAX: usize = 2014;

#[test]
fn function_and_oracle_agree_on_damaged_frames() {
    println!("seed {SEED:#x}, at most {CASES} frames for each kind");
    for (number, section) in kinds().iter().enumerate() {
        let mut random = Random::new(SEED + number as u64);
        let corpus = sample_frames(section);
        let mut pair = Pair::<BroadbandGateway>::new(section, Shard::WHOLE);
        // The visitors of the sample, of whom most frames are.
        for step in sample(section, &Traffic::default()) {
            match step {
                Step::Update(update @ (Update::AddProfile(_) | Update::AddSession(_))) => {
                    pair.update(&update).unwrap_or_else(|what| panic!("{what}"));
                }
                _ => break,
            }
        }
        pair.elapsed = LEAP;
        let mut steps = Steps::new(CASES, &["access", "core", "ip-malformed", "spoofed-source"]);
        while let Some(case) = steps.next(&pair.coverage) {
            step(&mut pair, section, &corpus, &mut random)
                .unwrap_or_else(|what| panic!("kind {number}, case {case}: {what}"));
        }
        steps.assert_met(&pair.coverage);
    }
}

#[test]
fn function_and_oracle_agree_on_how_many_names_lists_may_have() {
    let section = &kinds()[0];
    let mut pair = Pair::<BroadbandGateway>::new(section, Shard::WHOLE);
    let of = |number| List { name: catalogue::list_name(number), ..catalogue::list(100, 1) };
    let possible = (200..2200).filter(|number| {
        let update = Update::AddList(of(*number));
        pair.update(&update).unwrap_or_else(|what| panic!("{number}: {what}"))
    });
    assert_eq!(possible.count(), 16 * 64 - 1, "one was there");
}

/// A change, or a frame.
fn step(
    pair: &mut Pair<BroadbandGateway>,
    section: &Section,
    corpus: &[Vec<u8>],
    random: &mut Random,
) -> Result<(), String> {
    match random.below(40) {
        0 => drop(pair.update(&update(section, random))?),
        1 => pair.elapsed += LEAP,
        _ => {}
    }
    let mut frame = random.one_of(corpus).clone();
    match random.below(8) {
        0 | 1 => {}
        _ => mutate(&mut frame, corpus, FRAME_LEN_MAX, random),
    }
    if frame.is_empty() {
        return Ok(());
    }
    pair.frame(PortId(random.below(2) as u8), &frame).map(drop)
}

/// A change of few sessions and routes, so that many are impossible.
fn update(section: &Section, random: &mut Random) -> Update {
    let number = random.below(26) as u32;
    let subscriber = Subscriber::new(section, number);
    let session = subscriber.session(section);
    let hop = catalogue::next_hop(random.below(5) as u32);
    let len = *random.one_of(&[0, 8, 24, 25, 32]);
    let address = Ipv4Addr::from_bits(catalogue::server_ipv4(random.below(6) as u32));
    let network = model_kit::service::network(address.into(), len);
    let prefix = Prefixed { address: network, len };
    let route = Route { prefix, vrf: None, next_hop: hop.address };
    match random.below(12) {
        0 | 1 => Update::AddSession(session),
        2 => Update::ChangeSession(other(session, random)),
        3 => Update::AddSession(other(session, random)),
        4 | 5 => subscriber.removed(),
        6 => {
            let names = [PROFILE, OTHER_PROFILE, Name::new("nobody")];
            Update::SetProfile { number: session.number, profile: *random.one_of(&names) }
        }
        7 => Update::AddRoute(route),
        8 => Update::RemoveRoute { prefix, vrf: None },
        9 => Update::AddNextHop(NextHop { mac: hop.mac.filter(|_| random.below(2) == 0), ..hop }),
        10 => Update::RemoveNextHop { address: hop.address, vrf: None },
        _ => Update::RemoveProfile { name: OTHER_PROFILE },
    }
}

/// A session with something of another one.
fn other(session: Session, random: &mut Random) -> Session {
    let pppoe = Some(Pppoe { id: random.below(4) as u16 + 1, mru: 1492 });
    match random.below(6) {
        0 => Session { number: 1 + random.below(30) as u32, ..session },
        1 => Session { ipv4: Some(Ipv4Addr::new(10, 0, 1, random.below(30) as u8)), ..session },
        2 => Session { line: Line { outer: 0, inner: random.below(3) as u16 }, ..session },
        3 => Session { pppoe, ..session },
        4 => Session { na: None, delegated: None, ..session },
        _ => Session { profile: OTHER_PROFILE, ..session },
    }
}

/// Longer than any burst of the configurations takes to be earned back.
const LEAP: Duration = Duration::from_secs(1);
