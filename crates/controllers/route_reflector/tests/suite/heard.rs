//! Collectors of BMP that are told what peers tell: sessions, UPDATEs as they come, tables.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use controller_kit::{Controller, Event};
use protocol_bgp::attributes::{Attributes, MED, push};
use protocol_bgp::builder::write_end_of_rib;
use protocol_bgp::capabilities::Capability;
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use protocol_bgp::framing::Framing;
use protocol_bgp::message::{EXTENDED_LEN_MAX, HEADER_LEN};
use protocol_bgp::notification::{ADMINISTRATIVE_SHUTDOWN, Notification};
use protocol_bgp::open::Open;
use protocol_bgp::refresh::Refresh;
use protocol_bgp::rules::Reading;
use protocol_bgp::text::Route;
use protocol_bgp::update::Scan;
use protocol_kit::{Arrival, Input, Machine, Random, Socket};
use serde_json::{Value, json};

use crate::bench::{Bench, Collector, update, withdraw};
use crate::monitors::{messages, split};

/// The connection with the collector.
const SOCKET: Socket = Socket(64);

fn keys(what: &Value) -> Value {
    json!({"bmp": [{
        "address": "192.0.2.200", "port": 5000, "statistics-every-s": 0, "what": what,
    }]})
}

fn bench() -> Bench {
    Bench::new(&keys(&json!(["adj-rib-in"])))
}

/// What a collector knows of a peer.
#[derive(Clone, Debug, Default, PartialEq)]
struct Peer {
    /// Routes, with their path identifiers, and their MED.
    routes: BTreeMap<(String, u32), u32>,
    /// Families of which it was told that all was told.
    ends: Vec<Family>,
}

/// What messages tell of peers, by the last number of their addresses. Those of `with_ids` have
/// path identifiers.
fn known(bytes: &[u8], with_ids: &BTreeSet<u8>) -> BTreeMap<u8, Peer> {
    let all: FamilySet = FAMILIES.iter().map(|row| row.family).collect();
    let mut known: BTreeMap<u8, Peer> = BTreeMap::new();
    // The other library does not follow what OPENs say of path identifiers.
    let all_messages = if with_ids.is_empty() { messages(bytes) } else { split(bytes) };
    for (at, (kind, body)) in all_messages.into_iter().enumerate() {
        assert_eq!(kind == 4, at == 0, "Initiation comes first");
        if kind == 4 || body[0] == 3 {
            continue;
        }
        let (flags, peer) = (body[1], body[10 + 15]);
        match kind {
            3 => assert!(known.insert(peer, Peer::default()).is_none(), "it was not there"),
            2 => assert!(known.remove(&peer).is_some(), "it was there"),
            0 => {
                let one = [Family::Ipv4Unicast].into_iter().collect();
                let has_ids = with_ids.contains(&peer);
                let reading = Reading {
                    families: all,
                    path_ids: if has_ids { one } else { FamilySet::NONE },
                    extended_next_hops: all,
                    is_wide: flags & 0x20 == 0,
                    is_external: false,
                };
                learn(known.get_mut(&peer).expect("it is up"), &body[42..], &reading);
            }
            1 => {}
            other => panic!("{other}"),
        }
    }
    known
}

fn learn(peer: &mut Peer, mut bytes: &[u8], reading: &Reading) {
    let (mut framing, mut scan) = (Framing::default(), Scan::default());
    let message = framing.next(&mut bytes, EXTENDED_LEN_MAX).expect("one").expect("whole");
    let update = scan.read(message.body, reading).expect("it is sound");
    assert_eq!(scan.findings(), []);
    peer.ends.extend(update.end_of_rib);
    let name = |family: Family, key: &[u8]| Route(family, key).to_string();
    for field in update.withdrawn() {
        for nlri in field.nlris().flatten() {
            peer.routes.remove(&(name(field.family, nlri.key.as_slice()), nlri.path_id));
        }
    }
    let med = Attributes::new(scan.block()).find(|one| one.code == MED);
    let med = med.map_or(0, |med| u32::from_be_bytes(med.value.try_into().expect("four")));
    for field in update.announced() {
        for nlri in field.nlris().flatten() {
            let key = (name(field.family, nlri.key.as_slice()), nlri.path_id);
            peer.routes.insert(key, med);
        }
    }
}

fn routes(all: &[(&str, u32, u32)]) -> BTreeMap<(String, u32), u32> {
    all.iter().map(|(route, id, med)| (((*route).to_owned(), *id), *med)).collect()
}

/// The reason of the last Peer Down, and what follows it.
fn down(bench: &Bench) -> (u8, Vec<u8>) {
    let all = messages(&bench.told);
    let (_, body) = all.iter().rev().find(|(kind, _)| *kind == 2).expect("a Peer Down");
    (body[42], body[43..].to_vec())
}

/// - `route-reflector`, RFC 7854 sections 4.6, 4.9 and 4.10: a session that comes is told of with
///   both OPENs, what the peer tells as it comes, and its end with the reason
#[test]
fn a_collector_is_told_what_peers_tell() {
    let mut bench = bench();
    let client = bench.client(10, Vec::new());
    let all = messages(&bench.told);
    let (_, up) = all.iter().find(|(kind, _)| *kind == 3).expect("a Peer Up");
    assert_eq!((up[0], up[1]), (0, 0), "of a peer, before any policy");
    assert_eq!(up[10..26], [&[0; 12][..], &[192, 0, 2, 10]].concat());
    assert_eq!(up[26..34], [&64_500_u32.to_be_bytes()[..], &10_u32.to_be_bytes()].concat());
    assert_eq!(up[42..58], [&[0; 12][..], &[192, 0, 2, 1]].concat(), "the own address");
    assert_eq!(up[58..62], [179_u16.to_be_bytes(), 40_000_u16.to_be_bytes()].concat());
    let len = usize::from(u16::from_be_bytes([up[62 + 16], up[62 + 17]]));
    let opens = [&up[62..62 + len], &up[62 + len..]];
    let opens = opens.map(|one| Open::read(&one[HEADER_LEN..]).expect("it is one").identifier);
    assert_eq!(opens, [0xc000_0201, 10], "sent, received");
    bench.say(client, &update(&[8, 10, 8, 11], 5));
    bench.say(client, &update(&[8, 11], 6));
    bench.say(client, &withdraw(&[8, 10]));
    let mut end = Vec::new();
    write_end_of_rib(Family::Ipv4Unicast, &mut end);
    bench.say(client, &end);
    let none = BTreeSet::new();
    let peer = Peer { routes: routes(&[("11.0.0.0/8", 0, 6)]), ends: vec![Family::Ipv4Unicast] };
    assert_eq!(known(&bench.told, &none), BTreeMap::from([(10, peer)]));
    let mut last = Vec::new();
    Notification::with_text(ADMINISTRATIVE_SHUTDOWN, "bye").write(&mut last);
    bench.say(client, &last);
    assert_eq!(down(&bench), (3, last), "the peer has said so");
    assert!(known(&bench.told, &none).is_empty());
    let client = bench.client(11, Vec::new());
    bench.arrive(Arrival::Failed { socket: client });
    bench.settle();
    assert_eq!(down(&bench), (2, vec![0, 18]));
    let client = bench.client(12, Vec::new());
    bench.say(client, &[0; 19]);
    let (reason, told) = down(&bench);
    assert_eq!((reason, &told[18..21]), (1, &[3, 1, 1][..]), "what it was told");
}

/// - `route-reflector`, RFC 7854 section 5: a collector that comes is told of the sessions that
///   there are and their tables, with path identifiers, and where those end
#[test]
fn a_collector_that_comes_is_told_the_tables() {
    let mut bench = Bench::new(&keys(&json!(["loc-rib", "adj-rib-in"])));
    let paths = Capability::AddPath(vec![(1, 1, 3)]);
    let (one, other) = (bench.client(10, Vec::new()), bench.client(11, vec![paths]));
    bench.collector = Collector::Absent;
    bench.arrive(Arrival::Failed { socket: SOCKET });
    bench.settle();
    bench.say(one, &update(&[8, 10, 16, 172, 16], 5));
    bench.say(other, &update(&[0, 0, 0, 1, 8, 10], 6));
    bench.say(other, &update(&[0, 0, 0, 2, 8, 10], 7));
    bench.collector = Collector::Fine;
    bench.pass(Duration::from_secs(100));
    let ends = vec![Family::Ipv4Unicast, Family::Ipv6Unicast, Family::VpnV4];
    let expected = BTreeMap::from([
        (
            10,
            Peer {
                routes: routes(&[("10.0.0.0/8", 0, 5), ("172.16.0.0/16", 0, 5)]),
                ends: ends.clone(),
            },
        ),
        (11, Peer { routes: routes(&[("10.0.0.0/8", 1, 6), ("10.0.0.0/8", 2, 7)]), ends }),
    ]);
    assert_eq!(known(&bench.told, &[11].into()), expected);
    let kinds: Vec<u8> = split(&bench.told).iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == 3).count(), 3, "the own table, too");
}

/// - `route-reflector`, RFC 7854 section 5: what a policy has left of routes is not told as what
///   was told; peers with one are asked again, where that is possible
#[test]
fn a_collector_that_comes_is_told_nothing_that_policies_have_changed() {
    let mut more = keys(&json!(["adj-rib-in"]));
    more["policies"] = json!([{"name": "changes", "default": "accept", "rules": [
        {"prefixes": [{"prefix": "10.0.0.0/8"}], "then": "reject"}, {"set": {"med": 9}},
    ]}]);
    more["dynamic"] = json!([{"network": "192.0.2.0/24", "import": "changes"}]);
    let mut bench = Bench::new(&more);
    let clients = [bench.client(10, vec![Capability::RouteRefresh]), bench.client(11, Vec::new())];
    bench.collector = Collector::Absent;
    bench.arrive(Arrival::Failed { socket: SOCKET });
    bench.settle();
    clients.iter().for_each(|client| bench.say(*client, &update(&[8, 10, 8, 11], 5)));
    bench.peers.clear();
    bench.collector = Collector::Fine;
    bench.pass(Duration::from_secs(100));
    let nothing = BTreeMap::from([(10, Peer::default()), (11, Peer::default())]);
    assert_eq!(known(&bench.told, &BTreeSet::new()), nothing);
    let mut asked = Vec::new();
    Refresh::Wanted.write(Family::Ipv4Unicast, &mut asked);
    let has = |client: &Socket| {
        let said = bench.peers.get(client).map_or(&[][..], Vec::as_slice);
        said.windows(asked.len()).any(|part| part == asked)
    };
    assert_eq!([has(&clients[0]), has(&clients[1])], [true, false], "who can be asked");
    bench.say(clients[0], &update(&[8, 10, 8, 11], 5));
    let told = Peer { routes: routes(&[("10.0.0.0/8", 0, 5), ("11.0.0.0/8", 0, 5)]), ends: vec![] };
    let expected = BTreeMap::from([(10, told), (11, Peer::default())]);
    assert_eq!(known(&bench.told, &BTreeSet::new()), expected);
}

/// - `route-reflector`, RFC 7606 section 2: of an UPDATE with errors what was taken of it is told;
///   RFC 7313 section 4: what a peer does not tell again is gone
#[test]
fn what_is_not_taken_as_it_came_is_told_as_it_was_taken() {
    let mut bench = bench();
    let client = bench.client(10, vec![Capability::RouteRefresh, Capability::EnhancedRefresh]);
    bench.say(client, &update(&[8, 10, 8, 11, 8, 12], 5));
    // ORIGIN 7 there is not: the routes count as withdrawn.
    let mut attributes = Vec::new();
    push(0x40, 1, &[7], &mut attributes);
    push(0x40, 2, &[], &mut attributes);
    push(0x40, 3, &[10, 0, 0, 1], &mut attributes);
    let len = (attributes.len() as u16).to_be_bytes();
    let body = [&[0, 0][..], &len, &attributes, &[8, 10]].concat();
    let len = ((HEADER_LEN + body.len()) as u16).to_be_bytes();
    bench.say(client, &[&[0xff; 16][..], &len, &[2], &body].concat());
    let none = BTreeSet::new();
    let left = routes(&[("11.0.0.0/8", 0, 5), ("12.0.0.0/8", 0, 5)]);
    assert_eq!(known(&bench.told, &none)[&10].routes, left);
    let mut again = Vec::new();
    Refresh::Begins.write(Family::Ipv4Unicast, &mut again);
    again.extend(update(&[8, 12], 8));
    Refresh::Ends.write(Family::Ipv4Unicast, &mut again);
    again.extend(update(&[8, 13], 8));
    bench.say(client, &again);
    let left = routes(&[("12.0.0.0/8", 0, 8), ("13.0.0.0/8", 0, 8)]);
    assert_eq!(known(&bench.told, &none)[&10].routes, left);
}

/// - `route-reflector`: a collector for which too much waits loses its session, and nobody else
///   notices
#[test]
fn who_lags_too_far_is_told_everything_anew() {
    let mut bench = bench();
    let client = bench.client(10, Vec::new());
    bench.collector = Collector::Stalls;
    let mut attributes = Vec::new();
    push(0x40, 1, &[0], &mut attributes);
    push(0x40, 2, &[], &mut attributes);
    push(0x40, 3, &[10, 0, 0, 1], &mut attributes);
    push(0xc0, 8, &[7; 3996], &mut attributes);
    let len = (attributes.len() as u16).to_be_bytes();
    let body = [&[0, 0][..], &len, &attributes, &[8, 10]].concat();
    let len = ((HEADER_LEN + body.len()) as u16).to_be_bytes();
    let message = [&[0xff; 16][..], &len, &[2], &body].concat();
    for _ in 0..16_000 {
        bench.say(client, &message);
    }
    assert_eq!(bench.shown("bmp")[0]["stalled"], 0);
    for _ in 0..1_000 {
        bench.say(client, &message);
    }
    assert_eq!(bench.shown("bmp")[0]["stalled"], 1);
    bench.say(client, &update(&[8, 10], 9));
    bench.collector = Collector::Fine;
    bench.pass(Duration::from_secs(10));
    assert_eq!(bench.sessions(), 2);
    let known = known(&bench.told, &BTreeSet::new());
    assert_eq!(known[&10].routes, routes(&[("10.0.0.0/8", 0, 9)]));
}

/// - `route-reflector`, RFC 7854 section 4.5: who is told no more is told so, when the reflector
///   ends and when the file has no such collector any more; others go on
#[test]
fn collectors_are_told_that_it_ends() {
    let ended = |bench: &Bench| {
        let all = messages(&bench.told);
        let (kind, body) = all.last().expect("something");
        (*kind == 5).then(|| body.clone())
    };
    let administrative = Some(vec![0, 1, 0, 2, 0, 0]);
    let mut bench = bench();
    bench.client(10, Vec::new());
    assert_eq!(ended(&bench), None);
    let now = bench.now;
    bench.reflector.input(now, Input::Command(Event::Ends));
    while let Some(output) = bench.reflector.poll(now) {
        bench.take(output);
    }
    assert_eq!(ended(&bench), administrative);
    let mut bench = self::bench();
    let client = bench.client(10, Vec::new());
    bench.say(client, &update(&[8, 10], 9));
    let now = bench.now;
    assert!(bench.reflector.reload(&Bench::config(&keys(&json!(["adj-rib-in"]))), None, now));
    bench.settle();
    assert_eq!((bench.sessions(), ended(&bench)), (1, None), "the same");
    assert!(bench.reflector.reload(&Bench::config(&json!({})), None, now));
    bench.settle();
    assert_eq!(ended(&bench), administrative);
    assert_eq!(bench.shown("bmp"), json!([]));
    bench.pass(Duration::from_secs(10));
    // Another one later hears of whoever is there.
    let now = bench.now;
    assert!(bench.reflector.reload(&Bench::config(&keys(&json!(["adj-rib-in"]))), None, now));
    bench.settle();
    bench.pass(Duration::from_secs(10));
    assert_eq!(bench.sessions(), 2);
    let known = known(&bench.told, &BTreeSet::new());
    assert_eq!(known[&10].routes, routes(&[("10.0.0.0/8", 0, 9)]));
}

/// Whatever peers say and the collector does, in the end it knows what each of them tells.
#[test]
fn in_the_end_a_collector_knows_what_each_peer_tells() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(&keys(&json!(["loc-rib", "adj-rib-in"])));
        let mut clients = [10, 11, 12].map(|last| bench.client(last, Vec::new()));
        let mut tell: [BTreeMap<(String, u32), u32>; 3] = Default::default();
        for step in 0..300 {
            let at = random.below(3) as usize;
            let prefix = random.below(40) as u8;
            let key = (format!("10.{prefix}.0.0/16"), 0);
            match random.below(20) {
                0..=9 => {
                    tell[at].insert(key, step);
                    bench.say(clients[at], &update(&[16, 10, prefix], step));
                }
                10..=13 => {
                    tell[at].remove(&key);
                    bench.say(clients[at], &withdraw(&[16, 10, prefix]));
                }
                14 => {
                    bench.arrive(Arrival::Failed { socket: clients[at] });
                    bench.settle();
                    tell[at].clear();
                    clients[at] = bench.client(10 + at as u8, Vec::new());
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
        let known = known(&bench.told, &BTreeSet::new());
        for (at, told) in tell.iter().enumerate() {
            assert_eq!(known[&(10 + at as u8)].routes, *told, "seed {seed}, peer {at}");
        }
    }
}
