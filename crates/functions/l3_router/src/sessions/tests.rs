//! Two routers on one link, in virtual time: each has the other as a next hop that it watches.

use engine::{EventKind, Function, StageTotals};
use function_kit::NetworkFunction;
use machine::clock::Clock;
use packet::{PortId, Room};
use serde_json::{Value, json};

use super::super::{Config, L3Router, Pipeline};
use super::*;

/// A router with its batch.
struct Node {
    router: Pipeline,
    batch: Batch,
}

const MS: Ticks = 1_000_000;
const UP: PortId = PortId(1);

/// A router of the link 10.1.0.0/16 with this last octet, whose next hop 0 there is `peer`; next
/// hop 1 on the downlink is its way round.
fn node(own: u8, peer: u8, bfd: Value) -> Node {
    let config = json!({
        "uplink-ip": format!("10.1.0.{own}/16"),
        "uplink-mac": format!("02:00:00:00:00:{own:02x}"),
        "resolve": true,
        "next-hops": [
            {"port": "uplink", "ip": format!("10.1.0.{peer}"), "bfd": bfd},
            {"port": "downlink", "mac": "02:00:00:00:01:01"},
        ],
        "next-hop-groups": [{"members": [{"next-hop": 0}, {"next-hop": 1}]}],
        "routes": [
            {"prefix": "203.0.113.0/24", "group": 0},
            {"prefix": "198.51.100.0/24", "next-hop": 0},
        ],
    });
    let mut config: Config = serde_json::from_value(config).expect("a section");
    L3Router::validate(&mut config).expect("a configuration");
    let clock = Clock::with_rate(1e9);
    let mut router = Pipeline::new(&config, clock, 0).expect("memory");
    let room = Room::default();
    router.make_room(room).expect("memory");
    Node { router, batch: Batch::new(256, room).expect("memory") }
}

impl Node {
    /// Gives it frames of the uplink at a time; returns those that leave, with their ports.
    fn step(&mut self, frames: &[Vec<u8>], now: Ticks) -> Vec<(PortId, Vec<u8>)> {
        let mut left = Vec::new();
        self.batch.clear();
        for frame in frames {
            self.batch.append(UP, frame.len()).expect("room").copy_from_slice(frame);
        }
        let mut totals = StageTotals::default();
        self.router.process(&mut self.batch, now, &mut totals.start(now));
        let mut take = |batch: &Batch| {
            for slot in batch.slots() {
                if let Verdict::Forward(port) = batch.verdict(slot) {
                    left.push((port, batch.frame(slot).to_vec()));
                }
            }
        };
        take(&self.batch);
        self.router.tick(now);
        if let Some(made) = self.router.made(now) {
            take(made);
            made.clear();
        }
        left
    }

    /// Where a flow of a route leaves, if it does.
    fn way(&mut self, to: [u8; 4], flow: u8, now: Ticks) -> Option<PortId> {
        let mac = self.router.state.interfaces.get(1).mac.0;
        let datagram = Datagram {
            macs: [mac, MacAddr([2, 0, 0, 0, 9, 9])],
            from: IpAddr::from([192, 0, 2, flow]),
            to: IpAddr::from(to),
            ports: [flow.into(), 53],
            ttl: 9,
            dscp: 0,
            payload: &[0; 20],
        };
        let mut frame = vec![0; 100];
        let len = datagram.write(&mut frame).expect("room");
        frame.truncate(len);
        let left = self.step(&[frame], now);
        left.iter().find(|(_, frame)| frame[30..34] == to).map(|(port, _)| *port)
    }

    fn events(&mut self) -> Vec<EventKind> {
        std::iter::from_fn(|| self.router.event()).map(|event| event.kind).collect()
    }

    fn tally(&self, tally: Tally) -> u64 {
        self.router.tallies[tally as usize]
    }
}

/// Lets two routers run until a time, in steps of a millisecond; `passes` says whether the link
/// lets a frame of a router, by its place, pass.
fn run(
    nodes: &mut [Node; 2],
    (from, to): (Ticks, Ticks),
    mut passes: impl FnMut(usize, Ticks) -> bool,
) {
    let mut waiting: [Vec<Vec<u8>>; 2] = Default::default();
    for now in (from..to).step_by(MS as usize) {
        for place in 0..2 {
            let frames = std::mem::take(&mut waiting[place]);
            for (port, frame) in nodes[place].step(&frames, now) {
                if port == UP && passes(place, now) {
                    waiting[1 - place].push(frame);
                }
            }
        }
    }
}

fn two() -> [Node; 2] {
    let bfd = json!({"interval-ms": 10, "multiplier": 3});
    [node(1, 2, bfd.clone()), node(2, 1, bfd)]
}

#[test]
fn a_next_hop_is_there_while_its_session_is_up() {
    let mut nodes = two();
    let [one, _] = &mut nodes;
    assert_eq!(one.way([198, 51, 100, 1], 1, 0), None, "nobody has answered yet");
    assert!((0..32).all(|flow| one.way([203, 0, 113, 1], flow, 0) == Some(PortId(0))));
    run(&mut nodes, (0, 4_000 * MS), |_, _| true);
    for node in &mut nodes {
        assert!(!node.router.state.is_down(0));
        assert_eq!(node.events(), [EventKind::Up]);
    }
    let now = 4_000 * MS;
    let [one, _] = &mut nodes;
    assert_eq!(one.way([198, 51, 100, 1], 1, now), Some(UP));
    let ways: Vec<_> = (0..32).map(|flow| one.way([203, 0, 113, 1], flow, now)).collect();
    assert!(ways.contains(&Some(UP)) && ways.contains(&Some(PortId(0))), "{ways:?}");
    // The far end falls silent: within three intervals all flows go round.
    run(&mut nodes, (now, now + 31 * MS), |place, _| place == 0);
    let [one, two] = &mut nodes;
    assert!(one.router.state.is_down(0));
    assert_eq!(one.events(), [EventKind::Down]);
    assert_eq!(one.way([198, 51, 100, 1], 1, now + 31 * MS), None);
    let around =
        (0..32).all(|flow| one.way([203, 0, 113, 1], flow, now + 31 * MS) == Some(PortId(0)));
    assert!(around, "the group has left it at once");
    assert!(two.router.state.is_down(0), "told by the other end");
    let later = now + 31 * MS;
    run(&mut nodes, (later, later + 4_000 * MS), |_, _| true);
    let [one, _] = &mut nodes;
    assert!(!one.router.state.is_down(0));
    assert_eq!((one.tally(Tally::PathsUp), one.tally(Tally::PathsDown)), (2, 1));
}

#[test]
fn what_is_forged_or_comes_from_afar_changes_nothing() {
    let mut nodes = two();
    let mut kept = Vec::new();
    let mut waiting: [Vec<Vec<u8>>; 2] = Default::default();
    for now in (0..4_000).map(|ms| ms * MS) {
        for place in 0..2 {
            let frames = std::mem::take(&mut waiting[place]);
            for (_, frame) in nodes[place].step(&frames, now) {
                if place == 1 && frame[12..14] == [8, 0] {
                    kept.push(frame.clone());
                }
                waiting[1 - place].push(frame);
            }
        }
    }
    let [one, _] = &mut nodes;
    let now = 4_000 * MS;
    let whole = kept.pop().expect("a packet of BFD");
    let mut far = whole.clone();
    far[22] = 254;
    far[24..26].copy_from_slice(&[0; 2]);
    let header: [u8; 20] = far[14..34].try_into().expect("20 bytes");
    far[24..26].copy_from_slice(&wire::checksum::header_checksum(&header).to_be_bytes());
    let mut cases = vec![far];
    // The session says down, under another discriminator or with a wrong checksum.
    for at in [42, 43, 44, 46, 50, 60] {
        let mut forged = whole.clone();
        forged[at] ^= 0x40;
        cases.push(forged);
    }
    for frame in cases {
        one.step(&[frame], now);
        assert!(!one.router.state.is_down(0));
    }
    assert_eq!(one.events(), [EventKind::Up]);
}

#[test]
fn sessions_come_and_go_with_their_next_hops() {
    let mut nodes = two();
    run(&mut nodes, (0, 4_000 * MS), |_, _| true);
    let now = 4_000 * MS;
    let [one, _] = &mut nodes;
    let mut next_hop = *one.router.state.neighbours.get(&0).expect("a next hop");
    next_hop.bfd = None;
    one.router.apply(Update::SetNextHop { number: 0, next_hop }, now).expect("a change");
    assert_eq!(one.events(), [EventKind::Up, EventKind::Down], "it is up no more");
    run(&mut nodes, (now, now + 100 * MS), |place, _| place == 0);
    let [one, two] = &mut nodes;
    assert!(!one.router.state.is_down(0), "nobody watches it");
    assert!(two.router.state.is_down(0), "the other end does");
    next_hop.bfd = Some(Default::default());
    one.router.apply(Update::SetNextHop { number: 0, next_hop }, now).expect("a change");
    assert!(one.router.state.is_down(0), "until the session is up");
    one.router.apply(Update::RemoveNextHop { number: 0 }, now).expect("a change");
    assert_eq!(one.router.liveness.as_ref().expect("room").views().count(), 0);
    // Without an address at both ends, and beyond the room, it is refused.
    next_hop.ip = None;
    let refused = one.router.apply(Update::SetNextHop { number: 0, next_hop }, now);
    assert_eq!(refused, Err(Refusal::Invalid));
    for number in 0..200u32 {
        next_hop.ip = Some([10, 1, 1, number as u8].into());
        let done = one.router.apply(Update::SetNextHop { number, next_hop }, now);
        let room = one.router.liveness.as_ref().expect("room").capacity() as u32;
        let expected = if number < room { Ok(()) } else { Err(Refusal::Full) };
        assert_eq!(done, expected, "{number} of {room}");
    }
}
