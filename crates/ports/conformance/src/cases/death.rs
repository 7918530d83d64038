//! Links that go down and peers that die, misbehave, come late and come back.

use crate::bench::Bench;
use crate::random::Random;
use crate::session::Session;

/// Frames in flight when the link goes down or comes up are accounted for, and frames pass again.
pub(super) fn link_down_and_up(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    for _ in 0..4 {
        burst(&mut session);
        session.bench.set_link(false);
        burst(&mut session);
        session.wait_for_link(false);
        for _ in 0..3 {
            burst(&mut session);
            session.pump();
        }
        session.bench.set_link(true);
        burst(&mut session);
        session.wait_for_link(true);
        session.wait_until_passing();
        session.settle();
    }
}

/// The peer ends with frames in flight and is restarted; the port continues without being reopened.
pub(super) fn peer_dies(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    session.inexact = !session.promises.exact_over_death;
    for round in 0..6 {
        burst(&mut session);
        if round % 2 == 0 {
            session.pump();
        }
        session.bench.kill_peer();
        // Before the port noticed, and after.
        burst_from_port(&mut session);
        session.wait_for_link(false);
        for _ in 0..3 {
            burst_from_port(&mut session);
            session.receive();
        }
        session.bench.revive_peer();
        burst(&mut session);
        session.wait_for_link(true);
        session.wait_until_passing();
        session.settle();
    }
    burst(&mut session);
    session.settle();
}

/// The peer ends and is restarted many times with no frame in flight; each time frames pass without
/// loss.
pub(super) fn peer_dies_idle(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    session.inexact = !session.promises.exact_over_death;
    for _ in 0..10 {
        session.bench.kill_peer();
        session.wait_for_link(false);
        session.bench.revive_peer();
        session.wait_for_link(true);
        session.wait_until_passing();
        session.settle();
    }
}

/// The port is opened before the peer: frames sent meanwhile are counted, and the peer finds the
/// port.
pub(super) fn opens_alone(bench: &mut dyn Bench, random: &Random) {
    let frame_bytes_max = bench.promises().frame_bytes_max;
    bench.kill_peer();
    for _ in 0..3 {
        let mut session = Session::open(bench, random, 1, frame_bytes_max);
        session.inexact = !session.promises.exact_over_death;
        session.wait_for_link(false);
        burst_from_port(&mut session);
        assert_eq!(session.receive(), 0, "there is nobody to receive from");
        session.bench.revive_peer();
        session.wait_for_link(true);
        session.wait_until_passing();
        session.settle();
        session.bench.kill_peer();
        session.wait_for_link(false);
    }
}

/// A peer that violates the rules of the link causes no corrupted frames and no damage: the next
/// peer finds a working port.
pub(super) fn misbehaviour(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    session.inexact = true;
    for _ in 0..40 {
        for _ in 0..session.random.between(1, 5) {
            let count = session.random.between(1, 200);
            let bytes = session.random.bytes(count);
            session.bench.peer_misbehaves(&bytes);
            burst_from_port(&mut session);
            // What such a peer shows as frames is whatever it likes; only that it ends matters.
            for queue in &mut session.opened.queues {
                for _ in 0..100 {
                    session.batch.clear();
                    queue.receive(&mut session.batch, 256, machine::clock::now());
                }
            }
        }
        session.bench.kill_peer();
        session.wait_for_link(false);
        session.bench.revive_peer();
        session.wait_for_link(true);
    }
    // The accounts are the hostile peer's; a fresh opening has its own.
    drop(session);
    let mut session = Session::start(bench, random);
    session.wait_until_passing();
    session.settle();
}

/// Sends a random burst in both directions.
fn burst(session: &mut Session<'_>) {
    burst_from_port(session);
    let count = session.random.between(1, session.promises.in_flight_min.max(1));
    let lengths = session.lengths(count);
    session.peer_send(&lengths);
}

/// Sends a random burst from the port.
fn burst_from_port(session: &mut Session<'_>) {
    let count = session.random.between(1, session.promises.in_flight_min.max(1));
    let lengths = session.lengths(count);
    session.transmit(0, &lengths);
}
