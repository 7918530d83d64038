//! What does not fit: longer frames than were asked for, smaller batches than what waits.

use engine::Way;
use machine::clock;
use packet::{Batch, PortId, Room};

use crate::bench::{Bench, request};
use crate::random::Random;
use crate::session::Session;

/// Frames longer than requested are lost and counted; other frames pass.
pub(super) fn oversized(bench: &mut dyn Bench, random: &Random) {
    let low = bench.promises().frame_bytes_min.max(60);
    let high = bench.promises().frame_bytes_max;
    let frame_bytes_max = (low + high) / 2;
    let mut session = Session::open(bench, random, 1, frame_bytes_max);
    session.wait_for_link(true);
    let mut fitting = 0;
    for _ in 0..10 {
        let lengths = [frame_bytes_max, frame_bytes_max + 1, low, high, frame_bytes_max - 1];
        assert_eq!(session.peer_send(&lengths), lengths.len(), "{}", session.accounts());
        fitting += 3;
        session.settle();
    }
    let arrived = session.to_port.arrived;
    assert_eq!(arrived, fitting, "{}", session.accounts());
}

/// A port fills a batch up to the batch's room and the given limit; no frame is lost because of it.
pub(super) fn batch_limits(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    let frame = session.promises.frame_bytes_max;
    let count = session.promises.in_flight_min.clamp(8, 64);
    let lengths = session.lengths(count);
    assert_eq!(session.peer_send(&lengths), count, "{}", session.accounts());

    let mut small = Batch::new(5, Room { headroom: 0, frame, long: 0 }).expect("memory");
    small.append(PortId(7), 60).expect("room").fill(1);
    let mut arrived = 0;
    session.poll("one by one", |session| {
        let before = small.len();
        let queue = &mut session.opened.queues[0];
        assert_eq!(queue.receive(&mut small, 0, clock::now()), 0, "a limit of 0 holds");
        let limit = if arrived % 2 == 0 { 1 } else { 256 };
        let appended = queue.receive(&mut small, limit, clock::now());
        assert!(appended <= limit.min(5 - before) && small.len() == before + appended);
        for slot in before..small.len() {
            session.to_port.arrived(small.frame(slot as u8), |_| 0);
        }
        arrived += appended;
        assert_eq!((small.port(0), small.frame(0)), (PortId(7), &[1; 60][..]), "left alone");
        if small.remaining() == 0 {
            let queue = &mut session.opened.queues[0];
            assert_eq!(queue.receive(&mut small, 256, clock::now()), 0, "a full batch");
            small.clear();
            small.append(PortId(7), 60).expect("room").fill(1);
        }
        arrived >= 3 * count / 4
    });
    session.settle();
    let counts = session.counts();
    assert_eq!(counts.lost(Way::Receive), 0, "{counts:?}");
    assert_eq!(session.to_port.arrived, count as u64);
    // A port that is asked for no queue refuses or has none; it does not panic.
    drop(session);
    if let Ok(opened) = bench.open(&request(0, frame)) {
        assert!(opened.queues.is_empty());
    }
}
