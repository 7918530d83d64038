//! Rings and meters: each reason has its own, and nothing is lost without a count.

use packet::{Room, Verdict};

use super::*;

const TICKS_PER_S: f64 = 1e9;

fn batch(frames: &[&[u8]]) -> Batch {
    let mut batch = Batch::new(64, Room { headroom: 64, frame: 2000, long: 0 }).expect("memory");
    for frame in frames {
        batch.append(PortId(3), frame.len()).expect("room").copy_from_slice(frame);
    }
    batch
}

fn of(batch: &Batch, slot: Slot) -> (PortId, [&[u8]; 2]) {
    (batch.port(slot), [batch.frame(slot), &[]])
}

fn pair(limits: &[PuntLimit]) -> (Plane, PlaneEnd) {
    let wake = Box::new(|| {});
    plane(PlaneSetup { limits, ticks_per_s: TICKS_PER_S, secret: [1, 2], wake })
}

fn context(source: u64) -> Context {
    Context { interface: 7, vlan: 12, session: u64::MAX - 1, source }
}

#[test]
fn a_punted_frame_comes_up_with_all_that_is_known_of_it() {
    let limits = [PuntLimit::default(), PuntLimit { ring_bytes: 200, ..PuntLimit::default() }];
    let (mut plane, mut end) = pair(&limits);
    let frames = batch(&[&[1; 60], &[2; 1500]]);
    // The small ring wraps at every frame.
    for round in 0..50 {
        end.punt(of(&frames, 0), Reason(1), context(9), round * 1_000_000);
        let punted = plane.next(Reason(1)).expect("a frame");
        assert_eq!(
            (punted.reason, punted.port, punted.at),
            (Reason(1), PortId(3), round * 1_000_000)
        );
        assert_eq!((punted.context, punted.frame), (context(9), &[1; 60][..]));
        assert!(plane.next(Reason(1)).is_none() && plane.next(Reason(0)).is_none());
    }
    end.punt(of(&frames, 1), Reason(1), context(9), 0);
    assert!(plane.next(Reason(1)).is_none(), "longer than the ring");
    let counts = PuntCounts { delivered: 50, ring_full: 1, ..PuntCounts::default() };
    assert_eq!(plane.counts(Reason(1)), counts);
    end.punt(of(&frames, 1), Reason(2), context(9), 0);
    assert!(plane.next(Reason(2)).is_none(), "nobody has declared it");
}

#[test]
fn a_flood_of_one_reason_or_source_takes_nothing_from_another() {
    let limit = PuntLimit { per_s: 1000, per_s_and_source: 100, ring_bytes: 100_000 };
    let (mut plane, mut end) = pair(&[limit, limit]);
    let frames = batch(&[&[1; 60]]);
    // Ten seconds: one source floods reason 0, another says one thing a tenth of a second.
    for ms in 0..10_000u64 {
        for _ in 0..20 {
            end.punt(of(&frames, 0), Reason(0), context(1), ms * 1_000_000);
        }
        if ms % 100 == 0 {
            end.punt(of(&frames, 0), Reason(0), context(2), ms * 1_000_000);
            end.punt(of(&frames, 0), Reason(1), context(1), ms * 1_000_000);
        }
        for reason in [0, 1].map(Reason) {
            while plane.next(reason).is_some() {}
        }
    }
    let flooded = plane.counts(Reason(0));
    assert!((1000..1300).contains(&flooded.delivered), "{flooded:?}");
    assert!(flooded.over_source > 190_000 && flooded.over_rate == 0, "{flooded:?}");
    assert_eq!(plane.counts(Reason(1)).delivered, 100);
    // Nobody reads: the ring of reason 0 is full, that of reason 1 is not.
    for source in 0..5000 {
        end.punt(of(&frames, 0), Reason(0), context(source), 20_000_000_000 + source * 2_000_000);
    }
    end.punt(of(&frames, 0), Reason(1), context(1), 40_000_000_000);
    assert!(plane.counts(Reason(0)).ring_full > 1000, "{:?}", plane.counts(Reason(0)));
    assert!(plane.next(Reason(1)).is_some());
}

#[test]
fn injected_frames_come_in_at_the_hosts_place() {
    let (mut plane, mut end) = pair(&[]);
    let mut frames = batch(&[]);
    for number in 0..100u16 {
        assert!(plane.inject(number, &[number as u8; 100]));
    }
    end.receive(&mut frames);
    assert_eq!(frames.len(), INJECT_PER_ROUND);
    for slot in frames.slots() {
        assert_eq!((frames.port(slot), frames.verdict(slot)), (PortId::HOST, Verdict::UNHANDLED));
        assert_eq!(split(&mut frames, slot), Some(slot.into()));
        assert_eq!(frames.frame(slot), [slot; 100]);
    }
    frames.clear();
    end.receive(&mut frames);
    assert_eq!(frames.len(), 100 - INJECT_PER_ROUND);
    // What is too long for the batch is gone, and what is too much is refused.
    assert!(plane.inject(1, &[1; 3000]) && plane.inject(2, &[2; 60]));
    frames.clear();
    end.receive(&mut frames);
    assert_eq!((frames.len(), frames.frame_len(0)), (1, 62));
    let taken = (0..2000).take_while(|_| plane.inject(0, &[0; 1500])).count();
    assert!((600..700).contains(&taken), "{taken}");
}

#[test]
fn events_come_in_order_and_lost_ones_are_counted() {
    let (mut plane, mut end) = pair(&[]);
    for subject in 0..EVENTS as u64 + 5 {
        end.tell(Event { kind: EventKind::Down, subject, detail: [0; 5], at: subject });
    }
    let told: Vec<u64> = std::iter::from_fn(|| plane.event()).map(|event| event.subject).collect();
    assert!(told.iter().copied().eq(0..EVENTS as u64));
    assert_eq!(plane.events_lost(), 5);
    // So are those for which the function had no room.
    end.tell(Event { kind: EventKind::Missed, subject: 3, detail: [0; 5], at: 0 });
    assert_eq!((plane.event(), plane.events_lost()), (None, 8));
}

#[test]
fn one_who_sleeps_is_woken_once_and_never_sleeps_over_what_waits() {
    let woken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&woken);
    let wake: Wake = Box::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let limits = &[PuntLimit::default()];
    let (mut plane, mut end) =
        super::plane(PlaneSetup { limits, ticks_per_s: 1e9, secret: [1, 2], wake });
    let frames = batch(&[&[1; 60]]);
    let mut punt = |times: usize| {
        for _ in 0..times {
            end.punt(of(&frames, 0), Reason(0), context(1), 0);
            end.wake();
        }
        woken.load(Ordering::Relaxed)
    };
    assert_eq!(punt(3), 0, "nobody sleeps");
    assert!(!plane.goes_to_rest(), "three wait");
    assert_eq!(punt(1), 0);
    while plane.next(Reason(0)).is_some() {}
    assert!(plane.goes_to_rest());
    assert_eq!(punt(5), 1);
    plane.is_awake();
    assert_eq!(punt(1), 1);
}
