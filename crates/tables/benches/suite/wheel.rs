//! Setting a timer anew before it is due, and taking one that is due and setting it again.
//!
//! Timers have random periods around 10 ms; a unit of time is a nanosecond, a step about 0.1 ms.

use crate::support::{Random, is_measuring};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use tables::wheel::Wheel;

fn wheel(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("wheel");
    group.throughput(Throughput::Elements(1));
    let counts: &[usize] = if is_measuring() { &[1_000, 100_000, 1_000_000] } else { &[100] };
    for &count in counts {
        let mut random = Random(1);
        let mut period = move || 7_500_000 + random.below(5_000_000) as u64;
        let mut wheel = Wheel::new(count, STEP_BITS);
        (0..count).for_each(|number| wheel.set(number as u32, period()));
        let (mut now, mut number) = (0, 0);
        group.bench_function(BenchmarkId::new("due", count), |bencher| {
            bencher.iter(|| {
                let due = loop {
                    match wheel.due(now) {
                        Some(due) => break due,
                        None => now = wheel.deadline().expect("all are set"),
                    }
                };
                wheel.set(due, now + period());
            });
        });
        group.bench_function(BenchmarkId::new("set", count), |bencher| {
            bencher.iter(|| {
                number = (number + 7919) % count;
                wheel.set(number as u32, now + period());
            });
        });
        println!("{count} timers, {} bytes: time {now}", wheel.bytes());
    }
    group.finish();
}

const STEP_BITS: u32 = 17;

criterion_group!(benches, wheel);
