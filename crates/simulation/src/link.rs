//! A link between two nodes: delay, loss, repetition, reordering, rate and partition.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::{Random, Time};

/// A link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its ends: the node and the node's address.
    pub ends: [(usize, IpAddr); 2],
    /// How it treats datagrams.
    pub quality: Quality,
    /// How it treats them when nothing is wrong.
    pub(super) usual: Quality,
    /// Whether nothing passes, without notice to either end.
    pub is_cut: bool,
    /// Whether nothing passes, and both ends know it.
    pub(super) is_unplugged: bool,
    /// Routers on the way, each of which takes one from the Time To Live.
    pub routers: u8,
    /// Per direction, when the last datagram has left.
    busy_until: [Time; 2],
    /// The same of streams, which have a share of their own.
    streams_busy_until: [Time; 2],
}

/// How a link treats datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quality {
    /// Time that every datagram takes.
    pub delay: Duration,
    /// Most that one takes longer, at random: more than the time between two reorders them.
    pub jitter: Duration,
    /// Datagrams that are lost, in parts per million.
    pub loss_ppm: u32,
    /// Datagrams that arrive twice, in parts per million.
    pub repetition_ppm: u32,
    /// Bits per second; none for a link without queue.
    pub rate: Option<u64>,
}

impl Quality {
    /// A link of a tenth of a millisecond that does nothing else.
    pub const GOOD: Quality = Quality {
        delay: Duration::from_micros(100),
        jitter: Duration::ZERO,
        loss_ppm: 0,
        repetition_ppm: 0,
        rate: None,
    };

    /// Draws a link that loses up to a share of datagrams.
    pub fn draw(random: &mut Random, loss_ppm_max: u32) -> Quality {
        Quality {
            delay: Duration::from_micros(50 + random.below(2_000)),
            jitter: Duration::from_micros(random.below(3_000)),
            loss_ppm: random.below(u64::from(loss_ppm_max) + 1) as u32,
            repetition_ppm: random.below(100_000) as u32,
            rate: (random.below(4) == 0).then(|| 1_000_000 + random.below(100_000_000)),
        }
    }

    /// The longest that a datagram of a link without rate takes.
    pub fn latest(&self) -> Duration {
        self.delay + self.jitter
    }
}

impl Link {
    /// A link between two ends.
    pub fn new(ends: [(usize, IpAddr); 2], quality: Quality) -> Link {
        Link {
            ends,
            quality,
            usual: quality,
            is_cut: false,
            is_unplugged: false,
            routers: 0,
            busy_until: [Time::ZERO; 2],
            streams_busy_until: [Time::ZERO; 2],
        }
    }

    /// Whether anything passes.
    pub(super) fn passes(&self) -> bool {
        !self.is_cut && !self.is_unplugged
    }

    /// Returns the times at which a datagram that leaves now arrives: none, one or two.
    pub(super) fn carry(
        &mut self,
        from_end: usize,
        len: usize,
        random: &mut Random,
        now: Time,
    ) -> Vec<Time> {
        let Quality { delay, jitter, loss_ppm, repetition_ppm, rate } = self.quality;
        let mut leaves = now;
        if let Some(rate) = rate {
            let busy_until = self.busy_until[from_end];
            if busy_until.since(now) > QUEUE {
                return Vec::new();
            }
            let span = Duration::from_nanos(len as u64 * 8 * 1_000_000_000 / rate);
            leaves = busy_until.max(now).after(span);
            self.busy_until[from_end] = leaves;
        }
        let passes = self.passes();
        let mut happens = |ppm: u32| random.below(1_000_000) < u64::from(ppm);
        if !passes || happens(loss_ppm) {
            return Vec::new();
        }
        let copies = 1 + usize::from(happens(repetition_ppm));
        let mut arrival = || {
            let more = random.below(jitter.as_nanos() as u64 + 1);
            leaves.after(delay + Duration::from_nanos(more))
        };
        (0..copies).map(|_| arrival()).collect()
    }

    /// Returns the time at which a segment of a stream arrives that leaves now: one that is lost is
    /// sent again after a time, which doubles.
    pub(super) fn reach(
        &mut self,
        from_end: usize,
        len: usize,
        again: Duration,
        random: &mut Random,
        now: Time,
    ) -> Time {
        let Quality { delay, jitter, loss_ppm, rate, .. } = self.quality;
        let mut leaves = now;
        if let Some(rate) = rate {
            let span = Duration::from_nanos(len as u64 * 8 * 1_000_000_000 / rate);
            leaves = self.streams_busy_until[from_end].max(now).after(span);
            self.streams_busy_until[from_end] = leaves;
        }
        let mut losses = 0;
        while losses < LOSSES_MAX && random.below(1_000_000) < u64::from(loss_ppm) {
            leaves = leaves.after(again * (1 << losses));
            losses += 1;
        }
        leaves.after(delay + Duration::from_nanos(random.below(jitter.as_nanos() as u64 + 1)))
    }
}

/// Longest that a datagram waits for the link.
const QUEUE: Duration = Duration::from_millis(50);

/// Losses of the same segment one after the other.
const LOSSES_MAX: u32 = 5;
