//! First matches of rules: batches of 256 headers, each of which a random rule matches, and the
//! worst case of a list that is searched from its start: only the last rule matches.
//!
//! Rule sets are made as ClassBench makes them; where `PLUMBLINE_DATA` names a folder with its own,
//! see the test. Time is per header; an update is one removal and one insertion of a random rule.

mod rules;

use crate::support::{BATCH, Random, is_measuring};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group};
use rules::{Kind, header, rules, widened, widened_header};
use tables::classifier::five_tuple::{FIELDS_V4, FIELDS_V6, KEY_V4, KEY_V6};
use tables::classifier::{Classifier, Condition, Field};

fn sets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("classifier");
    group.throughput(Throughput::Elements(1));
    let sizes: &[usize] = if is_measuring() { &[100, 1000, 4000, 8000] } else { &[60] };
    for (kind, count) in
        Kind::ALL.into_iter().flat_map(|kind| sizes.iter().map(move |&n| (kind, n)))
    {
        let rules = rules(kind, count, 1);
        let mut random = Random(1);
        let headers: Vec<_> = (0..256 * BATCH).map(|_| header(&mut random, &rules)).collect();
        let conditions: Vec<_> = rules.iter().map(|rule| rule.conditions()).collect();
        let keys: Vec<_> = headers.iter().map(|header| header.key()).collect();
        let name = format!("{kind:?}").to_lowercase();
        classify::<KEY_V4>(&mut group, &format!("ipv4-{name}"), &FIELDS_V4, &conditions, &keys);
        if kind == Kind::Acl {
            let conditions: Vec<_> = rules.iter().map(|rule| widened(rule).conditions()).collect();
            let keys: Vec<_> = headers.iter().map(|header| widened_header(header).key()).collect();
            classify::<KEY_V6>(&mut group, "ipv6-acl", &FIELDS_V6, &conditions, &keys);
        }
    }
    group.finish();
}

/// Headers of addresses at random, of which only the last rule, for all, is right.
fn only_the_last(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("classifier");
    group.throughput(Throughput::Elements(1));
    let count = if is_measuring() { 100 } else { 20 };
    let rules = rules(Kind::Acl, count, 1);
    let mut conditions: Vec<_> = rules.iter().map(|rule| rule.conditions()).collect();
    // A rule that is for all of a source says of what it is.
    for rule in &mut conditions[..count - 1] {
        rule[0] = Condition::Masked { value: 10 << 24, mask: 0xff << 24 };
    }
    let mut random = Random(1);
    let keys: Vec<_> = (0..256 * BATCH)
        .map(|_| {
            let mut header = header(&mut random, &rules);
            header.source |= 1 << 31;
            header.key()
        })
        .collect();
    classify::<KEY_V4>(&mut group, "only-the-last", &FIELDS_V4, &conditions, &keys);
    group.finish();
}

fn classify<const KEY: usize>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    fields: &[Field],
    rules: &[[Condition; 5]],
    keys: &[[u8; KEY]],
) {
    let mut classifier = Classifier::<KEY>::new(fields, rules.len()).expect("memory is to be had");
    for (number, rule) in rules.iter().enumerate() {
        classifier.insert(number as u32, rule, number as u32).expect("it was made for as many");
    }
    let mut values = [0; BATCH];
    let mut sum = 0u64;
    group.bench_function(BenchmarkId::new(name, rules.len()), |bencher| {
        bencher.iter_custom(|total| {
            let rounds = total.div_ceil(BATCH as u64);
            let start = std::time::Instant::now();
            for batch in keys.chunks_exact(BATCH).cycle().take(rounds as usize) {
                classifier.classify_batch(batch, &mut values);
                sum += u64::from(values[BATCH - 1]);
            }
            start.elapsed().mul_f64(total as f64 / (rounds * BATCH as u64) as f64)
        });
    });
    let mut random = Random(2);
    group.bench_function(BenchmarkId::new(format!("{name}-update"), rules.len()), |bencher| {
        bencher.iter(|| {
            let number = random.below(rules.len());
            classifier.remove(number as u32);
            classifier.insert(number as u32, &rules[number], number as u32).expect("there is room");
        });
    });
    println!("{name}, {} rules, {} bytes: checksum {sum}", rules.len(), classifier.bytes());
}

criterion_group!(benches, sets, only_the_last);
