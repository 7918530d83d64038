//! The exact-match index against `HashMap`: random operations on small tables, where buckets
//! overflow, wrap around the end and move back, and long runs at capacity.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

use proptest::prelude::*;
use tables::index::{Full, Index, Key};

use crate::random::Random;

#[derive(Clone, Debug)]
enum Operation {
    Insert(u64, u32),
    Remove(u64),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    // Few keys, so that operations meet; more of them than the largest table holds.
    let key = 0..120u64;
    let operation = prop_oneof![
        3 => (key.clone(), 0..u32::MAX).prop_map(|(key, value)| Operation::Insert(key, value)),
        2 => key.prop_map(Operation::Remove),
    ];
    prop::collection::vec(operation, 1..600)
}

/// Does to both what `operations` say, and compares every answer, then everything.
fn compare<K: Key + Hash>(
    capacity: usize,
    seed: u64,
    operations: impl IntoIterator<Item = Operation>,
    key: impl Fn(u64) -> K,
) {
    let mut fast = Index::with_capacity_and_seed(capacity, seed).expect("memory is to be had");
    let mut slow: HashMap<K, u32> = HashMap::new();
    for operation in operations {
        match operation {
            Operation::Insert(number, value) => {
                let key = key(number);
                let is_refused = slow.len() == capacity && !slow.contains_key(&key);
                let expected =
                    if is_refused { Err(Full { capacity }) } else { Ok(slow.insert(key, value)) };
                assert_eq!(fast.insert(key, value), expected);
            }
            Operation::Remove(number) => {
                let key = key(number);
                assert_eq!(fast.remove(key), slow.remove(&key));
            }
        }
        assert_eq!(fast.len(), slow.len());
    }
    for number in 0..200 {
        assert_eq!(fast.get(key(number)), slow.get(&key(number)).copied());
    }
    assert_same_entries(&fast, &slow);
}

fn assert_same_entries<K: Key + Hash>(fast: &Index<K>, slow: &HashMap<K, u32>) {
    assert_eq!(fast.iter().count(), slow.len());
    for (key, value) in fast.iter() {
        assert_eq!(slow.get(&key), Some(&value), "{key:?}");
    }
    for (&key, &value) in slow {
        let place = fast.bucket(key);
        fast.prefetch(place);
        assert_eq!(fast.get_at(place, key), Some(value), "{key:?}");
    }
}

proptest! {
    #[test]
    fn u32_keys_are_those_of_a_map(capacity in 0..100usize, seed: u64, operations in operations()) {
        compare(capacity, seed, operations, |number| number as u32);
    }

    #[test]
    fn u64_keys_are_those_of_a_map(capacity in 0..100usize, seed: u64, operations in operations()) {
        compare(capacity, seed, operations, |number| number << 40 | number);
    }
}

/// Fills a table, then replaces a random key by a new one `steps` times: what years of sessions
/// that come and go leave behind.
fn churn<K: Key + Hash + Debug>(keys: usize, steps: usize, key: impl Fn(u64) -> K) {
    let seed = 0x5eed_0001;
    println!("seed {seed:#x}");
    let mut random = Random(seed);
    let mut fast = Index::with_capacity(keys).expect("memory is to be had");
    let mut slow = HashMap::new();
    let mut held = Vec::new();
    for step in 0..keys + steps {
        if held.len() == keys {
            let key = held.swap_remove(random.below(keys));
            assert_eq!(fast.remove(key), slow.remove(&key));
            assert_eq!(fast.get(key), None);
        }
        let (key, value) = (key(random.next()), step as u32);
        assert_eq!(fast.insert(key, value), Ok(slow.insert(key, value)));
        if slow.len() > held.len() {
            held.push(key);
        }
    }
    assert_same_entries(&fast, &slow);
    assert_eq!(fast.insert(key(random.next()), 1), Err(Full { capacity: keys }));
    for key in held {
        assert_eq!(fast.remove(key), slow.remove(&key));
    }
    assert_eq!((fast.len(), fast.iter().count()), (0, 0));
}

#[test]
fn a_table_at_capacity_stays_right_while_keys_come_and_go() {
    churn(5_000, 50_000, |random| random as u32);
    churn(5_000, 50_000, |random| random);
}

#[test]
fn extreme_keys_and_values_are_like_any_other() {
    let mut index = Index::<u64>::with_capacity(4).expect("memory is to be had");
    for (key, value) in [(0, 0), (u64::MAX, u32::MAX - 1), (1 << 63, 1), (u64::MAX >> 1, 2)] {
        assert_eq!(index.get(key), None);
        assert_eq!(index.insert(key, value), Ok(None));
        assert_eq!(index.get(key), Some(value));
    }
    assert_eq!(index.insert(5, 5), Err(Full { capacity: 4 }));
    assert_eq!(index.insert(0, 7), Ok(Some(0)));
}

#[test]
fn sizes_are_what_the_documentation_says() {
    let bytes = |keys| Index::<u32>::with_capacity(keys).expect("memory is to be had").bytes();
    assert_eq!((bytes(0), bytes(4), bytes(5)), (64, 64, 128));
    assert_eq!(bytes(600_000), 9_600_000);
    let index = Index::<u64>::with_capacity(600_000).expect("memory is to be had");
    assert_eq!((index.bytes(), index.capacity()), (15_360_000, 600_000));
    assert!(Index::<u32>::with_capacity(1 << 40).is_err());
}

#[test]
#[should_panic(expected = "no value")]
fn the_value_that_means_none_is_refused() {
    let mut index = Index::<u32>::with_capacity(4).expect("memory is to be had");
    let _ = index.insert(1, u32::MAX);
}
