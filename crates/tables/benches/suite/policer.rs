//! Marking batches of 256 frames: each of a random policer, alone or under one of 64 parents, about
//! a third of each colour. Policers are prefetched for the batch, as in the data path. Time is per
//! frame.

use crate::support::{BATCH, Random, is_measuring};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use tables::policer::{Colour, Policers, Policing, Profile};

fn marking(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("policer");
    group.throughput(Throughput::Elements(1));
    let sizes: &[usize] = if is_measuring() { &[1_000, 262_144] } else { &[100] };
    for (&count, parents) in sizes.iter().flat_map(|count| [(count, 0), (count, 64)]) {
        let mut random = Random(1);
        let mut policers = policers(count, parents);
        let batches = if is_measuring() { 1024 } else { 16 };
        let frames: Vec<(u32, u32)> = (0..batches * BATCH)
            .map(|_| (random.below(count) as u32, 64 + random.below(1455) as u32))
            .collect();
        let ticks_per_frame = (750 / (3 * count as u64)).max(1);
        let (mut now, mut colours) = (0, [0u64; 3]);
        let name = if parents == 0 { "alone" } else { "child-and-parent" };
        group.bench_function(BenchmarkId::new(name, count), |bencher| {
            bencher.iter_custom(|total| {
                let rounds = total.div_ceil(BATCH as u64);
                let start = std::time::Instant::now();
                for batch in frames.chunks_exact(BATCH).cycle().take(rounds as usize) {
                    now += ticks_per_frame * BATCH as u64;
                    mark_batch(&mut policers, batch, now, &mut colours);
                }
                start.elapsed().mul_f64(total as f64 / (rounds * BATCH as u64) as f64)
            });
        });
        println!("{name}, {count} policers, {} bytes: {colours:?}", policers.bytes());
    }
    group.finish();
}

fn policers(count: usize, parents: usize) -> Policers {
    let mut policers = Policers::new(count + parents, 1e9).expect("memory is to be had");
    let policing = |rate, burst, parent| Policing {
        profile: Profile::InProfile {
            committed_bytes_per_s: rate,
            committed_burst_bytes: burst,
            excess_bytes_per_s: rate,
            excess_burst_bytes: burst,
        },
        is_colour_aware: true,
        parent,
    };
    for parent in count..count + parents {
        let above = policing(1e9 * count as f64 / parents as f64, 1e6, None);
        policers.set(parent as u32, &above, 0).expect("it is in order");
    }
    for child in 0..count {
        let parent = (parents > 0).then(|| (count + child % parents) as u32);
        policers.set(child as u32, &policing(1e9, 3_000.0, parent), 0).expect("it is in order");
    }
    policers
}

#[inline(never)]
fn mark_batch(policers: &mut Policers, frames: &[(u32, u32)], now: u64, colours: &mut [u64; 3]) {
    for &(policer, _) in frames {
        policers.prefetch(policer);
    }
    for &(policer, length) in frames {
        colours[policers.mark(policer, now, length, Colour::Green) as usize] += 1;
    }
}

criterion_group!(benches, marking);
