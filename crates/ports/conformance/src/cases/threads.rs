//! The port on a thread of its own, as in a worker, while the peer is busy and others read its
//! monitor.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::{Monitor, Port, Way};
use machine::clock;
use packet::{BATCH_MAX, Batch, Room, Slot};

use crate::bench::Bench;
use crate::random::Random;
use crate::session::Session;

/// A worker sends back all frames that it receives; every frame returns once and complete, or is
/// counted.
pub(super) fn threads(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    let mut queue = session.opened.queues.pop().expect("one was asked for");
    let monitor = session.opened.monitor.clone();
    let room = Room { headroom: 128, frame: session.promises.frame_bytes_max, long: 0 };
    let stop = AtomicBool::new(false);
    let echo = Echo::default();
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        scope.spawn(|| echo.run(queue.as_mut(), room, &stop));
        scope.spawn(|| watch(monitor.as_ref(), &stop));
        converse(&mut session, &echo);
    });
    session.opened.queues.push(queue);
    let counts = session.counts();
    let received = echo.received.load(Ordering::Relaxed);
    assert_eq!(received, counts.received, "{counts:?}");
    assert_eq!(received, counts.sent + counts.lost(Way::Transmit), "{counts:?}");
}

/// Sends bursts as long as the path has room, and waits for outstanding frames.
fn converse(session: &mut Session<'_>, echo: &Echo) {
    let start = Instant::now();
    let mut progress = (start, 0);
    loop {
        let before = session.bench.lost_between();
        let counts = session.counts();
        let lost = counts.lost(Way::Receive) + counts.lost(Way::Transmit);
        let lost = lost + before.to_port + before.from_port;
        let out = session.peer_sent.saturating_sub(session.to_port.arrived + lost) as usize;
        let room = session.promises.in_flight_min.saturating_sub(out);
        if session.peer_sent >= FRAMES && out == 0 {
            return;
        }
        if room > 0 && session.peer_sent < FRAMES {
            let count = session.random.between(1, room);
            let lengths = session.lengths(count);
            session.peer_send(&lengths);
        }
        let ledger = &mut session.to_port;
        session.bench.peer_receive(&mut |frame| ledger.arrived(frame, |_| 0));
        if session.to_port.arrived > progress.1 {
            progress = (Instant::now(), session.to_port.arrived);
        } else {
            std::thread::yield_now();
        }
        let stuck = progress.0.elapsed() > Duration::from_secs(30);
        assert!(!stuck, "echoed {echo:?}; {}", session.accounts());
    }
}

/// Reads the monitor, whose counters never decrease.
fn watch(monitor: &dyn Monitor, stop: &AtomicBool) {
    let mut last = monitor.counts();
    while !stop.load(Ordering::Relaxed) {
        let now = monitor.counts();
        let grows = now.received >= last.received && now.sent >= last.sent;
        assert!(grows && now.drops.len() >= last.drops.len(), "{last:?} then {now:?}");
        for ((kind, before), (same, after)) in last.drops.iter().zip(&now.drops) {
            assert!(kind == same && before <= after, "{last:?} then {now:?}");
        }
        let _ = (monitor.link(), monitor.facts());
        last = now;
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// A worker that sends back the frames that it receives.
#[derive(Debug, Default)]
struct Echo {
    received: AtomicU64,
}

impl Echo {
    fn run(&self, queue: &mut dyn Port, room: Room, stop: &AtomicBool) {
        let mut batch = Batch::new(BATCH_MAX, room).expect("memory for a batch");
        while !stop.load(Ordering::Relaxed) {
            batch.clear();
            let count = queue.receive(&mut batch, BATCH_MAX, clock::now());
            if count == 0 {
                std::thread::yield_now();
                continue;
            }
            let slots: Vec<Slot> = batch.slots().collect();
            queue.transmit(&mut batch, &slots, clock::now());
            self.received.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
}

/// Stops the other threads also when this one panics.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Number of frames that are exchanged.
const FRAMES: u64 = 20_000;
