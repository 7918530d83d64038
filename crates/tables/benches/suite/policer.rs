//! Marking batches of 256 frames, each of a random policer: alone, under one of 64 parents, or
//! under one of a third as many subscribers and one of 64 nodes; about a third of each colour.
//! Policers are prefetched for the batch, as in the data path. Time is per frame.

use crate::support::{BATCH, Random, is_measuring};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use tables::policer::{Colour, Policers, Policing, Profile};

fn marking(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("policer");
    group.throughput(Throughput::Elements(1));
    let sizes: &[usize] = if is_measuring() { &[1_000, 262_144] } else { &[100] };
    let shapes = ["alone", "child-and-parent", "three-in-a-row"];
    for (&count, name) in sizes.iter().flat_map(|count| shapes.map(|shape| (count, shape))) {
        let mut random = Random(1);
        let subscribers = if name == "three-in-a-row" { count / 3 } else { 0 };
        let mut policers = policers(count, subscribers, if name == "alone" { 0 } else { 64 });
        let batches = if is_measuring() { 1024 } else { 16 };
        let frames: Vec<(u32, u32)> = (0..batches * BATCH)
            .map(|_| (random.below(count) as u32, 64 + random.below(1455) as u32))
            .collect();
        let ticks_per_frame = (750 / (3 * count as u64)).max(1);
        let (mut now, mut colours) = (0, [0u64; 3]);
        group.bench_function(BenchmarkId::new(name, count), |bencher| {
            bencher.iter_custom(|total| {
                let rounds = total.div_ceil(BATCH as u64);
                let start = std::time::Instant::now();
                for batch in frames.chunks_exact(BATCH).cycle().take(rounds as usize) {
                    now += ticks_per_frame * BATCH as u64;
                    if subscribers > 0 {
                        prefetch_both(&policers, batch);
                    }
                    mark_batch(&mut policers, batch, now, &mut colours);
                }
                start.elapsed().mul_f64(total as f64 / (rounds * BATCH as u64) as f64)
            });
        });
        println!("{name}, {count} policers, {} bytes: {colours:?}", policers.bytes());
    }
    group.finish();
}

/// Children, then those above them, then those above these; of which there may be none.
fn policers(count: usize, subscribers: usize, parents: usize) -> Policers {
    let first_parent = count + subscribers;
    let mut policers = Policers::new(first_parent + parents, 1e9).expect("memory is to be had");
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
    for parent in first_parent..first_parent + parents {
        let above = policing(1e9 * count as f64 / parents as f64, 1e6, None);
        policers.set(parent as u32, &above, 0).expect("it is in order");
    }
    for subscriber in count..first_parent {
        let parent = Some((first_parent + subscriber % parents) as u32);
        policers
            .set(subscriber as u32, &policing(3e9, 9_000.0, parent), 0)
            .expect("it is in order");
    }
    for child in 0..count {
        let parent = match (subscribers, parents) {
            (_, 0) => None,
            (0, parents) => Some((first_parent + child % parents) as u32),
            (subscribers, _) => Some((count + child % subscribers) as u32),
        };
        policers.set(child as u32, &policing(1e9, 3_000.0, parent), 0).expect("it is in order");
    }
    policers
}

/// Subscribers are too many for the cache: they are fetched, too.
#[inline(never)]
fn prefetch_both(policers: &Policers, frames: &[(u32, u32)]) {
    for &(policer, _) in frames {
        policers.prefetch(policer);
    }
    for &(policer, _) in frames {
        policers.prefetch_parent(policer);
    }
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
