//! What is refused, what clearing does, and how much memory there is.

use tables::scheduler::{
    Discard, Dropped, LEVELS, Member, Offered, Port, Queue, Refused, Scheduler, Shape, Sizes,
};

use super::{CLOCK, SIZES};

const PORT: Port = Port { shape: Shape::UNLIMITED, levels: [Shape::UNLIMITED; LEVELS] };
const MEMBER: Member = Member { parent: 0, shape: Shape::UNLIMITED, weight: 1 };
const QUEUE: Queue = Queue {
    subscriber: 0,
    shape: Shape::UNLIMITED,
    level: 0,
    weight: 1,
    depth_bytes: 10_000,
    share: 7,
    discard: Discard::Tail,
};

/// A queue for which nothing passes: its port has a rate that is next to nothing.
fn waiting() -> Scheduler {
    let mut scheduler = Scheduler::new(SIZES, CLOCK as f64, 0).expect("memory");
    let shape = Shape { bytes_per_s: 1.0, burst_bytes: 0.0, overhead_bytes: 0 };
    scheduler.set_port(0, &Port { shape, ..PORT }, 0).expect("sound");
    scheduler.set_node(0, &MEMBER, 0).expect("sound");
    scheduler.set_subscriber(0, &MEMBER, 0).expect("sound");
    scheduler.set_queue(0, &QUEUE, 0).expect("sound");
    assert_eq!(scheduler.offer(0, &[0; 100], 0, 0), Offered::Passes, "there may be a debt");
    scheduler
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut fast = Scheduler::new(SIZES, CLOCK as f64, 0).expect("memory");
    assert_eq!(fast.set_port(2, &PORT, 0), Err(Refused::Number { number: 2, count: 2 }));
    assert_eq!(fast.set_node(0, &MEMBER, 0), Err(Refused::Parent { parent: 0 }));
    assert_eq!(fast.set_subscriber(0, &MEMBER, 0), Err(Refused::Parent { parent: 0 }));
    assert_eq!(fast.set_queue(0, &QUEUE, 0), Err(Refused::Parent { parent: 0 }));
    assert_eq!(fast.set_port(0, &PORT, 0), Ok(()));
    let far = Member { parent: u32::MAX, ..MEMBER };
    assert_eq!(fast.set_node(0, &far, 0), Err(Refused::Parent { parent: u32::MAX }));
    assert_eq!(fast.set_node(0, &MEMBER, 0), Ok(()));
    assert_eq!(fast.set_node(3, &MEMBER, 0), Err(Refused::Number { number: 3, count: 3 }));
    assert_eq!(fast.set_subscriber(0, &MEMBER, 0), Ok(()));
    let light = Member { weight: 0, ..MEMBER };
    assert_eq!(fast.set_subscriber(0, &light, 0), Err(Refused::Setting));
    for (bytes_per_s, burst_bytes, overhead_bytes) in
        [(0.0, 0.0, 0), (-1.0, 0.0, 0), (f64::NAN, 0.0, 0), (1.0, -1.0, 0), (1.0, 0.0, 257)]
    {
        let shape = Shape { bytes_per_s, burst_bytes, overhead_bytes };
        assert_eq!(fast.set_queue(0, &Queue { shape, ..QUEUE }, 0), Err(Refused::Shape));
        assert_eq!(fast.set_node(0, &Member { shape, ..MEMBER }, 0), Err(Refused::Shape));
        let mut port = PORT;
        port.levels[7] = shape;
        assert_eq!(fast.set_port(0, &port, 0), Err(Refused::Shape));
    }
    let codel = |target_s, interval_s| Discard::Codel { target_s, interval_s };
    for queue in [
        Queue { weight: 0, ..QUEUE },
        Queue { level: 8, ..QUEUE },
        Queue { share: -8, ..QUEUE },
        Queue { discard: codel(0.0, 0.1), ..QUEUE },
        Queue { discard: codel(0.005, 101.0), ..QUEUE },
    ] {
        assert_eq!(fast.set_queue(0, &queue, 0), Err(Refused::Setting), "{queue:?}");
    }
    assert!(!fast.is_queue(0));
    assert_eq!(fast.set_queue(0, &QUEUE, 0), Ok(()));
    assert!(fast.is_queue(0) && !fast.is_queue(1) && !fast.is_queue(u32::MAX));
}

#[test]
fn a_rate_that_is_set_again_and_again_gives_nothing_away() {
    let limited = Shape { bytes_per_s: 1e6, burst_bytes: 2000.0, overhead_bytes: 0 };
    let queue = Queue { shape: limited, ..QUEUE };
    let member = Member { shape: limited, ..MEMBER };
    for tier in 0..5 {
        let mut fast = Scheduler::new(SIZES, CLOCK as f64, 0).expect("memory");
        let set = |fast: &mut Scheduler, now| {
            let mut port = PORT;
            match tier {
                0 => port.shape = limited,
                1 => port.levels[0] = limited,
                _ => {}
            }
            let done = match tier {
                0 | 1 => fast.set_port(0, &port, now),
                2 => fast.set_node(0, &member, now),
                3 => fast.set_subscriber(0, &member, now),
                _ => fast.set_queue(0, &queue, now),
            };
            assert_eq!(done, Ok(()), "{tier}");
        };
        fast.set_port(0, &PORT, 0).expect("sound");
        fast.set_node(0, &MEMBER, 0).expect("sound");
        fast.set_subscriber(0, &MEMBER, 0).expect("sound");
        fast.set_queue(0, &QUEUE, 0).expect("sound");
        set(&mut fast, 0);
        // A frame of 1,000 bytes each 10 us for a tenth of a second, and a rate set each time.
        let mut left = 0;
        for now in (0..CLOCK / 10).step_by(10_000) {
            left += u32::from(fast.offer(0, &[0; 1000], 0, now) == Offered::Passes);
            left += fast.take(0, now, 10, |_| {}) as u32;
            set(&mut fast, now);
        }
        assert!((99..=101).contains(&left), "{tier}: {left} frames for 100");
    }
}

#[test]
fn clearing_goes_from_below_and_drops_what_waits() {
    let mut fast = waiting();
    for _ in 0..3 {
        assert_eq!(fast.offer(0, &[0; 500], 0, 0), Offered::Waits);
    }
    let children = |number| Err(Refused::Children { number, children: 1 });
    assert_eq!(fast.clear_port(0), children(0));
    assert_eq!(fast.clear_node(0), children(0));
    assert_eq!(fast.clear_subscriber(0), children(0));
    assert_eq!((fast.held(0, 0).frames, fast.free_cells()), (3, SIZES.cells - 9));
    assert_eq!((fast.clear_queue(0), fast.clear_queue(0)), (Ok(true), Ok(false)));
    assert_eq!(fast.counts().dropped[Dropped::Cleared as usize], 3);
    assert_eq!((fast.counts().waiting, fast.free_cells()), (0, SIZES.cells));
    assert_eq!(fast.offer(0, &[0; 500], 0, 0), Offered::Passes, "no queue, no limit");
    assert_eq!((fast.clear_subscriber(0), fast.clear_subscriber(0)), (Ok(true), Ok(false)));
    assert_eq!((fast.clear_node(0), fast.clear_port(0)), (Ok(true), Ok(true)));
    assert_eq!(fast.clear_queue(99), Err(Refused::Number { number: 99, count: 10 }));
    assert_eq!(fast.take(0, 0, 10, |_| {}), 0);
    assert_eq!(fast.take(7, 0, 10, |_| {}), 0, "there is no such port");
}

#[test]
fn a_queue_that_moves_takes_its_frames_along() {
    let mut fast = waiting();
    fast.set_port(1, &PORT, 0).expect("sound");
    fast.set_node(1, &Member { parent: 1, ..MEMBER }, 0).expect("sound");
    fast.set_subscriber(1, &Member { parent: 1, ..MEMBER }, 0).expect("sound");
    for note in 0..3 {
        assert_eq!(fast.offer(0, &[note as u8; 500], note, 0), Offered::Waits);
    }
    assert_eq!(fast.take(0, 0, 10, |_| {}), 0);
    fast.set_queue(0, &Queue { subscriber: 1, level: 5, ..QUEUE }, 0).expect("sound");
    let mut notes = Vec::new();
    assert_eq!(fast.take(0, 0, 10, |_| {}), 0);
    assert_eq!(fast.take(1, 0, 10, |frame| notes.push(frame.note)), 3);
    assert_eq!(notes, [0, 1, 2]);
    assert_eq!(fast.clear_subscriber(0), Ok(true), "nobody is left there");
}

#[test]
fn a_subscriber_that_moves_takes_what_waits_below_along() {
    let mut fast = waiting();
    fast.set_port(1, &PORT, 0).expect("sound");
    fast.set_node(1, &Member { parent: 1, ..MEMBER }, 0).expect("sound");
    fast.set_queue(1, &Queue { level: 3, ..QUEUE }, 0).expect("sound");
    for queue in [0, 1, 0, 1] {
        assert_eq!(fast.offer(queue, &[1; 500], 0, 0), Offered::Waits);
    }
    fast.set_subscriber(0, &Member { parent: 1, ..MEMBER }, 0).expect("sound");
    let mut queues = Vec::new();
    assert_eq!(fast.take(0, 0, 10, |_| {}), 0);
    assert_eq!(fast.take(1, 0, 10, |frame| queues.push(frame.queue)), 4);
    assert_eq!(queues, [0, 0, 1, 1]);
    assert_eq!(fast.clear_node(0), Ok(true));
}

#[test]
fn memory_is_what_the_module_says() {
    let sizes = Sizes {
        ports: 4,
        nodes: 512,
        subscribers: 32_768,
        queues: 98_304,
        cells: 65_536,
        frame_bytes_max: 2014,
    };
    let fast = Scheduler::new(sizes, CLOCK as f64, 0).expect("memory");
    let said = 120 * 98_304 + 192 * (32_768 + 512 + 4) + 24 * 8 * 4 + 256 * 65_536;
    // Each of five arrays is a whole number of 2 MiB; the timers have slots.
    let most = said + 5 * (2 << 20) + 32_768;
    assert!((said..=most).contains(&fast.bytes()), "{} and not {said}", fast.bytes());
    let too_many = Sizes { queues: u32::MAX, ..sizes };
    assert!(Scheduler::new(too_many, CLOCK as f64, 0).is_err());
}
