//! Single frames: none, all lengths, any content, too short ones.

use engine::{Link, PortCounts, Way};
use machine::clock;

use crate::bench::Bench;
use crate::random::Random;
use crate::session::Session;

/// An idle port receives, transmits and counts nothing, and its link is up.
pub(super) fn silence(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    for _ in 0..100 {
        assert_eq!(session.pump(), 0);
        assert_eq!(session.opened.queues[0].transmit(&mut session.batch, &[], clock::now()), 0);
    }
    let PortCounts { received, received_bytes, sent, sent_bytes, drops } = session.counts();
    assert_eq!((received, received_bytes, sent, sent_bytes), (0, 0, 0, 0));
    assert!(drops.iter().all(|(_, count)| *count == 0), "{drops:?}");
    assert_eq!(session.opened.monitor.link(), Link::Up);
    for (name, value) in session.opened.monitor.facts() {
        assert!(!name.is_empty() && !value.is_empty(), "an empty fact: {name} {value}");
    }
}

/// Frames of every length arrive complete, once and in order, in both directions.
pub(super) fn every_length(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    let (low, high) = (session.promises.frame_bytes_min.max(60), session.promises.frame_bytes_max);
    let all: Vec<usize> =
        (low..=high).filter(|len| *len <= 1600 || len % 97 == 0 || high - len < 20).collect();
    for part in all.chunks(session.promises.in_flight_min.clamp(1, 64)) {
        assert_eq!(session.transmit(0, part), part.len(), "{}", session.accounts());
        assert_eq!(session.peer_send(part), part.len(), "{}", session.accounts());
        session.until("the frames arrive", |session| {
            session.to_port.arrived == session.peer_sent
                && session.from_port.arrived == session.offered
        });
    }
    session.settle_without_loss();
    let counts = session.counts();
    assert_eq!((counts.lost(Way::Receive), counts.lost(Way::Transmit)), (0, 0), "{counts:?}");
}

/// The contents of frames do not affect the port.
pub(super) fn wild_frames(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    let count = session.promises.in_flight_min.clamp(1, 64);
    for _ in 0..30 {
        for towards_port in [false, true] {
            let lengths = session.lengths(count);
            let mut frames: Vec<_> =
                lengths.into_iter().map(|len| session.random.bytes(len)).collect();
            // Among them what stacks look into: a group address, tags, IPv4 and IPv6 headers of
            // rubbish.
            for (frame, kind) in frames.iter_mut().zip([0x0800, 0x86dd, 0x0806, 0x8847_u16]) {
                frame[12..14].copy_from_slice(&kind.to_be_bytes());
            }
            // Not a pause frame nor a bridge's, which Ethernet keeps to the link.
            frames.iter_mut().for_each(|frame| frame[0] = 0x02);
            if towards_port {
                session.peer_send_frames(&frames);
            } else {
                session.transmit_frames(0, &frames);
            }
        }
        session.settle();
    }
    session.settle_without_loss();
}

/// Frames shorter than the Ethernet minimum pass, or are counted; other frames pass in any case.
pub(super) fn runts(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    for len in (0..60).rev() {
        let runt = vec![0x02; len];
        session.peer_send_frames(std::slice::from_ref(&runt));
        session.transmit_frames(0, &[runt]);
        session.settle();
    }
    let (to, from) = (session.to_port.arrived, session.from_port.arrived);
    let lengths = [60, session.promises.frame_bytes_max];
    assert_eq!((session.peer_send(&lengths), session.transmit(0, &lengths)), (2, 2));
    session.settle();
    assert_eq!((session.to_port.arrived - to, session.from_port.arrived - from), (2, 2));
}
