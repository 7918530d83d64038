//! Connections that break, standbys that are slow, absent or of another configuration.
use function_cgnat::reasons::Tally;
use testkit::device::{Device, Outcome};

use std::net::Ipv4Addr;

use super::*;
use crate::frames::{INSIDE, net};

/// A NAT with room for many sessions.
fn large() -> Config {
    Config {
        pools: vec![net("198.18.0.0/26")],
        sessions: 80_000,
        sessions_per_subscriber: Some(0),
        port_block: function_cgnat::config::PortBlocks { size: 512, per_subscriber: 4 },
        ..lasting()[0].clone()
    }
}

/// Opens sessions of UDP, from one number on.
fn open(device: &mut Device<Pipeline>, config: &Config, numbers: std::ops::Range<u32>, now: Ticks) {
    for number in numbers {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&config.inside_mac.0.0);
        frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
        frame[26..30].copy_from_slice(&(0x0a00_0001 + number % 250).to_be_bytes());
        frame[30..34].copy_from_slice(&(0x0b00_0001 + number / 250).to_be_bytes());
        frame[34..36].copy_from_slice(&(1000 + (number % 1000) as u16).to_be_bytes());
        frame[36..40].copy_from_slice(&[0, 53, 0, 26]);
        testkit::mutate::repair(&mut frame);
        let outcome = device.pass(INSIDE, &frame, now);
        assert!(matches!(outcome, Outcome::Left(..)), "{number}: {outcome:?}");
    }
}

fn tables(device: &mut Device<Pipeline>, now: Ticks) -> Tables {
    Tables::of(device.function_mut().state(), now)
}

/// Two NATs, joined.
fn joined(configs: [&Config; 2]) -> (Cable, [Device<Pipeline>; 2]) {
    let [mut active, mut standby] = configs.map(|config| device(config, BEGIN));
    (Cable::between(&mut active, &mut standby), [active, standby])
}

/// Lets both go round until the standby has acknowledged everything.
fn follow(cable: &mut Cable, both: &mut [Device<Pipeline>; 2]) {
    let [active, standby] = both;
    until("synchronised", cable, [active, standby], BEGIN, |status| status.is_synchronised);
}

#[test]
fn a_connection_that_breaks_goes_on_where_it_was() {
    let [config, standby] = two(&large());
    let (mut cable, mut both) = joined([&config, &standby]);
    for round in 0..8 {
        open(&mut both[0], &config, round * 3000..(round + 1) * 3000, BEGIN);
        // At first before it has said who it is, then within changes.
        for _ in 0..round {
            both.iter_mut().for_each(|device| _ = device.rest(BEGIN));
            cable.step();
        }
        cable.cut();
        follow(&mut cable, &mut both);
        let [active, standby] = &mut both;
        assert_eq!(tables(active, BEGIN), tables(standby, BEGIN), "round {round}");
    }
    let status = both[0].function_mut().replication();
    assert!(status.connections >= 8, "{status:?}");
    assert_eq!((status.resynchronisations, status.refused), (1, 0), "{status:?}");
    let adopted = both[1].function_mut().state().tallies[Tally::SessionsAdopted as usize];
    assert_eq!(adopted, 24_000, "each once, whatever was sent twice");
}

#[test]
fn more_changes_than_all_queues_hold_are_not_lost() {
    let [config, standby] = two(&large());
    let (mut cable, mut both) = joined([&config, &standby]);
    follow(&mut cable, &mut both);
    // The standby's worker does not go round meanwhile.
    for first in (0..70_000).step_by(1000) {
        open(&mut both[0], &config, first..first + 1000, BEGIN);
        cable.step();
    }
    let status = both[0].function_mut().replication();
    assert!(status.waiting > 0 && !status.is_synchronised, "queues hold less: {status:?}");
    follow(&mut cable, &mut both);
    let [active, standby] = &mut both;
    assert_eq!(tables(active, BEGIN), tables(standby, BEGIN));
    let status = active.function_mut().replication();
    assert_eq!((status.refused, status.resynchronisations), (0, 1));
}

#[test]
fn an_active_nat_works_alone_and_tells_everything_to_whoever_comes() {
    let [config, at] = two(&large());
    let (mut cable, [mut active, standby]) = joined([&config, &at]);
    drop(standby);
    open(&mut active, &config, 0..5000, BEGIN);
    for round in 1..4 {
        (0..2000).for_each(|_| cable.step());
        assert!(!active.function_mut().replication().is_connected);
        let mut standby = device(&at, BEGIN);
        cable.lead_to(&mut standby);
        let both = [&mut active, &mut standby];
        until("told anew", &mut cable, both, BEGIN, |status| {
            status.is_synchronised && status.resynchronisations == round
        });
        assert_eq!(tables(&mut active, BEGIN), tables(&mut standby, BEGIN));
        drop(standby);
        let first = round as u32 * 5000;
        open(&mut active, &config, first..first + 5000, BEGIN);
    }
}

/// Sessions of an active NAT that is gone stay with the standby when another one comes, whose word
/// holds.
#[test]
fn a_new_active_nat_takes_nothing_from_what_the_standby_has() {
    let [config, at] = two(&large());
    let (mut cable, mut both) = joined([&config, &at]);
    open(&mut both[0], &config, 0..2000, BEGIN);
    follow(&mut cable, &mut both);
    let other = Config { secret: Some(99), ..config.clone() };
    both[0] = device(&other, BEGIN);
    cable.lead_from(&mut both[0]);
    follow(&mut cable, &mut both);
    assert_eq!(both[1].function_mut().state().sessions.count(), 2000, "they stay");
    open(&mut both[0], &config, 1000..3000, BEGIN);
    follow(&mut cable, &mut both);
    let [active, standby] = &mut both;
    let (theirs, ours) = (tables(active, BEGIN), tables(standby, BEGIN));
    assert_eq!(theirs.sessions.len(), 2000);
    for (key, end) in &theirs.sessions {
        assert_eq!(ours.sessions.get(key), Some(end), "its word holds");
    }
}

#[test]
fn a_pace_is_kept_and_nothing_is_lost_by_it() {
    let [mut config, standby] = two(&large());
    config.replication.changes_per_s = 20_000;
    let (mut cable, mut both) = joined([&config, &standby]);
    follow(&mut cable, &mut both);
    let begin = cable.now;
    open(&mut both[0], &config, 0..6000, BEGIN);
    follow(&mut cable, &mut both);
    // 6,000 changes less the 1,000 of a burst.
    let took = cable.now.since(begin);
    assert!((249..320).contains(&took.as_millis()), "{took:?}");
    let [active, standby] = &mut both;
    assert_eq!(tables(active, BEGIN), tables(standby, BEGIN));
}

#[test]
fn another_configuration_or_key_is_refused_in_words() {
    let [active, standby] = two(&large());
    let keyed = |key: &str| Replication {
        key: Some(key.to_owned().try_into().expect("long enough")),
        ..active.replication.clone()
    };
    let with_key = Config { replication: keyed("a key that nobody guesses"), ..active.clone() };
    for (other, what) in [
        (Config { hairpinning: false, ..active.clone() }, "configuration differs"),
        (Config { sessions: 500, ..active.clone() }, "configuration differs"),
        (with_key.clone(), "the other has none"),
    ] {
        let (mut cable, [mut active, mut standby]) = joined([&other, &standby]);
        let both = [&mut active, &mut standby];
        until("refused", &mut cable, both, BEGIN, |status| status.trouble.contains(what));
        assert_eq!(active.function_mut().replication().connections, 0);
    }
    let key = with_key.replication.key.clone();
    let replication = Replication { key, ..standby.replication.clone() };
    let with_same_key = Config { replication, ..standby.clone() };
    let same = Config { secret: Some(1), outside_ip: Ipv4Addr::new(203, 0, 113, 9), ..active };
    for configs in [[&same, &standby], [&with_key, &with_same_key]] {
        let (mut cable, mut both) = joined(configs);
        follow(&mut cable, &mut both);
    }
}

#[test]
fn a_rehearsal_is_synchronised_by_itself_and_takes_over() {
    let config = Config {
        replication: Replication { role: Role::Rehearsal, ..Replication::default() },
        ..large()
    };
    let mut active = device(&config, BEGIN);
    let (mut machine, mut now) = (machine_of(&mut active), Time::ZERO);
    open(&mut active, &config, 0..3000, BEGIN);
    for _ in 0..STEPS_MAX {
        active.rest(BEGIN);
        if active.function_mut().replication().is_synchronised {
            break;
        }
        now = machine.deadline().expect("it goes round").max(now);
        assert!(machine.poll(now).is_none(), "it wants nothing of a network");
    }
    let status = active.function_mut().replication();
    assert!(status.is_synchronised && status.acknowledged >= 3000, "{status:?}");
    let before = tables(&mut active, BEGIN);
    let standby = active.function_mut().fail_over().expect("it has one beside it");
    assert_eq!(tables(&mut Device::new(standby, 2), BEGIN), before);
    assert!(!active.function_mut().has_rehearsal());
    assert!(machine.poll(now).is_none() && machine.deadline().is_none(), "it is over");
}
