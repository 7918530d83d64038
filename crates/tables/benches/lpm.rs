//! Look-ups in routing tables: batches of 256 addresses, drawn at random from random routes.
//!
//! Every address is covered by a route of the longest length, the deepest a look-up can go. Time
//! is per look-up; an update is one removal and one insertion of a random route.

mod support;

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use support::{BATCH, Random, is_measuring};
use tables::lpm::{Address, Limits, Lpm};

fn look_ups(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lpm");
    group.throughput(Throughput::Elements(1));
    let sizes: &[usize] = if is_measuring() { &[10, 10_000, 1_000_000] } else { &[100] };
    for &routes in sizes {
        let narrow = |random: &mut Random| random.next() as u32;
        table(&mut group, "ipv4-24", 24, routes, narrow);
        table(&mut group, "ipv4-32", 32, routes.min(100_000), narrow);
        let wide = |random: &mut Random| {
            // Global unicast, a few thousand networks of 32 bits.
            let (high, low) = (random.next() >> 3 | 1 << 61, random.next());
            u128::from(high & 0x200f_01ff_ffff_ffff) << 64 | u128::from(low)
        };
        table(&mut group, "ipv6-48", 48, routes.min(100_000), wide);
    }
    group.finish();
}

fn table<A: Address + std::ops::Shr<u32, Output = A> + std::ops::Shl<u32, Output = A>>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    len: u8,
    routes: usize,
    address: impl Fn(&mut Random) -> A,
) {
    let mut random = Random(1);
    let mut lpm = Lpm::<A>::new(Limits::for_any::<A>(routes)).expect("memory is to be had");
    let addresses: Vec<A> = (0..routes).map(|_| address(&mut random)).collect();
    let host = u32::from(A::BITS - len);
    let prefix = |address: A| if host == 0 { address } else { address >> host << host };
    for (number, &address) in addresses.iter().enumerate() {
        lpm.insert(prefix(address), len, number as u32).expect("it was made for as many");
    }
    let count = routes.next_multiple_of(BATCH).clamp(64 * BATCH, 1024 * BATCH);
    let asked: Vec<A> = (0..count).map(|_| addresses[random.below(routes)]).collect();
    group.bench_function(BenchmarkId::new(name, routes), |bencher| {
        bencher.iter_custom(|look_ups| {
            let rounds = look_ups.div_ceil(BATCH as u64) as usize;
            let start = std::time::Instant::now();
            let sum: u64 = asked
                .chunks_exact(BATCH)
                .cycle()
                .take(rounds)
                .map(|batch| sum_of_batch(&lpm, batch))
                .sum();
            std::hint::black_box(sum);
            start.elapsed().mul_f64(look_ups as f64 / (rounds * BATCH) as f64)
        });
    });
    group.bench_function(BenchmarkId::new(format!("{name}-update"), routes), |bencher| {
        bencher.iter(|| {
            let prefix = prefix(addresses[random.below(routes)]);
            let value = lpm.remove(prefix, len).unwrap_or(0);
            lpm.insert(prefix, len, value)
        });
    });
    let sum: u64 = asked.chunks_exact(BATCH).map(|batch| sum_of_batch(&lpm, batch)).sum();
    println!("{name}, {} routes, {} bytes: checksum {sum}", lpm.len(), lpm.bytes());
}

#[inline(never)]
fn sum_of_batch<A: Address>(lpm: &Lpm<A>, addresses: &[A]) -> u64 {
    for &address in addresses {
        lpm.prefetch_root(address);
    }
    let found = addresses.iter().map(|&address| lpm.lookup(address));
    found.map(|value| u64::from(value.unwrap_or(u32::MAX))).sum()
}

criterion_group!(benches, look_ups);
criterion_main!(benches);
