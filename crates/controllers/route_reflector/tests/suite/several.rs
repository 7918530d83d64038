//! Requirements of RFC 7911, message by message: who is told several paths of a route, by which
//! identifiers, and how they go.

use std::collections::BTreeMap;

use controller_route_reflector::fuzz::model::Attributes;
use controller_route_reflector::fuzz::wire::{self, Paths};
use controller_route_reflector::groups::Identity;
use controller_route_reflector::groups::group::Limits;
use controller_route_reflector::own::{Kind, Lowers, Own, Source};
use controller_route_reflector::reflector::Reflector;
use controller_route_reflector::table::Rules;
use protocol_bgp::builder::Writing;
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::framing::Framing;
use protocol_bgp::message::LEN_MAX;
use protocol_bgp::rules::Reading;
use protocol_bgp::update::Scan;
use serde_json::{Value, json};

use crate::site::{Peer, Site, address, from, prefix};

const FAMILY: Family = Family::Ipv4Unicast;

/// A reflector, and what its peers know.
struct Bench {
    reflector: Reflector,
    scan: Scan,
    known: BTreeMap<u16, Paths>,
    /// Paths that each was told and that were withdrawn, since the last look.
    told: BTreeMap<u16, (Vec<u32>, Vec<u32>)>,
}

fn all() -> FamilySet {
    [FAMILY].into_iter().collect()
}

impl Bench {
    fn new() -> Bench {
        let own = Own { asn: 64_500, identifier: 9, cluster: 9, reflects_between_clients: true };
        let limits = Limits { stream_bytes: 20_000, routes: 1000 };
        let reflector = Reflector::new(own, Rules::default(), limits, [1, 2]);
        let (known, told) = (BTreeMap::new(), BTreeMap::new());
        Bench { reflector, scan: Scan::default(), known, told }
    }

    /// A client comes that is told so many paths; the best one alone where that is 0.
    fn open(&mut self, peer: u16, paths_max: u8) {
        let path_ids = if paths_max > 0 { all() } else { FamilySet::NONE };
        let identity = Identity {
            family: FAMILY,
            writing: Writing { path_ids, ..writing() },
            kind: Kind::Client,
            role: None,
            next_hop: None,
            is_constrained: false,
            tells_default: false,
            has_enhanced_refresh: false,
            drains: false,
            paths_max,
        };
        let identifier = u32::from(peer) + 100;
        let (kind, lowers) = (Kind::Client, Lowers::Nothing);
        let source = Source { kind, identifier, address: u128::from(peer), lowers };
        self.reflector.open(peer, source, [identity]);
        self.known.insert(peer, Paths::new());
    }

    /// A peer tells a path by an identifier of its own; a lower preference is worse.
    fn announce(&mut self, peer: u16, path: u32, preference: u32) {
        let attributes = Attributes {
            next_hop: [10, 0, peer as u8, path as u8],
            preference: Some(preference),
            ..Attributes::default()
        };
        let mut out = Vec::new();
        let session = (&Writing { path_ids: all(), ..writing() }, false);
        wire::announce_paths(&mut out, session, FAMILY, &attributes, [(prefix(1), path)]);
        self.say(peer, &out);
    }

    fn withdraw(&mut self, peer: u16, path: u32) {
        let mut out = Vec::new();
        let writing = Writing { path_ids: all(), ..writing() };
        wire::withdraw_paths(&mut out, &writing, FAMILY, [(prefix(1), path)]);
        self.say(peer, &out);
    }

    fn say(&mut self, peer: u16, bytes: &[u8]) {
        let (mut framing, mut left) = (Framing::default(), bytes);
        while let Some(message) = framing.next(&mut left, LEN_MAX).expect("messages") {
            let mut reading = reading(all());
            self.reflector.update(peer, message.body, &mut reading).expect("it is one");
        }
    }

    /// Some peers take all that there is for them.
    fn settle(&mut self, peers: &[u16]) {
        let mut quiet = 0;
        while quiet < 3 {
            let mut has_more = self.reflector.work(|peer| peers.contains(&peer));
            for peer in peers {
                while let Some(bytes) = self.reflector.next(*peer, 1 << 20) {
                    has_more = true;
                    self.learn(*peer, &bytes);
                }
            }
            quiet = if has_more { 0 } else { quiet + 1 };
        }
    }

    fn learn(&mut self, peer: u16, bytes: &[u8]) {
        let group = self.reflector.groups_of(peer).next().expect("it has a group");
        let group = self.reflector.group(group.0, group.1).expect("it is there");
        let reading = reading(group.identity().writing.path_ids);
        let (mut framing, mut left) = (Framing::default(), bytes);
        while let Some(message) = framing.next(&mut left, LEN_MAX).expect("messages") {
            let known = self.known.get_mut(&peer).expect("it is there");
            let learnt = wire::learn_paths(&mut self.scan, message.body, &reading, known);
            let (announced, withdrawn) = self.told.entry(peer).or_default();
            for (family, prefix, path) in learnt.expect("it is one").0 {
                match self.known[&peer].contains_key(&(family, prefix, path)) {
                    true => announced.push(path),
                    false => withdrawn.push(path),
                }
            }
        }
    }

    /// What a peer knows: identifiers with the last two bytes of next hops, which tell the peer and
    /// the path.
    fn knows(&self, peer: u16) -> Vec<(u32, [u8; 2])> {
        let all = self.known[&peer].iter();
        all.map(|((_, _, path), it)| (*path, [it.next_hop[2], it.next_hop[3]])).collect()
    }

    /// What a peer was told since the last look.
    fn was_told(&mut self, peer: u16) -> (Vec<u32>, Vec<u32>) {
        self.told.remove(&peer).unwrap_or_default()
    }

    /// The identifiers of all paths, by the peer and its path.
    fn slots(&self) -> BTreeMap<(u16, u32), u8> {
        let view = self.reflector.view(FAMILY);
        let paths = (0..view.routes.end()).flat_map(|number| view.routes.paths(number));
        paths.map(|path| ((path.peer, path.identifier), path.slot)).collect()
    }
}

fn writing() -> Writing {
    Writing {
        families: all(),
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        len_max: LEN_MAX,
    }
}

fn reading(path_ids: FamilySet) -> Reading {
    Reading {
        families: all(),
        path_ids,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        is_external: false,
    }
}

/// - `route-reflector`, RFC 7911 sections 2, 3 and 5: of a route that changes the path alone is
///   told that has, by the identifier that it had; one that goes is withdrawn by it; whoever is
///   told the best path alone hears of that one alone
#[test]
fn a_change_tells_what_has_changed() {
    let mut bench = Bench::new();
    for (peer, most) in [(1, 0), (2, 0), (3, 64), (4, 0)] {
        bench.open(peer, most);
    }
    let all = [3, 4];
    bench.announce(1, 0, 100);
    bench.announce(2, 7, 90);
    bench.settle(&all);
    assert_eq!(bench.knows(3), [(1, [1, 0]), (2, [2, 7])]);
    assert_eq!(bench.knows(4), [(0, [1, 0])]);
    let _ = (bench.was_told(3), bench.was_told(4));
    // A path that is not the best one changes.
    bench.announce(2, 7, 80);
    bench.settle(&all);
    assert_eq!((bench.was_told(3), bench.was_told(4)), ((vec![2], vec![]), (vec![], vec![])));
    // Another one of the same peer comes, and becomes the best one.
    bench.announce(2, 8, 200);
    bench.settle(&all);
    assert_eq!((bench.was_told(3), bench.was_told(4)), ((vec![3], vec![]), (vec![0], vec![])));
    // One goes, the best one stays.
    bench.withdraw(1, 0);
    bench.settle(&all);
    assert_eq!((bench.was_told(3), bench.was_told(4)), ((vec![], vec![1]), (vec![], vec![])));
    assert_eq!(bench.knows(3), [(2, [2, 7]), (3, [2, 8])]);
    // The same path again has not changed, and one goes that was not there.
    bench.announce(2, 7, 80);
    bench.withdraw(2, 99);
    bench.settle(&all);
    assert_eq!((bench.was_told(3), bench.was_told(4)), ((vec![], vec![]), (vec![], vec![])));
    // The peer goes, and all of its paths.
    bench.reflector.close(2, FamilySet::NONE);
    bench.settle(&all);
    assert_eq!(bench.was_told(3), (vec![], vec![2, 3]));
    assert!(bench.knows(3).is_empty() && bench.knows(4).is_empty());
}

/// - `route-reflector`, RFC 7911 section 5 and RFC 4456 section 6: who has told a path is told the
///   others; those who are told the same are one group
#[test]
fn who_has_told_a_path_is_told_the_others() {
    let mut bench = Bench::new();
    (1..=3).for_each(|peer| bench.open(peer, 64));
    (1..=3).for_each(|peer| bench.announce(peer, 0, 100));
    bench.settle(&[1, 2, 3]);
    for peer in 1..=3 {
        let others: Vec<_> = (1..=3).filter(|other| *other != peer).collect();
        let expected: Vec<_> = others.iter().map(|it| (u32::from(*it), [*it as u8, 0])).collect();
        assert_eq!(bench.knows(peer), expected, "of {peer}");
    }
    assert_eq!(bench.reflector.groups(FAMILY).count(), 1);
    // The number of a path that is gone becomes another peer's, whom it was told before.
    bench.withdraw(1, 0);
    bench.announce(2, 5, 50);
    bench.settle(&[1, 2, 3]);
    bench.withdraw(3, 0);
    bench.settle(&[1]);
    assert_eq!(bench.knows(1), [(2, [2, 0]), (4, [2, 5])]);
    bench.announce(1, 3, 40);
    bench.settle(&[1, 2, 3]);
    assert_eq!((bench.knows(2), bench.knows(1).len()), (vec![(1, [1, 3])], 2));
}

/// - `route-reflector`: who lags is told the paths that have changed meanwhile, each once, also
///   where the best one is the same all the time
#[test]
fn who_lags_is_told_what_has_changed_beside_the_best() {
    let mut bench = Bench::new();
    (1..=2).for_each(|peer| bench.open(peer, 64));
    bench.open(3, 0);
    (0..3).for_each(|path| bench.announce(3, path, 200 - path));
    bench.settle(&[1, 2]);
    let _ = bench.was_told(2);
    for preference in 0..500 {
        bench.announce(3, 1, preference % 100);
        bench.settle(&[1]);
    }
    bench.withdraw(3, 2);
    bench.announce(3, 7, 5);
    bench.settle(&[1, 2]);
    assert_eq!(bench.known[&1], bench.known[&2]);
    let (mut announced, withdrawn) = bench.was_told(2);
    announced.sort_unstable();
    assert_eq!((announced, withdrawn), (vec![1, 2, 4], vec![3]));
}

/// - `route-reflector`, RFC 7911 section 2: where all identifiers are in use, that of a path which
///   goes becomes another peer's at once, whom it was told before
#[test]
fn an_identifier_becomes_another_peers() {
    let mut bench = Bench::new();
    (1..=3).for_each(|peer| bench.open(peer, 64));
    (0..64).for_each(|path| bench.announce(1, path, 100));
    bench.settle(&[1, 2, 3]);
    assert_eq!((bench.knows(1).len(), bench.knows(2).len()), (0, 64));
    bench.withdraw(1, 5);
    bench.announce(2, 0, 100);
    bench.settle(&[1, 2, 3]);
    assert_eq!(bench.knows(1), [(6, [2, 0])]);
    assert!(bench.knows(2).len() == 63 && bench.knows(2).iter().all(|it| it.1[0] == 1));
    assert_eq!(bench.knows(3).len(), 64);
}

/// - `route-reflector`: a peer is told the best paths and no more, of which the very best is always
///   one; what has become worse is withdrawn
#[test]
fn the_best_ones_are_told() {
    let mut bench = Bench::new();
    bench.open(1, 2);
    bench.open(2, 0);
    for (path, preference) in [(1, 10), (2, 30), (3, 20)] {
        bench.announce(2, path, preference);
    }
    bench.settle(&[1]);
    let told = |bench: &Bench| bench.knows(1).iter().map(|it| it.1[1]).collect::<Vec<_>>();
    assert_eq!(told(&bench), [2, 3]);
    bench.announce(2, 1, 40);
    bench.settle(&[1]);
    assert_eq!(told(&bench), [1, 2], "the last one has gone behind");
    bench.withdraw(2, 2);
    bench.settle(&[1]);
    assert_eq!(told(&bench), [1, 3], "it is back");
    let before = bench.slots();
    bench.announce(2, 3, 50);
    bench.settle(&[1]);
    assert_eq!((told(&bench), bench.slots()), (vec![1, 3], before), "identifiers stay");
}

/// - `route-reflector`: of more paths than there are identifiers the best one is told all the same,
///   and others as identifiers become free; whoever reads nothing meanwhile is told the end of it
#[test]
fn a_route_of_many_paths_tells_the_best() {
    let mut bench = Bench::new();
    (1..=2).for_each(|peer| bench.open(peer, 64));
    bench.open(3, 0);
    for path in 0..100 {
        bench.announce(3, path, 100);
    }
    bench.settle(&[1]);
    assert_eq!(bench.knows(1).len(), 64);
    let before = bench.slots();
    bench.announce(3, 90, 200);
    bench.settle(&[1]);
    let knows_best = |bench: &Bench, peer| bench.knows(peer).iter().any(|it| it.1 == [3, 90]);
    assert!(knows_best(&bench, 1) && bench.knows(1).len() == 64);
    let moved = bench.slots().iter().filter(|(path, slot)| before[path] != **slot).count();
    assert_eq!(moved, 2, "the best one has another one's");
    // Paths come and go by ever other identifiers, while one reads nothing.
    for path in 1000..3000 {
        bench.announce(3, path, 150);
        bench.withdraw(3, path - 1000);
        bench.settle(&[1]);
    }
    assert!(bench.reflector.memory() < 1 << 20, "{} bytes", bench.reflector.memory());
    bench.settle(&[1, 2]);
    assert_eq!(bench.knows(1), bench.knows(2));
    let there = bench.slots();
    assert_eq!(there.len(), 1000, "those that have not gone");
    for (_, [_, path]) in bench.knows(2) {
        assert!(there.keys().any(|(_, it)| *it as u8 == path));
    }
    bench.reflector.close(3, FamilySet::NONE);
    bench.settle(&[1, 2]);
    assert!(bench.knows(1).is_empty() && bench.knows(2).is_empty());
    assert_eq!(bench.reflector.count(FAMILY), (0, 0));
}

/// Two clients that tell, and one that has agreed on several paths, as the keys say: nodes 1 to 3.
fn site(keys: Value) -> Site {
    let keys = json!({
        "listen": ["0.0.0.0:179"], "families": ["ipv4-unicast"],
        "peers": [{"address": address(1)}, {"address": address(2)}, keys],
    });
    let own = Peer::own(&[FAMILY]);
    Site::new(keys, &[own.clone(), own.clone(), Peer { receives_paths: true, ..own }])
}

/// - `route-reflector`, RFC 7911 section 4: several paths are told where both sides have said so;
///   the tables tell what was agreed on, and each path that a peer is told with its identifier
#[test]
fn tables_tell_of_several_paths() {
    let listed = json!({"address": address(3), "paths-to-peer": [{"paths-max": 3}]});
    let mut one = site(listed);
    for node in [1, 2] {
        one.announce(node, FAMILY, &[prefix(1)], &from(node));
    }
    let name = address(3).to_string();
    let told = one.all("advertised", &[("peer", &name)]);
    let path = |at: usize| (told[at]["path-identifier"].clone(), told[at]["from"].clone());
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(path(0), (json!(1), json!(address(1).to_string())));
    assert_eq!(path(1), (json!(2), json!(address(2).to_string())));
    let told = one.all("advertised", &[("peer", &address(1).to_string())]);
    assert_eq!(told.len(), 0, "the best one is its own: {told:?}");
    let peers = one.all("peers", &[("for", &name)]);
    assert_eq!(peers[0]["path-identifiers-to"], json!(["ipv4-unicast"]), "{peers:?}");
    let groups = one.all("groups", &[("peer", &name)]);
    let words = groups[0]["told-by"].as_array().expect("a list");
    assert!(words.contains(&json!("paths=3")) && words.contains(&json!("path-identifiers")));
    // Without the key nothing is offered.
    let mut other = site(json!({"address": address(3)}));
    other.announce(1, FAMILY, &[prefix(1)], &from(1));
    let peers = other.all("peers", &[("for", &name)]);
    assert_eq!(peers[0]["path-identifiers-to"], Value::Null);
    assert_eq!(other.all("advertised", &[("peer", &name)])[0]["path-identifier"], Value::Null);
}
