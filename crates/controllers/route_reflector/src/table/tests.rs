//! Random paths come and go, beside a table that is slow and plain.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::table::decision::best as best_of;
use crate::table::losses::{Loss, Step as Decided, Words, losses};
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

fn candidate() -> impl Strategy<Value = Candidate> {
    let rank = (99..102_u32, 0..3_u16, 0..3_u8, 0..3_u32, 0..3_u32, 0..2_u16);
    let mobility = prop_oneof![4 => Just((false, 0)), 1 => (any::<bool>(), 0..3_u32)];
    let teller = (any::<bool>(), 0..3_u32, 0..50_u128, 0..3_u32);
    (rank, mobility, prop::option::of(0..3_u32), teller).prop_map(
        |(rank, (is_sticky, sequence), originator, (is_external, identifier, address, path))| {
            let (local_preference, path_len, origin, med, neighbour_as, clusters) = rank;
            let mobility = Mobility { is_sticky, sequence };
            let rank = Rank {
                local_preference,
                path_len,
                origin,
                med,
                neighbour_as,
                mobility,
                clusters,
                originator,
            };
            let teller = Teller { is_external, identifier, address };
            Candidate { rank, teller, identifier: path }
        },
    )
}

proptest! {
    /// - `route-reflector`, RFC 4271 section 9.1.2.2 and RFC 4456 section 9: what is said of why a
    ///   path is the best one is what the decision does
    #[test]
    fn reasons_are_those_of_the_decision(
        candidates in proptest::collection::vec(candidate(), 0..8),
        always_compares_med in any::<bool>(),
    ) {
        let rules = Rules { always_compares_med };
        let best = best_of(&candidates, rules, &mut Vec::new());
        let losses = losses(&candidates, rules);
        prop_assert_eq!(losses.len(), candidates.len());
        // Two that nothing tells apart are both left; there are none such in a table.
        prop_assert!(losses.is_empty() || losses[best].is_none(), "{:?}", losses);
        for (at, loss) in losses.iter().enumerate() {
            match loss {
                Some(Loss { step, to }) => {
                    // Whoever wins is not out before this step.
                    let later = losses[*to].is_none_or(|loss| loss.step >= *step);
                    prop_assert!(later, "{} loses to {}", at, to);
                    let words = Words { step: *step, lost: &candidates[at], to: &candidates[*to] };
                    prop_assert!(!words.to_string().is_empty() && !step.won().is_empty());
                }
                None => {
                    let [one, other] = [at, best].map(|place| &candidates[place]);
                    let same = |one: &Candidate| (one.teller.address, one.identifier);
                    prop_assert_eq!(same(one), same(other));
                }
            }
        }
        let decided = losses.iter().flatten().map(|loss| loss.step).max();
        prop_assert!(decided.is_none_or(|step| step >= Decided::Mobility));
    }

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
                    let path = Path { attributes, rest, identifier, peer, is_stale: false, slot: 0 };
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
                Step::Forget => drop(family.forget((followed_to, away_since), 3, |_| ())),
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
        while !family.forget((end, end), 8, |_| ()) {}
        let left = (0..family.routes().end()).filter(|one| family.routes().route(*one).best().is_some());
        prop_assert_eq!(left.count(), expected.len());
    }
}

/// The number behind some words of a document.
fn number_behind(text: &str, words: &str) -> f64 {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("`{words}` stands nowhere"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number is behind `{words}`"))
}

/// - `route-reflector`: routes, paths and attributes take the memory that the documents say
#[test]
fn memory_is_what_the_documents_say() {
    let readme = include_str!("../../README.md");
    let page = include_str!("../../../../../docs/route-reflector.md");
    const COUNT: u32 = 1 << 16;
    let index = 5.5..12.0;
    let path = |peer| Path {
        attributes: 0,
        rest: Rest::default(),
        identifier: 0,
        peer,
        is_stale: false,
        slot: 0,
    };
    let each = |memory: usize| memory as f64 / f64::from(COUNT);
    for (key_bytes, len) in [(0, 5), (20, 17)] {
        let mut routes = Routes::new([1, 2]);
        for number in 0..COUNT {
            let key = [&number.to_be_bytes()[..], &[0; 16]].concat();
            let number = routes.find_or_add(&key[..len]).expect("a number");
            routes.put(number, path(0));
        }
        let route = number_behind(readme, "| a route | ");
        let measured = each(routes.memory()) - f64::from(key_bytes);
        assert!(index.contains(&(measured - route)), "{measured} bytes of a route, not {route}");
        let of_ipv6 = number_behind(page, "one of IPv6 ");
        assert_eq!(of_ipv6, 20.0, "17 bytes in steps of 4");
        let whole = routes.memory();
        for number in 0..COUNT {
            routes.put(number, path(1));
        }
        let further = number_behind(readme, "| a path that is not the best one | ");
        assert_eq!(each(routes.memory() - whole), further);
        assert_eq!(number_behind(page, "and each further path of a route "), further);
    }
    let mut blocks: Interned<crate::known::Known> = Interned::new([1, 2]);
    for number in 0..COUNT {
        let known = || crate::known::Known::new(&[], Default::default());
        blocks.intern(&number.to_be_bytes(), known).expect("a number");
    }
    let set = number_behind(readme, "| a set of attributes | ");
    let measured = each(blocks.memory()) - 4.0;
    assert!(index.contains(&(measured - set)), "{measured} bytes of attributes, not {set}");
    assert_eq!(number_behind(page, "**sets of attributes**: "), set);
    let entry =
        number_behind(readme, "| an entry of the log of changes, until all groups have read it | ");
    assert_eq!(entry, 4.0);
}
