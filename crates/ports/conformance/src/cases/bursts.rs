//! Many frames at once, also more than fit.

use engine::Way;

use crate::bench::Bench;
use crate::random::Random;
use crate::session::Session;

/// Random bursts in both directions, within the guaranteed room: no frame is lost.
pub(super) fn bursts(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    let most = session.promises.in_flight_min.max(1);
    for _ in 0..200 {
        let count = session.random.between(1, most);
        let lengths = session.lengths(count);
        assert_eq!(session.transmit(0, &lengths), count, "{}", session.accounts());
        let count = session.random.between(1, most);
        let lengths = session.lengths(count);
        assert_eq!(session.peer_send(&lengths), count, "{}", session.accounts());
        session.until("the burst arrives", |session| {
            session.to_port.arrived == session.peer_sent
                && session.from_port.arrived == session.offered
        });
    }
    session.settle_without_loss();
}

/// Random bursts beyond any room, with both sides receiving only from time to time: frames that do
/// not arrive are counted.
pub(super) fn overload(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    for _ in 0..60 {
        for _ in 0..session.random.between(1, 6) {
            let count = session.random.between(1, 1000);
            let lengths = session.lengths(count);
            session.transmit(0, &lengths);
        }
        for _ in 0..session.random.between(1, 6) {
            let count = session.random.between(1, 1000);
            let lengths = session.lengths(count);
            session.peer_send(&lengths);
        }
        match session.random.between(0, 3) {
            0 => session.receive(),
            1 => session.peer_receive(),
            2 => session.pump(),
            _ => 0,
        };
    }
    session.settle();
    session.wait_until_passing();
    session.settle();
}

/// A full link refuses and counts frames; when the peer receives again, all accepted frames arrive.
pub(super) fn full_link(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    let more = session.promises.in_flight_max.unwrap_or(0) + 300;
    let len = session.promises.frame_bytes_min.max(60);
    for _ in 0..3 {
        let before = session.counts().lost(Way::Transmit);
        let taken = session.transmit(0, &vec![len; more]);
        let counted = session.counts().lost(Way::Transmit) - before;
        assert!(taken < more, "{more} frames found room: {}", session.accounts());
        assert!(counted >= (more - taken) as u64, "{counted} of {} counted", more - taken);
        session.settle();
    }
    // And the other way round.
    session.peer_send(&vec![len; more]);
    session.settle();
    let (lost, most) = (session.counts().lost(Way::Transmit), session.promises.in_flight_min);
    assert_eq!(session.transmit(0, &vec![len; most]), most, "{}", session.accounts());
    session.settle();
    assert_eq!(session.counts().lost(Way::Transmit), lost, "{}", session.accounts());
}

/// Several queues share the port: each transmits, and together they receive all frames.
pub(super) fn queues(bench: &mut dyn Bench, random: &Random) {
    let promises = bench.promises();
    for queues in [2, promises.queues_max] {
        let mut session = Session::open(bench, random, queues, promises.frame_bytes_max);
        session.wait_for_link(true);
        for _ in 0..50 {
            for queue in 0..queues {
                let count = session.random.between(1, (promises.in_flight_min / queues).max(1));
                let lengths = session.lengths(count);
                assert_eq!(session.transmit(queue, &lengths), count, "{}", session.accounts());
            }
            let count = session.random.between(1, promises.in_flight_min.max(1));
            let lengths = session.lengths(count);
            session.peer_send(&lengths);
            session.until("the burst arrives", |session| {
                session.to_port.arrived == session.peer_sent
                    && session.from_port.arrived == session.offered
            });
        }
        session.settle_without_loss();
    }
}
