//! Controlled Delay of a queue, RFC 8289: drops where frames have waited too long for too long.

use zerocopy::FromZeros;

/// What a queue knows; its times are ticks.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
#[repr(C)]
pub(super) struct Codel {
    /// When frames will have waited too long for an interval; 0 while the last one has not.
    first_above_at: u64,
    /// When the next frame is dropped, or would have been.
    drop_next: u64,
    /// In units of 256 ticks, as the interval is.
    target: u32,
    interval: u32,
    /// Frames dropped since dropping began, up to 65,535.
    count: u16,
    /// What `count` was then.
    last_count: u16,
    is_dropping: u32,
}

impl Codel {
    /// That of an empty queue, with both times in ticks.
    pub fn new(target: f64, interval: f64) -> Codel {
        let units = |ticks: f64| (ticks / UNIT_TICKS as f64).round() as u32;
        // Without a target every frame would have waited too long.
        let (target, interval) = (units(target).max(1), units(interval).max(1));
        Codel { target, interval, ..Codel::default() }
    }

    /// Whether a frame that has left the queue may be dropped (`dodequeue` of section 5.6), having
    /// waited so long and left so many bytes behind.
    pub fn judge(
        &mut self,
        waited: u64,
        behind_bytes: u32,
        frame_bytes_max: u32,
        now: u64,
    ) -> bool {
        if waited < u64::from(self.target) * UNIT_TICKS || behind_bytes <= frame_bytes_max {
            self.first_above_at = 0;
            return false;
        }
        if self.first_above_at == 0 {
            self.first_above_at = now + self.interval_ticks();
            return false;
        }
        now >= self.first_above_at
    }

    /// Whether the first frame of a turn is dropped (`deque` of section 5.5): `is_above` is what
    /// was judged of it.
    pub fn drops_first(&mut self, is_above: bool, now: u64) -> bool {
        if self.is_dropping != 0 {
            self.is_dropping = is_above.into();
            return is_above && now >= self.drop_next;
        }
        is_above
    }

    /// Whether the frame behind one that was dropped is dropped, too.
    pub fn drops_another(&mut self, is_above: bool, now: u64) -> bool {
        if self.is_dropping == 0 {
            self.begin(now);
            return false;
        }
        self.count = self.count.saturating_add(1);
        if !is_above {
            self.is_dropping = 0;
            return false;
        }
        self.drop_next = self.law(self.drop_next);
        now >= self.drop_next
    }

    /// Dropping begins, at about the rate at which it ended if that is not long ago.
    fn begin(&mut self, now: u64) {
        self.is_dropping = 1;
        let before = self.count.wrapping_sub(self.last_count);
        let is_recent = now < self.drop_next.saturating_add(16 * self.interval_ticks());
        self.count = if before > 1 && is_recent { before } else { 1 };
        self.drop_next = self.law(now);
        self.last_count = self.count;
    }

    /// The next drop after one at `at`.
    fn law(&self, at: u64) -> u64 {
        at + (self.interval_ticks() as f64 / f64::from(self.count).sqrt()) as u64
    }

    fn interval_ticks(&self) -> u64 {
        u64::from(self.interval) * UNIT_TICKS
    }
}

const UNIT_TICKS: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_half_a_cache_line() {
        assert_eq!(size_of::<Codel>(), 32);
    }

    #[test]
    fn the_least_target_and_interval_are_a_unit() {
        let mut codel = Codel::new(1.0, 1.0);
        assert!(!codel.judge(255, 5000, 1500, 1000), "it has waited less than the least target");
        assert_eq!(codel.first_above_at, 0);
        assert!(!codel.judge(256, 5000, 1500, 1000));
        assert_eq!(codel.first_above_at, 1256);
    }

    #[test]
    fn drops_begin_after_an_interval_and_come_faster() {
        let mut codel = Codel::new(256.0 * 5.0, 256.0 * 100.0);
        let mut dropped = Vec::new();
        for step in 1..600u64 {
            let now = 256 * step;
            // A queue in which each frame has waited twice the target.
            let is_above = codel.judge(256 * 10, 5000, 1500, now);
            if codel.drops_first(is_above, now) {
                dropped.push(step);
                let is_above = codel.judge(256 * 10, 5000, 1500, now);
                assert!(!codel.drops_another(is_above, now));
            }
        }
        // After 100, then 100 / sqrt(1), 100 / sqrt(2) ... later, each at the next step.
        assert_eq!(dropped, [101, 201, 272, 330, 380, 425, 465, 503, 539, 572]);
        // What waits less ends it.
        assert!(!codel.judge(256 * 4, 5000, 1500, 256 * 600));
        assert!(!codel.judge(256 * 10, 1500, 1500, 256 * 600), "a frame alone");
        assert!(!codel.drops_first(false, 256 * 600));
        assert_eq!((codel.is_dropping, codel.first_above_at), (0, 0));
    }
}
