//! The classifier against a linear search: rule sets like ClassBench's, ClassBench's own where they
//! are, random rules over odd fields, and updates in any order.

#[path = "../../benches/suite/classifier/rules.rs"]
mod rules;

mod classbench;

use proptest::prelude::*;
use rules::{Kind, header, rules, widened, widened_header};
use tables::classifier::five_tuple::{FIELDS_V4, FIELDS_V6};
use tables::classifier::{Classifier, Condition, Field, NO_MATCH, RULES_MAX, Refused};
use tables::oracle::Rules;

use crate::random::Random;

/// A classifier and its twin, which are given the same.
struct Both<const KEY: usize> {
    fields: Vec<Field>,
    fast: Classifier<KEY>,
    slow: Rules,
}

impl<const KEY: usize> Both<KEY> {
    fn new(fields: &[Field], rules_max: usize) -> Both<KEY> {
        let fast = Classifier::new(fields, rules_max).expect("memory is to be had");
        let fast = fast.with_at_hand(KEY.min(8));
        Both { fields: fields.to_vec(), fast, slow: Rules::default() }
    }

    fn insert(&mut self, precedence: u32, rule: &[Condition], value: u32) {
        let old = self.slow.insert(precedence, rule, value);
        assert_eq!(self.fast.insert(precedence, rule, value), Ok(old), "{precedence} {rule:?}");
    }

    fn remove(&mut self, precedence: u32) {
        assert_eq!(self.fast.remove(precedence), self.slow.remove(precedence), "{precedence}");
    }

    /// All keys at once and each alone.
    fn compare(&self, keys: &[[u8; KEY]]) {
        let mut values = vec![0; keys.len()];
        self.fast.classify_batch(keys, &mut values);
        if let Some(answer) = self.fast.answer_to_all() {
            assert!(values.iter().all(|&value| value == answer), "{answer} for all keys");
        }
        for (key, &value) in keys.iter().zip(&values) {
            let expected = self.slow.classify(&self.fields, key);
            assert_eq!(Some(value).filter(|&value| value != NO_MATCH), expected, "{key:02x?}");
            assert_eq!(self.fast.classify(key), expected, "{key:02x?}");
            let glance = self.fast.glance();
            if let Some(answer) = glance.and_then(|glance| glance.answer(key[glance.at()])) {
                assert_eq!(answer, value, "{key:02x?} at a glance");
            }
        }
    }
}

#[test]
fn generated_sets_of_ipv4_and_ipv6_match_as_a_linear_search() {
    for (kind, count) in
        Kind::ALL.into_iter().flat_map(|kind| [60, 100, 250, 1000].map(|n| (kind, n)))
    {
        let seed = 0x5eed_0005 + count as u64;
        println!("{kind:?}, {count} rules, seed {seed:#x}");
        let rules = rules(kind, count, seed);
        let mut v4 = Both::new(&FIELDS_V4, count);
        // With room for more, so that rules fill a part of the rows.
        let mut v6 = Both::new(&FIELDS_V6, count + 260);
        for (precedence, rule) in rules.iter().enumerate() {
            v4.insert(precedence as u32, &rule.conditions(), precedence as u32);
            v6.insert(precedence as u32, &widened(rule).conditions(), precedence as u32);
        }
        let mut random = Random(seed);
        let headers: Vec<_> = (0..1000).map(|_| header(&mut random, &rules)).collect();
        v4.compare(&headers.iter().map(|header| header.key()).collect::<Vec<_>>());
        v6.compare(&headers.iter().map(|header| widened_header(header).key()).collect::<Vec<_>>());
    }
}

#[test]
fn rules_come_and_go_in_any_order() {
    let seed = 0x5eed_0006;
    println!("seed {seed:#x}");
    let mut random = Random(seed);
    let kinds =
        [(Kind::Acl, 60, 0), (Kind::Acl, 120, 300), (Kind::Fw, 130, 0), (Kind::Ipc, 700, 0)];
    for (kind, count, room) in kinds {
        let rules = rules(kind, count, seed);
        let mut both = Both::new(&FIELDS_V4, count + room);
        for round in 0..6 * count {
            // More removals than additions in the second half, so that it empties again.
            let precedence = random.below(count);
            if random.below(6 * count) > round {
                both.insert(precedence as u32, &rules[precedence].conditions(), round as u32);
            } else {
                both.remove(precedence as u32);
            }
            if round % (count / 10) == 0 {
                let keys: Vec<_> = (0..50).map(|_| header(&mut random, &rules).key()).collect();
                both.compare(&keys);
            }
        }
        for precedence in 0..count as u32 {
            both.remove(precedence);
        }
        assert!(both.fast.is_empty());
        both.compare(&[[0; 13], [0xff; 13]]);
    }
}

#[test]
fn a_look_up_that_is_over_early_says_the_same() {
    // Hosts at some ports, and behind them all else; then one more that is for every source.
    let exactly = |value| Condition::Masked { value, mask: u128::MAX };
    let any = [Condition::Any; 5];
    let mut both = Both::new(&FIELDS_V4, 1000);
    let mut random = Random(0x5eed_0007);
    for count in [3, 60, 120, 240, 480, 700] {
        for number in 0..count as u128 {
            let ports = Condition::Range { first: 100, last: 300 + number as u16 };
            let rule = [exactly(0x0a00_0000 + number), any[0], any[0], ports, exactly(17)];
            both.insert(number as u32, &rule, number as u32);
        }
        both.insert(count as u32, &any, 5000);
        let keys: Vec<[u8; 13]> = (0..200)
            .map(|_| {
                let mut key = [0; 13];
                key[0] = 10;
                key[2] = random.below(3) as u8;
                key[3] = random.below(256) as u8;
                key[10] = random.below(4) as u8;
                key[11] = random.below(256) as u8;
                key[12] = [6, 17][random.below(2)];
                key
            })
            .collect();
        both.compare(&keys);
        let glance = both.fast.glance().expect("hosts of one network");
        assert_eq!((glance.at(), glance.answer(11)), (0, Some(5000)), "no rule is for 11.0.0.0/8");
        assert_eq!(glance.answer(10), None);
        let before_all = [any[0], any[0], exactly(53), any[0], any[0]];
        both.insert(count as u32 + 1, &any, 6000);
        both.remove(count as u32);
        both.insert(2, &before_all, 7000);
        both.compare(&keys);
        both.remove(2);
        both.compare(&keys);
    }
}

#[test]
fn rules_that_ask_nothing_have_one_answer() {
    let any = [Condition::Any; 5];
    let mut both = Both::new(&FIELDS_V4, 100);
    assert_eq!(both.fast.answer_to_all(), Some(NO_MATCH));
    both.insert(9, &any, 7);
    both.insert(8, &[Condition::Masked { value: 0, mask: 0 }; 5], 6);
    assert_eq!(both.fast.answer_to_all(), Some(6));
    let protocol = Condition::Masked { value: 17, mask: 0xff };
    both.insert(3, &[any[0], any[0], any[0], any[0], protocol], 5);
    assert_eq!(both.fast.answer_to_all(), None);
    both.compare(&[[0; 13], [17; 13]]);
    both.remove(3);
    assert_eq!(both.fast.answer_to_all(), Some(6));
    both.compare(&[[0; 13], [17; 13]]);
}

#[test]
fn a_refused_update_changes_nothing() {
    let rules = rules(Kind::Fw, 64, 7);
    let mut both = Both::new(&FIELDS_V4, 64);
    for (precedence, rule) in rules.iter().enumerate() {
        both.insert(2 * precedence as u32, &rule.conditions(), precedence as u32);
    }
    let bytes = both.fast.bytes();
    let any = [Condition::Any; 5];
    assert_eq!(both.fast.insert(1, &any, 9), Err(Refused::Full { rules_max: 64 }));
    assert_eq!(both.fast.insert(2, &any, NO_MATCH), Err(Refused::Value));
    let refused = Refused::Conditions { conditions: 4, fields: 5 };
    assert_eq!(both.fast.insert(2, &any[..4], 9), Err(refused));
    for (at, condition) in [
        (0, Condition::Range { first: 1, last: 2 }),
        (2, Condition::Range { first: 2, last: 1 }),
        (4, Condition::Range { first: 2, last: 256 }),
    ] {
        let mut rule = any;
        rule[at] = condition;
        assert_eq!(both.fast.insert(2, &rule, 9), Err(Refused::Unsuitable { at }));
    }
    assert_eq!(both.fast.remove(1), None);
    let mut random = Random(7);
    both.compare(&(0..500).map(|_| header(&mut random, &rules).key()).collect::<Vec<_>>());
    assert_eq!((both.fast.len(), both.fast.bytes()), (64, bytes));
    // A replacement needs no room.
    both.insert(2, &any, 9);
    both.compare(&(0..500).map(|_| header(&mut random, &rules).key()).collect::<Vec<_>>());
}

#[test]
fn an_empty_one_matches_nothing_and_a_rule_without_conditions_everything() {
    let mut both = Both::<13>::new(&FIELDS_V4, 1000);
    both.compare(&[[0; 13], [0xff; 13], [7; 13]]);
    both.insert(u32::MAX, &[Condition::Any; 5], 0);
    both.compare(&[[0; 13], [0xff; 13], [7; 13]]);
    assert_eq!(both.fast.classify(&[7; 13]), Some(0));
    assert!(Classifier::<13>::new(&FIELDS_V4, RULES_MAX + 1).is_err());
    let mut none = Classifier::<13>::new(&FIELDS_V4, 0).expect("memory is to be had");
    let full = Err(Refused::Full { rules_max: 0 });
    assert_eq!(none.insert(0, &[Condition::Any; 5], 0), full);
    assert_eq!(none.classify(&[0; 13]), None);
}

#[test]
#[should_panic(expected = "fields of 12 bytes for a key of 13")]
fn fields_that_are_not_the_key_are_a_mistake() {
    let _ = Classifier::<13>::new(&[Field::Masked(6), Field::Masked(6)], 1);
}

/// MAC addresses, VLAN, Ethertype and a flag: what a switch would ask for.
const SWITCH: [Field; 5] =
    [Field::Masked(6), Field::Masked(6), Field::Ranged, Field::Masked(2), Field::Masked(1)];

/// Few values, so that rules meet.
fn condition(field: Field) -> BoxedStrategy<Condition> {
    let number = prop::sample::select(vec![0u16, 1, 2, 99, 255, 256, 257, 511, 512, 4094, 65535]);
    let range = (number.clone(), number)
        .prop_map(|(one, other)| Condition::Range { first: one.min(other), last: one.max(other) });
    let bits =
        prop::sample::select(vec![0u128, 1, 0xff, 0x100, 0x0200_0000_0001, 0xffff_ffff_ffff]);
    let masked = (bits.clone(), bits).prop_map(|(value, mask)| Condition::Masked { value, mask });
    let small = (0..4u16, 0..256u16)
        .prop_map(|(first, more)| Condition::Range { first, last: (first + more).min(255) });
    match field {
        Field::Ranged => prop_oneof![Just(Condition::Any), range, masked].boxed(),
        Field::Masked(1) => prop_oneof![Just(Condition::Any), small, masked].boxed(),
        Field::Masked(_) => prop_oneof![Just(Condition::Any), masked].boxed(),
    }
}

fn rule() -> impl Strategy<Value = Vec<Condition>> {
    SWITCH.map(condition).into_iter().collect::<Vec<_>>()
}

proptest! {
    #[test]
    fn any_rules_over_any_fields_match_as_a_linear_search(
        operations in prop::collection::vec((0..40u32, prop::option::weighted(0.8, rule())), 1..60),
        keys in prop::collection::vec(
            prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 3, 0x10, 0xfe, 0xff]), 17), 40),
    ) {
        let mut both = Both::<17>::new(&SWITCH, 130);
        let keys: Vec<[u8; 17]> = keys.into_iter().filter_map(|key| key.try_into().ok()).collect();
        for (number, (precedence, rule)) in operations.into_iter().enumerate() {
            match rule {
                Some(rule) => both.insert(precedence, &rule, number as u32),
                None => both.remove(precedence),
            }
            both.compare(&keys);
        }
    }
}
