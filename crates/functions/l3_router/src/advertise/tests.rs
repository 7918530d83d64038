//! When advertisements leave, in virtual time.

use engine::{Function, StageTotals};
use function_kit::{NetworkFunction, Shard};
use packet::{Batch, Room};
use serde_json::{Value, json};
use wire::bytes::put_u16;
use wire::{ethernet, icmp, ipv6, protocol};

use stages::{nd, router_discovery as discovery};
use wire::MacAddr;

use super::super::{L3Router, Pipeline};
use super::*;

const MS: Ticks = 1_000_000;
const DOWN: PortId = PortId(0);

fn config(workers: u32, advertise: Value) -> Config {
    let keys = json!({"core": workers, "ipv6": true, "resolve": true, "advertise": advertise});
    let mut config: Config = serde_json::from_value(keys).expect("a section");
    L3Router::validate(&mut config).expect("a configuration");
    config
}

/// A worker of a router, and a batch for it.
struct Node(Pipeline, Batch);

impl Node {
    fn new(config: &Config, shard: Shard) -> Node {
        let clock = Clock::with_rate(1e9);
        let mut router = Pipeline::of_worker(config, shard, clock, 0).expect("memory");
        router.make_room(Room::default()).expect("memory");
        Node(router, Batch::new(8, Room::default()).expect("memory"))
    }

    /// A round with these frames of a port; returns what leaves.
    fn round(&mut self, frames: &[(PortId, &[u8])], now: Ticks) -> Vec<(PortId, Vec<u8>)> {
        let Node(router, batch) = self;
        batch.clear();
        for (port, frame) in frames {
            batch.append(*port, frame.len()).expect("room").copy_from_slice(frame);
        }
        router.process(batch, now, &mut StageTotals::default().start(now));
        let mut left = Vec::new();
        let mut take = |batch: &Batch| {
            for slot in batch.slots() {
                if let Verdict::Forward(port) = batch.verdict(slot) {
                    left.push((port, batch.frame(slot).to_vec()));
                }
            }
        };
        take(batch);
        router.tick(now);
        if let Some(made) = router.made(now) {
            take(made);
            made.clear();
        }
        left
    }

    /// When advertisements leave in a time without frames, by milliseconds.
    fn moments(&mut self, range: std::ops::Range<u64>) -> Vec<u64> {
        range.filter(|ms| !self.round(&[], ms * MS).is_empty()).collect()
    }
}

/// A host asks for routers.
fn question() -> Vec<u8> {
    let source = nd::link_local(MacAddr([2, 0, 0, 0, 0, 9]));
    let mut frame = vec![0; ethernet::HEADER_LEN + ipv6::HEADER_LEN];
    let header = ethernet::Fields {
        destination: nd::mac_of(discovery::ALL_ROUTERS),
        source: MacAddr([2, 0, 0, 0, 0, 9]),
        ether_type: ethernet::TYPE_IPV6,
    };
    let ip = ipv6::Fields {
        traffic_class: 0,
        flow_label: 0,
        payload_len: 8,
        next_header: protocol::ICMPV6,
        hop_limit: 255,
        source,
        destination: discovery::ALL_ROUTERS,
    };
    header.emit(frame.first_chunk_mut().expect("room"));
    ip.emit(frame[ethernet::HEADER_LEN..].first_chunk_mut().expect("room"));
    let mut message = [icmp::v6::ROUTER_SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
    let sum = icmp::checksum_ipv6(source, discovery::ALL_ROUTERS, &message);
    put_u16(&mut message, icmp::offset::CHECKSUM, sum);
    frame.extend(message);
    frame
}

fn gaps(moments: &[u64]) -> Vec<u64> {
    moments.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn three_come_soon_and_the_others_at_random_within_the_interval() {
    let config = config(1, json!([{"port": "downlink", "interval-s": 60}]));
    let mut router = Node::new(&config, Shard::WHOLE);
    let moments = router.moments(0..600_000);
    let gaps = gaps(&moments);
    assert_eq!(moments[0], 0);
    assert!(gaps[..2].iter().all(|gap| (3_000..=16_000).contains(gap)), "{gaps:?}");
    assert!(gaps[2..].iter().all(|gap| (20_000..=60_000).contains(gap)), "{gaps:?}");
    assert!(gaps[2..].windows(2).any(|pair| pair[0].abs_diff(pair[1]) > 1_000), "{gaps:?}");
    // The same run has the same moments.
    assert_eq!(Node::new(&config, Shard::WHOLE).moments(0..600_000), moments);
}

#[test]
fn hosts_that_ask_get_one_soon_and_a_flood_of_them_one_in_three_seconds() {
    let config = config(1, json!([{"port": "downlink", "interval-s": 1800}]));
    let mut router = Node::new(&config, Shard::WHOLE);
    let begun = router.moments(0..100_000).len();
    assert_eq!(begun, 3);
    let (frame, from) = (question(), 100_000);
    assert!(router.round(&[(DOWN, &frame)], from * MS).is_empty(), "not at once");
    let answered = router.moments(from + 1..from + 3_000);
    assert!(answered.len() == 1 && answered[0] <= from + 500, "{answered:?}");
    let flood = from + 3_000..from + 60_000;
    let is_told = |ms: &u64| !router.round(&[(DOWN, &frame[..]); 8], ms * MS).is_empty();
    let told: Vec<u64> = flood.filter(is_told).collect();
    let gaps = gaps(&told);
    assert!(gaps.iter().all(|gap| (3_000..=3_500).contains(gap)) && gaps.len() > 15, "{gaps:?}");
    // The uplink says nothing, and hears no questions.
    assert!(router.round(&[(PortId(1), &frame)], 61_000 * MS).is_empty());
}

#[test]
fn a_link_that_comes_up_is_told_at_once_and_one_that_is_down_is_not() {
    let config = config(1, json!([{"port": "downlink", "interval-s": 1800}]));
    let mut router = Node::new(&config, Shard::WHOLE);
    router.moments(0..50_000);
    router.0.link(DOWN, false);
    assert!(router.moments(50_000..200_000).is_empty());
    router.0.link(DOWN, true);
    let moments = router.moments(200_000..250_000);
    assert_eq!((moments.len(), moments[0]), (3, 200_000));
    // A link that flaps is told no more often than others.
    let mut told = Vec::new();
    for ms in 300_000..330_000 {
        router.0.link(DOWN, ms % 2 == 0);
        if !router.round(&[], ms * MS).is_empty() {
            told.push(ms);
        }
    }
    assert!(gaps(&told).iter().all(|gap| *gap >= 3_000), "{told:?}");
}

#[test]
fn the_last_one_says_that_the_router_is_none_any_more() {
    let config = config(1, json!([{"port": "downlink"}]));
    let mut router = Node::new(&config, Shard::WHOLE);
    let first = router.round(&[], 0).remove(0).1;
    const LIFETIME: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN + 6;
    assert_eq!(first[LIFETIME..LIFETIME + 2], 1800_u16.to_be_bytes());
    assert_eq!(router.0.wind_down(), 1);
    let last = router.round(&[], MS);
    assert_eq!(last.len(), 1);
    assert_eq!(last[0].1[LIFETIME..LIFETIME + 2], [0, 0]);
    assert_eq!(router.0.wind_down(), 0);
    assert!(router.moments(2..100_000).is_empty());
    let Node(other, _) = &mut Node::new(&super::super::Config::default(), Shard::WHOLE);
    assert_eq!(other.wind_down(), 0);
}

#[test]
fn one_of_several_workers_speaks_and_the_others_hand_questions_to_it() {
    let config = config(2, json!([{"port": "downlink", "interval-s": 1800}]));
    let worker = |index| Node::new(&config, Shard { index, count: 2 });
    let (mut first, mut second) = (worker(0), worker(1));
    assert_eq!(first.moments(0..50_000).len(), 3);
    assert!(second.moments(0..50_000).is_empty());
    let frame = question();
    let handed = second.round(&[(DOWN, &frame)], 60_000 * MS);
    let [(to, handed)] = &handed[..] else { panic!("{handed:?}") };
    assert_eq!(*to, PortId(2), "the ring to the first worker");
    first.round(&[(PortId(3), handed)], 60_000 * MS);
    assert_eq!(first.moments(60_001..60_501).len(), 1);
}
