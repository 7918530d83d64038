//! Bytes by subscriber: what was offered to each policer, and what it let through.

use measure::Policed;
use traffic::workload::{PolicedFrame, Policer};

/// Byte counters of one direction, by subscriber; without policers or counted subscribers it uses
/// no memory.
#[derive(Debug)]
pub(crate) struct PolicedBytes {
    policer: Option<Policer>,
    /// By subscriber: offered and passed bytes.
    counted: Vec<[u64; 2]>,
}

impl PolicedBytes {
    /// Counts the first `subscribers` subscribers, or all if there are fewer.
    pub fn new(policer: Option<Policer>, subscribers: u32) -> PolicedBytes {
        let count = policer.map_or(0, |policer| policer.subscribers.min(subscribers));
        PolicedBytes { policer, counted: vec![[0; 2]; count as usize] }
    }

    /// Counts a sent frame.
    #[inline]
    pub fn offered(&mut self, frame: Option<PolicedFrame>) {
        self.count(frame, 0);
    }

    /// Counts a received frame.
    #[inline]
    pub fn passed(&mut self, frame: Option<PolicedFrame>) {
        self.count(frame, 1);
    }

    #[inline]
    fn count(&mut self, frame: Option<PolicedFrame>, column: usize) {
        let Some(PolicedFrame { subscriber, bytes }) = frame else { return };
        if let Some(counts) = self.counted.get_mut(subscriber as usize) {
            counts[column] += u64::from(bytes);
        }
    }

    /// Returns one entry per subscriber; the class is the direction, because bearers have no other.
    pub fn record(&self, direction: &str) -> Vec<Policed> {
        let Some(policer) = self.policer else { return Vec::new() };
        let entry = |(subscriber, &[offered_bytes, passed_bytes]): (usize, &[u64; 2])| Policed {
            subscriber: subscriber as u64,
            class: direction.to_owned(),
            configured_bytes_per_s: policer.bytes_per_s,
            burst_bytes: policer.burst_bytes,
            offered_bytes,
            passed_bytes,
        };
        self.counted.iter().enumerate().map(entry).collect()
    }
}
