//! The index by hashes against `HashMap`: random operations with few hashes on small tables, where
//! buckets fill and entries move, forged hashes, and long runs at capacity.

use std::collections::HashMap;

use proptest::prelude::*;
use tables::hash::Keyed;
use tables::tagged::{Full, Tagged};

#[derive(Clone, Debug)]
enum Operation {
    Insert(u64, u32),
    Remove(u64, u32),
    Replace(u64, u32, u32),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    // Few hashes and numbers, so that operations meet.
    let (key, number) = (0..HASHES, 0..NUMBERS);
    let two = (key.clone(), number.clone());
    let three = (key, number.clone(), number);
    let operation = prop_oneof![
        6 => two.clone().prop_map(|(key, n)| Operation::Insert(key, of(key, n))),
        2 => two.prop_map(|(key, n)| Operation::Remove(key, of(key, n))),
        1 => three.prop_map(|(key, n, m)| Operation::Replace(key, of(key, n), of(key, m))),
    ];
    prop::collection::vec(operation, 1..600)
}

/// The records of different keys are different ones, also where their hashes are not.
fn of(key: u64, number: u32) -> u32 {
    key as u32 * NUMBERS + number
}

const HASHES: u64 = 40;
const NUMBERS: u32 = 30;

/// The slow twin: all numbers of every hash.
type Slow = HashMap<u64, Vec<u32>>;

/// Does to both what `operations` say, and compares every answer, then everything.
fn compare(capacity: usize, operations: Vec<Operation>, hash: impl Fn(u64) -> u64) {
    let mut fast = Tagged::with_capacity(capacity).expect("memory is to be had");
    let mut slow = Slow::new();
    let mut len = 0;
    for operation in operations {
        match operation {
            Operation::Insert(key, number) => match fast.insert(hash(key), number) {
                Ok(()) => {
                    slow.entry(hash(key)).or_default().push(number);
                    len += 1;
                    assert!(len <= capacity);
                }
                Err(full) => {
                    assert_eq!(full, Full { len, capacity });
                    // Short of that, two buckets are full, or one and its count.
                    assert!(len >= capacity.min(20), "{len} of {capacity}");
                }
            },
            Operation::Remove(key, number) => {
                let removed = take(&mut slow, hash(key), number);
                assert_eq!(fast.remove(hash(key), number), removed);
                len -= usize::from(removed);
            }
            Operation::Replace(key, old, new) => {
                let replaced = take(&mut slow, hash(key), old);
                if replaced {
                    slow.entry(hash(key)).or_default().push(new);
                }
                assert_eq!(fast.replace(hash(key), old, new), replaced);
            }
        }
        assert_eq!((fast.len(), fast.is_empty()), (len, len == 0));
    }
    for key in 0..HASHES {
        assert_same_under(&fast, &slow, hash(key));
    }
}

fn take(slow: &mut Slow, hash: u64, number: u32) -> bool {
    let numbers = slow.entry(hash).or_default();
    let at = numbers.iter().position(|&held| held == number);
    at.map(|at| numbers.swap_remove(at)).is_some()
}

/// The index shows all numbers of a hash, perhaps more whose tags are equal; a number whose record
/// says that it is of this hash is found if and only if it is held.
fn assert_same_under(fast: &Tagged, slow: &Slow, hash: u64) {
    let none = Vec::new();
    let held = slow.get(&hash).unwrap_or(&none);
    let mut shown = Vec::new();
    assert_eq!(
        fast.find(hash, |number| {
            shown.push(number);
            false
        }),
        None
    );
    for &number in held {
        let at = shown.iter().position(|&other| other == number);
        shown.swap_remove(at.expect("every number that is held is shown"));
    }
    let of_others: Vec<u32> = slow.values().flatten().copied().collect();
    assert!(shown.iter().all(|number| of_others.contains(number)));
    for number in 0..HASHES as u32 * NUMBERS {
        let expected = held.contains(&number).then_some(number);
        if expected.is_some() || !shown.contains(&number) {
            assert_eq!(fast.find(hash, |candidate| candidate == number), expected);
        }
    }
    match fast.candidate(hash) {
        None => assert!(held.is_empty() || fast.may_be_elsewhere(hash)),
        Some(number) => assert!(of_others.iter().any(|&held| held >= number)),
    }
    if !fast.may_be_elsewhere(hash) {
        let all = held.iter().fold(u32::MAX, |and, number| and & number);
        let candidate = fast.candidate(hash).unwrap_or(u32::MAX);
        assert_eq!(candidate & all, candidate, "the numbers of equal tags, and-ed");
    }
}

proptest! {
    #[test]
    fn spread_hashes_are_those_of_a_map(capacity in 0..60usize, seed: u64, operations in operations()) {
        let keyed = Keyed::new([seed, 1]);
        compare(capacity, operations, |key| keyed.of2(key, key));
    }

    #[test]
    fn hashes_of_one_home_are_those_of_a_map(capacity in 0..200usize, operations in operations()) {
        compare(capacity, operations, |key| key);
    }

    #[test]
    fn hashes_of_one_tag_are_those_of_a_map(capacity in 0..200usize, operations in operations()) {
        compare(capacity, operations, |key| key << 58);
    }

    #[test]
    fn one_hash_is_that_of_a_map(capacity in 0..60usize, hash: u64, operations in operations()) {
        compare(capacity, operations, |_| hash);
    }
}

#[test]
fn forged_hashes_are_refused_and_harm_no_others() {
    let mut index = Tagged::with_capacity(10_000).expect("memory is to be had");
    let forged = 0x1234_5678_9abc_def0;
    let taken = (0..1_000_000).filter(|&number| index.insert(forged, number).is_ok()).count();
    assert_eq!((taken, index.len()), (20, 20));
    let refused = index.insert(forged, 1).expect_err("both buckets are full");
    assert_eq!(refused, Full { len: 20, capacity: 10_000 });
    assert!(refused.to_string().contains("20 are held"), "{refused}");
    let keyed = Keyed::new([3, 4]);
    for number in 20..10_000 {
        assert_eq!(index.insert(keyed.of2(number.into(), 0), number), Ok(()));
    }
    for number in 20..10_000 {
        let hash = keyed.of2(number.into(), 0);
        assert_eq!(index.find(hash, |held| held == number), Some(number));
    }
    for number in 0..20 {
        assert!(index.remove(forged, number) && !index.remove(forged, number));
    }
    assert_eq!(index.insert(forged, 5), Ok(()));
}

#[test]
fn a_refused_entry_changes_nothing() {
    // Two buckets, so that everything is in either of them.
    let mut index = Tagged::with_capacity(13).expect("memory is to be had");
    let keyed = Keyed::new([5, 6]);
    for number in 0..13 {
        assert_eq!(index.insert(keyed.of2(number.into(), 0), number), Ok(()));
    }
    for number in 13..1000 {
        let refused = index.insert(keyed.of2(number.into(), 0), number);
        assert_eq!(refused, Err(Full { len: 13, capacity: 13 }));
        assert_eq!(index.find(keyed.of2(number.into(), 0), |held| held == number), None);
    }
    for number in 0..13 {
        assert_eq!(index.find(keyed.of2(number.into(), 0), |held| held == number), Some(number));
    }
}

/// Fills a table, then replaces a random entry by a new one many times: what years of sessions that
/// come and go leave behind. No hash that is spread evenly is ever refused below capacity.
#[test]
fn a_table_at_capacity_stays_right_while_entries_come_and_go() {
    let (entries, steps, seed) = (5_000, 200_000, 0x5eed_0002);
    println!("seed {seed:#x}");
    let keyed = Keyed::new([seed, 0]);
    let mut index = Tagged::with_capacity(entries).expect("memory is to be had");
    // The caller's records: the key of every number.
    let mut records: Vec<u64> = Vec::new();
    let mut elsewhere = 0;
    for step in 0..(entries + steps) as u64 {
        let hash = keyed.of2(step, 0);
        if records.len() < entries {
            assert_eq!(index.insert(hash, records.len() as u32), Ok(()));
            records.push(step);
            continue;
        }
        assert!(index.insert(hash, 0).is_err());
        let number = (keyed.of2(step, 1) % entries as u64) as u32;
        let old = keyed.of2(records[number as usize], 0);
        assert!(index.remove(old, number) && !index.remove(old, number));
        assert_eq!(index.insert(hash, number), Ok(()));
        records[number as usize] = step;
        let is = |number: u32| records[number as usize] == step;
        index.prefetch(hash);
        elsewhere += usize::from(index.candidate(hash) != Some(number));
        assert_eq!(index.find(hash, is), Some(number));
    }
    println!("{elsewhere} of {steps} were not in their home");
    assert!(elsewhere * 100 < steps * 12, "{elsewhere} of {steps} were not in their home");
    for (number, &key) in (0..).zip(&records) {
        let is = |number: u32| records[number as usize] == key;
        assert_eq!(index.find(keyed.of2(key, 0), is), Some(number));
    }
}

#[test]
fn extreme_hashes_and_numbers_are_like_any_other() {
    let mut index = Tagged::with_capacity(100).expect("memory is to be had");
    for (hash, number) in [(0, 0), (u64::MAX, u32::MAX - 1), (1 << 63, 1), (u64::MAX >> 1, 2)] {
        assert_eq!(index.candidate(hash), None);
        assert!(!index.replace(hash, number, 3) && !index.remove(hash, number));
        assert_eq!(index.insert(hash, number), Ok(()));
        assert_eq!(index.candidate(hash), Some(number));
        assert_eq!(index.find(hash, |held| held == number), Some(number));
    }
    assert!(!index.remove(0, u32::MAX) && !index.replace(0, u32::MAX, 1));
    assert!(index.replace(0, 0, 9));
    assert_eq!(index.candidate(0), Some(9));
}

#[test]
fn sizes_are_what_the_documentation_says() {
    let bytes = |entries| Tagged::with_capacity(entries).expect("memory is to be had").bytes();
    assert_eq!((bytes(0), bytes(13), bytes(14)), (128, 128, 256));
    assert_eq!(bytes(1_000_000), 9_600_000);
    let index = Tagged::with_capacity(1000).expect("memory is to be had");
    assert_eq!((index.capacity(), index.len(), index.is_empty()), (1000, 0, true));
    assert!(Tagged::with_capacity(1 << 40).is_err());
}

#[test]
#[should_panic(expected = "no number")]
fn the_number_that_means_none_is_refused() {
    let mut index = Tagged::with_capacity(4).expect("memory is to be had");
    let _ = index.insert(1, u32::MAX);
}

#[test]
#[should_panic(expected = "no number")]
fn no_entry_is_given_the_number_that_means_none() {
    let mut index = Tagged::with_capacity(4).expect("memory is to be had");
    let _ = index.replace(1, 1, u32::MAX);
}
