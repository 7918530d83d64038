//! The workload is the same bytes always: from any number of threads, and in any release.

use std::collections::BTreeMap;
use std::thread;

use function_mobile_gateway::config::Tunnel;
use model_mobile_gateway::Section;
use model_mobile_gateway::Traffic;
use traffic::{Distribution, Sizes};
use units::BytesPerSec;

use crate::frames::{both_ways, users, workload_frame};

fn config() -> Section {
    Section {
        user: 10_000,
        bst: 100,
        server: 1000,
        nhop: 4,
        ipv6: true,
        tunnel: Some(Tunnel::GtpU),
        rate_limit: BytesPerSec(1e9),
        ..Section::default()
    }
}

fn traffic() -> Traffic {
    Traffic {
        pkt_size: Sizes::mix(&traffic::sizes::IMIX).expect("a mix"),
        ipv6_share: 0.25,
        user_draw: Distribution::Zipf(1.1),
        random_seed: 42,
        ..both_ways()
    }
}

/// The first frames of both directions, made by so many threads that take turns frame by frame.
fn frames(threads: u64) -> [Vec<Vec<u8>>; 2] {
    [0, 1].map(|direction| {
        let made: BTreeMap<u64, Vec<u8>> = thread::scope(|scope| {
            let handles: Vec<_> = (0..threads)
                .map(|thread| {
                    scope.spawn(move || {
                        let users = users(&config(), &traffic());
                        let mine = (thread..FRAMES).step_by(threads as usize);
                        let frame = |number| (number, workload_frame(&users, direction, number));
                        mine.map(frame).collect::<Vec<_>>()
                    })
                })
                .collect();
            let join = |handle: thread::ScopedJoinHandle<'_, Vec<_>>| handle.join().expect("made");
            handles.into_iter().flat_map(join).collect()
        });
        assert_eq!(made.len() as u64, FRAMES);
        made.into_values().collect()
    })
}

#[test]
fn threads_make_no_difference() {
    let alone = frames(1);
    for threads in [2, 7] {
        assert!(frames(threads) == alone, "{threads} threads make other frames than one");
    }
}

#[test]
fn the_first_frames_are_pinned() {
    let digests = frames(1).map(testkit::digest::digest);
    // A change here makes runs of the next release incomparable with those of the last one: it
    // belongs in CHANGELOG.md.
    assert_eq!(digests, PINNED);
}

#[test]
fn a_seed_changes_every_frame() {
    let other = Traffic { random_seed: 43, ..traffic() };
    let [one, two] = [traffic(), other].map(|traffic| users(&config(), &traffic));
    let same = (0..1000).filter(|&n| workload_frame(&one, 0, n) == workload_frame(&two, 0, n));
    assert!(same.count() < 5);
}

/// Digests of uplink and downlink.
const PINNED: [&str; 2] = ["12bf9720b94f6ef8", "10de9fe2ce7bc296"];

const FRAMES: u64 = 10_000;
