//! Metering batches of 256 frames, each on a random meter, about half of them conforming.
//!
//! Random verdicts are the worst case for a branch predictor. Time is per frame.

use crate::support::{BATCH, Random, is_measuring};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use tables::meter::Meter;

fn conformance(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("meter");
    group.throughput(Throughput::Elements(1));
    let sizes: &[usize] = if is_measuring() { &[1, 1_000, 1_000_000] } else { &[10] };
    for &count in sizes {
        let mut random = Random(1);
        // The clock below offers every meter twice its rate on average.
        let mut meters = vec![Meter::new(1e9, 1_500.0, 1e9); count];
        let ticks_per_frame = (750 / (2 * count as u64)).max(1);
        // As many that a million meters do not stay in the caches.
        let batches = if is_measuring() { 4096 } else { 64 };
        let frames: Vec<(usize, u32)> = (0..batches * BATCH)
            .map(|_| (random.below(count), 64 + random.below(1455) as u32))
            .collect();
        let (mut now, mut passed) = (0, 0);
        group.bench_function(BenchmarkId::new("conforms", count), |bencher| {
            bencher.iter_custom(|total| {
                let rounds = total.div_ceil(BATCH as u64);
                let start = std::time::Instant::now();
                for batch in frames.chunks_exact(BATCH).cycle().take(rounds as usize) {
                    now += ticks_per_frame * BATCH as u64;
                    passed += meter_batch(&mut meters, batch, now);
                }
                start.elapsed().mul_f64(total as f64 / (rounds * BATCH as u64) as f64)
            });
        });
        println!("{count} meters, {} bytes: {passed} frames conformed", 16 * count);
    }
    group.finish();
}

#[inline(never)]
fn meter_batch(meters: &mut [Meter], frames: &[(usize, u32)], now: u64) -> u64 {
    let verdicts = frames.iter().map(|&(meter, length)| meters[meter].conforms(now, length));
    verdicts.map(u64::from).sum()
}

criterion_group!(benches, conformance);
