//! Look-ups in the Internet's routing table: batches of 256 addresses in random order.
//!
//! The table is the real one if the folder that `PLUMBLINE_DATA` names has it, else one made from
//! a seed; every route has a value of its own. `random` are addresses of all 2^32; `routed` are a
//! million flows to addresses within routes. An update is one removal and one insertion of a route.

use crate::support::{BATCH, Random, is_measuring};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group};
use tables::internet;
use tables::lpm::{Address, Limits, Lpm};

fn look_ups(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lpm");
    group.throughput(Throughput::Elements(1));
    let (flows, few, ipv4, ipv6) = match is_measuring() {
        true => (1_000_000, 4_000, 901_899, 160_147),
        false => (1_000, 100, 2_000, 500),
    };
    let real = crate::support::real_routes().filter(|_| is_measuring());
    let (v4, v6, name) = match real {
        Some((v4, v6)) => (v4, v6, "real"),
        None => (internet::ipv4(ipv4, 1), internet::ipv6(ipv6, 1), "made"),
    };
    let narrow = table(name, &v4);
    let mut random = Random(2);
    let anywhere: Vec<u32> = (0..flows).map(|_| random.next() as u32).collect();
    look_up(&mut group, &format!("ipv4-{name}-random"), &narrow, &anywhere);
    let host = |random: &mut Random| u128::from(random.next()) << 64 | u128::from(random.next());
    for count in [flows, few, 1] {
        let routed = (0..count).map(|_| {
            let (prefix, len) = v4[random.below(v4.len())];
            prefix | (random.next() as u32).checked_shr(len.into()).unwrap_or(0)
        });
        look_up(&mut group, &format!("ipv4-{name}-routed"), &narrow, &routed.collect::<Vec<_>>());
    }
    update(&mut group, &format!("ipv4-{name}-update"), narrow, &v4);
    let wide = table(name, &v6);
    for count in [flows, few, 1] {
        let routed = (0..count).map(|_| {
            let (prefix, len) = v6[random.below(v6.len())];
            prefix | host(&mut random).checked_shr(len.into()).unwrap_or(0)
        });
        look_up(&mut group, &format!("ipv6-{name}-routed"), &wide, &routed.collect::<Vec<_>>());
    }
    update(&mut group, &format!("ipv6-{name}-update"), wide, &v6);
    group.finish();
}

fn table<A: Address>(name: &str, routes: &[(A, u8)]) -> Lpm<A> {
    let start = std::time::Instant::now();
    let mut lpm = Lpm::<A>::new(Limits::for_any::<A>(routes.len())).expect("memory is to be had");
    for (number, &(prefix, len)) in routes.iter().enumerate() {
        lpm.insert(prefix, len, number as u32).expect("it was made for as many");
    }
    println!(
        "{name}: {} routes of {} bits in {:?}: {} nodes, {} bytes, {} of them for look-ups",
        lpm.len(),
        A::BITS,
        start.elapsed(),
        lpm.nodes(),
        lpm.bytes(),
        lpm.look_up_bytes()
    );
    lpm
}

fn look_up<A: Address>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    lpm: &Lpm<A>,
    flows: &[A],
) {
    let mut random = Random(3);
    let count = flows.len().next_multiple_of(BATCH).max(64 * BATCH);
    let asked: Vec<A> = (0..count).map(|_| flows[random.below(flows.len())]).collect();
    group.bench_function(BenchmarkId::new(name, flows.len()), |bencher| {
        bencher.iter_custom(|look_ups| {
            let rounds = look_ups.div_ceil(BATCH as u64) as usize;
            let start = std::time::Instant::now();
            let mut sum = 0u64;
            for batch in asked.chunks_exact(BATCH).cycle().take(rounds) {
                sum = sum.wrapping_add(sum_of_batch(lpm, batch));
            }
            std::hint::black_box(sum);
            start.elapsed().mul_f64(look_ups as f64 / (rounds * BATCH) as f64)
        });
    });
    let sum: u64 = asked.chunks_exact(BATCH).map(|batch| sum_of_batch(lpm, batch)).sum();
    println!("{name}, {} flows: checksum {sum}", flows.len());
}

#[inline(never)]
fn sum_of_batch<A: Address>(lpm: &Lpm<A>, addresses: &[A]) -> u64 {
    let mut found = [0; BATCH];
    lpm.lookup_batch(addresses, &mut found);
    found.iter().map(|&value| u64::from(value)).sum()
}

fn update<A: Address>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    mut lpm: Lpm<A>,
    routes: &[(A, u8)],
) {
    let mut random = Random(4);
    group.bench_function(BenchmarkId::new(name, routes.len()), |bencher| {
        bencher.iter(|| {
            let (prefix, len) = routes[random.below(routes.len())];
            let value = lpm.remove(prefix, len).unwrap_or(0);
            lpm.insert(prefix, len, value)
        });
    });
}

criterion_group!(benches, look_ups);
