//! What can only be seen from within: that counts and marks tell where entries are, how many are
//! away at several loads, and how far a table can be filled.

use super::*;
use crate::hash::Keyed;

/// Checks that the counts of every home are those of its entries that are away, and `len` that of
/// all.
fn check(index: &Tagged) {
    let mut away = vec![[0; 8]; index.buckets.len()];
    let mut held = 0;
    for (at, bucket) in index.buckets.iter().enumerate() {
        for (mark, _) in (0..SLOTS).filter_map(|slot| bucket.entry(slot)) {
            held += 1;
            if mark & AWAY != 0 {
                away[index.other(at, mark & TAG)][usize::from(mark & 7)] += 1;
            }
        }
    }
    assert_eq!(held, index.len);
    for (bucket, away) in index.buckets.iter().zip(&away) {
        for (tag, &expected) in (0..).zip(away) {
            assert_eq!(bucket.away(tag), expected);
        }
    }
}

/// Shares of entries that are away, and of homes-and-tags that may have one, in thousandths.
fn away(index: &Tagged) -> (usize, usize) {
    let homes = || index.buckets.iter().flat_map(|bucket| (0..8).map(|tag| bucket.away(tag)));
    let entries: u32 = homes().sum();
    let counts = homes().filter(|&away| away > 0).count();
    (1000 * entries as usize / index.len, 1000 * counts / (8 * index.buckets.len()))
}

fn hash(key: u64) -> u64 {
    Keyed::new([1, 2]).of2(key, 0)
}

/// An index of so many slots that takes entries until none finds a place.
fn unlimited(slots: usize) -> Tagged {
    let mut index = Tagged::with_capacity(slots * 2 / 3).expect("a few MB are to be had");
    index.capacity = usize::MAX;
    index
}

#[test]
fn the_other_bucket_leads_back_and_is_another() {
    for entries in [0, 1, 7, 13, 14, 100, 1000, 99_999] {
        let index = Tagged::with_capacity(entries).expect("a MB is to be had");
        for bucket in 0..index.buckets.len() {
            for tag in [0, 1, 2, 77, 0x1234, 0x7ffe, TAG] {
                let other = index.other(bucket, tag);
                assert_ne!(other, bucket);
                assert_eq!(index.other(other, tag), bucket);
            }
        }
    }
}

#[test]
fn few_entries_are_away_and_few_misses_look_for_them() {
    const SLOTS_IN_ALL: usize = 600_000;
    for (percent, most) in [(50, 30), (60, 70), (67, 100), (75, 160), (80, 250)] {
        let mut index = unlimited(SLOTS_IN_ALL);
        let mut next = 0;
        while index.len < SLOTS_IN_ALL * percent / 100 {
            assert_eq!(index.insert(hash(next), next as u32), Ok(()));
            next += 1;
        }
        let came = away(&index);
        // As many again come and go.
        let first = next - index.len as u64;
        for old in first..first + 2 * index.len as u64 {
            assert!(index.remove(hash(old), old as u32));
            assert_eq!(index.insert(hash(next), next as u32), Ok(()));
            next += 1;
        }
        let stayed = away(&index);
        println!("{percent} %: away {came:?} per mille of entries, of misses; later {stayed:?}");
        assert!(came.0 <= stayed.0 && stayed.0 <= most, "{percent} %: {came:?}, {stayed:?}");
        assert!(stayed.1 < stayed.0, "{percent} %: {stayed:?}");
        check(&index);
    }
}

#[test]
fn only_a_table_that_is_nearly_full_refuses() {
    for slots in [20, 40, 200, 60_000] {
        let mut index = unlimited(slots);
        let slots = index.buckets.len() * SLOTS;
        let mut key = 0;
        while index.insert(hash(key), key as u32).is_ok() {
            key += 1;
        }
        println!("{} of {slots} slots", index.len);
        assert!(index.len * 100 >= slots * 93, "{} of {slots} slots", index.len);
        check(&index);
        for key in 0..key {
            assert_eq!(index.find(hash(key), |number| number == key as u32), Some(key as u32));
        }
        for key in 0..key {
            assert!(index.remove(hash(key), key as u32));
        }
        check(&index);
        assert!(index.buckets.iter().all(|bucket| bucket.vacant() == Some(0)));
    }
}

#[test]
fn entries_of_one_home_and_count_are_refused_beyond_25() {
    let mut index = unlimited(60_000);
    // The same home and lowest three bits, other buckets of their own.
    let hash = |number: u32| u64::from(number) << 3;
    for number in 0..25 {
        assert_eq!(index.insert(hash(number), number), Ok(()));
    }
    let full = Full { len: 25, capacity: usize::MAX };
    assert_eq!(index.insert(hash(25), 25), Err(full));
    check(&index);
    // One of another count moves nothing of them, but finds its other bucket.
    assert_eq!(index.insert(1, 26), Ok(()));
    assert!((0..25).all(|number| index.find(hash(number), |held| held == number).is_some()));
    check(&index);
}
