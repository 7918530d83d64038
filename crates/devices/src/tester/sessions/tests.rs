//! The engine over wires on which frames are lost, copied and spoilt.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use measure::SessionAction as Act;
use traffic::workload::{Changes, FarEnds, Floods, Frames, Policers, SessionFrames};
use traffic::{Delivery, Sessions, Stamp};

use super::*;

/// Sessions of one stamp in each direction; odd ones have three steps and can be closed. All steps
/// may be the client's.
#[derive(Default)]
struct Toy {
    has_clients_alone: bool,
}

impl Frames for Toy {
    type Draw = u64;

    fn directions(&self) -> &[traffic::Direction] {
        const { &[traffic::Direction { name: "up", from: PortId(0), to: PortId(1) }] }
    }

    fn draw(&self, _: usize, number: u64) -> u64 {
        number
    }

    fn frame_len(&self, _: &u64) -> usize {
        LEN
    }

    fn steering(&self, session: &u64) -> u32 {
        (*session as u32).wrapping_mul(0x9e37_79b9)
    }

    fn write(&self, _: &u64, _: Stamp, _: &mut [u8]) {}

    fn delivery(&mut self, _: usize, _: &u64, _: &Stamp, _: PortId, _: &[u8]) -> Delivery {
        Delivery::AsExpected
    }
}

impl Changes for Toy {
    type Update = ();
}

impl Floods for Toy {}

impl Policers for Toy {}

impl FarEnds for Toy {}

impl SessionFrames for Toy {
    fn sessions(&self) -> Option<Sessions> {
        Some(Sessions { open: 10, most: 1 << 20, closes: true, opens_more: false })
    }

    fn session(&self, number: u64) -> Option<u64> {
        Some(number)
    }

    fn session_steps(&self, session: &u64, action: SessionAction) -> u8 {
        match (session % 2, action) {
            (0, SessionAction::Close) => 0,
            (1, SessionAction::Open | SessionAction::Close) => 3,
            _ => 2,
        }
    }

    fn session_side(&self, _: &u64, _: SessionAction, step: u8) -> usize {
        if self.has_clients_alone { 0 } else { usize::from(step % 2) }
    }

    fn session_frame_len(&self, _: &u64, _: SessionAction, _: u8) -> usize {
        LEN
    }

    fn write_session(
        &self,
        session: &u64,
        (action, step): (SessionAction, u8),
        time: Ticks,
        frame: &mut [u8],
    ) {
        frame.fill(0);
        let stream = SessionStep::stream(action, step);
        Stamp { stream, sequence: *session, time }.write(frame);
    }

    fn session_seen(&mut self, port: PortId, frame: &[u8]) -> Option<(SessionStep, u64)> {
        let stamp = Stamp::read(frame)?;
        let (session, action, step) = SessionStep::of(&stamp)?;
        let side = self.session_side(&session, action, step) as u8;
        let is_right = frame[0] == 0 && port == PortId(1 - side);
        Some((SessionStep { session, action, step, time: Some(stamp.time), is_right }, session))
    }
}

const LEN: usize = 24;

/// Behaviour of a device for a frame: nothing for a loss, several marks for copies.
type Fate = fn(&mut HashSet<(u64, u16)>, &Stamp) -> &'static [Mark];

/// First byte of a forwarded frame.
type Mark = u8;

/// One end of a wire with a behaviour.
struct End {
    fate: Fate,
    seen: HashSet<(u64, u16)>,
    staged: Vec<Vec<u8>>,
    to: Queue,
    from: Queue,
    current: Vec<u8>,
}

type Queue = Arc<Mutex<VecDeque<Vec<u8>>>>;

impl Link for End {
    const IS_SHARED: bool = false;
    const GRAIN: Duration = Duration::ZERO;

    fn reserve(&mut self, len: usize) -> Option<&mut [u8]> {
        self.staged.push(vec![0; len]);
        self.staged.last_mut().map(Vec::as_mut_slice)
    }
    fn publish(&mut self, _: Ticks) -> Refused {
        for frame in std::mem::take(&mut self.staged) {
            let stamp = Stamp::read(&frame).expect("a stamp");
            for mark in (self.fate)(&mut self.seen, &stamp) {
                let mut frame = frame.clone();
                frame[0] = *mark;
                self.to.lock().expect("no panic").push_back(frame);
            }
        }
        Refused::default()
    }
    fn fetch(&mut self, _: Ticks) -> bool {
        !self.from.lock().expect("no panic").is_empty()
    }
    fn next_frame(&mut self) -> Option<&[u8]> {
        self.current = self.from.lock().expect("no panic").pop_front()?;
        Some(&self.current)
    }
    fn release(&mut self) {}
}

fn wires(workers: usize, fate: Fate) -> Vec<Vec<End>> {
    let wire = |_| {
        let [a, b] = [Queue::default(), Queue::default()];
        let end = |to: &Queue, from: &Queue| End {
            fate,
            seen: HashSet::new(),
            staged: Vec::new(),
            to: to.clone(),
            from: from.clone(),
            current: Vec::new(),
        };
        vec![end(&a, &b), end(&b, &a)]
    };
    (0..workers).map(wire).collect()
}

fn run(load: SessionLoad, wait: Duration, workers: usize, fate: Fate) -> Found {
    let mut links = wires(workers, fate);
    let mut tester =
        SessionTester::new(Toy::default(), &mut links, (load, wait), Clock::with_rate(1e9));
    tester.run(&Progress::default(), &[]);
    tester.finish()
}

const PASS: &[Mark] = &[0];
const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(100);

fn sent(found: &Found) -> Vec<u64> {
    found.directions.iter().map(|direction| direction.sent).collect()
}

#[test]
fn sessions_go_from_step_to_step_until_all_have_succeeded() {
    for rate in [None, Some(1e6)] {
        for workers in [1, 3] {
            let load = SessionLoad { action: Act::Open, first: 7, count: 10_001, rate };
            let found = run(load, LONG, workers, |_, _| PASS);
            let counts = &found.counts;
            assert!(counts.is_whole(), "{counts:?}");
            assert_eq!((counts.attempted, counts.wrong), (10_001, 0));
            assert_eq!(counts.answered_ns.len(), 10_001);
            // Of three steps: those with an odd number, from 7 to 10,007.
            assert_eq!(sent(&found), [10_001 + 5001, 10_001]);
            assert!(found.directions.iter().all(|one| one.lost == 0 && one.duplicated == 0));
        }
    }
}

#[test]
fn steps_that_are_all_the_clients_enter_at_its_port() {
    let mut links = wires(1, |_, _| PASS);
    let load = SessionLoad::all(Act::Open, 1001);
    let toy = Toy { has_clients_alone: true };
    let mut tester = SessionTester::new(toy, &mut links, (load, LONG), Clock::with_rate(1e9));
    tester.run(&Progress::default(), &[]);
    let found = tester.finish();
    assert!(found.counts.is_whole(), "{:?}", found.counts);
    assert_eq!(sent(&found), [2 * 1001 + 500, 0]);
}

#[test]
fn what_is_lost_at_a_rate_fails_and_is_not_sent_again() {
    let load = SessionLoad { action: Act::Use, first: 0, count: 1000, rate: Some(1e6) };
    let lost: Fate = |_, stamp| {
        let is_back = stamp.stream & 1 == 1;
        if is_back && stamp.sequence.is_multiple_of(10) { &[] } else { PASS }
    };
    let found = run(load, SHORT, 1, lost);
    let SessionCounts { attempted, succeeded, failed, wrong, .. } = found.counts;
    assert_eq!((attempted, succeeded, failed, wrong), (1000, 900, 100, 0));
    assert_eq!(sent(&found), [1000, 1000]);
    assert_eq!(found.directions[1].lost, 100);
}

#[test]
fn without_a_rate_what_is_lost_is_sent_again() {
    let load = SessionLoad { action: Act::Open, first: 0, count: 300, rate: None };
    // Every frame is lost once, so that three steps take three tries.
    let once: Fate = |seen, stamp| {
        let is_new = seen.insert((stamp.sequence, stamp.stream));
        if is_new { &[] } else { PASS }
    };
    let found = run(load, Duration::from_secs(4), 1, once);
    assert!(found.counts.is_whole(), "{:?}", found.counts);
}

#[test]
fn a_device_that_answers_nothing_is_given_up() {
    let load = SessionLoad { action: Act::Open, first: 0, count: 1 << 20, rate: None };
    let full: Fate = |_, stamp| if stamp.sequence < 5000 { PASS } else { &[] };
    let found = run(load, SHORT, 1, full);
    let SessionCounts { attempted, succeeded, failed, .. } = found.counts;
    assert_eq!(succeeded, 5000);
    assert!(attempted < 1 << 20 && failed == attempted - 5000, "{attempted} and {failed}");
}

#[test]
fn a_wrong_translation_fails_and_a_copy_counts_once() {
    let load = SessionLoad { action: Act::Use, first: 0, count: 100, rate: Some(1e6) };
    let fate: Fate = |_, stamp| match (stamp.sequence, stamp.stream & 1) {
        (3, 0) | (4, 1) => &[1],
        (5, 1) => &[0, 0, 0],
        _ => PASS,
    };
    let found = run(load, SHORT, 1, fate);
    let SessionCounts { succeeded, failed, wrong, .. } = found.counts;
    assert_eq!((succeeded, failed, wrong), (98, 2, 2));
    assert_eq!(found.directions[1].duplicated, 2);
    assert_eq!(found.directions.iter().map(|one| one.misdelivered).sum::<u64>(), 2);
}

#[test]
fn a_session_that_nothing_closes_takes_no_frame() {
    let load = SessionLoad { action: Act::Close, first: 0, count: 1000, rate: None };
    let found = run(load, LONG, 1, |_, _| PASS);
    assert!(found.counts.is_whole());
    assert_eq!(sent(&found), [1000, 500]);
}

#[test]
fn the_sessions_of_another_load_are_no_part_of_this_one() {
    let mut links = wires(1, |_, _| PASS);
    let load = SessionLoad { action: Act::Use, first: 100, count: 10, rate: None };
    for (sequence, action) in [(99, SessionAction::Use), (100, SessionAction::Open)] {
        let frame = links[0][0].reserve(LEN).expect("room");
        Stamp { stream: SessionStep::stream(action, 0), sequence, time: 0 }.write(frame);
    }
    let mut tester =
        SessionTester::new(Toy::default(), &mut links, (load, LONG), Clock::with_rate(1e9));
    tester.run(&Progress::default(), &[]);
    let found = tester.finish();
    assert!(found.counts.is_whole());
    assert_eq!(found.foreign, 2);
}
