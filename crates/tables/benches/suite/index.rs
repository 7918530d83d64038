//! Look-ups in an index at capacity: batches of 256 random keys, 1 thousand to 10 million held.
//!
//! Keys are drawn at random from those held, a different batch each time, so what is measured is
//! what the caches hold of the table and not of a few keys. Time is per look-up.

use crate::support::{BATCH, Random, is_measuring};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group};
use tables::index::{Index, Key, Place};

fn look_ups(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("index");
    group.throughput(Throughput::Elements(1));
    let sizes: &[usize] =
        if is_measuring() { &[1_000, 10_000, 100_000, 1_000_000, 10_000_000] } else { &[1_000] };
    for &keys in sizes {
        look_up(&mut group, "u32", keys, |number| (number as u32).wrapping_mul(0x9e37_79b1));
        look_up(&mut group, "u64", keys, |number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    group.finish();
}

fn look_up<K: Key>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    keys: usize,
    key: impl Fn(u64) -> K,
) {
    let mut index = Index::with_capacity(keys).expect("memory is to be had");
    for number in 0..keys {
        index.insert(key(number as u64), number as u32).expect("it was made for as many");
    }
    let batches = batches(keys, &key);
    group.bench_function(BenchmarkId::new(format!("{name}-batch"), keys), |bencher| {
        bencher.iter_custom(|iterations| {
            let mut sum = 0;
            let start = std::time::Instant::now();
            for batch in batches.chunks_exact(BATCH).cycle().take(rounds(iterations)) {
                sum += sum_of_batch(&index, batch);
            }
            per_look_up(start.elapsed(), iterations, sum)
        });
    });
    let sum: u64 = batches.chunks_exact(BATCH).map(|batch| sum_of_batch(&index, batch)).sum();
    println!("{name}, {keys} keys, {} bytes: checksum {sum}", index.bytes());
}

/// A data path's two steps.
#[inline(never)]
fn sum_of_batch<K: Key>(index: &Index<K>, keys: &[K]) -> u64 {
    let mut places = [Place::default(); BATCH];
    for (place, &key) in places.iter_mut().zip(keys) {
        *place = index.bucket(key);
        index.prefetch(*place);
    }
    let found = places.iter().zip(keys).map(|(&place, &key)| index.get_at(place, key));
    found.map(|value| u64::from(value.unwrap_or(u32::MAX))).sum()
}

/// Random keys of an index: as many as it holds, within bounds.
fn batches<K: Key>(keys: usize, key: impl Fn(u64) -> K) -> Vec<K> {
    let mut random = Random(1);
    let count = keys.next_multiple_of(BATCH).clamp(64 * BATCH, 4096 * BATCH);
    (0..count).map(|_| key(random.below(keys) as u64)).collect()
}

/// Whole batches for as many look-ups.
fn rounds(look_ups: u64) -> usize {
    look_ups.div_ceil(BATCH as u64) as usize
}

/// The share of `elapsed` that belongs to the look-ups asked for.
fn per_look_up(elapsed: std::time::Duration, look_ups: u64, sum: u64) -> std::time::Duration {
    std::hint::black_box(sum);
    elapsed.mul_f64(look_ups as f64 / (rounds(look_ups) * BATCH) as f64)
}

criterion_group!(benches, look_ups);
