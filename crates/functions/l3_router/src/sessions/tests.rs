//! Two routers on one link, in virtual time: each has the other as a next hop that it watches.

use engine::{EventKind, Function, StageTotals};
use function_kit::NetworkFunction;
use machine::clock::Clock;
use packet::{PortId, Room};
use serde_json::{Value, json};

use super::super::config::{Bfd, DOWNLINK, Mac, NextHop};
use super::super::{Config, L3Router, Pipeline};
use super::*;

mod neighbours;
mod workers;

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
    let config = config((own, peer), bfd, 1);
    finished(Pipeline::new(&config, Clock::with_rate(1e9), 0).expect("memory"))
}

fn config((own, peer): (u8, u8), bfd: Value, workers: u32) -> Config {
    read(keys((own, peer), bfd, workers))
}

fn keys((own, peer): (u8, u8), bfd: Value, workers: u32) -> Value {
    json!({
        "core": workers,
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
    })
}

fn read(keys: Value) -> Config {
    let mut config: Config = serde_json::from_value(keys).expect("a section");
    L3Router::validate(&mut config).expect("a configuration");
    config
}

fn finished(mut router: Pipeline) -> Node {
    let room = Room::default();
    router.make_room(room).expect("memory");
    Node { router, batch: Batch::new(256, room).expect("memory") }
}

impl Node {
    /// Gives it frames of the uplink at a time; returns those that leave, with their ports.
    fn step(&mut self, frames: &[Vec<u8>], now: Ticks) -> Vec<(PortId, Vec<u8>)> {
        let frames: Vec<_> = frames.iter().map(|frame| (UP, frame.clone())).collect();
        self.step_by(&frames, now)
    }

    /// The same with frames of any ports.
    fn step_by(&mut self, frames: &[(PortId, Vec<u8>)], now: Ticks) -> Vec<(PortId, Vec<u8>)> {
        let mut left = Vec::new();
        self.batch.clear();
        for (port, frame) in frames {
            self.batch.append(*port, frame.len()).expect("room").copy_from_slice(frame);
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
fn a_port_that_is_down_takes_its_next_hops_out_of_all_groups() {
    let mut node = node(1, 2, Value::Null);
    let mac = wire::MacAddr([2, 0, 0, 0, 9, 9]);
    let mut next_hop = *node.router.state.neighbours.get(&0).expect("a next hop");
    next_hop.mac = Mac(mac);
    node.router.change(Update::SetNextHop { number: 0, next_hop }, 0).expect("a change");
    let ways = |node: &mut Node| -> Vec<_> {
        let mut all: Vec<_> =
            (0..32).filter_map(|flow| node.way([203, 0, 113, 1], flow, 0)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (down, both) = (PortId(0), [PortId(0), UP]);
    assert_eq!(ways(&mut node), both);
    node.router.link(UP, false);
    assert_eq!(ways(&mut node), [down]);
    assert_eq!(node.way([198, 51, 100, 1], 1, 0), Some(UP), "the port itself drops and counts it");
    // A member that comes, another weight and another port change nothing of that.
    let again = Update::SetGroupMember { group: 0, next_hop: 0, weight: 9 };
    node.router.change(again, 0).expect("a change");
    node.router.change(Update::SetNextHop { number: 0, next_hop }, 0).expect("a change");
    assert_eq!(ways(&mut node), [down]);
    let elsewhere = NextHop { port: DOWNLINK, ..next_hop };
    node.router.change(Update::SetNextHop { number: 0, next_hop: elsewhere }, 0).expect("a change");
    node.router.link(down, false);
    assert_eq!(ways(&mut node), [], "nobody is there");
    node.router.change(Update::SetNextHop { number: 0, next_hop }, 0).expect("a change");
    node.router.link(UP, true);
    assert_eq!(ways(&mut node), [UP]);
    node.router.link(down, true);
    assert_eq!(ways(&mut node), both);
}

/// Two routers that know each other by their link-local addresses alone, each with a key.
fn on_link(secrets: [&str; 2]) -> [Node; 2] {
    [(1, 2, secrets[0]), (2, 1, secrets[1])].map(|(own, peer, secret)| {
        let bfd = json!({"interval-ms": 10, "multiplier": 3, "authentication": 1});
        let mut keys = keys((own, peer), Value::Null, 1);
        keys["ipv6"] = json!(true);
        keys["bfd-keys"] = json!([
            {"type": "simple", "id": 1, "key": "another"},
            {"type": "meticulous-sha1", "id": 7, "key": secret},
        ]);
        keys["next-hops"][0] =
            json!({"port": "uplink", "ipv6": format!("fe80::ff:fe00:{peer}"), "bfd": bfd});
        let config = read(keys);
        finished(Pipeline::new(&config, Clock::with_rate(1e9), 0).expect("memory"))
    })
}

#[test]
fn a_session_of_link_local_addresses_is_authenticated() {
    let mut nodes = on_link(["a secret of both", "a secret of both"]);
    run(&mut nodes, (0, 4_000 * MS), |_, _| true);
    for node in &mut nodes {
        assert!(!node.router.state.is_down(0));
        assert_eq!(node.events(), [EventKind::Up]);
    }
    let [one, _] = &mut nodes;
    assert_eq!(one.way([198, 51, 100, 1], 1, 4_000 * MS), Some(UP));
    let mut next_hop = *one.router.state.neighbours.get(&0).expect("a next hop");
    let twice = one.router.change(Update::SetNextHop { number: 3, next_hop }, 0);
    assert_eq!(twice, Err(Refusal::Exists), "of one link");
    next_hop.bfd = Some(Bfd { authentication: Some(2), ..Default::default() });
    let unknown = one.router.change(Update::SetNextHop { number: 0, next_hop }, 0);
    assert_eq!(unknown, Err(Refusal::Invalid), "there is no such key");
    let mut nodes = on_link(["a secret of one", "a secret of another"]);
    run(&mut nodes, (0, 4_000 * MS), |_, _| true);
    assert!(nodes.iter().all(|node| node.router.state.is_down(0)));
}

#[test]
fn a_key_is_shown_nowhere_and_has_to_be_given() {
    let mut keys = keys((1, 2), json!({"authentication": 0}), 1);
    let of = |key: Value| json!([{"type": "md5", "id": 1, "key": key}]);
    keys["bfd-keys"] = of(json!("a secret"));
    let config = read(keys.clone());
    let shown = serde_json::to_value(&config).expect("JSON");
    assert!(!shown.to_string().contains("secret") && !format!("{config:?}").contains("a secret"));
    assert_eq!(shown["bfd-keys"][0]["key"], Value::Null);
    let mut kept = read(shown);
    assert_ne!(kept, config);
    L3Router::take_secrets(&mut kept, &config);
    assert_eq!(kept, config);
    let refused = |keys: Value| match serde_json::from_value::<Config>(keys) {
        Ok(mut config) => L3Router::validate(&mut config).expect_err("a bad key").key,
        Err(error) => error.to_string(),
    };
    keys["bfd-keys"] = of(json!("longer than MD5 takes"));
    assert_eq!(refused(keys.clone()), "bfd-keys");
    keys["bfd-keys"] = json!([]);
    assert_eq!(refused(keys.clone()), "next-hops");
    keys["bfd-keys"] = json!([{"type": "md5", "id": 1}]);
    assert!(refused(keys).contains("missing field `key`"));
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
    one.router.change(Update::SetNextHop { number: 0, next_hop }, now).expect("a change");
    assert_eq!(one.events(), [EventKind::Up, EventKind::Down], "it is up no more");
    run(&mut nodes, (now, now + 100 * MS), |place, _| place == 0);
    let [one, two] = &mut nodes;
    assert!(!one.router.state.is_down(0), "nobody watches it");
    assert!(two.router.state.is_down(0), "the other end does");
    next_hop.bfd = Some(Default::default());
    one.router.change(Update::SetNextHop { number: 0, next_hop }, now).expect("a change");
    assert!(one.router.state.is_down(0), "until the session is up");
    one.router.change(Update::RemoveNextHop { number: 0 }, now).expect("a change");
    assert_eq!(one.router.liveness.as_ref().expect("room").views().count(), 0);
    // Without an address at both ends, and beyond the room, it is refused.
    next_hop.ip = None;
    let refused = one.router.change(Update::SetNextHop { number: 0, next_hop }, now);
    assert_eq!(refused, Err(Refusal::Invalid));
    for number in 0..200u32 {
        next_hop.ip = Some([10, 1, 1, number as u8].into());
        let done = one.router.change(Update::SetNextHop { number, next_hop }, now);
        let room = one.router.liveness.as_ref().expect("room").capacity() as u32;
        let expected = if number < room { Ok(()) } else { Err(Refusal::Full) };
        assert_eq!(done, expected, "{number} of {room}");
    }
}
