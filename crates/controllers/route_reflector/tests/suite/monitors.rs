//! Collectors of BMP: what they are told, and what they cannot do.

use std::collections::BTreeMap;
use std::time::Duration;

use netgauze_bmp_pkt::BmpMessage;
use netgauze_bmp_pkt::wire::deserializer::BmpParsingContext;
use netgauze_parse_utils::reader::SliceReader;
use netgauze_parse_utils::traits::ParseFromWithOneInput;
use protocol_bgp::attributes::{Attributes, MED};
use protocol_bgp::families::{FAMILIES, FamilySet};
use protocol_bgp::framing::Framing;
use protocol_bgp::message::{EXTENDED_LEN_MAX, Kind};
use protocol_bgp::open::Open;
use protocol_bgp::rules::Reading;
use protocol_bgp::text::Route;
use protocol_bgp::update::Scan;
use protocol_kit::{Arrival, Random, Socket};
use serde_json::{Value, json};

use crate::bench::{Bench, Collector, update, vpn, withdraw};

/// The connection with the collector.
const SOCKET: Socket = Socket(64);

fn bench(more: Value) -> Bench {
    let mut keys = json!({"address": "192.0.2.200", "port": 5000, "statistics-every-s": 0});
    keys.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
    Bench::new(&json!({"bmp": [keys]}))
}

/// The messages of a session, which another library reads, too: kinds and what follows the header.
pub fn messages(bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let (mut from, mut context) = (SliceReader::new(bytes), BmpParsingContext::default());
    while !from.is_empty() {
        BmpMessage::parse(&mut from, &mut context).expect("it can be read");
    }
    split(bytes)
}

/// The messages of a session.
pub fn split(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut all = Vec::new();
    while let [version, a, b, c, d, kind, ..] = *bytes {
        assert_eq!(version, 3);
        let (message, rest) = bytes.split_at(u32::from_be_bytes([a, b, c, d]) as usize);
        all.push((kind, message[6..].to_vec()));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "messages are whole");
    all
}

/// What a collector knows: routes with their MED, and of which families it was told that all was
/// told.
#[derive(Debug, Default, PartialEq)]
struct Known {
    routes: BTreeMap<String, u32>,
    ends: usize,
}

/// What messages tell of the own table.
fn known(bytes: &[u8]) -> Known {
    let all: FamilySet = FAMILIES.iter().map(|row| row.family).collect();
    let reading = Reading {
        families: all,
        path_ids: FamilySet::NONE,
        extended_next_hops: all,
        is_wide: true,
        is_external: false,
    };
    let (mut known, mut scan) = (Known::default(), Scan::default());
    for (at, (kind, body)) in messages(bytes).into_iter().enumerate() {
        match at {
            0 => assert_eq!(kind, 4, "Initiation comes first"),
            1 => assert_eq!(kind, 3, "then Peer Up"),
            _ => assert!(kind == 0 || kind == 1, "then routes and figures"),
        }
        if kind != 0 {
            continue;
        }
        assert_eq!(body[..2], [3, 0], "of Loc-RIB");
        let (mut framing, mut bytes) = (Framing::default(), &body[42..]);
        let message = framing.next(&mut bytes, EXTENDED_LEN_MAX).expect("one").expect("whole");
        assert_eq!((message.kind, bytes.len()), (Kind::Update, 0), "one UPDATE each");
        let update = scan.read(message.body, &reading).expect("it is sound");
        assert_eq!(scan.findings(), []);
        known.ends += usize::from(update.end_of_rib.is_some());
        for field in update.withdrawn() {
            for nlri in field.nlris().flatten() {
                let route = Route(field.family, nlri.key.as_slice()).to_string();
                known.routes.remove(&route);
            }
        }
        let med = Attributes::new(scan.block()).find(|one| one.code == MED);
        let med = med.map_or(0, |med| u32::from_be_bytes(med.value.try_into().expect("four")));
        for field in update.announced() {
            for nlri in field.nlris().flatten() {
                let route = Route(field.family, nlri.key.as_slice()).to_string();
                known.routes.insert(route, med);
            }
        }
    }
    known
}

fn routes(all: &[(&str, u32)]) -> BTreeMap<String, u32> {
    all.iter().map(|(route, med)| ((*route).to_owned(), *med)).collect()
}

#[test]
fn a_collector_is_told_the_best_paths_and_their_changes() {
    let mut bench = bench(json!({"system-name": "rr1"}));
    let (one, other) = (bench.client(10, Vec::new()), bench.client(11, Vec::new()));
    bench.say(one, &update(&[8, 10, 8, 11], 5));
    bench.say(one, &vpn(1));
    bench.say(other, &update(&[8, 10], 1));
    let told = messages(&bench.told);
    let text = String::from_utf8_lossy(&told[0].1).into_owned();
    assert!(text.contains("Plumbline route-reflector") && text.contains("rr1"), "{text}");
    // Behind what it is about, the own address and ports: twice the same OPEN.
    let up = &told[1].1;
    assert_eq!(up[..2], [3, 0]);
    let opens = &up[42 + 20..];
    let len = usize::from(u16::from_be_bytes([opens[16], opens[17]]));
    assert_eq!(opens[..len], opens[len..2 * len]);
    let open = Open::read(&opens[19..len]).expect("it is one");
    assert_eq!((open.asn, open.identifier), (64_500, 0xc000_0201));
    assert_eq!(opens.len(), 2 * len, "nothing follows");
    let best = routes(&[("10.0.0.0/8", 1), ("11.0.0.0/8", 5), ("64500:1:10.0.0.0/8", 0)]);
    assert_eq!(known(&bench.told), Known { routes: best, ends: 3 });
    // What is withdrawn goes, and so does what was told by a peer that goes.
    bench.say(other, &withdraw(&[8, 10]));
    assert_eq!(known(&bench.told).routes["10.0.0.0/8"], 5);
    bench.arrive(Arrival::Failed { socket: one });
    bench.settle();
    assert_eq!(known(&bench.told).routes, routes(&[]));
    let shown = bench.shown("bmp");
    assert_eq!((&shown[0]["up"], &shown[0]["sessions"]), (&json!(true), &json!(1)));
}

#[test]
fn who_stalls_loses_the_session_and_is_told_everything_anew() {
    let mut bench = bench(json!({"patience-s": 30}));
    let (one, other) = (bench.client(10, Vec::new()), bench.client(11, Vec::new()));
    bench.say(one, &update(&[8, 10], 1));
    bench.collector = Collector::Stalls;
    for med in 0..2_000 {
        let routes: Vec<u8> = (0..250_u8).flat_map(|low| [24, 10, 1, low]).collect();
        bench.say(one, &update(&routes, med));
    }
    // Nobody else waits.
    let told = bench.peers[&other].len();
    bench.say(one, &update(&[8, 11], 9));
    assert!(bench.peers[&other].len() > told);
    assert_eq!(bench.sessions(), 1);
    bench.pass(Duration::from_secs(29));
    assert_eq!(bench.shown("bmp")[0]["stalled"], 0);
    bench.collector = Collector::Fine;
    bench.pass(Duration::from_secs(10));
    let shown = bench.shown("bmp");
    assert_eq!((&shown[0]["stalled"], &shown[0]["sessions"]), (&json!(1), &json!(2)));
    let known = known(&bench.told);
    assert_eq!((known.routes.len(), known.ends), (252, 3));
    assert_eq!((known.routes["10.1.7.0/24"], known.routes["11.0.0.0/8"]), (1_999, 9));
}

#[test]
fn who_is_absent_is_tried_again_and_who_says_something_is_not_heard() {
    let mut bench = bench(json!({}));
    bench.collector = Collector::Absent;
    bench.arrive(Arrival::Failed { socket: SOCKET });
    bench.pass(Duration::from_secs(600));
    let failed = bench.shown("bmp")[0]["failed"].as_u64().expect("a number");
    assert!((5..30).contains(&failed), "{failed} in ten minutes");
    bench.collector = Collector::Fine;
    bench.pass(Duration::from_secs(60));
    assert_eq!(bench.sessions(), 2);
    bench.arrive(Arrival::Bytes { socket: SOCKET, bytes: &[0xff; 100_000] });
    bench.settle();
    let client = bench.client(10, Vec::new());
    bench.say(client, &update(&[8, 10], 1));
    assert_eq!(known(&bench.told).routes, routes(&[("10.0.0.0/8", 1)]));
    // One that sends no more wants no more.
    bench.arrive(Arrival::Finished { socket: SOCKET });
    bench.settle();
    assert_eq!(bench.shown("bmp")[0]["up"], false);
    bench.pass(Duration::from_secs(60));
    assert_eq!(bench.sessions(), 3);
    assert_eq!(known(&bench.told).routes, routes(&[("10.0.0.0/8", 1)]));
}

#[test]
fn figures_are_told() {
    let mut bench = bench(json!({"statistics-every-s": 10}));
    let client = bench.client(10, Vec::new());
    bench.say(client, &update(&[8, 10, 8, 11], 1));
    bench.say(client, &vpn(1));
    bench.pass(Duration::from_secs(11));
    let all = messages(&bench.told);
    let (_, body) = all.iter().find(|(kind, _)| *kind == 1).expect("a report");
    let figures = [
        &[0, 0, 0, 3][..],
        &[0, 8, 0, 8, 0, 0, 0, 0, 0, 0, 0, 3],
        &[0, 10, 0, 11, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2],
        &[0, 10, 0, 11, 0, 1, 128, 0, 0, 0, 0, 0, 0, 0, 1],
    ];
    assert_eq!(body[42..], figures.concat());
}

/// Whatever peers say and the collector does, in the end it knows the best paths.
#[test]
fn in_the_end_a_collector_knows_the_table() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(&json!({
            "stream-bytes": 1 << 20,
            "bmp": [{"address": "192.0.2.200", "port": 5000, "patience-s": 20}],
        }));
        let clients = [10, 11, 12].map(|last| bench.client(last, Vec::new()));
        let mut tell: [BTreeMap<u8, u32>; 3] = Default::default();
        for _ in 0..200 {
            let at = random.below(3) as usize;
            let prefix = random.below(40) as u8;
            match random.below(20) {
                0..=9 => {
                    // No two have the same MED, so that the best one is plain.
                    let med = random.below(1000) as u32 * 3 + at as u32;
                    tell[at].insert(prefix, med);
                    bench.say(clients[at], &update(&[16, 10, prefix], med));
                }
                10..=14 => {
                    tell[at].remove(&prefix);
                    bench.say(clients[at], &withdraw(&[16, 10, prefix]));
                }
                15 => bench.collector = Collector::Stalls,
                16 => {
                    bench.arrive(Arrival::Failed { socket: SOCKET });
                    bench.settle();
                }
                17 | 18 => bench.pass(Duration::from_secs(random.below(15))),
                _ => bench.collector = Collector::Fine,
            }
        }
        bench.collector = Collector::Fine;
        bench.pass(Duration::from_secs(200));
        let mut best = BTreeMap::new();
        for (prefix, med) in tell.iter().flatten() {
            let least = best.entry(format!("10.{prefix}.0.0/16")).or_insert(*med);
            *least = (*least).min(*med);
        }
        assert_eq!(known(&bench.told).routes, best, "seed {seed}");
    }
}
