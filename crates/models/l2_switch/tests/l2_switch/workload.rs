//! The workload is the same bytes always: from any number of threads, and in any release.

use std::thread;

use function_l2_switch::config::Dir;
use model_l2_switch::{Generated, Section, Traffic};
use traffic::{Distribution, Sizes};

use crate::frames::{workload, workload_frame};

fn config() -> Section {
    let (upstream_table_size, downstream_table_size) = (10_000, 1000);
    let generated =
        Generated { upstream_table_size, downstream_table_size, ..Generated::default() };
    Section { generated, ..Section::default() }
}

fn traffic() -> Traffic {
    Traffic {
        dir: Dir::Bidir,
        pkt_size: Sizes::mix(&traffic::sizes::IMIX).expect("a mix"),
        ipv6_share: 0.25,
        port_draw: Distribution::Zipf(1.1),
        random_seed: 42,
        ..Traffic::default()
    }
}

/// A digest of the first frames of a direction, made by a thread of its own.
fn digest(direction: usize) -> String {
    let made = thread::spawn(move || {
        let workload = workload(&config(), &traffic());
        testkit::digest::digest(
            (0..FRAMES).map(|number| workload_frame(&workload, direction, number)),
        )
    });
    made.join().expect("made")
}

#[test]
fn the_first_frames_are_pinned() {
    // A change here makes runs of the next release incomparable with those of the last one: it
    // belongs in CHANGELOG.md.
    assert_eq!([digest(0), digest(1)], PINNED);
}

#[test]
fn a_seed_changes_every_frame() {
    let other = Traffic { random_seed: 43, ..traffic() };
    let [one, two] = [traffic(), other].map(|traffic| workload(&config(), &traffic));
    let same = (0..1000).filter(|&n| workload_frame(&one, 0, n) == workload_frame(&two, 0, n));
    assert!(same.count() < 5);
}

/// Digests of both directions.
const PINNED: [&str; 2] = ["5f0165c1d00ee3f6", "6322ced760d4091d"];

const FRAMES: u64 = 10_000;
