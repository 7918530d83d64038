//! Frames through a MAC table: batches of 256 random pairs of stations, source heard and
//! destination found, 2 thousand to a million of them learned; learning as many anew; and removing
//! one.
//!
//! With a limit on moves as without: what does not move does not meet it. Time is per frame.

use std::time::{Duration, Instant};

use crate::support::{BATCH, Random, is_measuring};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use tables::mac::{Heard, Limits, MacTable, MoveLimit, Place, station};

fn frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("mac");
    group.throughput(Throughput::Elements(1));
    let sizes: &[usize] =
        if is_measuring() { &[2000, 20_000, 200_000, 1_000_000] } else { &[2000] };
    for &count in sizes {
        let mut table = learned(count);
        let mut random = Random(1);
        let pairs: Vec<[u64; 2]> =
            (0..512 * BATCH).map(|_| [(); 2].map(|()| number(random.below(count)))).collect();
        group.bench_function(BenchmarkId::new("hear-and-find", count), |bencher| {
            bencher.iter_custom(|iterations| {
                let rounds = iterations.div_ceil(BATCH as u64) as usize;
                let mut sum = 0;
                let start = Instant::now();
                for pairs in pairs.chunks_exact(BATCH).cycle().take(rounds) {
                    sum += sum_of_batch(&mut table, pairs);
                }
                per_frame(start.elapsed(), iterations, rounds, sum)
            });
        });
        let sum: u64 = pairs.chunks_exact(BATCH).map(|pairs| sum_of_batch(&mut table, pairs)).sum();
        println!("{count} stations, {} bytes: checksum {sum}", table.bytes());
        group.bench_function(BenchmarkId::new("learn", count), |bencher| {
            bencher.iter_custom(|iterations| learn(count, iterations));
        });
        // A removal searches the list of learned stations; learning one again hardly counts beside
        // it.
        group.bench_function(BenchmarkId::new("remove-and-learn", count), |bencher| {
            bencher.iter(|| {
                let at = random.below(count);
                let station = number(at);
                assert!(table.remove(station));
                table.hear(table.bucket(station), station, at as u16 & 1)
            });
        });
    }
    group.finish();
}

/// A table that has learned as many stations, each behind one of two circuits.
fn learned(count: usize) -> MacTable {
    let mut table = empty(count);
    for at in 0..count {
        let station = number(at);
        assert_eq!(table.hear(table.bucket(station), station, at as u16 & 1), Heard::New);
    }
    table
}

fn empty(count: usize) -> MacTable {
    let limits = Limits { fixed: 0, learned: count };
    let mut table = MacTable::new(limits, [count], 1 << 40, 0).expect("memory is to be had");
    table.limit_moves(MoveLimit { moves: 5, interval: 1 << 30, hold: 1 << 32, refuses: true });
    table
}

/// Learning so many stations, in tables that are emptied when they are full.
fn learn(count: usize, iterations: u64) -> Duration {
    let (mut elapsed, mut left) = (Duration::ZERO, iterations as usize);
    while left > 0 {
        let (mut table, now) = (empty(count), left.min(count));
        let start = Instant::now();
        for at in 0..now {
            let station = number(at);
            std::hint::black_box(table.hear(table.bucket(station), station, 1));
        }
        elapsed += start.elapsed();
        left -= now;
    }
    elapsed
}

/// A data path's two steps, where nobody has moved.
#[inline(never)]
fn sum_of_batch(table: &mut MacTable, pairs: &[[u64; 2]]) -> u64 {
    let mut places = [[Place::default(); 2]; BATCH];
    table.advance(1);
    for (places, pair) in places.iter_mut().zip(pairs) {
        *places = pair.map(|station| table.bucket(station));
        places.iter().for_each(|place| table.prefetch(*place));
    }
    let mut sum = 0;
    for (&[from, to], &[source, destination]) in places.iter().zip(pairs) {
        let heard = table.hear(from, source, source as u16 & 1);
        sum += u64::from(heard == Heard::Again);
        sum += u64::from(table.find(to, destination).unwrap_or(7));
    }
    sum
}

/// A station's number decides its address, and that what it is behind.
fn number(at: usize) -> u64 {
    let [.., a, b, c, d] = (at as u64).to_be_bytes();
    station([0x0a, 0, a, b, c, d], 0)
}

fn per_frame(elapsed: Duration, iterations: u64, rounds: usize, sum: u64) -> Duration {
    std::hint::black_box(sum);
    elapsed.mul_f64(iterations as f64 / (rounds * BATCH) as f64)
}

criterion_group!(benches, frames);
