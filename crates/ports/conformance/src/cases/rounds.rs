//! The same again and again: opening anew, and memory that stays what it was.

use machine::memory::resident_bytes;

use crate::bench::Bench;
use crate::random::Random;
use crate::session::Session;

/// The port is dropped and opened again several times; frames pass each time.
pub(super) fn reopening(bench: &mut dyn Bench, random: &Random) {
    for _ in 0..10 {
        round(bench, random, 3);
    }
}

/// Resident memory does not grow over many rounds of traffic and reopening. The process may run
/// other tests, whose memory counts, too: a leak is what grows by each of several such spans.
pub(super) fn memory(bench: &mut dyn Bench, random: &Random) {
    (0..10).for_each(|_| round(bench, random, 3));
    let mut grown = Vec::new();
    for _ in 0..SPANS {
        let before = resident_bytes();
        (0..30).for_each(|_| round(bench, random, 3));
        let now = resident_bytes();
        if now <= before + GROWTH_MAX {
            return;
        }
        grown.push((before, now));
    }
    panic!("resident memory grew over each 30 rounds, in bytes: {grown:?}");
}

/// Opens the port, passes this number of bursts and closes it.
fn round(bench: &mut dyn Bench, random: &Random, bursts: usize) {
    let promises = bench.promises();
    if !promises.peer_survives_reopening && promises.peer_dies {
        bench.kill_peer();
    }
    let mut session = Session::open(bench, random, 1, promises.frame_bytes_max);
    if !promises.peer_survives_reopening && promises.peer_dies {
        session.bench.revive_peer();
    }
    session.wait_for_link(true);
    for _ in 0..bursts {
        let count = session.random.between(1, promises.in_flight_min.max(1));
        let lengths = session.lengths(count);
        session.transmit(0, &lengths);
        session.peer_send(&lengths);
        session.settle();
    }
    session.wait_until_passing();
    session.settle();
}

/// How often memory may grow beyond what is permitted before that is a leak.
const SPANS: usize = 3;

/// Permitted growth in bytes: less than one of thirty rings that a port may leak, more than an
/// allocator retains.
const GROWTH_MAX: u64 = 8 << 20;
