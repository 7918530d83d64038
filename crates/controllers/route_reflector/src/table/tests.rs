//! Random paths come and go, beside a table that is slow and plain.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::table::*;

/// What happens.
#[derive(Clone, Debug)]
enum Step {
    Announce {
        key: u8,
        peer: u16,
        identifier: u32,
        attributes: u32,
    },
    Withdraw {
        key: u8,
        peer: u16,
        identifier: u32,
    },
    /// The follower of the log reads this many entries.
    Follow(usize),
    /// The one that has been away reads the table.
    Return,
    Forget,
}

fn step() -> impl Strategy<Value = Step> {
    let (key, peer, identifier) = (0..12_u8, 0..4_u16, 0..2_u32);
    prop_oneof![
        6 => (key.clone(), peer.clone(), identifier.clone(), 0..20_u32).prop_map(
            |(key, peer, identifier, attributes)| {
                Step::Announce { key, peer, identifier, attributes }
            }
        ),
        4 => (key, peer, identifier)
            .prop_map(|(key, peer, identifier)| Step::Withdraw { key, peer, identifier }),
        2 => (0..6_usize).prop_map(Step::Follow),
        1 => Just(Step::Return),
        1 => Just(Step::Forget),
    ]
}

/// Attribute blocks by their number: some differ in MED alone.
fn judge(path: &Path) -> Candidate {
    let rank = Rank {
        local_preference: 100 + path.attributes % 2,
        path_len: 2,
        origin: 0,
        med: path.attributes / 4,
        neighbour_as: path.attributes % 4 / 2,
        mobility: Mobility::default(),
        clusters: 0,
        originator: None,
    };
    let peer = u32::from(path.peer);
    let teller = Teller { is_external: peer == 3, identifier: peer / 2, address: u128::from(peer) };
    Candidate { rank, teller, identifier: path.identifier }
}

/// The best path, found by striking out.
fn best(paths: &[Path]) -> Option<Path> {
    let judged = paths.iter().map(|path| (*path, judge(path)));
    let highest = judged.clone().map(|(_, one)| one.rank.local_preference).max()?;
    let mut left: Vec<_> = judged.filter(|(_, one)| one.rank.local_preference == highest).collect();
    let all = left.clone();
    left.retain(|(_, one)| {
        let of_as = all.iter().filter(|(_, it)| it.rank.neighbour_as == one.rank.neighbour_as);
        of_as.map(|(_, it)| it.rank.med).min() == Some(one.rank.med)
    });
    left.sort_by_key(|(_, one)| {
        (Reverse(one.teller.is_external), one.teller.identifier, one.teller.address, one.identifier)
    });
    left.first().map(|(path, _)| *path)
}

/// A key of either size.
fn key(number: u8) -> Vec<u8> {
    vec![number; if number.is_multiple_of(2) { 5 } else { 12 + usize::from(number) }]
}

/// Takes note of the present state of a route.
fn tell(told: &mut BTreeMap<Vec<u8>, Path>, family: &Family, number: u32) {
    let key = family.routes().with_key(number, <[u8]>::to_vec);
    match family.routes().route(number).best() {
        Some(path) => drop(told.insert(key, *path)),
        None => drop(told.remove(&key)),
    }
}

proptest! {
    /// - `route-reflector`, RFC 4271 section 9.1.2.2: paths and best paths are those of a plain
    ///   table, and readers of the log and of the table end with the same
    #[test]
    fn routes_are_those_of_a_plain_table(steps in proptest::collection::vec(step(), 1..120)) {
        let mut family = Family::new([1, 2], Rules::default());
        let mut plain: BTreeMap<Vec<u8>, Vec<Path>> = BTreeMap::new();
        let (mut followed, mut followed_to) = (BTreeMap::new(), Place::default());
        let (mut away, mut away_since) = (BTreeMap::new(), Place::default());
        for step in steps {
            match step {
                Step::Announce { key: number, peer, identifier, attributes } => {
                    let rest = Rest::short(&[number]).expect("one byte");
                    let path = Path { attributes, rest, identifier, peer, is_stale: false };
                    let paths = plain.entry(key(number)).or_default();
                    let same = |one: &&mut Path| (one.peer, one.identifier) == (peer, identifier);
                    let ended = match paths.iter_mut().find(same) {
                        Some(known) => Some(std::mem::replace(known, path)),
                        None => {
                            paths.push(path);
                            None
                        }
                    };
                    let change = family.announce(&key(number), path, judge).expect("numbers");
                    prop_assert_eq!(change.ended, ended);
                }
                Step::Withdraw { key: number, peer, identifier } => {
                    let paths = plain.entry(key(number)).or_default();
                    let same = |one: &Path| (one.peer, one.identifier) == (peer, identifier);
                    let at = paths.iter().position(same);
                    let ended = at.map(|at| paths.swap_remove(at));
                    let change = family.withdraw(&key(number), (peer, identifier), judge);
                    prop_assert_eq!(change.and_then(|change| change.ended), ended);
                }
                Step::Follow(count) => {
                    for _ in 0..count {
                        let Some(number) = family.log().get(followed_to) else { break };
                        if family.routes().route(number).changed == followed_to.short() {
                            tell(&mut followed, &family, number);
                        }
                        followed_to = Place(followed_to.0 + 1);
                    }
                }
                Step::Return => {
                    for number in 0..family.routes().end() {
                        if away_since.is_behind(family.routes().route(number).changed) {
                            tell(&mut away, &family, number);
                        }
                    }
                    away_since = family.log().end();
                }
                Step::Forget => drop(family.forget(followed_to, away_since, 3)),
            }
            for (key, paths) in &plain {
                let number = family.routes().find(key);
                let mut known: Vec<Path> =
                    number.iter().flat_map(|one| family.routes().paths(*one).copied()).collect();
                prop_assert_eq!(known.first().copied(), best(paths));
                let mut expected = paths.clone();
                [&mut known, &mut expected].into_iter()
                    .for_each(|paths| paths.sort_by_key(|one| (one.peer, one.identifier)));
                prop_assert_eq!(known, expected);
            }
        }
        let expected: BTreeMap<_, _> =
            plain.iter().filter_map(|(key, paths)| Some((key.clone(), best(paths)?))).collect();
        let count: usize = plain.values().map(Vec::len).sum();
        prop_assert_eq!(family.routes().count(), (expected.len(), count));
        while let Some(number) = family.log().get(followed_to) {
            if family.routes().route(number).changed == followed_to.short() {
                tell(&mut followed, &family, number);
            }
            followed_to = Place(followed_to.0 + 1);
        }
        prop_assert_eq!(&followed, &expected);
        for number in 0..family.routes().end() {
            if away_since.is_behind(family.routes().route(number).changed) {
                tell(&mut away, &family, number);
            }
        }
        prop_assert_eq!(&away, &expected);
        let end = family.log().end();
        while !family.forget(end, end, 8) {}
        let left = (0..family.routes().end()).filter(|one| family.routes().route(*one).best().is_some());
        prop_assert_eq!(left.count(), expected.len());
    }
}
