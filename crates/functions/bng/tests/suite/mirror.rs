//! Who is mirrored is copied, and sees nothing of it.

use engine::{Function, StageTotals};
use function_bng::Pipeline;
use function_bng::control::Update;
use function_bng::reasons::TALLIES;
use function_kit::Shard;
use machine::clock::Clock;
use model_kit::check::Expected;
use packet::{Batch, PortId, Room};
use serde_json::{Value, json};

use crate::gateway::*;

/// A gateway with a collector, whose sessions may send 250 bytes at once.
fn mirroring() -> function_bng::Config {
    config(&json!({
        "mirror": {"address": "192.0.2.99", "source": "192.0.2.1"},
        "profiles": [{"name": "plain", "policers": [{"class": "be", "rate": 1000, "burst": 250}]}],
    }))
}

fn set(text: Value) -> Update {
    serde_json::from_value(text).expect("an update")
}

fn set_mirror(number: u32) -> Update {
    set(json!({"set-mirror": {"number": number, "erspan-session": 77}}))
}

fn left(port: PortId, frame: Vec<u8>) -> Expected {
    Expected::Forward { port, frame }
}

/// The copy of a frame that came from the first session, or for it.
fn copy(sequence: u8, is_up: u8, came: &[u8]) -> Vec<u8> {
    let mut payload = vec![0x10, 0, 0x88, 0xbe, 0, 0, 0, sequence];
    let tag = if is_up == 1 { [0x10, 101, 0x18, 77] } else { [0x10, 0, 0, 77] };
    payload.extend(tag);
    payload.extend([0, 0, 0, is_up]);
    payload.extend(came);
    let (source, to) = ([192, 0, 2, 1].into(), [192, 0, 2, 99].into());
    let mut packet = model_kit::build::packet(source, to, wire::protocol::GRE, &payload);
    model_kit::build::set_word(4, sequence.into())(&mut packet);
    to_core(&packet)
}

#[test]
fn who_is_mirrored_is_copied_both_ways_and_sees_nothing_of_it() {
    let mut device = device(&mirroring());
    assert!(device.update(set_mirror(1), 0));
    assert!(!device.update(set_mirror(9), 0));
    let sent = packet(ipv4(1).into(), SERVER.into(), 100);
    let frame = from_ipoe(1, &sent);
    for sequence in [0, 1] {
        let all = device.exchange(ACCESS, &frame, 0);
        let copied = left(CORE, copy(sequence, 1, &frame));
        assert_eq!(all, [left(CORE, to_core(&hop(&sent))), copied]);
    }
    // What a policer drops has been sent, too.
    let all = device.exchange(ACCESS, &frame, 0);
    assert_eq!(all, [left(CORE, copy(2, 1, &frame)), Expected::Drop("rate-exceeded")]);
    let got = packet(SERVER.into(), ipv4(1).into(), 100);
    let all = device.exchange(CORE, &from_core(&got), 0);
    let mine = left(ACCESS, to_ipoe(1, &hop(&got)));
    assert_eq!(all, [mine, left(CORE, copy(3, 0, &from_core(&got)))]);
    assert!(device.update(set(json!({"clear-mirror": {"number": 1}})), 0));
    assert_eq!(device.exchange(CORE, &from_core(&got), 0).len(), 1);
    let other = packet(SERVER.into(), ipv4(2).into(), 100);
    assert_eq!(device.exchange(CORE, &from_core(&other), 0).len(), 1);
}

#[test]
fn what_goes_no_further_than_to_the_gateway_is_copied_as_it_came() {
    let mut device = device(&mirroring());
    assert!(device.update(set_mirror(1), 0));
    let to_gateway = packet(ipv4(1).into(), [10, 0, 0, 254].into(), 100);
    let mut spent = packet(ipv4(1).into(), SERVER.into(), 100);
    model_kit::build::set(8, 1)(&mut spent);
    let mut ping = vec![8, 0, 0, 0, 0, 1, 0, 1];
    let sum = wire::checksum::checksum(&ping);
    ping[2..4].copy_from_slice(&sum.to_be_bytes());
    let ping = model_kit::build::packet(ipv4(1), [10, 0, 0, 254].into(), 1, &ping);
    for (sequence, sent) in (0..).zip([to_gateway, spent, ping]) {
        let frame = from_ipoe(1, &sent);
        let all = device.exchange(ACCESS, &frame, 0);
        assert!(all.contains(&left(CORE, copy(sequence, 1, &frame))), "{sequence}: {all:?}");
    }
    let mut got = packet(SERVER.into(), ipv4(1).into(), 100);
    model_kit::build::set(8, 1)(&mut got);
    let all = device.exchange(CORE, &from_core(&got), 0);
    assert!(all.contains(&left(CORE, copy(3, 0, &from_core(&got)))), "{all:?}");
}

#[test]
fn a_copy_without_place_counts_once() {
    let clock = Clock::with_rate(1e9);
    let mut one = Pipeline::new(&mirroring(), Shard::WHOLE, clock, 0).expect("small");
    one.make_room(Room::default()).expect("memory");
    one.apply(set_mirror(1), 0).expect("it can be");
    let frame = from_ipoe(1, &packet(ipv4(1).into(), SERVER.into(), 100));
    let mut totals = StageTotals::default();
    for _ in 0..2 {
        let mut batch = Batch::new(256, Room::default()).expect("memory");
        for _ in 0..256 {
            batch.append(ACCESS, frame.len()).expect("room").copy_from_slice(&frame);
        }
        one.process(&mut batch, 0, &mut totals.start(0));
    }
    assert_eq!(one.made(0).map_or(0, |made| made.len()), 256);
    let tally = |name: &str| {
        let at = TALLIES.iter().position(|one| *one == name).expect("a tally");
        one.tallies()[at]
    };
    assert_eq!((tally("mirror-lost"), tally("made-full")), (256, 0));
}
