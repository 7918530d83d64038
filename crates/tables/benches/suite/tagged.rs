//! An index by hashes at capacity, in batches of 256 as a data path has them: 10 thousand to 100
//! million entries, as far as memory allows.
//!
//! `hit` asks for the candidate of random entries that are held, `miss` finds out that others are
//! not, and `turn` removes a random entry and adds a new one: what a session that comes and goes
//! costs. The caller's records are not part of it: a number is the key's own. Time is per hash.

use std::time::{Duration, Instant};

use crate::support::{BATCH, Random, is_measuring};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group};
use tables::hash::Keyed;
use tables::tagged::Tagged;

fn indexes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tagged");
    group.throughput(Throughput::Elements(1));
    let sizes: &[usize] =
        if is_measuring() { &[10_000, 1_000_000, 10_000_000, 100_000_000] } else { &[10_000] };
    for &entries in sizes {
        if 12 * entries as u64 > machine::memory::available().bytes {
            println!("skipped: {entries} entries; there is no free memory for as many");
            continue;
        }
        let mut held = Held::new(entries);
        look_ups(&mut group, &held, "hit", |random| random.below(entries) as u64);
        look_ups(&mut group, &held, "miss", |random| random.next() | 1 << 63);
        turns(&mut group, &mut held);
        // As many have come and gone as are held; those that are there now.
        held.turn(entries);
        let keys = held.keys.clone();
        look_ups(&mut group, &held, "later-hit", |random| keys[random.below(entries)]);
        look_ups(&mut group, &held, "later-miss", |random| random.next() | 1 << 63);
    }
    group.finish();
}

/// An index at capacity, and the keys that are the caller's records.
struct Held {
    index: Tagged,
    keyed: Keyed,
    /// By number.
    keys: Vec<u64>,
    random: Random,
    next: u64,
}

impl Held {
    fn new(entries: usize) -> Held {
        let mut index = Tagged::with_capacity(entries).expect("memory is to be had");
        let keyed = Keyed::new([1, 2]);
        for number in 0..entries as u64 {
            index.insert(keyed.of2(number, 0), number as u32).expect("it was made for as many");
        }
        let keys = (0..entries as u64).collect();
        Held { index, keyed, keys, random: Random(3), next: entries as u64 }
    }

    /// Removes as many random entries, and adds others in their place.
    fn turn(&mut self, turns: usize) {
        let mut numbers = [0; BATCH];
        for _ in 0..turns.div_ceil(BATCH) {
            for number in &mut numbers {
                *number = self.random.below(self.keys.len());
            }
            for (at, &number) in numbers.iter().enumerate() {
                self.index.prefetch(self.keyed.of2(self.keys[number], 0));
                self.index.prefetch(self.keyed.of2(self.next + at as u64, 0));
            }
            for number in numbers {
                let old = std::mem::replace(&mut self.keys[number], self.next);
                assert!(self.index.remove(self.keyed.of2(old, 0), number as u32));
                let added = self.index.insert(self.keyed.of2(self.next, 0), number as u32);
                added.expect("one was removed");
                self.next += 1;
            }
        }
    }
}

fn look_ups(
    group: &mut BenchmarkGroup<'_, WallTime>,
    held: &Held,
    name: &str,
    key: impl Fn(&mut Random) -> u64,
) {
    let entries = held.index.len();
    let mut random = Random(1);
    let count = entries.next_multiple_of(BATCH).clamp(64 * BATCH, 4096 * BATCH);
    let hashes: Vec<u64> = (0..count).map(|_| held.keyed.of2(key(&mut random), 0)).collect();
    let of_batch = if name.ends_with("hit") { sum_of_hits } else { sum_of_misses };
    group.bench_function(BenchmarkId::new(name, entries), |bencher| {
        bencher.iter_custom(|iterations| {
            let rounds = iterations.div_ceil(BATCH as u64) as usize;
            let mut sum = 0;
            let start = Instant::now();
            for batch in hashes.chunks_exact(BATCH).cycle().take(rounds) {
                sum += of_batch(&held.index, batch);
            }
            std::hint::black_box(sum);
            per_hash(start.elapsed(), iterations)
        });
    });
    let sum: u64 = hashes.chunks_exact(BATCH).map(|batch| of_batch(&held.index, batch)).sum();
    let elsewhere = hashes.iter().filter(|&&hash| held.index.may_be_elsewhere(hash)).count();
    let shares = elsewhere as f64 / hashes.len() as f64;
    let bytes = held.index.bytes();
    println!("{name}, {entries} entries, {bytes} bytes, {shares:.4} elsewhere: checksum {sum}");
}

fn turns(group: &mut BenchmarkGroup<'_, WallTime>, held: &mut Held) {
    let entries = held.index.len();
    group.bench_function(BenchmarkId::new("turn", entries), |bencher| {
        bencher.iter_custom(|iterations| {
            let start = Instant::now();
            held.turn(iterations as usize);
            per_hash(start.elapsed(), iterations)
        });
    });
    println!("turn, {entries} entries: {} keys so far", held.next);
}

/// A data path's steps for sessions that are there; what follows is the caller's look at its
/// record.
#[inline(never)]
fn sum_of_hits(index: &Tagged, hashes: &[u64]) -> u64 {
    hashes.iter().for_each(|&hash| index.prefetch(hash));
    hashes.iter().map(|&hash| u64::from(index.candidate(hash).unwrap_or(u32::MAX))).sum()
}

/// And for new ones, which must be known to be new.
#[inline(never)]
fn sum_of_misses(index: &Tagged, hashes: &[u64]) -> u64 {
    hashes.iter().for_each(|&hash| index.prefetch(hash));
    let is_new = |&hash: &u64| index.candidate(hash).is_none() && is_nowhere(index, hash);
    hashes.iter().map(|hash| u64::from(is_new(hash))).sum()
}

#[inline(always)]
fn is_nowhere(index: &Tagged, hash: u64) -> bool {
    !index.may_be_elsewhere(hash) || index.find(hash, |_| false).is_none()
}

/// The share of `elapsed` that belongs to the hashes asked for.
fn per_hash(elapsed: Duration, hashes: u64) -> Duration {
    let done = hashes.div_ceil(BATCH as u64) * BATCH as u64;
    elapsed.mul_f64(hashes as f64 / done as f64)
}

criterion_group!(benches, indexes);
