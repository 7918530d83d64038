//! Queues that are full, that drop what has waited for long, and what leaves them in the end.

use function_bng::reasons::TALLIES;
use function_bng::{BroadbandGateway, Pipeline};
use function_kit::{NetworkFunction, Shard};
use machine::clock::Clock;
use model_kit::check::Expected;
use model_kit::device::{Device, Outcome};
use packet::Room;
use serde_json::{Value, json};

use crate::changes::volumes;
use crate::gateway::*;

/// A gateway whose sessions have one queue of a rate, and what else is said of it.
fn queued(rate: u32, queue: &Value, more: &Value) -> function_bng::Config {
    let mut one = json!({"class": "be", "rate": rate, "burst": 0, "depth-bytes": 4_000_000});
    let mut all = json!({});
    for (whole, part) in [(&mut one, queue), (&mut all, more)] {
        for (key, value) in part.as_object().into_iter().flatten() {
            whole[key] = value.clone();
        }
    }
    all["profiles"] = json!([{"name": "plain", "queues": [one]}]);
    config(&all)
}

fn got(number: u8, len: usize) -> Vec<u8> {
    from_core(&packet(SERVER.into(), ipv4(number).into(), len))
}

fn tally(device: &Device<Pipeline>, name: &str) -> u64 {
    let at = TALLIES.iter().position(|one| *one == name).expect("a tally");
    device.counts().tallies[at]
}

#[test]
fn controlled_delay_drops_what_has_waited_for_long_where_a_queue_asks_for_it() {
    // 100 frames of 518 bytes wait for about a second.
    for (codel, has_drops) in [(false, false), (true, true)] {
        let mut device = device(&queued(50_000, &json!({"codel": codel}), &json!({})));
        for _ in 0..101 {
            device.pass(CORE, &got(1, 500), 0);
        }
        assert_eq!(tally(&device, "queued-now"), 100);
        let left = (1..=300).flat_map(|step| device.rest(step * SECOND / 100)).count() as u64;
        let by_delay = tally(&device, "queued-dropped-by-delay");
        assert_eq!(tally(&device, "queued-left"), left);
        assert_eq!(left + by_delay, 100, "each left or was dropped");
        assert_eq!(by_delay > 0, has_drops, "{by_delay} with codel {codel}");
        assert_eq!(volumes(&mut device, 1)[4], 1 + left, "what was dropped has not left");
    }
}

#[test]
fn a_queue_gets_half_of_the_memory_that_nobody_else_uses() {
    // 256 cells, of which a frame takes three.
    let mut device = device(&queued(1, &json!({}), &json!({"buffer-kib": 64})));
    let mut waits = |number: u8| {
        let all = (0..200).map(|_| device.pass(CORE, &got(number, 500), 0));
        let all: Vec<Outcome> = all.skip(1).collect();
        let waiting = all.iter().filter(|one| **one == Outcome::Dropped("queued")).count();
        let share = Outcome::Dropped("queue-share");
        assert!(all[waiting..].iter().all(|one| *one == share), "{:?}", all[waiting]);
        waiting
    };
    // 129 of 256 cells, then 63 of 127.
    assert_eq!((waits(1), waits(2)), (43, 21));
}

#[test]
fn what_is_longer_than_can_wait_passes_or_is_dropped() {
    let mut one = ipoe(1);
    one["line"] = json!({"outer": 7, "inner": 101});
    let config = queued(1, &json!({}), &json!({"sessions": [one]}));
    let function = BroadbandGateway::function(&config, Shard::WHOLE, Clock::with_rate(1e9), 0);
    let room = Room { frame: 3000, ..Room::default() };
    let mut device = Device::with_room(function.expect("small"), 2, room);
    let passes = device.pass(CORE, &got(1, 2027), 0);
    assert!(matches!(passes, Outcome::Left(ACCESS, _)), "it need not wait: {passes:?}");
    // With 22 bytes in front of it, 2048.
    assert_eq!(device.pass(CORE, &got(1, 2026), 0), Outcome::Dropped("queued"));
    assert_eq!(device.pass(CORE, &got(1, 2027), 0), Outcome::Dropped("queue-too-long"));
}

#[test]
fn a_frame_for_which_there_is_no_place_when_it_leaves_is_counted() {
    let config = queued(8000, &json!({}), &json!({}));
    let function = BroadbandGateway::function(&config, Shard::WHOLE, Clock::with_rate(1e9), 0);
    // With tags and PPPoE in front of it, 530 bytes.
    let room = Room { frame: 520, ..Room::default() };
    let mut device = Device::with_room(function.expect("small"), 2, room);
    for _ in 0..2 {
        device.pass(CORE, &got(2, 500), 0);
    }
    assert_eq!(device.rest(SECOND), []);
    assert_eq!((tally(&device, "made-full"), tally(&device, "queued-now")), (1, 0));
    assert_eq!(volumes(&mut device, 2)[4..6], [1, 500], "it has not left");
}

#[test]
fn what_waits_while_its_session_moves_counts_as_long_as_it_is() {
    let mut device = device(&queued(8000, &json!({}), &json!({})));
    for _ in 0..2 {
        device.pass(CORE, &got(1, 500), 0);
    }
    let mut moved = ipoe(1);
    moved["line"] = json!({"outer": 7, "inner": 103});
    let change = serde_json::from_value(json!({"change-session": moved})).expect("a change");
    assert!(device.update(change, 0));
    let came = device.rest(SECOND);
    let [Expected::Forward { port: ACCESS, frame }] = &came[..] else { panic!("{came:?}") };
    assert_eq!(frame.len(), 518, "as it was");
    assert_eq!(volumes(&mut device, 1)[4..6], [2, 1000]);
}
