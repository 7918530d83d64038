//! Rates of each tier as exact as the design has it, weights, priority, room, and nobody held up by
//! others.

use tables::scheduler::{
    Cause, Discard, Dropped, LEVELS, Member, Offered, Port, Queue, Scheduler, Shape, Sizes,
};

use super::CLOCK;
use crate::random::Random;

/// A port with nodes, subscribers and queues by number, without limits.
struct Link {
    scheduler: Scheduler,
    now: u64,
    /// Bytes that have left, by queue.
    bytes: Vec<u64>,
    /// The longest time that a frame of a queue has waited.
    waited_ticks: Vec<u64>,
    port: Port,
}

fn shape(bytes_per_s: f64, overhead_bytes: i16) -> Shape {
    Shape { bytes_per_s, burst_bytes: 3000.0, overhead_bytes }
}

impl Link {
    /// So many nodes, with so many subscribers each, with so many queues each, which have the
    /// levels in turn.
    fn new([nodes, subscribers, queues]: [u32; 3], levels: &[u8]) -> Link {
        let port = Port { shape: Shape::UNLIMITED, levels: [Shape::UNLIMITED; LEVELS] };
        let sizes = Sizes {
            ports: 1,
            nodes,
            subscribers: nodes * subscribers,
            queues: nodes * subscribers * queues,
            cells: 20_000,
            frame_bytes_max: 2014,
        };
        let mut scheduler = Scheduler::new(sizes, CLOCK as f64, 0).expect("memory");
        scheduler.set_port(0, &port, 0).expect("sound");
        for number in 0..nodes {
            scheduler.set_node(number, &member(0), 0).expect("sound");
        }
        for number in 0..sizes.subscribers {
            scheduler.set_subscriber(number, &member(number / subscribers), 0).expect("sound");
        }
        for number in 0..sizes.queues {
            let level = levels[number as usize % levels.len()];
            let queue = Queue { level, ..queue_of(number / queues) };
            scheduler.set_queue(number, &queue, 0).expect("sound");
        }
        let count = sizes.queues as usize;
        Link { scheduler, now: 0, bytes: vec![0; count], waited_ticks: vec![0; count], port }
    }

    fn set_port(&mut self) {
        self.scheduler.set_port(0, &self.port, self.now).expect("sound");
    }

    /// Has a queue hold frames of a length; what passes has left.
    fn keep(&mut self, queue: u32, frames: u32, len: usize) {
        while self.scheduler.held(queue, self.now).frames < frames {
            self.offer(queue, len);
        }
    }

    fn offer(&mut self, queue: u32, len: usize) {
        match self.scheduler.offer(queue, &FRAME[..len], 0, self.now) {
            Offered::Passes => self.bytes[queue as usize] += len as u64,
            Offered::Waits => {}
            Offered::Dropped(why) => panic!("queue {queue}: {why:?}"),
        }
    }

    /// Time passes, and all that may leave leaves.
    fn pass(&mut self, ticks: u64) {
        self.now += ticks;
        let Link { scheduler, now, bytes, waited_ticks, .. } = self;
        scheduler.take(0, *now, usize::MAX, |frame| {
            let queue = frame.queue as usize;
            bytes[queue] += frame.len as u64;
            waited_ticks[queue] = waited_ticks[queue].max(frame.waited_ticks);
        });
    }
}

fn member(parent: u32) -> Member {
    Member { parent, shape: Shape::UNLIMITED, weight: 1 }
}

fn queue_of(subscriber: u32) -> Queue {
    Queue {
        subscriber,
        shape: Shape::UNLIMITED,
        level: 4,
        weight: 1,
        depth_bytes: 10_000_000,
        share: 7,
        discard: Discard::Tail,
    }
}

const FRAME: [u8; 2014] = [0; 2014];

/// How often a worker comes.
const ROUND: u64 = 20_000;

/// From a bucket without tokens on, a backlog sends in a time T at most `rate * T` and a frame, and
/// at least what is due a step of the timers before its end. 400 frames are long enough for that to
/// be within 1 %.
#[test]
fn every_tier_has_its_rate_but_for_a_step_and_a_frame() {
    // 80 kbit/s to 10 Gbit/s; a worker comes at least once in the time of a burst.
    for (rate, round) in [(1e4, 1_000_000), (1e6, 1_000_000), (1.25e8, ROUND), (1.25e9, ROUND)] {
        for len in [64, 1500] {
            for (tier, overhead) in (0..5).zip([0, 20, -14, 42, 4]) {
                rate_of(tier, (rate, round), len, overhead);
            }
        }
    }
}

/// Two queues below what has the rate hold frames all the time.
fn rate_of(tier: usize, (rate, round): (f64, u64), len: usize, overhead: i16) {
    let mut link = Link::new([2, 2, 2], &[4]);
    let limited = shape(rate, overhead);
    let under: &[u32] = match tier {
        0 => {
            let queue = Queue { shape: limited, ..queue_of(0) };
            link.scheduler.set_queue(0, &queue, 0).expect("sound");
            &[0]
        }
        1 => {
            let subscriber = Member { shape: limited, ..member(0) };
            link.scheduler.set_subscriber(0, &subscriber, 0).expect("sound");
            &[0, 1]
        }
        2 => {
            let node = Member { shape: limited, ..member(0) };
            link.scheduler.set_node(0, &node, 0).expect("sound");
            &[0, 3]
        }
        3 => {
            link.port.shape = limited;
            link.set_port();
            &[0, 5]
        }
        _ => {
            link.port.levels[4] = limited;
            link.set_port();
            &[1, 6]
        }
    };
    // A second, or 100,000 frames; 400 frames at least.
    let counted = len as f64 + f64::from(overhead);
    let seconds = (100_000.0 * counted / rate).min(1.0).max(400.0 * counted / rate);
    let in_a_round = (rate * round as f64 / CLOCK as f64 / counted) as u32;
    while link.now < (seconds * CLOCK as f64) as u64 {
        for &queue in under {
            link.keep(queue, 2 * in_a_round + 4, len);
        }
        link.pass(round);
    }
    let frames = link.bytes.iter().sum::<u64>() as f64 / len as f64;
    let got = frames * counted;
    let expected = rate * link.now as f64 / CLOCK as f64;
    let late = rate * link.scheduler.late_ticks_max() as f64 / CLOCK as f64;
    // A frame's cost is rounded to 1/64 tick, and a rate to 24 bits.
    let ticks = counted / rate * CLOCK as f64;
    let rounding = (expected + counted) * (1.0 / 128.0 / ticks + 2f64.powi(-24));
    let about = format!("{tier}: {got} for {expected} at {rate} byte/s, {len} bytes");
    assert!(got >= expected - late - rounding && got <= expected + counted + rounding, "{about}");
    assert!((got - expected).abs() <= 0.01 * expected, "{about}");
}

#[test]
fn siblings_share_by_weight_in_bytes_whatever_their_frames() {
    for tier in 0..3 {
        let counts = [[1, 1, 3], [1, 3, 1], [3, 1, 1]][tier];
        let mut link = Link::new(counts, &[4]);
        let weights = [1, 2, 5];
        for (number, weight) in (0..).zip(weights) {
            let set = &mut link.scheduler;
            let done = match tier {
                0 => set.set_queue(number, &Queue { weight, ..queue_of(0) }, 0),
                1 => set.set_subscriber(number, &Member { weight, ..member(0) }, 0),
                _ => set.set_node(number, &Member { weight, ..member(0) }, 0),
            };
            done.expect("sound");
        }
        link.port.shape = shape(1e7, 0);
        link.set_port();
        while link.now < CLOCK {
            for (queue, len) in (0..).zip([100, 1500, 700]) {
                link.keep(queue, 60_000 / len as u32, len);
            }
            link.pass(100_000);
        }
        let all = link.bytes.iter().sum::<u64>() as f64;
        assert!(all >= 0.99 * 1e7, "{tier}: {all}");
        for (bytes, weight) in link.bytes.iter().zip(weights) {
            let expected = all * f64::from(weight) / 8.0;
            let off = (*bytes as f64 - expected).abs() / expected;
            assert!(off <= 0.02, "{tier}: {bytes} for {expected}");
        }
    }
}

#[test]
fn who_empties_its_queue_each_time_gets_no_more_than_its_weight() {
    for tier in 0..3 {
        let mut link = Link::new([[1, 1, 2], [1, 2, 1], [2, 1, 1]][tier], &[4]);
        link.port.shape = shape(1e7, 0);
        link.set_port();
        while link.now < CLOCK {
            link.keep(0, 10, 1500);
            // Two frames are more than a turn of 2,270 bytes.
            if link.scheduler.held(1, link.now).frames == 0 {
                link.keep(1, 2, 1500);
            }
            link.pass(100_000);
        }
        let [always, by_twos] = link.bytes[..] else { panic!("two queues") };
        assert!(by_twos as f64 <= 1.01 * always as f64, "{tier}: {by_twos} beside {always}");
        assert!(by_twos as f64 >= 0.9 * always as f64, "{tier}: {by_twos} beside {always}");
    }
}

#[test]
fn under_overload_the_best_level_waits_less_than_a_millisecond() {
    let mut link = Link::new([4, 25, 2], &[0, 7]);
    link.port.shape = shape(1e9, 20);
    link.set_port();
    let mut random = Random(7);
    let mut offered = 0;
    while link.now < CLOCK / 10 {
        for subscriber in 0..100 {
            link.keep(2 * subscriber + 1, 3, 1500);
        }
        // A tenth of what the port sends in the time.
        for _ in 0..50 {
            link.offer(2 * random.below(100) as u32, 100);
            offered += 100;
        }
        link.pass(50_000);
    }
    let best: u64 = link.bytes.iter().step_by(2).sum();
    assert_eq!(best, offered, "all of it has left");
    let longest = link.waited_ticks.iter().step_by(2).max();
    assert!(longest.is_some_and(|ticks| *ticks <= CLOCK / 1000), "{longest:?}");
    let other: u64 = link.bytes.iter().skip(1).step_by(2).sum();
    assert!(other > 8 * best, "{other} beside {best}");
}

#[test]
fn the_levels_of_a_port_have_their_rates_and_the_best_come_first() {
    let mut link = Link::new([1, 1, 8], &[0, 1, 2, 3, 4, 5, 6, 7]);
    link.port.levels = std::array::from_fn(|level| shape(1e5 * (level + 1) as f64, 0));
    // Each has its rate but for a frame; where the port's rate ends, that of all before it counts,
    // and what there is of debts from before.
    for (port_rate, frames) in [(1e7, 1.0), (1e6, 5.0)] {
        link.port.shape = shape(port_rate, 0);
        link.set_port();
        link.bytes.fill(0);
        let begun = link.now;
        while link.now < begun + CLOCK {
            (0..8).for_each(|queue| link.keep(queue, 20, 500));
            link.pass(100_000);
        }
        let mut left = port_rate;
        for (level, bytes) in link.bytes.iter().enumerate() {
            let expected = (1e5 * (level + 1) as f64).min(left);
            left -= expected;
            let off = (*bytes as f64 - expected).abs();
            assert!(off <= frames * 500.0, "level {level}: {bytes} for {expected}");
        }
    }
}

#[test]
fn who_waits_for_credit_holds_nobody_up() {
    // One node, whose first subscriber has next to nothing; another subscriber has a queue that has
    // as little, and one without a limit.
    let mut link = Link::new([1, 2, 2], &[0, 0]);
    link.port.shape = shape(1e7, 0);
    link.set_port();
    let slow = shape(1e4, 0);
    link.scheduler.set_subscriber(0, &Member { shape: slow, ..member(0) }, 0).expect("sound");
    let queue = Queue { shape: slow, level: 0, ..queue_of(1) };
    link.scheduler.set_queue(2, &queue, 0).expect("sound");
    while link.now < CLOCK {
        for queue in [0, 1, 2] {
            link.keep(queue, 50, 500);
        }
        link.keep(3, 100, 1000);
        link.pass(ROUND);
    }
    let why = [0, 1, 2].map(|queue| link.scheduler.why(queue, link.now).map(|why| why.cause));
    assert_eq!(why, [Some(Cause::Subscriber), Some(Cause::Subscriber), Some(Cause::Own)]);
    let [first, second, third, fast] = link.bytes[..] else { panic!("four queues") };
    // A frame more than the rate, and no less.
    assert!((10_000..=10_500).contains(&(first + second)), "{first} and {second}");
    assert!((10_000..=10_500).contains(&third), "{third}");
    assert!(fast as f64 >= 0.99 * (1e7 - 2e4), "{fast}");
}

#[test]
fn a_queue_says_why_it_waits_and_how_long() {
    let mut link = Link::new([1, 1, 2], &[0, 0]);
    let queue = Queue { shape: shape(1e6, 0), level: 0, ..queue_of(0) };
    link.scheduler.set_queue(0, &queue, 0).expect("sound");
    assert_eq!(link.scheduler.why(0, 0), None);
    link.keep(0, 1, 1000);
    // It was set anew without tokens: the frame that passed took a millisecond of the rate.
    let why = link.scheduler.why(0, 400_000).expect("a frame waits");
    assert_eq!((why.cause, why.ticks), (Cause::Own, 600_000));
    link.port.shape = shape(1e6, 0);
    link.set_port();
    link.now = 500_000;
    link.keep(1, 2, 1000);
    let why = link.scheduler.why(1, 500_000).expect("frames wait");
    assert_eq!(why.cause, Cause::Port);
    // The port has credit, and nobody asks it for frames.
    let why = link.scheduler.why(1, 2_000_000).expect("frames wait");
    assert_eq!((why.cause, why.ticks), (Cause::Turn, 0));
}

#[test]
fn no_queue_gets_all_cells() {
    let mut link = Link::new([1, 1, 3], &[0, 1, 2]);
    link.port.shape = shape(1.0, 0);
    link.set_port();
    for (number, share) in (0..).zip([0, 0, -3]) {
        let queue = Queue { share, ..queue_of(0) };
        link.scheduler.set_queue(number, &queue, 0).expect("sound");
    }
    let fill = |link: &mut Link, queue| {
        let mut count = 0;
        loop {
            match link.scheduler.offer(queue, &FRAME[..100], 0, 0) {
                Offered::Passes => {}
                Offered::Waits => count += 1,
                Offered::Dropped(why) => break (count, why),
            }
        }
    };
    // Half of all, half of what is left, and a ninth of that.
    let cells = [0, 1, 2].map(|queue| fill(&mut link, queue));
    assert_eq!(cells, [10_000, 5_000, 5_000 / 9].map(|count| (count, Dropped::Share)));
}

/// A call moves 4,096 timers and brings 1,024 queues back at most.
#[test]
fn many_queues_that_become_ready_at_once_come_back_by_several_calls() {
    const QUEUES: u32 = 10_000;
    let mut link = Link::new([1, QUEUES, 1], &[4]);
    for number in 0..QUEUES {
        let limited = Queue { shape: shape(1e4, 0), ..queue_of(number) };
        link.scheduler.set_queue(number, &limited, 0).expect("sound");
        link.keep(number, 1, 100);
    }
    let ticks = (0..QUEUES).map(|queue| link.scheduler.why(queue, 0).map(|why| why.ticks));
    let ticks: Vec<_> = ticks.collect();
    assert!(ticks.windows(2).all(|pair| pair[0] == pair[1]), "all at once");
    link.now = ticks[0].expect("it waits") + link.scheduler.late_ticks_max();
    let left_by_call = |_| {
        let before = link.scheduler.counts().left;
        link.pass(0);
        link.scheduler.counts().left - before
    };
    let left: Vec<u64> = (0..13).map(left_by_call).collect();
    assert_eq!(left, [&[0, 0][..], &[1024; 9], &[784, 0]].concat());
}

#[test]
fn what_passes_takes_no_cell_and_frames_keep_their_order() {
    let mut link = Link::new([1, 1, 1], &[0]);
    let limited = Queue { shape: shape(1e6, 0), ..queue_of(0) };
    link.scheduler.clear_queue(0).expect("it is there");
    link.scheduler.set_queue(0, &limited, 0).expect("sound");
    let mut notes = Vec::new();
    for note in 0..300 {
        // Twice the rate, then half of it.
        let gap = if note < 100 { 500_000 } else { 2_000_000 };
        let now = link.now + gap;
        link.scheduler.take(0, now, 100, |frame| notes.push(frame.note));
        match link.scheduler.offer(0, &FRAME[..1000], note, now) {
            Offered::Passes => notes.push(note),
            Offered::Waits => {}
            Offered::Dropped(why) => panic!("{why:?}"),
        }
        link.now = now;
    }
    link.scheduler.take(0, link.now + CLOCK, 100, |frame| notes.push(frame.note));
    assert_eq!(notes, (0..300).collect::<Vec<u32>>());
    let counts = link.scheduler.counts();
    assert!(counts.passed > 50 && counts.left > 50, "{counts:?}");
    assert_eq!(link.scheduler.free_cells(), 20_000);
}

#[test]
fn a_clock_that_steps_back_brings_nothing() {
    let mut link = Link::new([1, 1, 1], &[0]);
    let limited = Queue { shape: shape(1e6, 0), ..queue_of(0) };
    link.scheduler.set_queue(0, &limited, 1 << 40).expect("sound");
    assert_eq!(link.scheduler.offer(0, &FRAME[..1000], 0, 1 << 40), Offered::Passes);
    for now in [0, 1 << 39, 1 << 40] {
        assert_eq!(link.scheduler.offer(0, &FRAME[..1000], 0, now), Offered::Waits);
        assert_eq!(link.scheduler.take(0, now, 10, |_| {}), 0);
    }
    let step = link.scheduler.late_ticks_max();
    assert_eq!(link.scheduler.take(0, (1 << 40) + 1_000_000 + step, 10, |_| {}), 1);
}

#[test]
fn a_clock_may_stand_anywhere_when_a_scheduler_is_made() {
    let sizes =
        Sizes { ports: 1, nodes: 1, subscribers: 1, queues: 1, cells: 20, frame_bytes_max: 2014 };
    for epoch in [0, 1 << 57, 1 << 63, u64::MAX - CLOCK] {
        let mut scheduler = Scheduler::new(sizes, CLOCK as f64, epoch).expect("memory");
        let port = Port { shape: Shape::UNLIMITED, levels: [Shape::UNLIMITED; LEVELS] };
        scheduler.set_port(0, &port, epoch).expect("sound");
        scheduler.set_node(0, &member(0), epoch).expect("sound");
        scheduler.set_subscriber(0, &member(0), epoch).expect("sound");
        let limited = Queue { shape: shape(1e6, 0), ..queue_of(0) };
        scheduler.set_queue(0, &limited, epoch).expect("sound");
        // A burst of 3,000 bytes, and the frame that makes a debt.
        let passed = (0..6)
            .filter(|_| scheduler.offer(0, &FRAME[..1000], 0, epoch) == Offered::Passes)
            .count();
        assert_eq!(passed, 4, "{epoch}");
        assert_eq!(scheduler.held(0, epoch + 5).waited_ticks, 5, "{epoch}");
        let why = scheduler.why(0, epoch + 400_000).expect("frames wait");
        assert_eq!((why.cause, why.ticks), (Cause::Own, 600_000), "{epoch}");
        let step = scheduler.late_ticks_max();
        let mut waited = Vec::new();
        for millisecond in [1, 2] {
            let now = epoch + millisecond * 1_000_000 + step;
            scheduler.take(0, now, 10, |frame| waited.push(frame.waited_ticks));
        }
        assert_eq!(waited, [1_000_000 + step, 2_000_000 + step], "{epoch}");
    }
}
