//! Picking a member for batches of 256 flows, and changing a member of a group.
//!
//! Groups and hashes are random; time is per flow, and per change of a group of 16 members.

use crate::support::{BATCH, Random, is_measuring};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use tables::groups::{Groups, Limits, Member};

fn groups(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("groups");
    group.throughput(Throughput::Elements(1));
    let counts: &[usize] = if is_measuring() { &[1, 1_000, 16_000] } else { &[3] };
    for &count in counts {
        let mut random = Random(1);
        let mut groups = full(count);
        let batches = if is_measuring() { 4096 } else { 16 };
        let flows: Vec<(u32, u32)> = (0..batches * BATCH)
            .map(|_| (random.below(count) as u32, random.below(1 << 32) as u32))
            .collect();
        let mut sum = 0u64;
        group.bench_function(BenchmarkId::new("pick", count), |bencher| {
            bencher.iter_custom(|total| {
                let rounds = total.div_ceil(BATCH as u64);
                let start = std::time::Instant::now();
                for batch in flows.chunks_exact(BATCH).cycle().take(rounds as usize) {
                    sum = sum.wrapping_add(pick_batch(&groups, batch));
                }
                start.elapsed().mul_f64(total as f64 / (rounds * BATCH as u64) as f64)
            });
        });
        // Each change is undone by the next one.
        let mut turn = 0;
        group.bench_function(BenchmarkId::new("change", count), |bencher| {
            bencher.iter(|| {
                let (of, value) = (turn / 2 % count, MEMBERS / 2);
                match turn % 2 {
                    0 => assert_eq!(groups.remove(of, value), Some(1)),
                    _ => assert_eq!(groups.set(of, Member { value, weight: 1 }), Ok(None)),
                }
                turn += 1;
            });
        });
        println!("{count} groups, {} bytes: checksum {sum}", groups.bytes());
    }
    group.finish();
}

/// Groups of 16 members of one weight.
fn full(count: usize) -> Groups {
    let limits = Limits { groups: count, buckets: 256, members: 64 };
    let mut groups = Groups::new(limits).expect("possible limits");
    for group in 0..count {
        for value in 0..MEMBERS {
            groups.set(group, Member { value, weight: 1 }).expect("there is room");
        }
    }
    groups
}

#[inline(never)]
fn pick_batch(groups: &Groups, flows: &[(u32, u32)]) -> u64 {
    flows.iter().for_each(|&(group, hash)| groups.prefetch(group, hash));
    flows.iter().map(|&(group, hash)| u64::from(groups.pick(group, hash).unwrap_or(0))).sum()
}

const MEMBERS: u32 = 16;

criterion_group!(benches, groups);
