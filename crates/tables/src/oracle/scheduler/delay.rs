//! Controlled Delay as RFC 8289 prints it, beside [`crate::scheduler`].

use std::collections::VecDeque;

/// Controlled Delay as RFC 8289 prints it in sections 5.5 and 5.6.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ControlledDelay {
    target: u64,
    interval: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u64,
    lastcount: u64,
    dropping: bool,
}

/// A frame that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub frame: Vec<u8>,
    pub note: u32,
    pub at: u64,
}

impl ControlledDelay {
    /// That of an empty queue, with TARGET and INTERVAL in ticks.
    pub fn new(target: u64, interval: u64) -> ControlledDelay {
        ControlledDelay { target, interval, ..ControlledDelay::default() }
    }

    fn dodeque(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        now: u64,
        maxpacket: usize,
    ) -> (Option<Waiting>, bool) {
        let Some(packet) = frames.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let bytes: usize = frames.iter().map(|waiting| waiting.frame.len()).sum();
        if now - packet.at < self.target || bytes <= maxpacket {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            return (Some(packet), true);
        }
        (Some(packet), false)
    }

    /// The frame that leaves, if there is one; those dropped before it are counted.
    pub fn deque(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        now: u64,
        maxpacket: usize,
        drops: &mut u64,
    ) -> Option<Waiting> {
        let (mut packet, mut ok_to_drop) = self.dodeque(frames, now, maxpacket);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                *drops += 1;
                self.count += 1;
                (packet, ok_to_drop) = self.dodeque(frames, now, maxpacket);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            *drops += 1;
            (packet, _) = self.dodeque(frames, now, maxpacket);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && (now as i64 - self.drop_next as i64) < 16 * self.interval as i64 {
                self.count = delta;
            }
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        packet
    }

    fn control_law(&self, at: u64) -> u64 {
        at + (self.interval as f64 / (self.count as f64).sqrt()) as u64
    }
}
