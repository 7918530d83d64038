//! Parts of the oracle beside what they judge, on inputs that walks of frames meet seldom.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use function_cgnat::alg::{Edited, List, Shifts, Side};
use function_cgnat::config::{Assignment, Config, DeterministicRule, Prefixed, deterministic_plan};
use function_cgnat::deterministic::Owner;
use model_cgnat::oracle::deterministic::Plan;
use model_cgnat::oracle::sequences::{Replaced, Sequences};
use testkit::random::Random;

/// Both have the same ports for every subscriber, and the same subscriber for every port.
#[test]
fn deterministic_rules_mean_the_same_to_both() {
    let mut random = Random::new(SEED);
    let mut refused = 0;
    for number in 0..60 {
        let rules: Vec<_> = (0..3).map(|realm| rule(&mut random, realm)).collect();
        let config = Config { deterministic: rules, ..Config::default() };
        let Ok(plan) = deterministic_plan(&config.deterministic) else {
            refused += 1;
            continue;
        };
        let slow = Plan::new(&config);
        for rule in &config.deterministic {
            let first = rule.inside.address.to_bits();
            for inside in first - 1..=first + (1 << (32 - rule.inside.len)) {
                let inside = Ipv4Addr::from_bits(inside);
                let fast = plan.forward(rule.realm, inside);
                let ports = fast.map(|block| (0..block.len).map(|n| block.nth(n)).collect());
                let given = slow.forward(rule.realm, inside).map(|it| (it.outside, it.ports));
                assert_eq!(fast.map(|block| block.outside).zip(ports), given, "{number}: {inside}");
            }
            let first = rule.outside.address.to_bits();
            for outside in first - 1..=first + (1 << (32 - rule.outside.len)) {
                let outside = Ipv4Addr::from_bits(outside);
                let shared = plan.dynamic(outside);
                let ports = shared
                    .map(|block| (0..block.len).map(|n| block.nth(n)).collect::<BTreeSet<_>>());
                assert_eq!(ports.unwrap_or_default(), slow.shared(outside), "{number}: {outside}");
                for _ in 0..100 {
                    let port = rule.first_port.wrapping_add(random.below(700) as u16);
                    let owner = match plan.reverse(outside, port) {
                        Some(Owner::Subscriber { inside, .. }) => Some(inside),
                        _ => None,
                    };
                    assert_eq!(owner, slow.reverse(outside, port), "{number}: {outside}:{port}");
                }
            }
        }
    }
    assert!(refused < 30, "{refused} of 60 are no rules");
}

/// A rule of a realm with addresses of its own.
fn rule(random: &mut Random, realm: u16) -> DeterministicRule {
    let network = |first: u8, len: usize| Prefixed {
        address: Ipv4Addr::new(first, realm as u8, 0, 8 * (len > 28) as u8),
        len: len as u8,
    };
    let inside = network(10, 24 + random.below(8));
    let first_port = 1 + random.below(40_000) as u16;
    let kinds = [Assignment::Sequential, Assignment::Staggered, Assignment::Filled];
    DeterministicRule {
        realm,
        inside,
        outside: network(198, 28 + random.below(5)),
        skip_boundary: inside.len <= 30 && random.below(2) == 0,
        ports_per_subscriber: (random.below(3) == 0).then(|| 1 + random.below(4) as u16),
        dynamic_factor: random.below(3) as u16,
        first_port,
        last_port: first_port + 300 + random.below(900) as u16,
        assignment: *random.one_of(&kinds),
    }
}

/// Segments in any order, repeated, torn and far away, with texts that are longer or shorter; and
/// what is acknowledged of them.
#[test]
fn sequence_numbers_are_the_same_to_both() {
    let mut random = Random::new(SEED);
    let (mut edited, mut held, mut lost) = (0, 0, 0);
    for number in 0..4000 {
        let (mut fast, mut slow) = (Shifts::default(), Sequences::default());
        let first = random.bits() as u32;
        // Texts of the stream: where each begins, how long it was and is.
        let texts = [(); 12].map(|()| [1 + random.below(40), random.below(60)]);
        for step in 0..60 {
            let is_out = random.below(8) > 0;
            let side = if is_out { Side::Inside } else { Side::Outside };
            let place = format!("stream {number}, step {step}");
            match random.below(5) {
                0..3 => {
                    let at = if random.below(200) == 0 { random.bits() as u32 } else { 0 };
                    let begin = random.below(texts.len() * TEXT_EVERY);
                    let len = random.below(3 * TEXT_EVERY);
                    let texts = within(&texts, begin, len, &mut random);
                    let mut list = List::new();
                    for text in &texts {
                        let Replaced { at, was, is } = *text;
                        let one = Edited { at: at as u16, old_len: was, new_len: is };
                        list.push(one).expect("few");
                    }
                    let seq = first.wrapping_add(begin as u32).wrapping_add(at);
                    let found = fast.segment(side, seq, len, &list);
                    let told = slow.segment(is_out, seq, len, &texts);
                    let found =
                        (found.seq, found.is_edited, found.len, found.taken, found.is_whole);
                    let told = (told.seq, told.is_edited, told.len, told.taken, told.is_whole);
                    assert_eq!(found, told, "{place}: {seq} {len} {texts:?}");
                    edited += u32::from(found.1);
                    held += u32::from(!found.4);
                }
                3 => {
                    let ack = first.wrapping_add(random.below(900) as u32);
                    assert_eq!(fast.ack(side, ack), slow.ack(is_out, ack), "{place}: {ack}");
                }
                _ => {
                    let edges = [(); 2].map(|()| first.wrapping_add(random.below(900) as u32));
                    let mut block = edges.map(u32::to_be_bytes).concat();
                    let is_left = fast.sack(side, &mut block);
                    let told =
                        slow.block(is_out, edges).map(|it| it.map(u32::to_be_bytes).concat());
                    assert_eq!(is_left.then_some(block), told, "{place}: {edges:?}");
                    lost += u32::from(!is_left);
                }
            }
        }
    }
    assert!(edited > 5000 && held > 5000 && lost > 500, "{edited} {held} {lost}");
}

/// The texts that lie whole in a part of a stream; now and then one is not found.
fn within(texts: &[[usize; 2]], begin: usize, len: usize, random: &mut Random) -> Vec<Replaced> {
    let mut found = Vec::new();
    for (number, &[was, is]) in texts.iter().enumerate() {
        let at = number * TEXT_EVERY;
        if at >= begin && at + was <= begin + len && random.below(10) > 0 {
            found.push(Replaced { at: (at - begin) as u32, was: was as u16, is: is as u16 });
        }
    }
    found
}

/// A text begins every so many bytes.
const TEXT_EVERY: usize = 64;
const SEED: u64 = 0x2018_7422;
