//! The scheduler beside its slow twin on random walks, and what it promises in the long run.

mod promises;
mod setting;

use std::collections::BTreeSet;

use tables::oracle::Hierarchy;
use tables::scheduler::{Discard, LEVELS, Member, Port, Queue, Scheduler, Shape, Sizes};

use crate::random::Random;

impl Random {
    fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Nanoseconds are ticks.
pub const CLOCK: u64 = 1_000_000_000;

/// Where the clock stands in the beginning: far behind what a count of 1/64 ticks has room for.
const START: u64 = 1 << 60;

const SIZES: Sizes =
    Sizes { ports: 2, nodes: 3, subscribers: 5, queues: 10, cells: 60, frame_bytes_max: 1000 };

/// Both, and what has happened.
struct Walk {
    random: Random,
    fast: Scheduler,
    slow: Hierarchy,
    now: u64,
    notes: u32,
    met: BTreeSet<String>,
}

#[test]
fn random_walks_are_allowed_by_the_slow_twin() {
    let mut met = BTreeSet::new();
    let mut seed = 0;
    while seed < SEEDS || EVERYTHING.iter().any(|what| !met.contains(*what)) {
        let missing: Vec<_> = EVERYTHING.iter().filter(|what| !met.contains(**what)).collect();
        assert!(seed < 50 * SEEDS, "never met: {missing:?}");
        println!("seed {seed}");
        let mut walk = Walk::new(seed);
        for _ in 0..STEPS {
            walk.step();
        }
        walk.end();
        met.append(&mut walk.met);
        seed += 1;
    }
}

const SEEDS: u64 = 40;
const STEPS: usize = 1500;

/// What walks go on for.
const EVERYTHING: &[&str] = &[
    "Passes",
    "Waits",
    "Dropped(Depth)",
    "Dropped(Share)",
    "Dropped(Cells)",
    "Dropped(Long)",
    "delay",
    "cleared",
    "left",
    "left after all others of its level",
    "Own",
    "Subscriber",
    "Node",
    "Port",
    "Level",
    "Turn",
    "changed while frames wait",
    "not cleared with children",
    "no parent",
    "a step back",
];

impl Walk {
    fn new(seed: u64) -> Walk {
        let fast = Scheduler::new(SIZES, CLOCK as f64, START).expect("memory is to be had");
        let slow = Hierarchy::new(SIZES, CLOCK, fast.late_ticks_max());
        let (random, now) = (Random(seed), START);
        let mut walk = Walk { random, fast, slow, now, notes: 0, met: BTreeSet::new() };
        for number in 0..10 {
            walk.set_port(number % 2);
            walk.set_node(number % 3);
            walk.set_subscriber(number % 5);
            walk.set_queue(number);
        }
        walk
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..=54 => self.offer(),
            55..=74 => self.take(),
            75..=91 => {
                let bits = self.random.below(21);
                self.now += self.random.below(1 << bits) as u64;
            }
            92..=95 => self.ask(),
            _ => self.change(),
        }
        assert_eq!(self.fast.counts(), self.slow.counts());
        assert_eq!(self.fast.free_cells(), self.slow.free_cells());
    }

    fn offer(&mut self) {
        let queue = self.random.below(11) as u32;
        let len = match self.random.below(10) {
            0 => self.random.below(1100),
            1 => self.random.below(3),
            _ => 40 + self.random.below(400),
        };
        let frame: Vec<u8> = (0..len).map(|at| (at as u32 * 7 + self.notes) as u8).collect();
        let mut now = self.now;
        if self.random.one_in(50) {
            // The time that it has been told stays.
            let got = self.fast.offer(99, &[], 0, now);
            self.slow.offer(99, (&[], 0), now, got).unwrap_or_else(|what| panic!("{what}"));
            now -= self.random.below(1 << 20) as u64;
            self.meet("a step back");
        }
        let got = self.fast.offer(queue, &frame, self.notes, now);
        self.meet(&format!("{got:?}"));
        let judged = self.slow.offer(queue, (&frame, self.notes), self.now, got);
        judged.unwrap_or_else(|what| panic!("{what}"));
        self.notes += 1;
    }

    fn take(&mut self) {
        let port = self.random.below(2) as u32;
        let most = if self.random.one_in(3) { self.random.below(5) } else { 100 };
        let mut left = Vec::new();
        let taken = self.fast.take(port, self.now, most, |frame| {
            let mut bytes = vec![0; frame.len];
            frame.copy_to(&mut bytes);
            left.push((frame.queue, bytes, frame.note, frame.waited_ticks));
        });
        assert_eq!(taken, left.len());
        self.slow.woken(self.now);
        for (queue, bytes, note, waited) in &left {
            let frame = (bytes.as_slice(), *note, *waited);
            let judged = self.slow.left(port, *queue, frame, self.now);
            judged.unwrap_or_else(|what| panic!("{what}"));
            self.meet("left");
        }
        if taken < most {
            self.slow.rests(port, self.now).unwrap_or_else(|what| panic!("{what}"));
            self.meet("left after all others of its level");
        }
        let counts = self.fast.counts();
        if counts.dropped[4] > 0 {
            self.meet("delay");
        }
        if counts.dropped[5] > 0 {
            self.meet("cleared");
        }
    }

    fn ask(&mut self) {
        let queue = self.random.below(11) as u32;
        let why = self.fast.why(queue, self.now);
        self.slow.why(queue, self.now, why).unwrap_or_else(|what| panic!("{what}"));
        assert_eq!(self.fast.held(queue, self.now), self.slow.held(queue, self.now));
        if let Some(why) = why {
            self.meet(&format!("{:?}", why.cause));
        }
    }

    fn change(&mut self) {
        match self.random.below(12) {
            0 => {
                let number = self.random.below(2) as u32;
                self.set_port(number);
            }
            1 | 2 => {
                let number = self.random.below(3) as u32;
                self.set_node(number);
            }
            3 | 4 => {
                let number = self.random.below(5) as u32;
                self.set_subscriber(number);
            }
            5 => {
                let number = self.random.below(3) as u32;
                let cleared = self.fast.clear_node(number).ok();
                assert_eq!(cleared, self.slow.clear_node(number));
                self.meet_children(cleared);
            }
            6 => {
                let number = self.random.below(5) as u32;
                let cleared = self.fast.clear_subscriber(number).ok();
                assert_eq!(cleared, self.slow.clear_subscriber(number));
                self.meet_children(cleared);
            }
            7 => {
                let number = self.random.below(10) as u32;
                assert_eq!(self.fast.clear_queue(number), Ok(self.slow.clear_queue(number)));
            }
            _ => {
                let number = self.random.below(10) as u32;
                if self.slow.held(number, self.now).frames > 0 {
                    self.meet("changed while frames wait");
                }
                self.set_queue(number);
            }
        }
    }

    /// Everything leaves in the end.
    fn end(&mut self) {
        for number in 0..2 {
            let port = Port { shape: Shape::UNLIMITED, levels: [Shape::UNLIMITED; LEVELS] };
            self.fast.set_port(number, &port, self.now).expect("sound");
            assert!(self.slow.set_port(number, &port, self.now));
        }
        for _ in 0..400 {
            self.now += CLOCK;
            self.take();
        }
        let counts = self.fast.counts();
        let dropped: u64 = counts.dropped.iter().sum();
        assert_eq!(counts.waiting, 0);
        assert_eq!(counts.offered, counts.passed + counts.left + dropped);
        assert_eq!(self.fast.free_cells(), SIZES.cells);
    }

    fn set_port(&mut self, number: u32) {
        let shape = self.shape();
        let levels = std::array::from_fn(|_| self.shape());
        let port = Port { shape, levels };
        let is_set = self.fast.set_port(number, &port, self.now).is_ok();
        assert_eq!(is_set, self.slow.set_port(number, &port, self.now));
    }

    fn set_node(&mut self, number: u32) {
        let node = self.member(2);
        let is_set = self.fast.set_node(number, &node, self.now).is_ok();
        assert_eq!(is_set, self.slow.set_node(number, &node, self.now));
        self.meet_parent(is_set);
    }

    fn set_subscriber(&mut self, number: u32) {
        let subscriber = self.member(3);
        let is_set = self.fast.set_subscriber(number, &subscriber, self.now).is_ok();
        assert_eq!(is_set, self.slow.set_subscriber(number, &subscriber, self.now));
        self.meet_parent(is_set);
    }

    fn set_queue(&mut self, number: u32) {
        let queue = Queue {
            subscriber: self.random.below(5) as u32,
            shape: self.shape(),
            level: self.random.of(&[0, 0, 3, 7, 7]),
            weight: 1 + self.random.below(4) as u8,
            depth_bytes: self.random.of(&[0, 900, 5000, 100_000]),
            share: self.random.of(&[-7, -2, -1, 0, 1, 7]),
            discard: match self.random.below(3) {
                0 => Discard::Tail,
                _ => Discard::Codel { target_s: 25_600e-9, interval_s: 256_000e-9 },
            },
        };
        let is_set = self.fast.set_queue(number, &queue, self.now).is_ok();
        assert_eq!(is_set, self.slow.set_queue(number, &queue, self.now));
        self.meet_parent(is_set);
    }

    fn member(&mut self, parents: usize) -> Member {
        Member {
            parent: self.random.below(parents) as u32,
            shape: self.shape(),
            weight: 1 + self.random.below(4) as u8,
        }
    }

    /// A rate at which a byte takes a whole number of 1/64 ticks, and a burst above 100 us of it.
    fn shape(&mut self) -> Shape {
        let overhead_bytes = self.random.below(71) as i16 - 30;
        if self.random.one_in(3) {
            return Shape { overhead_bytes, ..Shape::UNLIMITED };
        }
        let bytes_per_s = self.random.of(&[2e4, 1e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7]);
        let burst_bytes = self.random.of(&[8192.0, 16384.0]);
        let small = self.random.of(&[128.0, 512.0, 2048.0]);
        let burst_bytes = if bytes_per_s < 1e6 { small } else { burst_bytes };
        Shape { bytes_per_s, burst_bytes, overhead_bytes }
    }

    fn meet(&mut self, what: &str) {
        if !self.met.contains(what) {
            self.met.insert(what.to_owned());
        }
    }

    fn meet_parent(&mut self, is_set: bool) {
        if !is_set {
            self.meet("no parent");
        }
    }

    fn meet_children(&mut self, cleared: Option<bool>) {
        if cleared.is_none() {
            self.meet("not cleared with children");
        }
    }
}
