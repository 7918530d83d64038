//! Route target constraint (RFC 4684), message by message.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use controller_kit::{Controller, Setup};
use controller_route_reflector::RouteReflector;
use controller_route_reflector::fuzz::model::{Attributes, Prefix};
use controller_route_reflector::fuzz::wire::{self, ASKED, TARGETS, Table};
use controller_route_reflector::groups::Identity;
use controller_route_reflector::groups::group::Limits;
use controller_route_reflector::membership::NLRIS_MAX;
use controller_route_reflector::own::{Kind, Lowers, Own, Source};
use controller_route_reflector::reflector::Reflector;
use controller_route_reflector::table::Rules;
use protocol_bgp::builder::{Builder, Writing, write_end_of_rib};
use protocol_bgp::config as bgp;
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::framing::Framing;
use protocol_bgp::message::LEN_MAX;
use protocol_bgp::rules::Reading;
use protocol_bgp::speaker::{Command, Report, Speaker};
use protocol_bgp::update::Scan;
use protocol_kit::{Bytes, Time};
use serde_json::json;
use simulation::{Either, Quality, Said, World};

use crate::sessions::config;

/// A reflector and what of it peers have read.
struct Bench {
    reflector: Reflector,
    reading: Reading,
}

/// What a peer is told: routes by the last byte of their prefix, with their attributes.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Route(Family, u8, Attributes),
    Gone(Family, u8),
    All(Family),
}

impl Bench {
    fn new() -> Bench {
        let own =
            Own { asn: 64_500, identifier: OWN, cluster: OWN, reflects_between_clients: true };
        let limits = Limits { stream_bytes: 1 << 20, routes: 1000 };
        let reading = Reading {
            families: families(),
            path_ids: FamilySet::NONE,
            extended_next_hops: FamilySet::NONE,
            is_wide: true,
            is_external: false,
        };
        Bench { reflector: Reflector::new(own, Rules::default(), limits, [1, 2]), reading }
    }

    /// A peer comes, and asks for route targets or has never heard of them.
    fn open(&mut self, peer: u16, kind: Kind, asks: bool) {
        let identity = |family| Identity {
            family,
            writing: writing(),
            kind,
            role: None,
            next_hop: (family == Family::RouteTarget && kind == Kind::Client)
                .then_some(ADDRESS.into()),
            is_constrained: asks && family != Family::RouteTarget,
            tells_default: family == Family::RouteTarget && kind == Kind::Client,
            has_enhanced_refresh: true,
            paths_max: 0,
            drains: false,
        };
        let own = families().iter().filter(|family| asks || *family == Family::VpnV4);
        let source = Source {
            kind,
            identifier: u32::from(peer),
            address: u128::from(peer),
            lowers: Lowers::Nothing,
        };
        self.reflector.open(peer, source, own.map(identity));
    }

    fn say(&mut self, peer: u16, messages: &[u8]) {
        let (mut framing, mut left) = (Framing::default(), messages);
        while let Some(message) = framing.next(&mut left, LEN_MAX).expect("messages") {
            self.reflector.update(peer, message.body, &mut self.reading).expect("it is one");
        }
    }

    fn announce(&mut self, peer: u16, route: u8, targets: &[u64]) {
        let attributes = Attributes { targets: targets.to_vec(), ..told_by(peer) };
        let mut out = Vec::new();
        let all = [prefix(route)];
        wire::announce(&mut out, (&writing(), false), Family::VpnV4, &attributes, all);
        self.say(peer, &out);
    }

    fn withdraw(&mut self, peer: u16, route: u8) {
        let mut out = Vec::new();
        wire::withdraw(&mut out, &writing(), Family::VpnV4, [prefix(route)]);
        self.say(peer, &out);
    }

    /// A peer asks by an NLRI of [`ASKED`].
    fn ask(&mut self, peer: u16, number: u8) {
        let mut out = Vec::new();
        let all = [(number, [0; 4])];
        let session = (&writing(), false);
        wire::announce(&mut out, session, Family::RouteTarget, &told_by(peer), all);
        self.say(peer, &out);
    }

    fn ask_no_more(&mut self, peer: u16, number: u8) {
        let mut out = Vec::new();
        wire::withdraw(&mut out, &writing(), Family::RouteTarget, [(number, [0; 4])]);
        self.say(peer, &out);
    }

    fn has_asked(&mut self, peer: u16) {
        let mut out = Vec::new();
        write_end_of_rib(Family::RouteTarget, &mut out);
        self.say(peer, &out);
    }

    /// The bytes for some peers, as they lie in streams.
    fn bytes(&mut self, peers: &[u16]) -> Vec<Vec<Bytes>> {
        let mut all = vec![Vec::new(); peers.len()];
        loop {
            let mut has_more = self.reflector.work(|_| true);
            for (peer, all) in peers.iter().zip(&mut all) {
                let some = std::iter::from_fn(|| self.reflector.next(*peer, 1 << 20));
                let before = all.len();
                all.extend(some);
                has_more |= all.len() > before;
            }
            if !has_more {
                return all;
            }
        }
    }

    /// All that a peer is told now.
    fn told(&mut self, peer: u16) -> Vec<Told> {
        let bytes = self.bytes(&[peer]).remove(0).concat();
        self.parse(&bytes)
    }

    fn parse(&self, bytes: &[u8]) -> Vec<Told> {
        let (mut framing, mut left, mut scan) = (Framing::default(), bytes, Scan::default());
        let (mut told, mut reading) = (Vec::new(), Bench::new().reading);
        reading.families = families();
        while let Some(message) = framing.next(&mut left, LEN_MAX).expect("messages") {
            let mut table = Table::new();
            let learnt = wire::learn(&mut scan, message.body, &reading, &mut table);
            let (named, all) = learnt.expect("it is one");
            for (family, prefix) in named {
                let number = if family == Family::RouteTarget { prefix.0 } else { prefix.1[3] };
                told.push(match table.remove(&(family, prefix)) {
                    Some(attributes) => Told::Route(family, number, attributes),
                    None => Told::Gone(family, number),
                });
            }
            told.extend(all.map(Told::All));
        }
        told
    }

    /// The routes of the VPN of that, and which are withdrawn.
    fn routes(&mut self, peer: u16) -> (Vec<u8>, Vec<u8>) {
        let told = self.told(peer);
        let routes = told.iter().filter_map(|told| match told {
            Told::Route(Family::VpnV4, number, _) => Some(*number),
            _ => None,
        });
        let gone = told.iter().filter_map(|told| match told {
            Told::Gone(Family::VpnV4, number) => Some(*number),
            _ => None,
        });
        (routes.collect(), gone.collect())
    }
}

/// Takes routes of the VPN into what a peer knows.
fn learn(known: &mut BTreeSet<u8>, all: Vec<Told>) {
    for told in all {
        match told {
            Told::Route(Family::VpnV4, number, _) => {
                known.insert(number);
            }
            Told::Gone(Family::VpnV4, number) => {
                known.remove(&number);
            }
            _ => {}
        }
    }
}

/// Whether a route of the VPN comes first.
fn has_route(bytes: &&Bytes) -> bool {
    bytes[24] == 14 && bytes[27..30] == [0, 1, 128]
}

fn families() -> FamilySet {
    [Family::VpnV4, Family::RouteTarget].into_iter().collect()
}

fn writing() -> Writing {
    Writing {
        families: families(),
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        len_max: LEN_MAX,
    }
}

fn told_by(peer: u16) -> Attributes {
    Attributes { next_hop: [10, 0, 0, peer as u8], ..Attributes::default() }
}

fn prefix(number: u8) -> Prefix {
    (32, [198, 51, 100, number])
}

/// Peer 1 tells routes and asks for nothing; the others ask.
fn bench(others: &[u16]) -> Bench {
    let mut bench = Bench::new();
    bench.open(1, Kind::Client, false);
    others.iter().for_each(|peer| bench.open(*peer, Kind::Client, true));
    bench
}

/// - `route-reflector`, RFC 4684 section 6: no routes before the End-of-RIB of route targets; then
///   those that are asked for, and the End-of-RIB of those
#[test]
fn routes_wait_for_what_is_asked() {
    let mut bench = bench(&[2, 3]);
    bench.announce(1, 1, &[TARGETS[0]]);
    bench.announce(1, 2, &[TARGETS[2]]);
    bench.announce(1, 3, &[TARGETS[1], TARGETS[2]]);
    bench.announce(1, 4, &[]);
    bench.ask(2, 2);
    bench.ask(2, 3);
    assert!(bench.told(2).contains(&Told::All(Family::RouteTarget)), "the own ones are told");
    assert_eq!(bench.routes(2), (vec![], vec![]));
    bench.has_asked(2);
    let told = bench.told(2);
    let routes: Vec<u8> = told
        .iter()
        .filter_map(|it| if let Told::Route(_, at, _) = it { Some(*at) } else { None })
        .collect();
    assert_eq!(routes, [1, 3]);
    assert_eq!(told.last(), Some(&Told::All(Family::VpnV4)));
    // The upper bound of the wait, which the session's timer says.
    assert_eq!(bench.routes(3), (vec![], vec![]));
    bench.reflector.begin_constrained(3);
    assert_eq!(bench.told(3), [Told::All(Family::VpnV4)], "it asks for nothing");
    assert_eq!(bench.routes(1), (vec![], vec![]), "they are its own");
    bench.open(4, Kind::Client, false);
    assert_eq!(bench.routes(4).0.len(), 4, "it has never heard of route targets");
}

/// - `route-reflector`, RFC 4684 section 6: a change of what is asked for tells what it adds and
///   takes, and nothing else
#[test]
fn changes_tell_the_least() {
    let mut bench = bench(&[2]);
    bench.announce(1, 1, &[TARGETS[0]]);
    bench.announce(1, 2, &[TARGETS[1]]);
    bench.announce(1, 3, &[TARGETS[0], TARGETS[1]]);
    bench.announce(1, 4, &[TARGETS[2]]);
    bench.announce(1, 5, &[]);
    bench.ask(2, 2);
    bench.has_asked(2);
    assert_eq!(bench.routes(2), (vec![1, 3], vec![]));
    bench.ask(2, 3);
    assert_eq!(bench.routes(2), (vec![2], vec![]), "3 is known already");
    bench.ask(2, 4);
    assert_eq!(bench.routes(2), (vec![], vec![]), "the same target of another AS");
    bench.ask(2, 0);
    assert_eq!(bench.routes(2), (vec![4, 5], vec![]), "all");
    bench.ask_no_more(2, 0);
    assert_eq!(bench.routes(2), (vec![], vec![4, 5]));
    bench.ask_no_more(2, 2);
    assert_eq!(bench.routes(2), (vec![], vec![]), "it is asked for of another AS");
    bench.ask_no_more(2, 4);
    assert_eq!(bench.routes(2), (vec![], vec![1]), "3 has another target");
    bench.ask_no_more(2, 3);
    let (routes, mut gone) = bench.routes(2);
    gone.sort_unstable();
    assert_eq!((routes, gone), (vec![], vec![2, 3]));
}

/// - `route-reflector`, RFC 4684 section 6: routes whose targets change go to who asks for the new
///   ones, and go from who asked for the old ones alone
#[test]
fn routes_change_their_targets() {
    let mut bench = bench(&[2, 3, 4]);
    for (peer, asked) in [(2, 2), (3, 3), (4, 6)] {
        bench.ask(peer, asked);
        bench.has_asked(peer);
        bench.told(peer);
    }
    // All read on, so that nothing has to be kept of what was.
    let told = |bench: &mut Bench| {
        bench.told(1);
        let told = [2, 3, 4].map(|peer| bench.routes(peer));
        bench.reflector.work(|_| true);
        told
    };
    let (nothing, comes, goes) = ((vec![], vec![]), (vec![1], vec![]), (vec![], vec![1]));
    let all = |one: &(Vec<u8>, Vec<u8>), second: &(Vec<u8>, Vec<u8>)| {
        [one.clone(), second.clone(), nothing.clone()]
    };
    bench.announce(1, 1, &[TARGETS[0]]);
    assert_eq!(told(&mut bench), all(&comes, &nothing));
    bench.announce(1, 1, &[TARGETS[1]]);
    assert_eq!(told(&mut bench), all(&goes, &comes));
    bench.announce(1, 1, &[TARGETS[0], TARGETS[1]]);
    assert_eq!(told(&mut bench), all(&comes, &comes), "its attributes are others");
    // Nobody reads a change before the next one.
    bench.announce(1, 1, &[TARGETS[0]]);
    bench.announce(1, 1, &[]);
    bench.announce(1, 1, &[TARGETS[1]]);
    assert_eq!(told(&mut bench), all(&goes, &comes));
    bench.withdraw(1, 1);
    assert_eq!(told(&mut bench), all(&nothing, &goes));
    bench.announce(1, 1, &[TARGETS[0]]);
    bench.withdraw(1, 1);
    bench.announce(1, 1, &[TARGETS[0]]);
    assert_eq!(told(&mut bench), all(&comes, &nothing));
}

/// - `route-reflector`: peers that ask for different targets are one group, and what two ask for is
///   encoded once
#[test]
fn streams_are_shared() {
    let mut bench = bench(&[2, 3]);
    for (peer, asked) in [(2, 2), (2, 6), (3, 2), (3, 3)] {
        bench.ask(peer, asked);
    }
    (2..4).for_each(|peer| bench.has_asked(peer));
    for (route, target) in [(1, 0), (2, 1), (3, 2), (4, 0)] {
        bench.announce(1, route, &[TARGETS[target]]);
    }
    let constrained =
        |(identity, shown): (&Identity, controller_route_reflector::groups::group::Shown)| {
            identity.is_constrained.then_some(shown.peers)
        };
    let groups: Vec<usize> =
        bench.reflector.groups(Family::VpnV4).filter_map(constrained).collect();
    let all = bench.bytes(&[2, 3]);
    assert!(groups.is_empty(), "they wait");
    let groups: Vec<usize> =
        bench.reflector.groups(Family::VpnV4).filter_map(constrained).collect();
    assert_eq!(groups, [2]);
    let places = |all: &[Bytes]| -> Vec<usize> {
        all.iter().filter(has_route).map(|bytes| bytes.as_ptr() as usize).collect()
    };
    let (one, other) = (places(&all[0]), places(&all[1]));
    assert!(!one.is_empty());
    assert!(one.iter().any(|place| other.contains(place)), "{one:?} {other:?}");
}

/// - `route-reflector`, RFC 4684 section 3.2 i: clients hear what clients ask for, each its own,
///   too, from the reflector
#[test]
fn clients_hear_their_own_route_targets() {
    let mut bench = bench(&[2, 3]);
    bench.ask(2, 2);
    let reflected = Attributes {
        next_hop: ADDRESS,
        preference: Some(100),
        originator: Some(OWN),
        ..Attributes::default()
    };
    let own = Attributes { clusters: vec![OWN], preference: None, ..reflected.clone() };
    for peer in [2, 3] {
        let told = bench.told(peer);
        let route = |number, it: &Attributes| Told::Route(Family::RouteTarget, number, it.clone());
        assert_eq!(told[0], route(0, &reflected), "the default");
        assert_eq!(told[1], route(2, &own));
        assert_eq!(told[2], Told::All(Family::RouteTarget));
    }
    bench.ask_no_more(2, 2);
    assert_eq!(bench.told(2), [Told::Gone(Family::RouteTarget, 2)]);
    assert_eq!(bench.told(3), [Told::Gone(Family::RouteTarget, 2)]);
}

/// - `route-reflector`, RFC 4684 section 3.2 ii: other speakers hear a client's route target where
///   the best one is of one of themselves; they are not asked for everything
#[test]
fn others_hear_what_clients_ask_for() {
    let mut bench = Bench::new();
    bench.open(1, Kind::Internal, true);
    bench.open(2, Kind::Internal, true);
    bench.open(3, Kind::Client, true);
    bench.ask(1, 2);
    assert_eq!(bench.told(2), [Told::All(Family::RouteTarget)], "it is not a client's");
    bench.told(1);
    bench.ask(3, 2);
    let reflected = Attributes { originator: Some(3), clusters: vec![OWN], ..told_by(3) };
    for peer in [1, 2] {
        let told = Told::Route(Family::RouteTarget, 2, reflected.clone());
        assert_eq!(bench.told(peer), [told]);
    }
    bench.ask_no_more(3, 2);
    assert_eq!(bench.told(2), [Told::Gone(Family::RouteTarget, 2)]);
}

/// - `route-reflector`, RFC 4684 section 3.2: without `default-target` clients are asked for what
///   somebody asks for
#[test]
fn clients_may_be_asked_for_less() {
    let mut bench = Bench::new();
    let identity = |tells_default| Identity {
        family: Family::RouteTarget,
        writing: writing(),
        kind: Kind::Client,
        role: None,
        next_hop: Some(ADDRESS.into()),
        is_constrained: false,
        tells_default,
        has_enhanced_refresh: false,
        paths_max: 0,
        drains: false,
    };
    let source = |peer: u16| Source {
        kind: Kind::Client,
        identifier: 1,
        address: peer.into(),
        lowers: Lowers::Nothing,
    };
    bench.reflector.open(1, source(1), [identity(false)]);
    bench.reflector.open(2, source(2), [identity(true)]);
    assert_eq!(bench.told(1), [Told::All(Family::RouteTarget)]);
    assert_eq!(bench.told(2).len(), 2);
    bench.ask(2, 0);
    assert!(matches!(bench.told(1)[..], [Told::Route(_, 0, _)]), "another one asks for all");
    assert_eq!(bench.told(2), [], "it was asked for all, and still is");
    bench.ask_no_more(2, 0);
    assert_eq!(bench.told(1), [Told::Gone(Family::RouteTarget, 0)]);
    assert_eq!(bench.told(2), []);
    bench.reflector.refresh(2, Family::RouteTarget);
    assert!(matches!(bench.told(2)[..], [Told::Route(_, 0, _)]), "the default again");
}

/// - `route-reflector`, RFC 7606 section 5.3 and RFC 4684 section 4: a peer whose route targets
///   cannot be read is told everything, and so is one that asks for more than has room
#[test]
fn hostile_route_targets_open_and_bound() {
    for bits in [1, 31, 97, 255] {
        let mut bench = bench(&[2]);
        bench.announce(1, 1, &[]);
        bench.ask(2, 2);
        let mut body = vec![0, 0, 0, 0, 0x80, 15, 3 + 1 + 32, 0, 1, 132, bits];
        body.extend([0xff; 32]);
        body[3] = body.len() as u8 - 4;
        let mut reading = bench.reading;
        let update = bench.reflector.update(2, &body, &mut reading);
        assert!(update.is_ok() && !reading.families.contains(Family::RouteTarget), "{bits}");
        assert_eq!(bench.routes(2), (vec![1], vec![]), "{bits} bits");
        let counters = bench.reflector.counters();
        assert_eq!((counters.disabled, counters.unconstrained), (1, 1));
        bench.reflector.close(2, FamilySet::NONE);
        bench.open(2, Kind::Client, true);
        bench.has_asked(2);
        assert_eq!(bench.routes(2), (vec![], vec![]), "it asks for nothing now");
    }
    let mut bench = bench(&[2]);
    bench.announce(1, 1, &[]);
    bench.has_asked(2);
    assert_eq!(bench.routes(2), (vec![], vec![]));
    let nlri = |number: u32| [&[96, 0, 0, 0, 1, 0, 2, 0, 1][..], &number.to_be_bytes()].concat();
    let mut out = Vec::new();
    let block = [0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 5, 4, 0, 0, 0, 100];
    let next_hop = (Family::RouteTarget, &[10, 0, 0, 2][..]);
    let mut builder = Builder::announce(&mut out, &writing(), next_hop, &block);
    (0..100_000).for_each(|number| builder.push(0, &nlri(number), &[]).expect("room"));
    builder.finish();
    bench.say(2, &out);
    let (membership, _) = bench.reflector.membership(2).expect("it is there");
    assert!(membership.is_open() && membership.nlris() > NLRIS_MAX);
    assert_eq!(bench.reflector.counters().unconstrained, 1);
    let told = bench.bytes(&[2]).remove(0);
    assert_eq!(told.iter().filter(has_route).count(), 1, "it is told everything");
    bench.reflector.close(2, FamilySet::NONE);
    while !bench.reflector.is_swept(2) {
        bench.reflector.work(|_| true);
    }
    let (membership, _) = bench.reflector.membership(2).expect("it is there");
    assert!(!membership.is_open() && membership.nlris() == 0);
    assert!(ASKED.len() < NLRIS_MAX);
}

/// - `route-reflector`, RFC 4684 section 6: who reads too slowly is told the present state of what
///   it asks for now, after any changes
#[test]
fn who_lags_is_told_what_it_asks_for_now() {
    let mut bench = bench(&[2]);
    (0..200).for_each(|route| bench.announce(1, route, &[TARGETS[usize::from(route) % 3]]));
    bench.ask(2, 2);
    bench.has_asked(2);
    // It reads nothing while all this happens.
    for _ in 0..20 {
        bench.reflector.work(|_| true);
    }
    bench.ask_no_more(2, 2);
    bench.ask(2, 3);
    (0..100).for_each(|route| bench.withdraw(1, route));
    for _ in 0..20 {
        bench.reflector.work(|_| true);
    }
    let mut known = BTreeSet::new();
    learn(&mut known, bench.told(2));
    let expected = (100..200).filter(|route| route % 3 == 1).collect();
    assert_eq!(known, expected);
}

/// - `route-reflector`, RFC 4684 section 6: a change while the table is told adds and takes what
///   was told and skipped before it
#[test]
fn what_is_asked_for_changes_while_the_table_is_told() {
    // The numbers of the targets in `ASKED`.
    let numbers = [2, 3, 6];
    for [gone, stays, comes] in [[0, 2, 1], [0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2]] {
        let mut bench = bench(&[2]);
        (0..60).for_each(|route| bench.announce(1, route, &[TARGETS[usize::from(route) % 3]]));
        bench.ask(2, numbers[gone]);
        bench.ask(2, numbers[stays]);
        bench.told(2);
        bench.has_asked(2);
        let mut known = BTreeSet::new();
        // It reads a piece of the table, and changes its mind before the next one.
        bench.reflector.work(|_| true);
        let piece = bench.reflector.next(2, 1 << 20).expect("a piece");
        learn(&mut known, bench.parse(&piece));
        assert!(known.len() >= 20, "{known:?}");
        bench.ask(2, numbers[comes]);
        bench.ask_no_more(2, numbers[gone]);
        learn(&mut known, bench.told(2));
        let is_wanted = |route: &u8| usize::from(*route) % 3 != gone;
        assert_eq!(known, (0..60).filter(is_wanted).collect(), "{gone} goes, {comes} comes");
    }
}

/// - `route-reflector`, RFC 4684 sections 5 and 6: a peer that agrees on the family and never says
///   that it has asked for all is told what it asks for after 60 seconds; before, it is asked for
///   all by the address of the session
#[test]
fn a_peer_that_never_ends_is_told_after_a_minute() {
    let mut world: World<Either<RouteReflector, Speaker>> = World::new(1);
    let address = |node: u8| IpAddr::from([10, 0, 0, 10 + node]);
    world.add_node(move |random| {
        let peers = [json!({"address": address(1)}), json!({"address": address(2)})];
        let families = ["vpnv4", "route-target"];
        let config = config(json!({
            "listen": ["0.0.0.0:179"], "families": families, "peers": peers,
        }));
        let setup = Setup { function: None, state: Vec::new(), seed: random.bits() };
        (Either::One(RouteReflector::new(&config, setup).expect("it may be")), Vec::new())
    });
    for node in [1, 2] {
        world.add_node(move |random| {
            let own = if node == 1 { families() } else { [Family::VpnV4].into_iter().collect() };
            let peer = bgp::Config {
                families: own,
                ..bgp::Config::new(64_500, u32::from(node), address(0), 64_500)
            };
            let at = SocketAddr::new(address(node), bgp::PORT);
            (Either::Other(Speaker::new(at, vec![peer], random.bits())), Vec::new())
        });
        world.add_link([(0, address(0)), (usize::from(node), address(node))], Quality::GOOD);
    }
    (0..3).for_each(|node| world.revive(node));
    let (mut scan, mut stood_at, mut told_at) = (Scan::default(), None, None);
    while world.pass(Time(200_000_000_000)) {
        for Said { at, node, report } in world.take_said() {
            match report {
                Either::Other(Report::Established(..)) => {
                    let mut out = Vec::new();
                    let attributes = told_by(node as u16);
                    let attributes = Attributes { targets: vec![TARGETS[0]], ..attributes };
                    let session = (&writing(), false);
                    match node {
                        1 => {
                            stood_at = Some(at);
                            let all = [(2, [0; 4])];
                            wire::announce(
                                &mut out,
                                session,
                                Family::RouteTarget,
                                &attributes,
                                all,
                            );
                        }
                        _ => {
                            let all = [prefix(1)];
                            wire::announce(&mut out, session, Family::VpnV4, &attributes, all);
                        }
                    }
                    world.command(node, Either::Other(Command::Send(0, out)));
                }
                Either::Other(Report::Update(_, body)) if node == 1 => {
                    let mut known = Table::new();
                    let reading = Bench::new().reading;
                    wire::learn(&mut scan, &body, &reading, &mut known).expect("it is one");
                    for ((family, prefix), it) in known {
                        match family {
                            Family::RouteTarget => {
                                assert_eq!(it.next_hop, [10, 0, 0, 10], "of {prefix:?}");
                            }
                            _ => told_at = Some(at),
                        }
                    }
                }
                Either::Other(other @ Report::Down { .. }) => panic!("{other:?}"),
                _ => {}
            }
        }
    }
    let waited = told_at.zip(stood_at).map(|(told, stood)| told.0 - stood.0);
    let waited = waited.expect("it is told");
    assert!((59_900_000_000..61_000_000_000).contains(&waited), "{waited}");
}

/// The reflector's identifier.
const OWN: u32 = 77;

/// Its address.
const ADDRESS: [u8; 4] = [10, 9, 9, 9];
