//! What the tables cost, a file each. `cargo bench -p tables -- index` measures one of them;
//! `cargo test -p tables` runs each of them once, small.

mod classifier;
mod groups;
mod index;
mod lpm;
mod mac;
mod meter;
mod policer;
mod scheduler;
mod tagged;
mod wheel;

mod random;
mod support;

use criterion::Criterion;

/// A table, and its bench.
type Bench = (&'static str, fn());

const BENCHES: &[Bench] = &[
    ("classifier", classifier::benches),
    ("groups", groups::benches),
    ("index", index::benches),
    ("lpm", lpm::benches),
    ("mac", mac::benches),
    ("meter", meter::benches),
    ("policer", policer::benches),
    ("scheduler", scheduler::benches),
    ("tagged", tagged::benches),
    ("wheel", wheel::benches),
];

/// A table that is not asked for is not even filled: some take gigabytes.
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_named = |(name, _): &&Bench| arguments.iter().any(|asked| asked.starts_with(name));
    let named: Vec<&Bench> = BENCHES.iter().filter(is_named).collect();
    for (_, bench) in if named.is_empty() { BENCHES.iter().collect() } else { named } {
        bench();
    }
    Criterion::default().configure_from_args().final_summary();
}
