//! The table of sessions beside maps of the standard library, and the two parsers beside each
//! other.

use std::collections::{BTreeMap, BTreeSet};

use function_cgnat::config::Config;
use function_cgnat::interfaces::Interfaces;
use function_cgnat::parse::{Plain, classify};
use function_cgnat::sessions::session::{Session, TcpState};
use function_cgnat::sessions::table::{Full, Number, Sessions};
use function_cgnat::sessions::times::Times;
use function_cgnat::types::flow::{Far, Inside, Outside};
use testkit::mutate::mutate;
use testkit::pair::clock;
use testkit::random::Random;

use crate::frames::{INSIDE, OUTSIDE, kinds, sample_frames};

/// Every fourth step lets time pass; the rest opens, closes, uses and hastens.
#[test]
fn sessions_are_as_in_maps() {
    let (config, seed) = (Config { ..kinds()[0].clone() }, 0x5e55_1045);
    println!("seed {seed:#x}");
    let times = Times::new(&config, &clock());
    let mut random = Random::new(seed);
    let mut sessions = Sessions::new(300, 200, [1, 2]).expect("memory");
    let mut model: BTreeMap<Number, Session> = BTreeMap::new();
    let mut now = u32::MAX - 5000;
    for _ in 0..60_000 {
        let (host, port, far) = (random.below(30), random.below(12), random.below(20));
        let protocol = if random.below(2) == 0 { 6 } else { 17 };
        let inside = Inside::ipv4(host as u32, port as u16, 0, Far::new(protocol, far as u32, 53));
        let mine = |session: &Session| session.is_of_mapping(&inside);
        let known = model.iter().find(|(_, session)| session.is_inside(&inside));
        let known = known.map(|(&number, _)| number);
        let mapping = model.iter().find(|(_, session)| mine(session)).map(|(&number, _)| number);
        let hash = inside.hash(sessions.keyed());
        assert_eq!(sessions.find_inside(hash, &inside), known);
        let found = sessions.find_mapping(inside.mapping_hash(sessions.keyed()), &inside);
        assert_eq!(found.is_some(), mapping.is_some());
        match (random.below(8), known) {
            (0 | 1, _) => {
                now = now.wrapping_add(random.below(8) as u32);
                sweep(&mut sessions, &mut model, (now, &times), &mut random);
            }
            (2, Some(number)) => {
                let other = sessions.close(number);
                model.remove(&number);
                assert_eq!(other.is_some(), model.values().any(mine));
            }
            (3, Some(number)) => {
                let tcp = TcpState(random.below(32) as u8);
                for record in [&mut sessions.records[number as usize], some(&mut model, number)] {
                    record.tcp = tcp;
                }
                sessions.hasten(number, (now, &times));
            }
            (_, Some(number)) => {
                for record in [&mut sessions.records[number as usize], some(&mut model, number)] {
                    record.used = now;
                }
            }
            (_, None) => {
                let outside = (0x0b00_0000 + host as u32, 1000 + port as u16);
                let session = Session::new(&inside, outside, 0, now);
                let mappings: BTreeSet<_> = model.values().map(own).collect();
                let expected = match mapping.is_none() && mappings.len() >= 200 {
                    _ if model.len() >= 300 => Err(Full::Sessions),
                    true => Err(Full::Mappings),
                    false => Ok(()),
                };
                let got = sessions.open(session, found, (now, &times));
                assert_eq!(got.map(drop), expected);
                if let Ok(number) = got {
                    assert!(model.insert(number, session).is_none(), "a number of its own");
                }
            }
        }
        check(&sessions, &model);
    }
    assert!(!model.is_empty());
}

fn some(model: &mut BTreeMap<Number, Session>, number: Number) -> &mut Session {
    model.get_mut(&number).expect("it is there")
}

/// What a mapping belongs to.
fn own(session: &Session) -> ([u64; 2], u32, u8) {
    (session.inside, session.near, session.far.protocol())
}

/// Ends what is over; nothing that is not over is ever told, and nothing is told too late.
fn sweep(
    sessions: &mut Sessions,
    model: &mut BTreeMap<Number, Session>,
    (now, times): (u32, &Times),
    random: &mut Random,
) {
    let mut over = [0; 512];
    let count = 1 + random.below(400);
    let found = sessions.sweep(count, &mut over, (now, times));
    for number in &over[..found] {
        let session = model.remove(number).expect("a session that is there");
        assert!(times.is_over(&session, now), "it lives");
        sessions.close(*number);
    }
    // A piece that was not looked at, and the units of the column, are what may be left.
    if count >= 300 {
        let late =
            |session: &&Session| now.wrapping_sub(session.used) > times.timeout(session) + LATE;
        assert_eq!(model.values().filter(late).count(), 0, "over for long");
    }
}

/// Two units of the column in which the sweep looks.
const LATE: u32 = 33;

fn check(sessions: &Sessions, model: &BTreeMap<Number, Session>) {
    assert_eq!(sessions.count() as usize, model.len());
    let mappings: BTreeSet<_> = model.values().map(own).collect();
    assert_eq!(sessions.mappings(), mappings.len());
    let Some((&number, session)) = model.iter().next() else { return };
    let outside: Outside = session.outside_key();
    let hash = outside.hash(sessions.keyed());
    assert_eq!(sessions.find_outside(hash, &outside), Some(number));
    let ring: BTreeSet<Number> = sessions.ring(number).collect();
    let of_mapping = model.iter().filter(|(_, other)| own(other) == own(session));
    assert_eq!(ring, of_mapping.map(|(&number, _)| number).collect());
}

#[test]
fn what_the_fast_parser_takes_the_full_one_takes_for_the_same() {
    for config in kinds() {
        let interfaces = Interfaces::new(&config).expect("they fit");
        let plain = Plain::new(&interfaces);
        let frames = sample_frames(&config);
        let donors: Vec<Vec<u8>> =
            frames.iter().map(|(_, frame)| frame.clone()).take(500).collect();
        let mut random = Random::new(3);
        let mut taken = 0;
        for (_, frame) in &frames {
            for round in 0..4 {
                let mut frame = frame.clone();
                if round > 0 {
                    mutate(&mut frame, &donors, 2014, &mut random);
                }
                for port in [INSIDE, OUTSIDE] {
                    if let Some(class) = plain.recognise(&frame, port) {
                        assert_eq!(class, classify(&frame, port, &interfaces), "{frame:02x?}");
                        taken += 1;
                    }
                }
            }
        }
        // Of translation without sessions those of one port are, and none where some pass as they
        // are.
        let least = if config.siit.is_some() { 100 } else { 200 };
        match config.bypass.is_empty() {
            true => assert!(taken > least, "only {taken} frames are plain"),
            false => assert_eq!(taken, 0),
        }
    }
}
